"""Lessons written by code from a mistake: every statement stands in the evidence.

Also how certain a lesson is, which is arithmetic over its evidence and never a model's opinion.
A lesson's key tells it from others for good: another key proposes again what was decided.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import (
    ALSO_FAILED,
    Author,
    Evidence,
    Lesson,
    LessonKind,
)
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line, signature
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.learning.explanations import explanation, quoted
from synthorg_tui.learning.habits import merged_habits
from synthorg_tui.learning.lessons import REPORTED_CERTAINTY, LessonWords, grounded_lesson
from synthorg_tui.learning.mistakes import Mistake
from synthorg_tui.learning.phrases import Phrases, clean, name_of
from synthorg_tui.learning.remedies import RemedyWords
from synthorg_tui.learning.repeats import KEY, merged_repeats
from synthorg_tui.learning.situations import Situation, situation_of

_MAX_CALL = 400
_MAX_ERROR = 400
_MAX_BETWEEN = 8
_MAX_TRY, _MAX_TRIES = 100, 3
MAX_CERTAINTY = 0.95
"""No lesson is more certain than this, however often it was seen."""
_MAX_REPORTED = 5
"""Reports listed as evidence of a lesson; more would only make it longer."""
_PLAIN_SETUP = frozenset({"mkdir", "touch", "chmod", "git add", "cp", "ln", "git stash"})
_ONLY_AGAIN = 0.35
"""The certainty that takes a second session before a lesson is proposed."""
_DOUBT_LEFT = 0.7
"""The share of the doubt that one more run leaves."""


def mistake_lesson(execution: Execution, mistake: Mistake) -> Lesson:
    """Return the lesson of a mistake that was put right, with this run as its only evidence."""
    phrases = Phrases(execution, mistake)
    said = explanation(execution, mistake.failed, mistake.resolved, mistake.error.line)
    program = name_of(mistake.step)
    line = signature(mistake.error.line, phrases.own_names)
    return grounded_lesson(
        execution,
        LessonKind.FAILURE,
        f"failure|{execution.agent_id}|{program}|{line}",
        _words(mistake, phrases, situation_of(program, line, mistake.step.words[1:]), said),
        (_evidence(execution, mistake),),
        certainty=certainty_of_lesson(certainty_once(mistake), 1),
        tags=_tags(mistake),
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
    +0.1. The call still failed in another way before it passed: -0.1. What anybody does at such an
    error, such as making the folder that is missing, is a lesson only where it comes again.
    """
    if mistake.setup and all(step.intent in _PLAIN_SETUP for step in mistake.setup):
        return _ONLY_AGAIN
    advised = mistake.advised or any(line in mistake.error.hint for _, line in mistake.needed)
    direct = mistake.distance <= 2
    detour = (
        mistake.worked.words not in {mistake.step.words} and mistake.setup and not mistake.needed
    )
    return 0.6 + 0.2 * advised + 0.1 * direct - 0.1 * bool(detour)


def _words(mistake: Mistake, phrases: Phrases, situation: Situation, said: str) -> LessonWords:
    """The words of a lesson: what its title says isn't explained again below it."""
    remedy = RemedyWords(mistake, phrases, situation)
    when = situation.when or f"{remedy.program} fails with “{phrases.error}”"
    return LessonWords(
        name=situation.name,
        title=remedy.title,
        when=f"{clean(when, 1_000)}.",
        do=clean(remedy.action, 1_500),
        why=clean(f"{_reason(mistake, phrases, situation, said)} {quoted(said)}".strip(), 1_500),
        check=clean(remedy.check, 400),
        steps=remedy.steps,
    )


def _reason(mistake: Mistake, phrases: Phrases, situation: Situation, said: str) -> str:
    """Why the remedy is right, as far as the run shows it."""
    parts = [situation.why]
    if mistake.advised:
        parts.append("The error itself names the command that works.")
    elif any(line in mistake.error.hint for _, line in mistake.needed):
        parts.append("The error itself asks for that line.")
    elif _is_about(mistake.error.hint, mistake):
        hint = phrases.general(mistake.error.hint, 220).rstrip(".:")
        parts.append(f"The error adds: “{hint}”.")
    if not any(parts) and not said:
        parts.append(_seen(mistake))
    return " ".join(filter(None, parts))


def _is_about(hint: str, mistake: Mistake) -> bool:
    """Whether a tool's advice is about what was then done; it may advise something else."""
    change = mistake.change
    done = {*change.added, *change.lead_added}.union(*(step.words for step in mistake.setup))
    return any(len(word) > 1 and word in hint for word in done - {*mistake.step.words})


def _seen(mistake: Mistake) -> str:
    """What the run shows when neither the error nor what is known of it gives a reason."""
    change = mistake.change
    code = f" (exit code {mistake.failed.exit_code})" if mistake.failed.exit_code else ""
    if mistake.needed:
        return f"After this was added the error{code} was gone."
    if mistake.setup:
        return f"Something had to come first: after it the error{code} was gone."
    if change.directory and not (change.added or change.dropped):
        return f"The same command failed in another directory{code} and worked in this one."
    if change.lead_added or change.lead_dropped:
        return f"The same command failed in another environment{code} and worked in this one."
    soon = "at once" if mistake.distance == 0 else "afterwards"
    return f"The command failed{code} and worked {soon} with nothing else changed."


def _tags(mistake: Mistake) -> tuple[str, ...]:
    program = clean(name_of(mistake.step), 80).partition(" ")[0].lower()
    needs_first = bool(mistake.setup or mistake.needed)
    return (RECOVERY_TAG, program, "prerequisite" if needs_first else "usage")


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
    return f"{ALSO_FAILED}{'; '.join(list(others)[:_MAX_TRIES])}" if others else ""


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
    words that stand on reports alone give way to those of the first recorded run, as do those that
    code wrote before lessons had names. Without news that is ``known`` itself.
    """
    if known.kind is LessonKind.HABIT:
        return merged_habits(known, more)
    if known.key.startswith(KEY):
        return merged_repeats(known, more)
    evidence = _with_more(known.evidence, more.evidence)
    is_dated = (not known.proposal.name and known.proposal == known.grounded) and bool(
        more.proposal.name
    )
    if evidence == known.evidence and not is_dated:
        return known
    base = more if is_dated or (more.recurrence and not known.recurrence) else known
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
