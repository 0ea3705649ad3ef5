"""The Runs screen as lines: a row for each run and for each step, and one of them in full.

Pure functions of the runs; what they show was said by agents, models and tools, and is made safe as
it becomes a line.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.paths import short_path
from synthorg_tui.runtime.models import AgentRun, RunProfile, RunStatus, RunStep, StepKind
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, memories, moment
from synthorg_tui.tui.base.lines import (
    Line,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    text_lines,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from synthorg_tui.memory.listing import ListedMemory

_STATUSES: Final[Mapping[RunStatus, tuple[str, str, str]]] = {
    RunStatus.RUNNING: ("●", "running", "accent"),
    RunStatus.PARKED: ("◆", "waits for you", "warn"),
    RunStatus.INTERRUPTED: ("⊘", "interrupted", "warn"),
}
_ENDS: Final[Mapping[TerminationReason, tuple[str, str, str]]] = {
    TerminationReason.COMPLETED: ("✓", "completed", "good"),
    TerminationReason.MAX_TURNS: ("▣", "out of turns", "warn"),
    TerminationReason.BUDGET_EXHAUSTED: ("▣", "budget used up", "warn"),
    TerminationReason.SHUTDOWN: ("⊘", "stopped", "warn"),
    TerminationReason.PARKED: ("◆", "waits for you", "warn"),
    TerminationReason.ERROR: ("✗", "failed", "bad"),
}
_OUTCOMES: Final[Mapping[CallOutcome | None, tuple[str, str]]] = {
    CallOutcome.OK: ("✓", "good"),
    CallOutcome.FAILED: ("✗", "bad"),
    CallOutcome.DENIED_BY_USER: ("⊘", "warn"),
    CallOutcome.BLOCKED_BY_HOOK: ("⊘", "warn"),
    CallOutcome.CANCELLED_WITH_SIBLING: ("⊘", "muted"),
}
_NO_OUTCOME: Final = ("·", "muted")
PROFILES: Final[Mapping[RunProfile, tuple[str, str, str]]] = {
    RunProfile.READ_ONLY: ("◌", "read only", "good"),
    RunProfile.ASK: ("?", "asks", "accent"),
    RunProfile.UNATTENDED: ("!", "unattended", "warn"),
}
"""Glyph, name and role of what a run may do."""
WIDE_ROW: Final = 70
"""Cells from which on a run has one line instead of two."""
_LABEL: Final = 11
_fact = partial(fact, cells=_LABEL)
_MAX_ARGUMENT: Final = 400
_DIFF: Final = (("+++", "strong"), ("---", "strong"), ("+", "good"), ("-", "bad"), ("@@", "accent"))


def no_runs() -> list[Line]:
    """What the list says while nothing ran yet."""
    return [
        line(("No agent ran here yet", "title")),
        Line(),
        keys_line((key_of("runs.add"), "gives an agent a task")),
        line(('synthorg-tui run "task"', "accent"), (" does so at a shell", "muted")),
    ]


def standing(run: AgentRun) -> tuple[str, str, str]:
    """Return glyph, words and role of how a run stands."""
    if run.status is RunStatus.ENDED:
        return _ENDS.get(run.reason or TerminationReason.ERROR, ("·", "ended", "muted"))
    return _STATUSES[run.status]


def run_lines(run: AgentRun, width: int, now: datetime) -> list[Line]:
    """A run: on a wide row in one line, else the task over what it took."""
    glyph, _, role = standing(run)
    head = line((f" {glyph} ", role), (one_line(run.request.task), "text"))
    took = line((f"{_took(run, now)} ", "accent" if run.status is RunStatus.RUNNING else "muted"))
    if width >= WIDE_ROW:
        whose = line((f"{_cut(run.request.agent_id, 10)} ", "accent"))
        whose.add(f"{_cut(run.request.executor, 8)} ", "muted")
        return [beside(head, whose.extend(_numbers(run)).extend(took), width)]
    under = line(("   ", "text"), (one_line(run.request.agent_id), "accent"))
    under.add(f" {one_line(run.request.executor)}", "muted")
    return [beside(head, took, width), beside(under, _numbers(run), width)]


def _took(run: AgentRun, now: datetime) -> str:
    """How long a run works already, else how long ago it began."""
    if run.status is RunStatus.RUNNING:
        return f"{clock((now - run.started_at).total_seconds()):>7}"
    age = ago(run.started_at, now)
    return f"{'now' if age == 'now' else f'{age} ago':>7}"


def clock(seconds: float) -> str:
    """Return seconds as they run: ``0:05``, ``12:40``, ``1:02:03``."""
    whole = max(int(seconds), 0)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _numbers(run: AgentRun) -> Line:
    numbers = line((f"{run.turns:>3,}t ", "muted"))
    numbers.add(f"{short(run.prompt_tokens + run.completion_tokens):>6} ", "muted")
    return numbers.add(f"{money(run.cost):>7} ", "muted")


def short(count: int) -> str:
    """Return a count in at most five characters: ``812``, ``12.4k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 100_000 else f"{count / 1_000_000:.1f}M"


