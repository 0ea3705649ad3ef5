"""``consolidate``: plans of what could leave or be merged; a person applies or drops them."""

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Block,
    Line,
    Lines,
    Note,
    Parts,
    Table,
    View,
    Warn,
    local_time,
)
from synthorg_tui.cli.records import Json, fields, pairs, shaped
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
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
_OPEN: Final = ("proposed", "due", "left")
"""States of groups that still can be applied or dropped."""


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(dict.fromkeys(int(part) for part in text.split(",") if part.strip()))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} isn't numbers with commas, as 1,3")
    return found


_PLAN: Final = Argument(
    "plan", metavar="N", type=whole(1), nargs="?", help="number of the plan (the latest)"
)
_GROUPS: Final = Argument("--groups", metavar="1,3", type=_numbers, help="only these groups of it")


@Command(
    "plan",
    "make a plan of what could leave or be merged; changes no memory",
    is_long=True,
    more="At most 5 % of\nan agent's memories leave by one plan, and none that is pinned.\n"
    "What a model wrote waits in `proposals`.",
    examples=("consolidate plan", "consolidate plan --agent claude-code --json"),
    arguments=(Argument("--agent", metavar="ID", help="only memories of this agent"),),
).asks
async def make_plan(context: Context, engine: AnyEngine) -> Answer | int:
    """Make a plan, with progress; the first Ctrl-C stops it."""
    with context.working() as job:
        plan = await engine.consolidation.plan(
            context.args.agent,
            actor=context.actor,
            cancel=job.requested,
            progress=lambda done, total: job.show(
                f"looking, {100 * done // total if total else 0} %"
            ),
        )
    if plan.cancelled:
        context.console.note("Stopped; no plan was made.")
        return CANCELLED
    if not plan.groups:
        return Answer(_plan_shape(plan), f"{_count(plan.memories_before)}: nothing to consolidate.")
    return await _shown(engine, plan)


@Command(
    "list",
    "list the latest plans and what became of them",
    arguments=(Argument("--limit", metavar="N", type=whole(1, 1000), default=20),),
).asks
async def list_plans(context: Context, engine: AnyEngine) -> Answer:
    """List the latest plans, newest first."""
    found = await engine.consolidation.latest(context.args.limit)
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
    none = "No plans; `synthorg-tui consolidate plan` makes one."
    header = ("PLAN", "MADE", "AGENT", "MEMORIES", "GROUPS")
    return Answer([_plan_shape(plan) for plan in found], Table(header, rows, empty=none))


@Command(
    "show",
    "show a plan: what stays, what leaves and why",
    arguments=(Argument("plan", metavar="N", type=whole(1), help="number of the plan"),),
).asks
async def show_plan(context: Context, engine: AnyEngine) -> Answer:
    """Show a plan with beginnings of the memories that are concerned."""
    return await _shown(engine, await engine.consolidation.show(context.args.plan))


@Command(
    "apply",
    "archive what a plan says, and store its texts",
    more=_PERSON_ONLY,
    examples=("consolidate apply 4", "consolidate apply 4 --groups 1,3"),
    arguments=(_PLAN, _GROUPS),
).asks
async def apply_plan(context: Context, engine: AnyEngine) -> Answer:
    """Apply a plan or some of its groups, once a person at the terminal has agreed."""
    from synthorg_tui.cli.terminal import deciding_person

    groups = context.args.groups
    plan = await _plan_of(context, engine)
    wanted = [group for group in plan.groups if not groups or group.number in groups]
    open_ones = [group for group in wanted if group.state in _OPEN]
    leaving = _count(sum(len(group.archived) for group in open_ones))
    question = f"Apply {counted(len(open_ones), 'group')} of plan {plan.number}, archiving"
    with deciding_person(engine.settings.approvals) as terminal:
        if open_ones:
            terminal.agree(f"{question} {leaving}?")
        with context.working() as job:
            outcome = await engine.consolidation.apply(
                plan.number,
                groups,
                actor=str(terminal.person),
                cancel=job.requested,
                progress=lambda done, total: job.show(f"group {done + 1:,} of {total:,}"),
            )
    undo = f"Undo with: synthorg-tui consolidate undo {plan.number}"
    return _outcome(outcome, "archived", undo if outcome.done else "")


@Command(
    "drop",
    "drop a plan or some of its groups; changes no memory",
    more=_PERSON_ONLY,
    examples=("consolidate drop 4", "consolidate drop 4 --groups 1,3"),
    arguments=(_PLAN, _GROUPS),
).asks
async def drop_plan(context: Context, engine: AnyEngine) -> Answer:
    """Drop groups of a plan; no memory is changed, so nobody is asked."""
    plan = await _plan_of(context, engine)
    groups = context.args.groups
    dropped = await engine.consolidation.drop(plan.number, groups, actor=context.actor)
    return Answer(
        {"plan": plan.number, "dropped": list(dropped)},
        f"Dropped {counted(len(dropped), 'group')} of plan {plan.number}.",
    )


@Command(
    "undo",
    "take back all that was applied of a plan",
    more=_PERSON_ONLY,
    examples=("consolidate undo 4",),
    arguments=(_PLAN,),
).asks
async def undo_plan(context: Context, engine: AnyEngine) -> Answer:
    """Take back what was applied of a plan, once a person at the terminal has agreed."""
    from synthorg_tui.cli.terminal import deciding_person

    plan = await _plan_of(context, engine, applied=True)
    with deciding_person(engine.settings.approvals) as terminal:
        terminal.agree(f"Take back what plan {plan.number} did?")
        with context.working() as job:
            outcome = await engine.consolidation.undo(
                plan.number,
                actor=str(terminal.person),
                cancel=job.requested,
                progress=lambda done, total: job.show(f"group {done + 1:,} of {total:,}"),
            )
    return _outcome(outcome, "live again")


