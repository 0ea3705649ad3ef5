"""Habits: how the work of a project is tested, checked, built and run, with success rates.

One lesson for a project, from all its sessions: worktrees of a repository are one project. Only
commands count that examine, build or run code; a run with other files is the same command. What
stands in the evidence is enough to word the lesson again, so that counts rise with each session.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from synthorg_tui.core.projects import project_name, repository_of
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.models import (
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords, grounded_lesson
from synthorg_tui.learning.project_commands import (
    HABIT_ROLES,
    PART,
    command_uses,
    plain_form,
    role_of_form,
)

_MAX_COMMANDS = 6
MAX_SESSIONS = 20
"""The last sessions of which the evidence is kept, and which the counts are of."""
SETTLED = 0.5
"""The certainty of a command after three good runs, or after good runs in two sessions."""
_MAX_ONE_RUN = 0.7
_MAX_HABIT = 0.95
_LEFT_BY_A_RUN = 0.7
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class HabitCaptureStrategy:
    """Draws at most one lesson from a run: the commands of its project."""

    name: str = "habits"

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return the commands of the run as a lesson; empty for a run that was only reported."""
        if execution.is_reported or not execution.project:
            return ()
        evidence = habit_evidence(execution)
        if not evidence:
            return ()
        lesson = grounded_lesson(
            execution,
            LessonKind.HABIT,
            f"habit|{execution.agent_id}|{repository_of(execution.project)}",
            _words(execution.project, evidence),
            evidence,
            certainty=habit_certainty(evidence),
            tags=("habit", "commands"),
        )
        return (lesson,)


def habit_evidence(execution: Execution) -> tuple[Evidence, ...]:
    """Return the commands of a run that passed at least once, the most used first.

    A command counts all its runs, whichever files it was given.
    """
    uses = command_uses(execution).values()
    passed = sorted((use for use in uses if use.passed), key=lambda use: -use.passed)
    return tuple(
        Evidence(
            execution=execution.id,
            lines=str(execution.ref(use.first.call_line, use.last.last_line)),
            agent_id=execution.agent_id,
            resolved_by=use.command,
            at=use.last.at or execution.ended_at,
            project=execution.project,
            ran=use.ran,
            passed=use.passed,
        )
        for use in passed[:_MAX_COMMANDS]
    )


def merged_habits(known: Lesson, more: Lesson) -> Lesson:
    """Return ``known`` with what ``more`` adds, worded again by its counts.

    A session that is seen again replaces what was known of it. Words that a model or a person
    wrote stay. Without anything new that is ``known`` itself.
    """
    together = {(seen.execution, seen.resolved_by): seen for seen in known.evidence}
    again = {seen.execution for seen in more.evidence}
    kept = {key: seen for key, seen in together.items() if key[0] not in again}
    kept |= {(seen.execution, seen.resolved_by): seen for seen in more.evidence}
    evidence = _newest(kept.values())
    if set(evidence) == set(known.evidence):
        return known
    changed = {
        "grounded": _reworded(known.grounded, evidence),
        "evidence": evidence,
        "proposal": _reworded(known.proposal, evidence)
        if known.proposal == known.grounded
        else known.proposal.model_copy(update={"confidence": habit_certainty(evidence)}),
    }
    return known.model_copy(update=changed)


