"""``consolidate``: plans of what could leave or be merged; a person applies or drops them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import CANCELLED, DeclinedError, UsageError
from synthorg_tui.cli.output import Console, ProgressLine, local_time
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.memory.consolidation.plan import (
        ConsolidationPlan,
        PlannedGroup,
        PlanOutcome,
    )
    from synthorg_tui.memory.listing import ListedMemory

_PERSON_ONLY: Final = "Only a person at a terminal decides, not an agent."
_SHOWN: Final = 3
"""Memories that leave which `show` quotes of each group."""
_WIDTH: Final = 90


def add(commands: Subparsers) -> None:
    """Add the parsers of ``consolidate`` to ``commands``."""
    actions = add_group(commands, "consolidate", COMMANDS["consolidate"].summary)
    making = add_command(
        actions,
        "plan",
        run_plan,
        "make a plan of what could leave or be merged; changes no memory",
        more="At most 5 % of\nan agent's memories leave by one plan, and none that is pinned.\n"
        "What a model wrote waits in `proposals`.",
        examples=("consolidate plan", "consolidate plan --agent claude-code --json"),
    )
    making.add_argument("--agent", metavar="ID", help="only memories of this agent")
    listing = add_command(
        actions, "list", run_list, "list the latest plans and what became of them"
    )
    listing.add_argument("--limit", metavar="N", type=whole(1, 1000), default=20)
    showing = add_command(
        actions, "show", run_show, "show a plan: what stays, what leaves and why", more=""
    )
    showing.add_argument("plan", metavar="N", type=whole(1), help="number of the plan")
    for name, run, summary, more in (
        ("apply", run_apply, "archive what a plan says, and store its texts", _PERSON_ONLY),
        ("drop", run_drop, "drop a plan or some of its groups; changes no memory", _PERSON_ONLY),
        ("undo", run_undo, "take back all that was applied of a plan", _PERSON_ONLY),
    ):
        parser = add_command(actions, name, run, summary, more=more, examples=_examples(name))
        parser.add_argument(
            "plan", metavar="N", type=whole(1), nargs="?", help="number of the plan (the latest)"
        )
        if name != "undo":
            parser.add_argument(
                "--groups", metavar="1,3", type=_numbers, help="only these groups of it"
            )


def _examples(name: str) -> tuple[str, ...]:
    return (f"consolidate {name} 4", *((f"consolidate {name} 4 --groups 1,3",) * (name != "undo")))


def _numbers(text: str) -> tuple[int, ...]:
    import argparse

    try:
        found = tuple(dict.fromkeys(int(part) for part in text.split(",") if part.strip()))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} isn't numbers with commas, as 1,3")
    return found


async def run_plan(context: "Context") -> int:
    """Make a plan, with progress; the first Ctrl-C stops it."""
    from synthorg_tui.cli.context import cancelled_by_signal

    args = context.args
    async with context.engine(is_long=True) as engine:
        line = ProgressLine(context.console)
        with cancelled_by_signal(context.console) as cancellation, line:
            plan = await engine.consolidation.plan(
                args.agent,
                actor=context.actor,
                cancel=cancellation.requested,
                progress=lambda done, total: line.update(_share(done, total)),
            )
        quoted = await _quoted(engine, plan)
    if plan.cancelled:
        context.console.note("Stopped; no plan was made.")
        return CANCELLED
    if context.wants_json:
        context.console.json(_plan_shape(plan))
    elif not plan.groups:
        context.console.line(f"{_count(plan.memories_before)}: nothing to consolidate.")
    else:
        _show_plan(context.console, plan, quoted)
    return 0


async def run_list(context: "Context") -> int:
    """List the latest plans, newest first."""
    async with context.engine() as engine:
        found = await engine.consolidation.latest(context.args.limit)
    if context.wants_json:
        context.console.json([_plan_shape(plan) for plan in found])
        return 0
    if not found:
        context.console.line("No plans; `synthorg-tui consolidate plan` makes one.")
        return 0
    rows = [
        (
            str(plan.number),
            local_time(plan.made_at),
            plan.agent_id or "all",
            str(sum(len(group.archived) for group in plan.groups)),
            _states(plan),
        )
        for plan in found
    ]
    context.console.table(("PLAN", "MADE", "AGENT", "MEMORIES", "GROUPS"), rows)
    return 0


async def run_show(context: "Context") -> int:
    """Show a plan with beginnings of the memories that are concerned."""
    async with context.engine() as engine:
        plan = await engine.consolidation.show(context.args.plan)
        quoted = await _quoted(engine, plan)
    if context.wants_json:
        context.console.json(_plan_shape(plan))
    else:
        _show_plan(context.console, plan, quoted)
    return 0


async def run_apply(context: "Context") -> int:
    """Apply a plan or some of its groups, once a person at the terminal has agreed."""
    from synthorg_tui.cli.context import cancelled_by_signal

    groups = context.args.groups
    async with context.engine() as engine:
        plan = await _plan_of(context, engine)
        wanted = [group for group in plan.groups if not groups or group.number in groups]
        open_ones = [g for g in wanted if g.state in ("proposed", "due", "left")]
        leaving = sum(len(group.archived) for group in open_ones)
        question = f"Apply {counted(len(open_ones), 'group')} of plan {plan.number}, archiving"
        with _person(engine) as terminal:
            if open_ones:
                _agree(terminal, f"{question} {_count(leaving)}?")
            line = ProgressLine(context.console)
            with cancelled_by_signal(context.console) as cancellation, line:
                outcome = await engine.consolidation.apply(
                    plan.number,
                    groups,
                    actor=str(terminal.person),
                    cancel=cancellation.requested,
                    progress=lambda done, total: line.update(f"group {done + 1:,} of {total:,}"),
                )
    return _report(context, outcome, "archived", f"consolidate undo {plan.number}")


async def run_undo(context: "Context") -> int:
    """Take back what was applied of a plan, once a person at the terminal has agreed."""
    from synthorg_tui.cli.context import cancelled_by_signal

    async with context.engine() as engine:
        plan = await _plan_of(context, engine, applied=True)
        with _person(engine) as terminal:
            _agree(terminal, f"Take back what plan {plan.number} did?")
            line = ProgressLine(context.console)
            with cancelled_by_signal(context.console) as cancellation, line:
                outcome = await engine.consolidation.undo(
                    plan.number,
                    actor=str(terminal.person),
                    cancel=cancellation.requested,
                    progress=lambda done, total: line.update(f"group {done + 1:,} of {total:,}"),
                )
    return _report(context, outcome, "live again", "")


async def run_drop(context: "Context") -> int:
    """Drop groups of a plan; no memory is changed, so nobody is asked."""
    async with context.engine() as engine:
        plan = await _plan_of(context, engine)
        dropped = await engine.consolidation.drop(
            plan.number, context.args.groups, actor=context.actor
        )
    line = f"Dropped {counted(len(dropped), 'group')} of plan {plan.number}."
    return context.print_result({"plan": plan.number, "dropped": list(dropped)}, line)


@contextmanager
def _person(engine: "AnyEngine") -> "Iterator[Terminal]":
    """The person at the terminal, by the rules that hold for approving proposals."""
    from synthorg_tui.cli.terminal import controlling_terminal, require_open_to_decisions

    require_open_to_decisions(engine.settings.approvals)
    with controlling_terminal() as terminal:
        yield terminal


def _agree(terminal: "Terminal", question: str) -> None:
    if terminal.ask(f"{question} [y/N]").lower() not in ("y", "yes"):
        raise DeclinedError("nothing was changed")


async def _plan_of(
    context: "Context", engine: "AnyEngine", *, applied: bool = False
) -> "ConsolidationPlan":
    """The plan that was named, else the latest of which something is open, or was applied."""
    if context.args.plan is not None:
        return await engine.consolidation.show(context.args.plan)
    states = ("applied",) if applied else ("proposed", "due", "left")
    for plan in await engine.consolidation.latest():
        if any(group.state in states for group in plan.groups):
            return plan
    what = "nothing was applied" if applied else "no plan is open"
    raise UsageError(what, remedy="See `synthorg-tui consolidate list`.")


async def _quoted(engine: "AnyEngine", plan: "ConsolidationPlan") -> "dict[str, ListedMemory]":
    """The memories that are quoted of each group, by id."""
    ids = [key for group in plan.groups for key in (*group.kept[:1], *group.archived[:_SHOWN])]
    found = await engine.desk.entries(ids, deleted=True) if ids else ()
    return {memory.id: memory for memory in found}


def _show_plan(
    console: Console, plan: "ConsolidationPlan", quoted: "dict[str, ListedMemory]"
) -> None:
    from synthorg_tui.memory.consolidation.plan import plan_words

    console.parts(
        [
            (f"Plan {plan.number}", "bold"),
            (f"for {plan.agent_id or 'all agents'},",),
            (f"made {local_time(plan.made_at)}", "dim"),
        ]
    )
    console.line(f"{plan_words(plan.groups)}")
    console.line(
        f"{_count(plan.memories_before)} would be {plan.memories_after:,}, "
        f"{plan.tokens_before:,} tokens {plan.tokens_after:,}."
    )
    for group in plan.groups:
        _show_group(console, group, quoted)
    if plan.held_back:
        held = counted(plan.held_back, "text")
        console.note(f"{held} more could leave: one plan takes no more than its share.")
    if any(group.state == "proposed" for group in plan.groups):
        console.note(f"Next: `synthorg-tui consolidate apply {plan.number}`, or `drop`.")


def _show_group(console: Console, group: "PlannedGroup", quoted: "dict[str, ListedMemory]") -> None:
    console.line()
    leaving = counted(len(group.archived), "memory", "memories")
    console.parts(
        [
            (f"{group.number}", "bold"),
            (group.kind.value, "bold"),
            (group.state.value, "dim"),
            (f"{group.agent_id}: {leaving}, {group.reason}",),
        ]
    )
    for key in group.kept[:1]:
        console.parts([("  stays", "green"), (key[:8], "dim"), (_line_of(quoted.get(key)),)])
    for key in group.archived[:_SHOWN]:
        console.parts([("  leaves", "yellow"), (key[:8], "dim"), (_line_of(quoted.get(key)),)])
    if len(group.archived) > _SHOWN:
        console.line(f"  and {len(group.archived) - _SHOWN:,} more", "dim")
    if group.text is not None:
        written = f"  new text, written by {group.text.written_by.value}"
        sources = counted(len(group.members), "memory", "memories")
        console.line(f"{written}, from {sources}:", "green")
        console.block(group.text.content, indent=4)
    for note in (group.note, group.item_id and f"in Approvals: proposals show {group.item_id}"):
        if note:
            console.line(f"  {note}", "dim")


def _report(context: "Context", outcome: "PlanOutcome", done: str, undo: str) -> int:
    if context.wants_json:
        context.console.json(_outcome_shape(outcome))
    else:
        console = context.console
        counts = f"{_count(outcome.live_before)} before, {outcome.live_after:,} after"
        console.line(f"{_count(outcome.memories)} {done}: {counts}.")
        for number, why in outcome.left:
            console.warning(f"group {number} was left: {why}")
        for memory_id, why in outcome.untouched:
            console.warning(f"{memory_id[:8]} stays as it is: {why}")
        if outcome.waiting:
            console.note(f"In Approvals: {', '.join(outcome.waiting)}")
        if undo and outcome.done:
            console.note(f"Undo with: synthorg-tui {undo}")
    if outcome.cancelled:
        return CANCELLED
    return 1 if outcome.left and not outcome.done else 0


def _plan_shape(plan: "ConsolidationPlan") -> Json:
    return {
        "plan": plan.number or None,
        "agent": plan.agent_id,
        "made_at": plan.made_at.isoformat(),
        "made_by": plan.made_by,
        "memories": {"before": plan.memories_before, "after": plan.memories_after},
        "tokens": {"before": plan.tokens_before, "after": plan.tokens_after},
        "held_back": plan.held_back,
        "groups": [_group_shape(group) for group in plan.groups],
    }


def _group_shape(group: "PlannedGroup") -> Json:
    text: dict[str, object] | None = None
    if group.text is not None:
        text = {
            "content": group.text.content,
            "written_by": group.text.written_by.value,
            "sources": list(group.ids()),
        }
    return {
        "group": group.number,
        "kind": group.kind.value,
        "state": group.state.value,
        "agent": group.agent_id,
        "reason": group.reason,
        "kept": list(group.kept),
        "archived": list(group.archived),
        "tokens": {"before": group.tokens_before, "after": group.tokens_after},
        "text": text,
        "added": group.added,
        "item": group.item_id,
        "note": group.note,
    }


def _outcome_shape(outcome: "PlanOutcome") -> Json:
    return {
        "plan": outcome.number,
        "groups": list(outcome.done),
        "left": [{"group": number, "reason": why} for number, why in outcome.left],
        "memories": outcome.memories,
        "live": {"before": outcome.live_before, "after": outcome.live_after},
        "tokens": {"before": outcome.tokens_before, "after": outcome.tokens_after},
        "untouched": [{"id": key, "reason": why} for key, why in outcome.untouched],
        "waiting": list(outcome.waiting),
        "cancelled": outcome.cancelled,
    }


def _states(plan: "ConsolidationPlan") -> str:
    states: dict[str, int] = {}
    for group in plan.groups:
        states[group.state.value] = states.get(group.state.value, 0) + 1
    return ", ".join(f"{count:,} {state}" for state, count in states.items())


def _line_of(memory: "ListedMemory | None") -> str:
    return "(purged)" if memory is None else " ".join(memory.content.split())[:_WIDTH]


def _share(done: int, total: int) -> str:
    return f"looking, {100 * done // total if total else 0} %"


def _count(memories: int) -> str:
    return counted(memories, "memory", "memories")
