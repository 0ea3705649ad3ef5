"""Habits: how the work of a project is tested, checked, built and run, with success rates.

One lesson for a project, from all its sessions: worktrees of a repository are one project. Only
commands count that examine, build or run code; a run with other files is the same command. What
stands in the evidence is enough to word the lesson again, so that counts rise with each session.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.models import (
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.recoveries import BACKGROUND
from synthorg_tui.learning.captured import Captured, success_payload
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords, grounded_lesson

_MAX_COMMANDS = 6
_MAX_COMMAND = 80
MAX_SESSIONS = 20
"""The last sessions of which the evidence is kept, and which the counts are of."""
SETTLED = 0.5
"""The certainty of a command after three good runs, or after good runs in two sessions."""
_MAX_ONE_RUN = 0.7
_MAX_HABIT = 0.95
_LEFT_BY_A_RUN = 0.7
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_TOOL = r"(?:make|just|task|gradlew?|mvnw?)"
_ROLES: tuple[tuple[str, str], ...] = (
    (
        "test",
        r"(?:pytest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|(?:playwright|cypress)"
        rf" (?:test|run))|(?:mix|cargo|go|dotnet|swift|zig|bun|deno|rake|rails|flutter|sbt|{_TOOL})"
        r" (?:t|tests?|spec|nextest)|SCRIPT (?:t|tests?|specs?|unit|e2e)(?:[:-].*)?",
    ),
    (
        "check",
        r"(?:mypy|pyright|tsc|tsgo|pre-commit|biome|lint-imports|eslint|flake8|pylint|shellcheck"
        r"|rubocop|golangci-lint|stylelint)(?: .*)?|ruff check|cargo (?:check|clippy)|go vet"
        rf"|mix (?:check|precommit|dialyzer|credo)|{_TOOL} (?:check|verify|ci|lint|typecheck)"
        r"|SCRIPT (?:checks?|verify|validate|ci|type-?check|types|precommit|lint)(?:[:-].*)?",
    ),
    (
        "build",
        rf"(?:mix|go|cargo|dotnet|swift|zig|bun|docker|flutter|sbt|{_TOOL}) (?:build|compile|all"
        r"|assemble|package)|make|SCRIPT (?:build|compile|bundle)(?:[:-].*)?",
    ),
    (
        "format",
        r"ruff format|(?:black|isort|prettier|gofmt|rustfmt)(?: .*)?"
        rf"|(?:mix|cargo|go|dotnet|deno|{_TOOL}) (?:format|fmt)|SCRIPT (?:format|fmt)(?:[:-].*)?",
    ),
    (
        "run",
        r"SCRIPT (?:start|dev|serve|preview)(?:[:-].*)?|mix phx\.server"
        rf"|(?:cargo|go|dotnet|{_TOOL}) run|flask run|rails (?:s|server)",
    ),
)
_SCRIPT = re.compile(
    r"npm (?:run |run-script )(?P<npm>[\w:.-]+)|npm (?P<short>t|test|start)"
    r"|(?:yarn|pnpm|bun) (?:run )?(?P<other>[\w:.-]+)"
)
_WRAPPER = re.compile(r"sudo|env|time|nice|nohup|command|timeout|\d+[smh]?")
_PART = re.compile(r"-k|-t|--(?:grep|filter|only|seed|testNamePattern)(?:=.*)?")
"""Flags that pick a part of the tests: such a run is none of the whole."""
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_SHORT_SETTING = re.compile(r"\w+=[\w.-]{0,12}")
_PLAIN = re.compile(r"[\w.:=,@%+/*-]{1,40}")
_FAILED = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:failed|failures?|errors?)\b|error TS\d|^FAILED\b|^E  "
    r"|npm (?:error|ERR!)|ELIFECYCLE|\*\* \(|error\[E\d|\bpanicked\b|^error:|^make: \*\*\*"
    r"|exit(?:ed with)? code [1-9]|Traceback \(most recent",
    re.MULTILINE,
)
_HIDDEN_DIRECTORY = re.compile(r"(?P<root>.+?)/\.(?:claude/|git/|codex/)?worktrees/[^/]+")
_SIBLING = re.compile(r"(?P<above>.*/)?(?P<name>[^/]+)[-._]worktrees?/[^/]+")


@dataclass(slots=True)
class _Use:
    """How often one command ran in one session, with whichever files and flags.

    ``passed`` are the runs that went well, ``forms`` those of each way to write it.
    """

    first: ToolCall
    last: ToolCall
    ran: int = 0
    passed: int = 0
    forms: Counter[str] = field(default_factory=Counter)

    @property
    def command(self) -> str:
        """The way to write it that went well most often; one without files when there is any."""
        return min(self.forms, key=lambda form: ("<path>" in form, -self.forms[form]))


class HabitCaptureStrategy:
    """Draws at most one lesson from a run: the commands of its project."""

    name: str = "habits"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
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
        return (Captured(lesson, success_payload(execution)),)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Tell whether a command was used often enough; other runs' qualities don't matter."""
        settled = captured.lesson.proposal.confidence >= SETTLED
        return settled and captured.lesson.kind is LessonKind.HABIT


