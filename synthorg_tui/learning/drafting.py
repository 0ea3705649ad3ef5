"""Lessons written by code from a mistake: every statement stands in the evidence.

Also how certain a lesson is, which is arithmetic over its evidence and never a model's opinion.
A lesson's key tells it from others for good: another key proposes again what was decided.
"""

from collections.abc import Sequence

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
from synthorg_tui.learning.error_lines import ErrorKind
from synthorg_tui.learning.explanations import explanation, quoted
from synthorg_tui.learning.habits import merged_habits
from synthorg_tui.learning.lessons import REPORTED_CERTAINTY, LessonWords, grounded_lesson
from synthorg_tui.learning.mistakes import Mistake, RootCause
from synthorg_tui.learning.phrases import clean, name_of, stored
from synthorg_tui.learning.remedies import RemedyWords
from synthorg_tui.learning.repeats import KEY, merged_repeats
from synthorg_tui.learning.situations import (
    MAX_NAME_WORDS,
    Situation,
    program_words,
    situation_of,
)

_MAX_CALL = 400
_MAX_ERROR = 400
_MAX_TRY, _MAX_TRIES = 100, 3
MAX_CERTAINTY = 0.95
"""No lesson is more certain than this, however often it was seen."""
_MAX_REPORTED = 5
"""Reports listed as evidence of a lesson; more would only make it longer."""
_PLAIN_SETUP = frozenset({"mkdir", "touch", "chmod", "git add", "cp", "ln", "git stash"})
_IN_THE_ERROR = frozenset({RootCause.OPTION, RootCause.DIRECTORY})
"""Causes that the error itself tells: an option that isn't known, another folder."""
_ONLY_AGAIN = 0.35
"""The certainty that takes a second session before a lesson is proposed."""
_DOUBT_LEFT = 0.7
"""The share of the doubt that one more run leaves."""


def mistake_lesson(execution: Execution, mistake: Mistake) -> Lesson:
    """Return the lesson of a mistake that was put right, with this run as its only evidence."""
    remedy = RemedyWords(execution, mistake)
    said = explanation(execution, mistake.failed, mistake.resolved, mistake.error.line)
    program = name_of(mistake.step)
    line = signature(mistake.error.line, remedy.own_names)
    known = situation_of(program, line, mistake.step.words[1:])
    key = f"{execution.agent_id}|{program}|{line}"
    wanted = ", ".join(map(name_of, mistake.setup or (mistake.worked,)))
    kind = LessonKind.GATE if mistake.is_gate else LessonKind.FAILURE
    words = (
        _gate_words(mistake, remedy) if mistake.is_gate else _words(mistake, remedy, known, said)
    )
    return grounded_lesson(
        execution,
        kind,
        f"gate|{key}|{wanted}" if mistake.is_gate else f"failure|{key}",
        _gate_words(mistake, remedy) if mistake.is_gate else words,
        (_evidence(execution, mistake),),
        certainty=certainty_of_lesson(certainty_once(mistake, known), 1),
        tags=(kind.value if mistake.is_gate else RECOVERY_TAG, program.partition(" ")[0].lower()),
    )


def certainty_of_lesson(once: float, runs: int) -> float:
    """Return how certain a lesson is, in [0, 1], after it was seen in ``runs`` runs.

    ``once`` is its certainty after the first run, and only recorded runs count. Each further one
    removes three tenths of the remaining doubt; the result is at most ``MAX_CERTAINTY``.
    """
    doubt = (1.0 - once) * _DOUBT_LEFT ** (max(runs, 1) - 1)
    return round(min(1.0 - doubt, MAX_CERTAINTY), 3)


def certainty_once(mistake: Mistake, known: Situation) -> float:
    """Return how certain one occurrence makes a lesson, in [0, 1].

    It starts from 0.6. The error itself named what then worked: +0.2. That came within two calls:
    +0.1. The call still failed in another way before it passed: -0.1. What anybody does at such an
    error, such as making the folder that is missing, is a lesson only where it comes again.
    """
    plain = mistake.setup and all(step.intent in _PLAIN_SETUP for step in mistake.setup)
    if known.is_plain or plain or mistake.cause in _IN_THE_ERROR:
        return _ONLY_AGAIN
    if mistake.is_gate:
        return 0.6 + 0.2 * mistake.advised
    detour = bool(mistake.setup) and mistake.worked.words != mistake.step.words
    return 0.6 + 0.2 * mistake.advised + 0.1 * (mistake.distance <= 2) - 0.1 * detour


