"""Cases for runs with a skill and without it, made of what taught the skill.

A case is the request before the failure, where the agent stood, and what a script will look for in
the record of the run. Nothing is invented: without evidence that a script can check there is none.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import Field

from synthorg_tui.core.text import truncate
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.evaluation import assertions
from synthorg_tui.evaluation.models import SkillUnderTest
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import Execution, SourceRef, Turn
from synthorg_tui.executions.requests import is_trivial
from synthorg_tui.learning.actions import arguments
from synthorg_tui.learning.triggers import triggers_of
from synthorg_tui.skills.names import is_name

MAX_CASES: Final = 100
MAX_ASSERTIONS: Final = 50
MAX_CASE_TEXT: Final = 10_000
_FROM_EVIDENCE: Final = 3
"""Cases that are made of evidence: more of one failure say little more, and each costs runs."""
_MAX_WORDS: Final = 600
_PEOPLE: Final = frozenset({"user", "parent"})


class EvalCase(FrozenModel):
    """A task for an agent, and what has to hold of its run.

    ``name`` is that of the case's folder. ``project`` is the folder that the task is about and
    ``ref`` the branch, as recorded; both are empty for a case of a file. ``files`` are paths
    relative to the skill's folder, as a file named them.
    """

    id: NotBlankStr
    name: NotBlankStr
    prompt: str = Field(min_length=1, max_length=MAX_CASE_TEXT)
    expected_output: str = Field(default="", max_length=MAX_CASE_TEXT)
    files: tuple[str, ...] = ()
    assertions: tuple[NotBlankStr, ...] = Field(default=(), max_length=MAX_ASSERTIONS)
    project: str = ""
    ref: str = ""
    source: str = ""

    @property
    def is_decidable(self) -> bool:
        """Whether a script can decide anything of it."""
        return any(map(assertions.is_decidable, self.assertions))


def case_name(text: str, number: int) -> str:
    """Return a folder's name for a case: ``text`` when it can be one, else by its number."""
    return text if is_name(text) else f"case-{number}"


def cases_of(skill: SkillUnderTest, executions: Mapping[str, Execution]) -> tuple[EvalCase, ...]:
    """Make cases of a skill's evidence, one a session, at most three.

    ``executions`` are the sessions that it names; what isn't stored any more gives no case.
    """
    made: dict[str, EvalCase] = {}
    for seen in skill.evidence:
        execution = executions.get(seen.execution)
        if execution is None or seen.execution in made or len(made) == _FROM_EVIDENCE:
            continue
        same = [each for each in skill.evidence if each.execution == seen.execution]
        case = _case(skill, execution, same, len(made) + 1)
        if case is not None:
            made[seen.execution] = case
    return tuple(made.values())


def _case(
    skill: SkillUnderTest, execution: Execution, seen: Sequence[Evidence], number: int
) -> EvalCase | None:
    ref = SourceRef.parse(seen[0].lines)
    prompt = _prompt(execution, ref.first_line if ref else 1)
    texts = tuple(dict.fromkeys(text for each in seen for text in _assertions(skill, each)))
    if not (prompt and texts):
        return None
    worked = next((each.resolved_by for each in seen if each.resolved_by), "")
    return EvalCase(
        id=str(number),
        name=case_name(f"{skill.name}-{number}", number),
        prompt=prompt,
        expected_output=f"`{_plain(worked)}` goes well." if _plain(worked) else "",
        assertions=texts[:MAX_ASSERTIONS],
        project=execution.project or "",
        ref=execution.branch or "",
        source=seen[0].lines,
    )


def _prompt(execution: Execution, line: int) -> str:
    """The last request before a line that says something, and where the agent stood then."""
    before = [turn for turn in execution.turns if turn.first_line <= line]
    said = [t.text for t in before if t.role in _PEOPLE and not is_trivial(t.text)]
    request = said[-1] if said else execution.task
    if not request.strip():
        return ""
    words = _last_words(before)
    stood = f"\n\nYou have come to this point: {words}" if words else ""
    return truncate(request.strip(), MAX_CASE_TEXT - _MAX_WORDS - 100) + stood


def _last_words(turns: Sequence[Turn]) -> str:
    """What the agent said last, if nobody has answered it since."""
    if not turns or turns[-1].role in _PEOPLE:
        return ""
    return truncate(" ".join(turns[-1].text.split()), _MAX_WORDS)


def _assertions(skill: SkillUnderTest, seen: Evidence) -> Iterator[str]:
    """What can be checked of one occurrence, in the order in which it should come about."""
    failed, worked = assertions.last_step(seen.failed), assertions.last_step(seen.resolved_by)
    if skill.kind in (None, LessonKind.FILE):
        worked = failed = None
    if failed is not None and worked is not None and failed.intent == worked.intent:
        (names, options), (own_names, own_options) = arguments(failed), arguments(worked)
        # Their forms can be told apart: other options, or names where none stood.
        if options != own_options or bool(names) != bool(own_names):
            yield assertions.not_first(_words(failed))
        if skill.kind is LessonKind.GATE:
            needed = (assertions.last_step(text) for text in seen.between)
            yield from (
                assertions.runs_before(step.intent, worked.intent)
                for step in needed
                if step is not None and step.intent != worked.intent
            )
    if skill.kind is not None:
        errors = {each.error for each in triggers_of(skill.kind, [seen]) if each.error}
        yield from map(assertions.unseen, sorted(errors))
    if worked is not None:
        yield assertions.exits(_words(worked))


def _words(step: Step) -> str:
    return " ".join(step.words)


def _plain(command: str) -> str:
    return assertions.quoted(command.removeprefix("… "))