def habit_evidence(execution: Execution) -> tuple[Evidence, ...]:
    """Return the commands of a run that passed at least once, the most used first.

    A command counts all its runs, whichever files it was given.
    """
    uses: dict[str, _Use] = {}
    for call in execution.calls:
        ended = call.outcome in {CallOutcome.OK, CallOutcome.FAILED}
        if call.is_shell and ended and not call.output.startswith(BACKGROUND):
            _count(execution, call, uses)
    passed = sorted((use for use in uses.values() if use.passed), key=lambda use: -use.passed)
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


def without_covered(captured: Iterable[Captured]) -> list[Captured]:
    """Return lessons without the recipes whose checks a habit of the same project names too.

    The habit is kept, since it stands on counts of many runs, a recipe on the end of one.
    """
    captured = list(captured)
    habits = [one.lesson for one in captured if one.lesson.kind is LessonKind.HABIT]
    return [one for one in captured if not any(_covers(habit, one.lesson) for habit in habits)]


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


def repository_of(project: str) -> str:
    """Return the folder of the repository that a project's folder belongs to, as far as it tells.

    A worktree in a hidden folder of its repository belongs to that, one in ``<name>-worktrees`` to
    ``<name>`` beside it. Any other folder is its own repository.
    """
    path = project.replace("\\", "/").rstrip("/") or "/"
    if match := _HIDDEN_DIRECTORY.fullmatch(path):
        return match["root"]
    match = _SIBLING.fullmatch(path)
    return f"{match['above'] or ''}{match['name']}" if match else path


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


def _habits(evidence: Iterable[Evidence]) -> list[_Habit]:
    """The commands of all evidence, the most used first, each in the way it is written most."""
    seen: dict[str, list[Evidence]] = {}
    for one in evidence:
        seen.setdefault(_plain(one.resolved_by), []).append(one)
    habits = []
    for runs in seen.values():
        forms = Counter[str]()
        for one in runs:
            forms[one.resolved_by] += one.passed
        command = min(forms, key=lambda form: ("<path>" in form, -forms[form], form))
        habits.append(
            _Habit(
                command=command,
                role=_role_of(command),
                ran=sum(one.ran for one in runs),
                passed=sum(one.passed for one in runs),
                sessions=len({one.execution for one in runs}),
            )
        )
    return sorted(habits, key=lambda one: ("<path>" in one.command, -one.passed, one.command))


def _plain(command: str) -> str:
    """A command without files and flags: what its runs are counted by."""
    return " ".join(word for word in command.split() if word[0] != "-" and word != "<path>")