def _words(mistake: Mistake, remedy: RemedyWords, known: Situation, said: str) -> LessonWords:
    """The words of a lesson: what its title says isn't explained again below it."""
    when = known.when or f"{remedy.shown} fails with “{remedy.error}”"
    reasons = [known.why]
    if mistake.advised:
        reasons.append("The error itself names the command that works.")
    elif _is_about(mistake.error.hint, mistake):
        reasons.append(f"The error adds: “{remedy.general(mistake.error.hint, 220).rstrip('.:')}”.")
    if not any(reasons) and not said:
        reasons.append(_seen(mistake))
    is_code = bool(remedy.program) and "…" not in remedy.program
    return LessonWords(
        name=known.name,
        title=remedy.title,
        when=f"{clean(when, 1_000)}.",
        do=clean(remedy.action, 1_500),
        why=clean(" ".join(filter(None, (*reasons, quoted(said)))), 1_500),
        check=f"`{remedy.program}` ends without that error." if is_code else "",
    )


def _gate_words(mistake: Mistake, remedy: RemedyWords) -> LessonWords:
    """The words of what a hook or a check wants before it lets a call through."""
    blocked, said = f"`{remedy.program}`", remedy.error.rstrip(" .")
    wanted = name_of((mistake.setup or (mistake.worked,))[0])
    advice = remedy.general(mistake.error.hint, 160).rstrip(" .") if mistake.advised else ""
    parts = [*program_words(remedy.program), *program_words(wanted)]
    return LessonWords(
        name="-".join(parts[:MAX_NAME_WORDS]),
        title=remedy.title,
        when=f"{blocked} is next in this project, or was stopped with “{said}”.",
        do=clean(remedy.action, 1_500),
        why=f"A hook stops {blocked} and says “{said}”; this passed it."
        + (f" Its message names the command: “{advice}”." if advice else ""),
        check=f"The hook lets it through, and “{said}” is gone.",
    )


def _is_about(hint: str, mistake: Mistake) -> bool:
    """Whether a tool's advice is about what was then done; it may advise something else."""
    change = mistake.change
    done = {*change.added, *change.lead_added}.union(*(step.words for step in mistake.setup))
    return any(len(word) > 1 and word in hint for word in done - {*mistake.step.words})


def _seen(mistake: Mistake) -> str:
    """What the run shows when neither the error nor what is known of it gives a reason."""
    change = mistake.change
    code = f" (exit code {mistake.failed.exit_code})" if mistake.failed.exit_code else ""
    if mistake.error.kind is ErrorKind.CODE:
        return "No file was changed between the two runs: what had been built was stale."
    if mistake.setup:
        return f"Something had to come first: after it the error{code} was gone."
    moved = change.directory and "directory"
    where = moved or (change.in_lead and "environment")
    if where:
        return f"The same command failed in another {where}{code} and worked in this one."
    return f"The command failed{code} and worked afterwards with nothing else changed."


def _evidence(execution: Execution, mistake: Mistake) -> Evidence:
    error = " — ".join(filter(None, (mistake.error.line, mistake.error.hint, _tried(mistake))))
    return Evidence(
        execution=execution.id,
        lines=str(execution.ref(mistake.failed.call_line, mistake.resolved.last_line)),
        agent_id=execution.agent_id,
        failed=_call(mistake.failed, mistake.step),
        error=stored(error, _MAX_ERROR),
        resolved_by=_call(mistake.resolved, mistake.worked),
        between=tuple(stored(" ".join(step.words), 160) for step in mistake.setup),
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
    return stored(call.arguments if len(call.arguments) <= _MAX_CALL else step_alone, _MAX_CALL)


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
