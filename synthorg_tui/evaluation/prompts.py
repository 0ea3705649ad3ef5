"""Recorded prompts to try a skill with: those before what it is about, and near misses.

A prompt is what a person or a parent agent asked, or what the agent itself said before it made a
call: agents choose skills at both times. Nothing is tuned on them, so none has to be held out.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import same_project
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.evaluation.models import SkillUnderTest
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall
from synthorg_tui.executions.requests import is_trivial
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.effects import action_of
from synthorg_tui.learning.triggers import Trigger, triggers_of

EACH_WAY: Final = 10
"""Prompts that should bring a skill up, and as many near misses."""
_MAX_TEXT: Final = 2_000
_PEOPLE: Final = frozenset({"user", "parent"})


class RecordedPrompt(NamedTuple):
    """A text of a session at which an agent may be given a skill; ``lines`` is its reference."""

    lines: str
    text: str
    line: int
    project: str | None
    is_request: bool


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The prompts for one skill: ``wanted`` ones, and ``misses`` that are close in words.

    ``failures`` is how many recorded calls failed as the skill says, ``warned`` before how many of
    them it would have come up as a hint.
    """

    wanted: tuple[RecordedPrompt, ...] = ()
    misses: tuple[RecordedPrompt, ...] = ()
    failures: int = 0
    warned: int = 0


class RecordedSession:
    """A session with its prompts in order of their lines."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.prompts = tuple(
            RecordedPrompt(
                lines=str(execution.ref(turn.first_line, turn.last_line)),
                text=turn.text.strip()[:_MAX_TEXT],
                line=turn.first_line,
                project=execution.project,
                is_request=turn.role in _PEOPLE,
            )
            for turn in execution.turns
            if turn.text.strip() and not is_trivial(turn.text)
        )

    def before(self, line: int) -> list[RecordedPrompt]:
        """The last request before a line, and what the agent said last before it."""
        earlier = [prompt for prompt in self.prompts if prompt.line <= line]
        requests = [prompt for prompt in earlier if prompt.is_request]
        return [*requests[-1:], *(each for each in earlier[-1:] if not each.is_request)]


class SkillSubject:
    """What a skill is about, as it is recognised in the calls of a session."""

    def __init__(self, skill: SkillUnderTest) -> None:
        self._kind = skill.kind
        self._triggers = triggers_of(skill.kind, skill.evidence) if skill.kind else ()
        self._seen: dict[str, list[int]] = {}
        for each in skill.evidence:
            if (ref := SourceRef.parse(each.lines)) is not None:
                self._seen.setdefault(ref.execution_id, []).append(ref.first_line)
        steps = [step for each in skill.evidence for step in command_steps(each.resolved_by)]
        is_habit = skill.kind is LessonKind.HABIT
        self._ran = frozenset(step.intent for step in steps) if is_habit else frozenset()
        self._project = next((each.project for each in skill.evidence if each.project), None)
        intents = (*(trigger.intent for trigger in self._triggers), *self._ran)
        self._hints = frozenset(word for intent in intents if (word := intent.partition(" ")[0]))

    def lines_in(self, execution: Execution) -> list[int]:
        """Where a session comes to what the skill is about; lines of the evidence come first."""
        known = list(self._seen.get(execution.id, ()))
        found = (call.call_line for call in execution.calls if self._is_about(call, execution))
        return list(dict.fromkeys([*known, *found]))

    def warnings_in(self, execution: Execution) -> tuple[int, int]:
        """How many calls of a session failed so, and before how many a hint would have come."""
        failures = warned = 0
        for call in execution.calls:
            said = call.arguments if call.is_shell else call.intent
            if call.outcome is CallOutcome.OK or not any(hint in said for hint in self._hints):
                continue
            action = action_of(call, execution)
            failed = [trigger for trigger in self._triggers if trigger.matches_after(action)]
            failures += bool(failed)
            warned += any(trigger.matches_before(action) for trigger in failed)
        return failures, warned

    def _is_about(self, call: ToolCall, execution: Execution) -> bool:
        said = call.arguments if call.is_shell else call.intent
        if not any(hint in said for hint in self._hints):
            return False
        if self._ran and call.is_shell and same_project(self._project, execution.project):
            return any(step.intent in self._ran for step in command_steps(call.arguments))
        action = action_of(call, execution)
        return any(self._concerns(trigger, action) for trigger in self._triggers)

    def _concerns(self, trigger: Trigger, action: AgentAction) -> bool:
        if not trigger.holds_in(action):
            return False
        if self._kind in (LessonKind.FAILURE, LessonKind.EVOLVED, LessonKind.GATE):
            return any(step.intent == trigger.intent for step in action.steps)
        return trigger.matches_before(action) or trigger.matches_after(action)


def prompts_for(
    skill: SkillUnderTest,
    sessions: Sequence[RecordedSession],
    coverage: Callable[[Collection[str], str], float],
    terms: Collection[str],
) -> PromptSet:
    """Choose about twenty prompts for a skill; fewer when the sessions don't have them.

    Near misses come from sessions that never came to what it is about, those first that share most
    of the ``terms`` of its description, as ``coverage`` counts them.
    """
    subject = SkillSubject(skill)
    failures = warned = 0
    wanted: dict[str, RecordedPrompt] = {}
    others: dict[str, RecordedPrompt] = {}
    for session in sessions:
        lines = subject.lines_in(session.execution)
        counts = subject.warnings_in(session.execution) if lines else (0, 0)
        failures, warned = failures + counts[0], warned + counts[1]
        for line in lines:
            wanted |= {prompt.text: prompt for prompt in session.before(line)}
        if not lines:
            others |= {prompt.text: prompt for prompt in session.prompts}
    near = [prompt for text, prompt in others.items() if text not in wanted]
    near.sort(key=lambda prompt: (-coverage(terms, prompt.text), prompt.lines))
    return PromptSet(_spread(wanted.values()), tuple(near[:EACH_WAY]), failures, warned)


def _spread(prompts: Iterable[RecordedPrompt]) -> tuple[RecordedPrompt, ...]:
    """At most ``EACH_WAY`` of the prompts: requests first, then evenly from the rest."""
    known = sorted(prompts, key=lambda prompt: not prompt.is_request)
    requests = [prompt for prompt in known if prompt.is_request][:EACH_WAY]
    rest, room = known[len([p for p in known if p.is_request]) :], EACH_WAY - len(requests)
    if len(rest) > room > 0:
        rest = [rest[at * len(rest) // room] for at in range(room)]
    return (*requests, *rest[:room])
