"""A run of an agent as text and as JSON; what agents, models and tools say is made safe."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Block,
    Console,
    Facts,
    Line,
    Lines,
    Parts,
    View,
    cut,
    local_time,
)
from synthorg_tui.cli.records import Json, fields, listing
from synthorg_tui.core.text import counted, duration

if TYPE_CHECKING:
    from synthorg_tui.runtime.models import AgentRun, RunStep

_GLYPHS: Final = {"given": "▤", "answer": "“", "parked": "◆", "note": "·"}
_STYLES: Final = {"given": "cyan", "parked": "yellow", "note": "dim"}
_OUTCOMES: Final = {"ok": ("✓", "green"), "failed": ("✗", "red"), "unknown": ("·", "dim")}
_REFUSED: Final = ("⊘", "yellow")
_MAX_ARGUMENTS: Final = 400
_MAX_LINES: Final = 40
"""Lines of a step's text that are printed; JSON has all of it."""


def whole_step(step: "RunStep") -> View:
    """Return a step with its arguments and its text."""
    name = f"{step.tool} {_arguments(step.arguments)}" if step.tool else ""
    tokens = step.prompt_tokens + step.completion_tokens
    return lambda console: (
        BLANK,
        Parts(
            [
                (f"{step.number}. {step.kind.value}", "bold"),
                (cut(name, console.width) if name else "",),
                (step.outcome.value.replace("_", " ") if step.outcome else "", "dim"),
                (f"{tokens:,} tokens" if tokens else "", "dim"),
                (cost(step.cost) if step.cost else "", "dim"),
            ]
        ),
        Lines((f"    given {memory_id}" for memory_id in step.memory_ids), "dim"),
        Block(step.text, indent=4, max_lines=_MAX_LINES),
    )


def listed(runs: "Sequence[AgentRun]") -> Answer:
    """Return a list of runs."""
    return listing(
        "runs",
        runs,
        run_shape,
        {
            "RUN": lambda run: run.id[:12],
            "STATUS": standing,
            "AGENT": lambda run: run.request.agent_id,
            "BY": lambda run: run.request.executor,
            "STARTED": lambda run: local_time(run.started_at),
            "TURNS": lambda run: f"{run.turns:,}",
            "TOKENS": lambda run: f"{run.prompt_tokens + run.completion_tokens:,}",
            "COST": lambda run: cost(run.cost) if run.cost else "",
            "TASK": lambda run: run.request.task,
        },
        empty='No agent ran here. `synthorg-tui run "task"` gives one a task.',
    )


def run_view(run: "AgentRun") -> View:
    """Return what was asked for, how the run stands and what it used."""
    request, limits = run.request, run.request.limits
    facts = (
        ("run", run.id),
        ("status", standing(run)),
        ("told", run.told),
        ("waits", f"synthorg-tui proposals show {run.item_id}" if run.item_id else ""),
        ("agent", request.agent_id),
        ("by", f"{request.executor}{f' · {run.model}' if run.model else ''}"),
        ("workspace", str(request.workspace)),
        ("may", request.profile.value.replace("_", " ")),
        ("limits", f"{limits.turns:,} turns, {limits.tokens:,} tokens, {limits.seconds:g} s"),
        ("started", local_time(run.started_at)),
        ("used", used(run)),
        ("record", run.execution_id),
    )
    return (lambda console: Line(cut(request.task, console.width), "bold")), Facts(facts)


def show_step(console: Console, step: "RunStep") -> None:
    """Print a step on one line of ``err``, beside the result."""
    mark, style = _GLYPHS.get(step.kind, "·"), _STYLES.get(step.kind, "")
    if step.kind == "call":
        mark, style = _OUTCOMES.get(step.outcome or "unknown", _REFUSED)
    used = step.prompt_tokens + step.completion_tokens
    tail = f"  {used:,} tokens{f', {cost(step.cost)}' if step.cost else ''}" if used else ""
    text = cut(words(step), max(console.width - len(tail) - 3, 20))
    styles = [style] if style else []
    shown = console.style(mark, *styles, stream=console.err)
    rest = console.style(text, *(["dim"] if step.kind == "note" else []), stream=console.err)
    end = console.style(tail, "dim", stream=console.err)
    print(f"{shown} {rest}{end}", file=console.err, flush=True)


def words(step: "RunStep") -> str:
    """Return what a step is, in words."""
    if step.kind == "given":
        ids = len(step.memory_ids)
        return f"given {counted(ids, 'memory', 'memories')}" if ids else "given no memory"
    if step.kind in ("answer", "note"):
        names = ", ".join(use.name for use in step.uses)
        return step.text or (f"(calls {names})" if names else "(no words)")
    called = f"{step.tool} {_arguments(step.arguments)}"
    return f"{called} waits for you" if step.kind == "parked" else called


def _arguments(arguments: "Mapping[str, object]") -> str:
    values = [f"{name}={value}"[:_MAX_ARGUMENTS] for name, value in arguments.items()]
    if len(values) == 1:
        return values[0].partition("=")[2]
    return " ".join(values)[:_MAX_ARGUMENTS]


def cost(value: float) -> str:
    """Return a cost in the currency of the configured prices."""
    return f"{value:.4f}" if value < 1 else f"{value:,.2f}"


def standing(run: "AgentRun") -> str:
    """Return how a run stands: its status, or why it ended."""
    ended = run.status == "ended" and run.reason is not None
    word = run.reason.value if ended and run.reason is not None else run.status.value
    return "stopped" if word == "shutdown" else word.replace("_", " ")


def used(run: "AgentRun") -> str:
    """Return what a run used, in words."""
    tokens = run.prompt_tokens + run.completion_tokens
    parts = [counted(run.turns, "turn"), counted(run.calls, "call"), counted(tokens, "token")]
    parts += [f"cost {cost(run.cost)}"] if run.cost else []
    if run.ended_at is not None:
        parts.append(duration((run.ended_at - run.started_at).total_seconds()))
    return " · ".join(parts)


def run_shape(run: "AgentRun") -> Json:
    """Return a run as JSON."""
    return {
        **fields(run, "id task=request.task agent=request.agent_id executor=request.executor"),
        "model": run.model or run.request.model,
        **fields(run, "workspace=request.workspace profile=request.profile"),
        "limits": run.request.limits.model_dump(mode="json"),
        **fields(run, "memory=request.memory status reason told item=item_id? started_at ended_at"),
        **fields(run, "turns calls prompt_tokens completion_tokens"),
        "cost": round(run.cost, 6),
        **fields(run, "execution=execution_id?"),
    }


def step_shape(step: "RunStep") -> Json:
    """Return a step as JSON."""
    return {
        **fields(step, "number turn at kind text tool? arguments outcome item=item_id?"),
        **fields(step, "memories=memory_ids prompt_tokens completion_tokens"),
        "cost": round(step.cost, 6),
    }
