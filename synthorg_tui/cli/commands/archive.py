"""``archive``: memories that are kept as they are and given to nobody, and how they come back."""

from dataclasses import replace
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, add_memory_filters, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.memories_reading import (
    SHORT_ID,
    filter_of,
    find_one,
    ids_of,
    report_changed,
)
from synthorg_tui.cli.commands.search import run_search
from synthorg_tui.cli.output import cut, local_time
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.errors import MemoryNotFoundError

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.cli.output import Console
    from synthorg_tui.memory.listing import MemoryPage

_REASONS = tuple(reason.value for reason in ArchiveReason)


def add(commands: Subparsers) -> None:
    """Add the parser of ``archive`` to ``commands``."""
    actions = add_group(
        commands,
        "archive",
        COMMANDS["archive"].summary,
        "Archived memories are kept byte for byte, with their history, but no agent is given them\n"
        "and they don't count against an agent's limit. Memories come here that expired, were\n"
        "merged or replaced, or made room for others, and those that a person puts here.",
        examples=(
            "archive list --why expired",
            'archive search "release checklist"',
            "archive add 3f2a && synthorg-tui archive restore 3f2a",
        ),
    )
    _add_reading(actions)
    for name, run, summary in (
        ("add", run_add, "archive memories by hand"),
        ("restore", run_restore, "make archived memories live again, as they were"),
    ):
        undo = "`synthorg-tui memories undo` takes it back."
        parser = add_command(actions, name, run, summary, more=undo)
        parser.add_argument("ids", nargs="+", metavar="ID")


def _add_reading(actions: Subparsers) -> None:
    parser = add_command(actions, "list", run_list, "list archived memories, the newest first")
    add_memory_filters(parser)
    parser.add_argument(
        "--why", choices=_REASONS, metavar="REASON", help=f"only {', '.join(_REASONS)}"
    )
    parser.add_argument("--offset", metavar="N", type=whole(0), default=0, help="skip so many")
    parser.add_argument(
        "--limit", metavar="N", type=whole(1, 1000), default=50, help="at most (default 50)"
    )
    parser = add_command(
        actions,
        "search",
        run_search,
        "find archived memories by meaning and by words",
        more="`synthorg-tui search --archived` is the same.",
    )
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    add_memory_filters(parser)
    parser.add_argument(
        "--limit", metavar="N", type=whole(1, 1000), default=10, help="at most (default 10)"
    )
    parser.set_defaults(archived=True, as_of=None)


async def run_list(context: "Context") -> int:
    """Print archived memories with when and why they were archived."""
    args = context.args
    async with context.engine() as engine:
        why = (ArchiveReason(args.why),) if args.why else ()
        what = replace(await filter_of(context, engine), states=("archived",), archived_for=why)
        page = await engine.desk.browse(what, offset=args.offset, limit=args.limit)
        resolver = shapes.SourceResolver(engine.executions)
        sources = [await resolver.resolve(entry.source) for entry in page.entries]
    if context.wants_json:
        memories = [shapes.memory(*each) for each in zip(page.entries, sources, strict=True)]
        context.console.json({"total": page.total, "offset": page.offset, "memories": memories})
    elif page.entries:
        _print_page(context.console, page)
    else:
        context.console.line(
            "Nothing that far down." if page.total else "No archived memory matches."
        )
    return 0


def _print_page(console: "Console", page: "MemoryPage") -> None:
    from synthorg_tui.memory.kinds import TITLE_STARTS

    rows = []
    for entry in page.entries:
        title, _, _ = entry.content.strip().partition("\n")
        title = title.removeprefix(TITLE_STARTS.get(entry.kind, ""))
        why = (entry.archived_why or "").replace("_", " ")
        at = local_time(entry.archived_at)
        rows.append((entry.id[:SHORT_ID], at, why, entry.kind.value, cut(title, console.width)))
    console.table(("ID", "ARCHIVED", "WHY", "KIND", "TITLE"), rows)
    console.line(f"{len(rows):,} of {counted(page.total, 'archived memory', 'archived memories')}")


async def run_add(context: "Context") -> int:
    """Archive live memories."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start) for start in context.args.ids]
        count = await engine.desk.archive(ids_of(entries), actor=context.actor)
    return report_changed(context, "archived", count, "Undo with: synthorg-tui archive restore ID")


async def run_restore(context: "Context") -> int:
    """Make archived memories live again."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, archived=True) for start in context.args.ids]
        for entry in entries:
            if entry.archived_at is None:
                raise MemoryNotFoundError(
                    f"{entry.id[:SHORT_ID]} is not in the archive",
                    remedy="See `synthorg-tui archive list`.",
                )
        count = await engine.desk.restore(ids_of(entries), actor=context.actor)
    return report_changed(context, "restored", count)