def money(cost: float) -> str:
    """Return a cost, empty for none."""
    if not cost:
        return ""
    return f"{cost:.4f}" if cost < 1 else f"{cost:,.2f}"


def head_lines(run: AgentRun | None, now: datetime) -> list[Line]:
    """What stands over the steps: the task, how it stands, what it used, and what it waits for."""
    if run is None:
        return [Line(), Line(), Line()]
    glyph, words, role = standing(run)
    used = line((f" {glyph} {words}", role))
    if run.status is RunStatus.RUNNING:
        used.add(f" {clock((now - run.started_at).total_seconds())}", role)
    used.add(f" · {counted(run.turns, 'turn')} · {counted(run.calls, 'call')}", "muted")
    tokens = run.prompt_tokens + run.completion_tokens
    used.add(f" · {tokens:,} of {run.request.limits.tokens:,} tokens", "muted")
    used.add(f" · {money(run.cost)}" if run.cost else "", "muted")
    told = line((f" {one_line(run.told)}" if run.told else "", role if run.told else "muted"))
    return [line((f" {one_line(run.request.task)}", "strong")), used, told]


def step_line(step: RunStep, width: int, *, waits: bool = False) -> Line:
    """A step: its turn, what it is, and the tokens of the answer that led to it.

    ``waits`` tells of a parked step that nobody has decided on it yet.
    """
    turn = f"{step.turn:>4} " if step.turn else "     "
    left = line((turn, "faint")).extend(_what(step, waits=waits))
    right = Line()
    if step.prompt_tokens or step.completion_tokens:
        right.add(f"{short(step.prompt_tokens)}↑ {short(step.completion_tokens)}↓ ", "muted")
    right.add(f"{money(step.cost)} " if step.cost else "", "muted")
    return beside(left, right, width)


def _what(step: RunStep, *, waits: bool) -> Line:
    text = one_line(step.text[:_MAX_ARGUMENT])
    if step.kind is StepKind.GIVEN:
        given = memories(len(step.memory_ids)) if step.memory_ids else "no memory"
        return line(("▤ ", "accent"), (f"given: {given}", "text"))
    if step.kind is StepKind.ANSWER:
        return line(("“ ", "accent"), (text or _asked_for(step), "text"))
    if step.kind is StepKind.NOTE:
        return line(("· ", "muted"), (text, "muted"))
    called = line((f"{one_line(step.tool)} ", "strong"), (_arguments(step), "text"))
    if step.kind is StepKind.PARKED:
        told = ("  waits: ↵ decides", "warn") if waits else ("  waited for you", "muted")
        return line(("◆ ", "warn" if waits else "muted")).extend(called).add(*told)
    glyph, role = _OUTCOMES.get(step.outcome, _NO_OUTCOME)
    return line((f"{glyph} ", role)).extend(called)


def _asked_for(step: RunStep) -> str:
    """What an answer without words is about."""
    names = ", ".join(one_line(use.name) for use in step.uses)
    return f"(calls {names})" if names else "(no words)"