GROUP: Final = Command(
    "consolidate",
    commands=(make_plan, list_plans, show_plan, apply_plan, drop_plan, undo_plan),
)


async def _plan_of(
    context: Context, engine: AnyEngine, *, applied: bool = False
) -> "ConsolidationPlan":
    """The plan that was named, else the latest of which something is open, or was applied."""
    if context.args.plan is not None:
        return await engine.consolidation.show(context.args.plan)
    states = ("applied",) if applied else _OPEN
    for plan in await engine.consolidation.latest():
        if any(group.state in states for group in plan.groups):
            return plan
    what = "nothing was applied" if applied else "no plan is open"
    raise UsageError(what, remedy="See `synthorg-tui consolidate list`.")


async def _shown(engine: AnyEngine, plan: "ConsolidationPlan") -> Answer:
    """A plan, with beginnings of the memories that are concerned."""
    ids = [key for group in plan.groups for key in (*group.kept[:1], *group.archived[:_SHOWN])]
    found = await engine.desk.entries(ids, deleted=True) if ids else ()
    return Answer(_plan_shape(plan), _plan_view(plan, {memory.id: memory for memory in found}))


def _plan_view(plan: "ConsolidationPlan", quoted: "dict[str, ListedMemory]") -> View:
    from synthorg_tui.memory.consolidation.plan import plan_words

    held = counted(plan.held_back, "text")
    return (
        Parts(
            [
                (f"Plan {plan.number}", "bold"),
                (f"for {plan.agent_id or 'all agents'},",),
                (f"made {local_time(plan.made_at)}", "dim"),
            ]
        ),
        f"{plan_words(plan.groups)}",
        f"{_count(plan.memories_before)} would be {plan.memories_after:,}, "
        f"{plan.tokens_before:,} tokens {plan.tokens_after:,}.",
        [_group_view(group, quoted) for group in plan.groups],
        plan.held_back > 0
        and Note(f"{held} more could leave: one plan takes no more than its share."),
        any(group.state == "proposed" for group in plan.groups)
        and Note(f"Next: `synthorg-tui consolidate apply {plan.number}`, or `drop`."),
    )


def _group_view(group: "PlannedGroup", quoted: "dict[str, ListedMemory]") -> View:
    leaving = counted(len(group.archived), "memory", "memories")
    sources = counted(len(group.members), "memory", "memories")
    waits = group.item_id and f"in Approvals: proposals show {group.item_id}"
    return (
        BLANK,
        Parts(
            [
                (f"{group.number}", "bold"),
                (group.kind.value, "bold"),
                (group.state.value, "dim"),
                (f"{group.agent_id}: {leaving}, {group.reason}",),
            ]
        ),
        [
            Parts([(what, colour), (key[:8], "dim"), (_line_of(quoted.get(key)),)])
            for what, colour, keys in (
                ("  stays", "green", group.kept[:1]),
                ("  leaves", "yellow", group.archived[:_SHOWN]),
            )
            for key in keys
        ],
        len(group.archived) > _SHOWN
        and Line(f"  and {len(group.archived) - _SHOWN:,} more", "dim"),
        group.text is not None
        and (
            Line(f"  new text, written by {group.text.written_by.value}, from {sources}:", "green"),
            Block(group.text.content, indent=4),
        ),
        Lines((f"  {note}" for note in (group.note, waits) if note), "dim"),
    )


def _outcome(outcome: "PlanOutcome", done: str, undo: str = "") -> Answer:
    counts = f"{_count(outcome.live_before)} before, {outcome.live_after:,} after"
    code = 1 if outcome.left and not outcome.done else 0
    return Answer(
        {
            **fields(outcome, "plan=number groups=done"),
            "left": pairs(outcome.left, "group", "reason"),
            "memories": outcome.memories,
            "live": fields(outcome, "before=live_before after=live_after"),
            "tokens": fields(outcome, "before=tokens_before after=tokens_after"),
            "untouched": pairs(outcome.untouched, "id", "reason"),
            **fields(outcome, "waiting cancelled"),
        },
        [
            f"{_count(outcome.memories)} {done}: {counts}.",
            Warn(*(f"group {number} was left: {why}" for number, why in outcome.left)),
            Warn(*(f"{key[:8]} stays as it is: {why}" for key, why in outcome.untouched)),
            bool(outcome.waiting) and Note(f"In Approvals: {', '.join(outcome.waiting)}"),
        ],
        CANCELLED if outcome.cancelled else code,
        undo,
    )


def _plan_shape(plan: "ConsolidationPlan") -> Json:
    return {
        **fields(plan, "plan=number? agent=agent_id made_at made_by"),
        "memories": fields(plan, "before=memories_before after=memories_after"),
        "tokens": fields(plan, "before=tokens_before after=tokens_after"),
        "held_back": plan.held_back,
        "groups": shaped(plan.groups, _group_shape),
    }


def _group_shape(group: "PlannedGroup") -> Json:
    text = group.text and fields(group.text, "content written_by") | {"sources": list(group.ids())}
    return {
        **fields(group, "group=number kind state agent=agent_id reason kept archived"),
        "tokens": fields(group, "before=tokens_before after=tokens_after"),
        "text": text,
        **fields(group, "added item=item_id note"),
    }


def _states(plan: "ConsolidationPlan") -> str:
    states = Counter(group.state.value for group in plan.groups)
    return ", ".join(f"{count:,} {state}" for state, count in states.items())


def _line_of(memory: "ListedMemory | None") -> str:
    return "(purged)" if memory is None else " ".join(memory.content.split())[:_WIDTH]


def _count(memories: int) -> str:
    return counted(memories, "memory", "memories")