def _newest(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The evidence of the last sessions: its counts are theirs, so that each session is whole."""
    evidence = sorted(evidence, key=lambda seen: (seen.execution, seen.resolved_by))
    ended: dict[str, datetime] = {}
    for seen in evidence:
        ended[seen.execution] = max(seen.at or _LONG_AGO, ended.get(seen.execution, _LONG_AGO))
    last = sorted(ended, key=lambda execution: (ended[execution], execution))[-MAX_SESSIONS:]
    return tuple(seen for seen in evidence if seen.execution in set(last))


def without_covered(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return lessons without the recipes whose checks a habit of the same project names too.

    The habit is kept, since it stands on counts of many runs, a recipe on the end of one.
    """
    lessons = list(lessons)
    habits = [one for one in lessons if one.kind is LessonKind.HABIT]
    return [one for one in lessons if not any(_covers(habit, one) for habit in habits)]


def _covers(habit: Lesson, recipe: Lesson) -> bool:
    if recipe.kind is not LessonKind.SUCCESS or recipe.agent_id != habit.agent_id:
        return False
    named = {step.intent for one in habit.evidence for step in command_steps(one.resolved_by)}
    place = habit.key.rpartition("|")[2]
    return all(
        repository_of(one.project or "") == place
        and all(step.intent in named for check in one.between for step in command_steps(check))
        for one in recipe.evidence
    )


def habit_certainty(evidence: Iterable[Evidence]) -> float:
    """Return how certain the commands are, in [0, 1]: as much as the most used of them.

    With ``n`` good runs in ``s`` sessions it is x / (1 + x), where x = n / 3 + (s - 1) / 2: three
    runs in one session give 0.5, and so do two sessions. One session gives at most 0.7, and each
    further one takes three tenths of the remaining doubt; it never exceeds 0.95.
    """
    best = 0.0
    for habit in _habits(evidence):
        weight = habit.passed / 3 + (habit.sessions - 1) / 2
        most = 1.0 - (1.0 - _MAX_ONE_RUN) * _LEFT_BY_A_RUN ** (habit.sessions - 1)
        best = max(best, min(weight / (1.0 + weight), most, _MAX_HABIT))
    return round(best, 3)


@dataclass(frozen=True, slots=True)
class _Habit:
    """A command with its counts over all sessions."""

    command: str
    role: str
    ran: int
    passed: int
    sessions: int

    @property
    def is_settled(self) -> bool:
        """True after three good runs, or good runs in two sessions."""
        return self.passed >= 3 or self.sessions >= 2

    @property
    def stem(self) -> str:
        """The command that a part of the tests is run with, too."""
        return plain_form(self.command).removesuffix(f" <{PART}>")


def _habits(evidence: Iterable[Evidence]) -> list[_Habit]:
    """The commands of all evidence, the most used first, each in the way it is written most."""
    seen: dict[str, list[Evidence]] = {}
    for one in evidence:
        seen.setdefault(plain_form(one.resolved_by), []).append(one)
    habits = []
    for runs in seen.values():
        forms = Counter[str]()
        for one in runs:
            forms[one.resolved_by] += one.passed
        command = min(forms, key=lambda form: ("<path>" in form, -forms[form], form))
        habits.append(
            _Habit(
                command=command,
                role=role_of_form(command),
                ran=sum(one.ran for one in runs),
                passed=sum(one.passed for one in runs),
                sessions=len({one.execution for one in runs}),
            )
        )
    return sorted(habits, key=lambda one: (one.role == PART, -one.passed, one.command))


def _in_order(habits: Sequence[_Habit]) -> list[_Habit]:
    """The first of them in the order in which work is gone over, of those of a part only one."""
    parts = [habit for habit in habits if habit.role == PART]
    kept = [habit for habit in habits if habit not in parts[1:]]
    return sorted(kept, key=lambda one: HABIT_ROLES.index(one.role))[:_MAX_COMMANDS]


def _words(project: str, evidence: Sequence[Evidence]) -> LessonWords:
    """The words of a project's commands; those that aren't settled only where none is."""
    name = safe_text(redact_text(project_name(project), RedactionTally())) or "the project"
    habits = _habits(evidence)
    stems = {habit.stem for habit in habits if habit.is_settled}
    settled = _in_order([habit for habit in habits if habit.stem in stems] or habits[:1])
    sessions = len({one.execution for one in evidence})
    counts = "; ".join(f"`{one.command}` {one.passed} of {one.ran}" for one in settled)
    last = "the last " if sessions == MAX_SESSIONS else ""
    ending = "" if sessions == 1 else f", in {last}{sessions} sessions"
    return LessonWords(
        name=_name(name),
        title=_title(name, settled),
        when=f"a change in {name} has to be {_purposes(settled)}.",
        do=_do(settled),
        why=f"Runs that passed: {counts}{ending}.",
    )


def _name(project: str) -> str:
    parts = re.findall(r"[a-z0-9]+", project.lower())[:4]
    return "-".join(["check", *(parts or ["project"])])[:64].rstrip("-")


_DONE = {
    "test": "tested",
    PART: "tested in part",
    "check": "checked",
    "build": "built",
    "format": "formatted",
    "run": "run",
}


def _purposes(habits: Sequence[_Habit]) -> str:
    done = list(dict.fromkeys(_DONE[habit.role] for habit in habits))
    return f"{', '.join(done[:-1])} or {done[-1]}" if len(done) > 1 else done[0]


def _title(name: str, habits: Sequence[_Habit]) -> str:
    """Names the most used command, and more of them as far as there is room."""
    habits = [habit for habit in habits if habit.role != PART] or habits
    verb = "Test a part of" if habits[0].role == PART else habits[0].role.capitalize()
    commands = [f"`{habit.command}`" for habit in habits if habit.role != "run"] or [
        f"`{habits[0].command}`"
    ]
    if len({habit.role for habit in habits}) > 1:
        verb = "Check" if verb != "Run" else verb
    for number in range(min(len(commands), 3), 0, -1):
        title = f"{verb} {name} with {' and '.join(commands[:number])}"
        if len(title) <= MAX_TITLE:
            return title
    return one_line(f"{verb} with {commands[0]}", MAX_TITLE)


def _do(habits: Sequence[_Habit]) -> str:
    """One command for each purpose, or all of them."""
    if len(habits) == 1:
        text = f"Run `{habits[0].command}`."
    else:
        told = (("test a part" if one.role == PART else one.role, one.command) for one in habits)
        text = " ".join(f"To {purpose}: `{command}`." for purpose, command in told)
    placed = any("<path>" in habit.command for habit in habits)
    return f"{text} Here `<path>` is the file in question." if placed else text


def _reworded(
    proposal: ProceduralMemoryProposal, evidence: Sequence[Evidence]
) -> ProceduralMemoryProposal:
    """The proposal with the words that all its evidence now gives."""
    project = next((one.project for one in evidence if one.project), "")
    words = _words(project or "", evidence)
    return proposal.model_copy(
        update={
            "discovery": words.title,
            "condition": words.when,
            "action": words.do,
            "rationale": words.why,
            "confidence": habit_certainty(evidence),
        }
    )