def _arguments(step: RunStep) -> str:
    """The arguments on one line; of several, each with its name."""
    values = [(name, _plain(value)) for name, value in step.arguments.items()]
    if len(values) == 1:
        return one_line(values[0][1][:_MAX_ARGUMENT])
    return one_line(" ".join(f"{name}={value}" for name, value in values)[:_MAX_ARGUMENT])


def _plain(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def waiting_step(width: int) -> Line:
    """A step that isn't read yet."""
    return line(("     …", "faint")).fit(width)


def detail_lines(
    step: RunStep | None,
    given: Mapping[str, ListedMemory],
    now: datetime,
    *,
    waits: bool = False,
) -> list[Line]:
    """A step in full; ``given`` are the memories that are known by their ids."""
    if step is None:
        return []
    does = "shows what waits, to decide it" if waits else "shows what was decided"
    got = [_memory(memory_id, given.get(memory_id)) for memory_id in step.memory_ids]
    title = line((f"{memories(len(got))} given", "title"))
    return [
        _title(step, now),
        *([keys_line(("↵", does))] if step.kind is StepKind.PARKED else []),
        *(
            _fact(one_line(name), value)
            for name, text in step.arguments.items()
            for name, value in _rows(name, _plain(text))
        ),
        *([Line(), title, *got] if got else []),
        *([Line(), *text_lines(step.text)] if step.text else []),
    ]


def _title(step: RunStep, now: datetime) -> Line:
    names = {
        StepKind.GIVEN: "What it began with",
        StepKind.ANSWER: "Answer",
        StepKind.CALL: one_line(step.tool),
        StepKind.PARKED: f"To decide: {one_line(step.tool)}",
        StepKind.NOTE: "Note",
    }
    title = line((names[step.kind], "title"))
    if step.outcome is not None:
        glyph, role = _OUTCOMES.get(step.outcome, _NO_OUTCOME)
        title.add(f"  {glyph} {step.outcome.value.replace('_', ' ')}", role)
    title.add(f"  {moment(step.at, now)}", "muted")
    if step.prompt_tokens or step.completion_tokens:
        used = f" · {step.prompt_tokens:,} tokens read, {step.completion_tokens:,} written"
        title.add(used, "muted")
    return title.add(f" · {money(step.cost)}" if step.cost else "", "muted")


def _rows(name: str, text: str) -> list[tuple[str, str]]:
    """The lines of an argument; only the first has its name."""
    return [(name if not at else "", row) for at, row in enumerate(text.split("\n"))]


def _memory(memory_id: str, row: ListedMemory | None) -> Line:
    told = (one_line(memory_id), "muted")
    if row is not None:
        told = (one_line(row.content)[:_MAX_ARGUMENT], "text")
    return line(("  • ", "accent"), told, hang=4)


def diff_lines(text: str) -> list[Line]:
    """Changes to files, each line in the colour of what it does."""
    return [
        line(
            (
                row.plain,
                next((role for start, role in _DIFF if row.plain.startswith(start)), "text"),
            )
        )
        for row in text_lines(text)
    ]


def about_lines(run: AgentRun, now: datetime) -> list[Line]:
    """What was asked for, for a run without a step to show."""
    request = run.request
    limits = request.limits
    allowed = f"{limits.turns:,} turns, {limits.tokens:,} tokens, {clock(limits.seconds)}"
    if limits.cost is not None:
        allowed += f", cost {money(limits.cost) or '0'}"
    rows = [
        ("agent", request.agent_id),
        ("executor", request.executor),
        ("model", run.model or request.model or ""),
        ("workspace", short_path(str(request.workspace))),
        ("may", PROFILES[request.profile][1]),
        ("limits", allowed),
        ("started", moment(run.started_at, now)),
        ("memory", "" if request.memory else "none"),
    ]
    return facts(*((name, one_line(value)) for name, value in rows), cells=_LABEL)


def _cut(text: str, cells: int) -> str:
    text = one_line(text)
    return text if len(text) <= cells else text[: cells - 1] + "…"