def _in_order(habits: Sequence[_Habit]) -> list[_Habit]:
    """The first of them in the order in which work is gone over."""
    order = [role for role, _ in _ROLES]
    return sorted(habits, key=lambda one: order.index(one.role))[:_MAX_COMMANDS]


def _role_of(command: str) -> str:
    steps = command_steps(command.replace("<path>", "a.txt"))
    return next((role for step in steps if (role := _role(step))), "check")


def _role(step: Step) -> str:
    """What a step is for: ``test``, ``check``, ``build``, ``format`` or ``run``; else empty."""
    name = step.intent
    if match := _SCRIPT.match(" ".join(word for word in step.words if word[:1] != "-")):
        name = f"SCRIPT {match['npm'] or match['short'] or match['other']}"
    return next((role for role, names in _ROLES if re.fullmatch(names, name)), "")


def _count(execution: Execution, call: ToolCall, uses: dict[str, _Use]) -> None:
    """Add a call's commands; one that failed only where it is plain which of them did."""
    steps = command_steps(call.arguments)
    ours = [(step, role) for step in steps if (role := _role(step))]
    went_well = call.outcome is CallOutcome.OK and not _FAILED.search(call.output[-4_000:])
    if not went_well and (len(ours) != 1 or ours[0][0] is not steps[0]):
        return
    for step, _ in ours:
        command = _shown(execution, step)
        if command:
            use = uses.setdefault(_plain(command), _Use(call, call))
            use.last = call
            use.ran += 1
            use.passed += went_well
            use.forms[command] += went_well


def _shown(execution: Execution, step: Step) -> str:
    """The command as one types it in the project; empty when only this once it was so.

    Files become ``<path>``. One that needs long settings, that picks a part of the tests or ran
    outside of the project is left out.
    """
    words = [execution.relative(word) for word in (*_lead(step), *step.words)]
    if any(map(_PART.fullmatch, words)):
        return ""
    if any(_SETTING.match(word) and not _SHORT_SETTING.fullmatch(word) for word in _lead(step)):
        return ""
    files = [_is_file(word) and place > 0 for place, word in enumerate(words)]
    shown = ["<path>" if file else word for word, file in zip(words, files, strict=True)]
    first = shown.index("<path>") + 1 if "<path>" in shown else len(shown)
    once = [*shown[:first], *(word for word in shown[first:] if word != "<path>")]
    where = execution.relative(f"{step.directory.rstrip('/')}/") if step.directory else ""
    where = "" if where in {"./", "/"} else where.rstrip("/")
    if any(word.startswith(("/", "~", "../")) for word in (*once, where)):
        return ""
    if not all(word == "<path>" or _PLAIN.fullmatch(word) for word in once):
        return ""
    prefix = f"cd {where} && " if where else ""
    return one_line(_safe(f"{prefix}{' '.join(once)}"), _MAX_COMMAND)


def _lead(step: Step) -> list[str]:
    return [word for word in step.lead if not _WRAPPER.fullmatch(word)]


def _is_file(word: str) -> bool:
    path = PurePosixPath(word.partition("::")[0].partition(":")[0])
    return word[:1] != "-" and word != "./..." and len(path.suffix) > 1 and "=" not in word


def _words(project: str, evidence: Sequence[Evidence]) -> LessonWords:
    """The words of a project's commands; those that aren't settled only where none is."""
    name = _safe(PurePosixPath(repository_of(project)).name) or "the project"
    habits = _habits(evidence)
    settled = _in_order([habit for habit in habits if habit.is_settled] or habits[:1])
    sessions = len({one.execution for one in evidence})
    counts = "; ".join(f"`{_plain(one.command)}` {one.passed} of {one.ran}" for one in settled)
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
    verb = habits[0].role.capitalize()
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
        text = " ".join(f"To {habit.role}: `{habit.command}`." for habit in habits)
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


def _safe(text: str) -> str:
    return safe_text(redact_text(text, RedactionTally()))
