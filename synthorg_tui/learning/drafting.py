"""Lessons written by code from a mistake: every statement stands in the evidence.

Also how certain a lesson is, which is arithmetic over its evidence and never a model's opinion.
A lesson's key tells it from others for good: another key proposes again what was decided.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import (
    WORDED_FIELDS,
    Author,
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.learning.error_lines import signature
from synthorg_tui.learning.lessons import REPORTED_CERTAINTY
from synthorg_tui.learning.mistakes import Mistake, named
from synthorg_tui.learning.phrases import Phrases, clean, doing, explained, joined, name_of

_MAX_CALL = 400
_MAX_ERROR = 400
_MAX_BETWEEN = 8
_MAX_TRY, _MAX_TRIES = 100, 3
MAX_CERTAINTY = 0.95
"""No lesson is more certain than this, however often it was seen."""
_MAX_REPORTED = 5
"""Reports listed as evidence of a lesson; more would only make it longer."""
_DOUBT_LEFT = 0.7
"""The share of the doubt that one more run leaves."""


def mistake_lesson(execution: Execution, mistake: Mistake) -> Lesson:
    """Return the lesson of a mistake that was put right, with this run as its only evidence."""
    proposal = as_certain_as_may_be(execution, _Draft(execution, mistake).proposal())
    line = signature(mistake.error.line, Phrases(execution, mistake).own_names)
    return Lesson(
        key=f"failure|{execution.agent_id}|{name_of(mistake.step)}|{line}",
        kind=LessonKind.FAILURE,
        agent_id=execution.agent_id,
        task_id=execution.id,
        proposal=proposal,
        grounded=proposal,
        authors=dict.fromkeys(WORDED_FIELDS, author_of(execution)),
        evidence=(_evidence(execution, mistake),),
    )


def author_of(execution: Execution) -> Author:
    """Return the author of what code writes from a run."""
    return Author.REPORTED if execution.is_reported else Author.EVIDENCE


def as_certain_as_may_be(
    execution: Execution, proposal: ProceduralMemoryProposal
) -> ProceduralMemoryProposal:
    """Return the lesson of a run; of a reported one at most as certain as reports can make it."""
    certainty = min(proposal.confidence, REPORTED_CERTAINTY)
    return (
        proposal.model_copy(update={"confidence": certainty}) if execution.is_reported else proposal
    )


def certainty_of_lesson(once: float, runs: int) -> float:
    """Return how certain a lesson is, in [0, 1], after it was seen in ``runs`` runs.

    ``once`` is its certainty after the first run, and only recorded runs count. Each further one
    removes three tenths of the remaining doubt; the result is at most ``MAX_CERTAINTY``.
    """
    doubt = (1.0 - once) * _DOUBT_LEFT ** (max(runs, 1) - 1)
    return round(min(1.0 - doubt, MAX_CERTAINTY), 3)


def certainty_once(mistake: Mistake) -> float:
    """Return how certain one occurrence makes a lesson, in [0, 1].

    It starts from 0.6. The error itself named what then worked: +0.2. That came within two calls:
    +0.1. The call still failed in another way before it passed: -0.1.
    """
    advised = mistake.advised or any(line in mistake.error.hint for _, line in mistake.needed)
    direct = mistake.distance <= 2
    detour = (
        mistake.worked.words not in {mistake.step.words} and mistake.setup and not mistake.needed
    )
    return 0.6 + 0.2 * advised + 0.1 * direct - 0.1 * bool(detour)


class _Draft:
    """Writes the fields of one lesson."""

    def __init__(self, execution: Execution, mistake: Mistake) -> None:
        self._mistake = mistake
        self._phrases = Phrases(execution, mistake)
        self._failed = self._phrases.command(mistake.step)
        self._worked = self._phrases.command(mistake.worked)
        self._intent = clean(name_of(mistake.step), 80)

    def proposal(self) -> ProceduralMemoryProposal:
        """The whole lesson."""
        mistake = self._mistake
        error = f"`{self._intent}` fails with “{self._phrases.error}”"
        return ProceduralMemoryProposal(
            discovery=clean(f"{_capital(self._in_short())} when {error}.", 600),
            condition=clean(f"{doing(self._intent)}: {error}.", 1_000),
            action=clean(self._action(), 1_500),
            rationale=clean(self._rationale(), 1_500),
            execution_steps=self._steps(),
            confidence=certainty_of_lesson(certainty_once(mistake), 1),
            tags=self._tags(),
        )

    def _first(self) -> list[str]:
        """What had to come first, in clauses."""
        needed = [f"add `{clean(line, 120)}` to `{name}`" for name, line in self._mistake.needed]
        return [*needed, *(f"run `{self._phrases.command(step)}`" for step in self._mistake.setup)]

    def _in_short(self) -> str:
        """What to do, without what goes without saying."""
        first = self._first()
        if self._mistake.change.is_empty:
            return joined(first) + (" first" if not self._mistake.needed else "")
        return joined([*first, self._correction().removesuffix(" instead")], last="then")

    def _correction(self) -> str:
        """How to call it instead, in a clause."""
        change = self._mistake.change
        if change.is_empty:
            return f"run `{self._intent}` again"
        if change.prefix:
            return f"write the path without its leading `{self._general(change.prefix)}`"
        if self._only_left_out():
            names = joined(f"`{self._general(word)}`" for word in change.dropped)
            named = f"leave out what the error names (here {names})"
            return named if self._is_named() else f"leave out {names}"
        if change.directory:
            return f"run `{self._worked}` in `{self._general(change.directory)}`"
        return f"run `{self._worked}` instead"

    def _only_left_out(self) -> bool:
        change = self._mistake.change
        put_in = change.added or change.lead_added or change.lead_dropped or change.directory
        return bool(change.dropped) and not put_in

    def _is_named(self) -> bool:
        """Whether the error names everything that was left out, whole or by its folder."""
        return all(
            named(word, self._mistake.failed.output) for word in self._mistake.change.dropped
        )

    def _action(self) -> str:
        remedy = joined([*self._first(), self._correction()], last="then")
        sentences = [f"{_capital(remedy)}."]
        change = self._mistake.change
        for word in change.dropped[:1] if change.prefix else ():
            before = self._phrases.path(word)
            after = self._phrases.path(word.removeprefix(change.prefix))
            sentences.append(f"For example `{after}` instead of `{before}`.")
        if meaning := explained(remedy):
            sentences.append(f"Here {meaning}.")
        return " ".join(sentences)

    def _rationale(self) -> str:
        mistake = self._mistake
        code = f" (exit code {mistake.failed.exit_code})" if mistake.failed.exit_code else ""
        if mistake.change.is_empty:
            cure = joined(f"`{self._phrases.command(step)}`" for step in mistake.setup)
            parts = [f"Something had to come first: after {cure} this error{code} was gone."]
        else:
            soon = "at once" if mistake.distance == 0 else "afterwards"
            failed = self._failed if self._failed != self._worked else self._intent
            where = f" in `{self._general(mistake.change.directory)}`" * bool(
                mistake.change.directory
            )
            parts = [
                f"`{failed}` failed with this error{code}; `{self._worked}`{where} worked {soon}."
            ]
        if mistake.error.hint:
            says = "itself names the remedy" if mistake.advised else "adds"
            parts.append(f"The error {says}: “{self._phrases.general(mistake.error.hint, 220)}”.")
        if mistake.skipped and "&&" in mistake.failed.arguments:
            parts.append(f"What followed in the same command did not run: {self._rest()}.")
        return " ".join(parts).replace(".”.", ".”")

    def _steps(self) -> tuple[str, ...]:
        mistake = self._mistake
        steps = [f"{_capital(clause)}." for clause in self._first()]
        if mistake.change.prefix or self._only_left_out():
            steps.append(f"{_capital(self._correction())}.")
        where = self._general(mistake.change.directory)
        steps.append(f"Run `{self._worked}`{f' in `{where}`' if where else ''}.")
        if mistake.skipped and "&&" in mistake.failed.arguments:
            steps.append(f"Go on with what did not run: {self._rest()}.")
        elif sign := self._sign():
            steps.append(f"Check that the output says “{sign}”.")
        return tuple(steps)

    def _rest(self) -> str:
        return joined(f"`{clean(step.intent, 60)}`" for step in self._mistake.skipped)

    def _sign(self) -> str:
        """The last line of what worked, when it speaks of what was put in."""
        lines = [line.strip() for line in self._mistake.resolved.output.splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        speaks = any(word in last for word in self._mistake.change.added if len(word) > 2)
        return self._general(last).rstrip(".") if speaks and len(last) < 120 else ""

    def _general(self, text: str) -> str:
        return self._phrases.general(text, 120)

    def _tags(self) -> tuple[str, ...]:
        program = self._intent.partition(" ")[0].lower()
        needs_first = bool(self._mistake.setup or self._mistake.needed)
        return (RECOVERY_TAG, program, "prerequisite" if needs_first else "usage")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _evidence(execution: Execution, mistake: Mistake) -> Evidence:
    error = " — ".join(filter(None, (mistake.error.line, mistake.error.hint, _tried(mistake))))
    return Evidence(
        execution=execution.id,
        lines=str(execution.ref(mistake.failed.call_line, mistake.resolved.last_line)),
        agent_id=execution.agent_id,
        failed=_call(mistake.failed, mistake.step),
        error=_safe(error, _MAX_ERROR),
        resolved_by=_call(mistake.resolved, mistake.worked),
        between=_between(execution, mistake),
        at=mistake.failed.at or execution.started_at,
        project=execution.project,
        reported=execution.is_reported,
    )


def _tried(mistake: Mistake) -> str:
    """The other tries that failed before the answer, or ``""``."""
    others = {one_line(call.arguments, _MAX_TRY): None for call in mistake.attempts}
    others.pop(one_line(mistake.failed.arguments, _MAX_TRY), None)
    return f"also failed: {'; '.join(list(others)[:_MAX_TRIES])}" if others else ""


def _call(call: ToolCall, step: Step) -> str:
    """The call as it was written; of a long one the step that matters."""
    step_alone = f"… {' '.join(step.words)}"
    return _safe(call.arguments if len(call.arguments) <= _MAX_CALL else step_alone, _MAX_CALL)


def _between(execution: Execution, mistake: Mistake) -> tuple[str, ...]:
    needed = ((PurePosixPath(path).name, line) for path, line in mistake.needed)
    added = [_safe(f"{name}: {line}", 160) for name, line in needed]
    ran = [_safe(" ".join(step.words), 160) for step in mistake.setup]
    return tuple([*added, *ran][:_MAX_BETWEEN])


def _safe(text: str, limit: int) -> str:
    """A recorded text as it may be stored: one line without secrets or hidden characters."""
    return clean(redact_text(text, RedactionTally()), limit)


def merged(known: Lesson, more: Lesson) -> Lesson:
    """Return ``known`` with the evidence that ``more`` adds.

    Its wording stays, its certainty rises with each recorded run. Reports add no certainty, and
    words that stand on reports alone give way to those of the first recorded run. Without new
    evidence that is ``known`` itself.
    """
    evidence = _with_more(known.evidence, more.evidence)
    if evidence == known.evidence:
        return known
    base = more if more.recurrence and not known.recurrence else known
    together = base.model_copy(update={"evidence": evidence})
    runs = max(base.recurrence, 1)
    once = 1.0 - (1.0 - base.grounded.confidence) / _DOUBT_LEFT ** (runs - 1)
    confidence = certainty_of_lesson(once, together.recurrence)
    if together.source is Author.REPORTED:
        confidence = min(confidence, REPORTED_CERTAINTY)
        together = together.model_copy(update={"authors": _reported_only(together)})
    return together.model_copy(
        update={
            "proposal": base.proposal.model_copy(update={"confidence": confidence}),
            "grounded": base.grounded.model_copy(update={"confidence": confidence}),
        }
    )


def _with_more(known: Sequence[Evidence], more: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The evidence of both; what was stored before reports were told apart gets its mark."""
    marks = {(seen.execution, seen.lines): seen.reported for seen in more}
    evidence = [
        seen.model_copy(update={"reported": marks.pop((seen.execution, seen.lines), seen.reported)})
        for seen in known
    ]
    reports = sum(seen.reported for seen in evidence)
    for seen in more:
        if (seen.execution, seen.lines) in marks and (not seen.reported or reports < _MAX_REPORTED):
            evidence.append(seen)
            reports += seen.reported
    return tuple(evidence)


def _reported_only(lesson: Lesson) -> dict[str, Author]:
    return {
        name: Author.REPORTED if author is Author.EVIDENCE else author
        for name, author in lesson.authors.items()
    }
