"""The subcommands of ``memories`` that change nothing: ``list``, ``show`` and ``history``."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Subparsers, add_command, add_memory_filters, whole
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import local_time
from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import counted
from synthorg_tui.memory.errors import MemoryNotFoundError

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.executions.store import Excerpt
    from synthorg_tui.memory.extensions import BrowseFilter, MemoryAdmin
    from synthorg_tui.memory.listing import ListedMemory

SHORT_ID: Final = 8
"""Characters of an id that are shown where it stands for a memory among others."""
MAX_NAMED: Final = 10
"""Memories that are listed one by one; of more only the number is printed."""
_SORTS: Final = ("newest", "oldest", "agent", "category", "confidence")


def add_reading(actions: Subparsers) -> None:
    """Add ``list``, ``show`` and ``history`` to the subcommands of ``memories``."""
    parser = add_command(
        actions,
        "list",
        run_list,
        "list memories",
        examples=("memories list --since 7d", "memories list --word git --without test --deleted"),
    )
    add_memory_filters(parser)
    parser.add_argument(
        "--word", action="append", default=[], metavar="TEXT", help="must occur (repeatable)"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="TEXT", help="must not occur"
    )
    parser.add_argument(
        "--deleted", action="store_true", help="deleted and expired memories instead"
    )
    parser.add_argument(
        "--sort", choices=_SORTS, default="newest", metavar="ORDER", help=f"{', '.join(_SORTS)}"
    )
    parser.add_argument("--offset", metavar="N", type=whole(0), default=0, help="skip so many")
    parser.add_argument(
        "--limit", metavar="N", type=whole(1, 1000), default=50, help="at most (default 50)"
    )
    parser = add_command(actions, "show", run_show, "show a memory and where it comes from")
    parser.add_argument("id", metavar="ID")
    parser.add_argument(
        "--context",
        metavar="N",
        type=whole(0, 100),
        default=0,
        help="transcript lines around the source",
    )
    parser = add_command(actions, "history", run_history, "show every change to a memory")
    parser.add_argument("id", metavar="ID")


async def run_list(context: "Context") -> int:
    """Print the matching memories, from ``--offset`` on and at most ``--limit`` of them."""
    args = context.args
    async with context.engine() as engine:
        page = await engine.desk.browse(
            _filter(context), sort=args.sort, offset=args.offset, limit=args.limit
        )
        resolver = shapes.SourceResolver(engine.executions)
        if context.wants_json:
            memories = [
                shapes.memory(entry, await resolver.resolve(entry.source)) for entry in page.entries
            ]
            context.console.json({"total": page.total, "offset": page.offset, "memories": memories})
            return 0
        is_empty = not page.total and not (await engine.desk.facets()).agents
    if not page.entries:
        reason = "Nothing that far down." if page.total else "No memory matches."
        context.console.line(
            "No memories yet; they come with `synthorg-tui import`." if is_empty else reason
        )
        return 0
    rows = [
        (
            entry.id[:SHORT_ID],
            local_time(entry.created_at),
            entry.agent_id,
            entry.category.value,
            entry.content,
        )
        for entry in page.entries
    ]
    context.console.table(("ID", "CREATED", "AGENT", "CATEGORY", "CONTENT"), rows)
    context.console.line(f"{len(rows):,} of {counted(page.total, 'memory', 'memories')}", "dim")
    return 0


def _filter(context: "Context") -> "BrowseFilter":
    from synthorg_tui.memory.extensions import BrowseFilter

    args = context.args
    return BrowseFilter(
        agents=tuple(args.agent),
        categories=tuple(MemoryCategory(name) for name in args.category),
        tags=tuple(args.tag),
        since=args.since,
        until=args.until,
        words=tuple(args.word),
        without=tuple(args.without),
        deleted=args.deleted,
    )


async def run_show(context: "Context") -> int:
    """Print one memory, its metadata and the transcript lines it comes from."""
    from synthorg_tui.executions.models import SourceRef

    async with context.engine() as engine:
        entry = await find_one(engine.desk, context.args.id, deleted=True)
        source = await shapes.SourceResolver(engine.executions).resolve(entry.source)
        ref = SourceRef.parse(entry.source or "")
        excerpt = (
            await engine.executions.excerpt(ref, context=context.args.context) if ref else None
        )
    if context.wants_json:
        lines = (
            [{"line": number, "text": text} for number, text in excerpt.lines] if excerpt else []
        )
        context.console.json({**shapes.memory(entry, source), "excerpt": lines})
    else:
        _show_entry(context, entry, shapes.place(source), excerpt)
    return 0


def _show_entry(
    context: "Context", entry: "ListedMemory", place: str, excerpt: "Excerpt | None"
) -> None:
    from synthorg_tui.memory.retrieval.tags import parse_tags

    console = context.console
    tags = parse_tags(entry.tags)
    console.block(entry.content)
    console.line()
    console.facts(
        [
            ("id", entry.id),
            ("agent", entry.agent_id),
            ("category", entry.category.value),
            ("namespace", entry.namespace),
            ("fact key", tags.fact_key or ""),
            ("sensitivity", tags.sensitivity.value),
            ("tags", ", ".join(entry.tags)),
            ("confidence", f"{entry.confidence:g}"),
            ("created", local_time(entry.created_at)),
            ("updated", local_time(entry.updated_at)),
            ("expires", local_time(entry.expires_at)),
            ("source", place),
        ]
    )
    if excerpt:
        console.line()
        for number, text in excerpt.lines:
            inside = excerpt.ref.first_line <= number <= excerpt.ref.last_line
            console.parts([(f"{number:>6}", "cyan" if inside else "dim"), (text[:2000],)])


async def run_history(context: "Context") -> int:
    """Print every change to a memory, newest first."""
    async with context.engine() as engine:
        memory_id = await any_id(engine.desk, context.args.id)
        changes = await engine.desk.history(memory_id)
    if not changes:
        raise _not_found(context.args.id)
    if context.wants_json:
        history = [shapes.revision(change) for change in changes]
        context.console.json({"id": memory_id, "history": history})
        return 0
    for change in changes:
        context.console.parts(
            [
                (f"{change.revision:>6}", "dim"),
                (local_time(change.at), "dim"),
                (change.kind.value, "bold"),
                (f"by {actor_words(change.actor)}",),
            ]
        )
        for field in dict.fromkeys((*change.before, *change.after)):
            before, after = change.before.get(field), change.after.get(field)
            context.console.block(f"{field}: {_shown(before)} -> {_shown(after)}", indent=4)
    return 0


async def find_one(desk: "MemoryAdmin", id_start: str, *, deleted: bool = False) -> "ListedMemory":
    """Return the memory whose id starts with ``id_start``.

    ``deleted`` searches the deleted memories instead of the active ones. Raises
    ``MemoryNotFoundError`` for no match, and ``UsageError`` for several.
    """
    entries = await desk.lookup(id_start.lower(), deleted=deleted, limit=MAX_NAMED)
    if not entries:
        raise _not_found(id_start)
    if len(entries) > 1:
        names = ", ".join(entry.id for entry in entries)
        raise UsageError(f"several ids start with {id_start!r}: {names}")
    return entries[0]


async def any_id(desk: "MemoryAdmin", id_start: str) -> str:
    """Return the full id of a memory, deleted or not; one looked up in vain may be purged."""
    try:
        return (await find_one(desk, id_start, deleted=True)).id
    except MemoryNotFoundError:
        return id_start


def _not_found(id_start: str) -> MemoryNotFoundError:
    remedy = "See `synthorg-tui memories list`, also with --deleted."
    return MemoryNotFoundError(f"no memory has an id that starts with {id_start!r}", remedy=remedy)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
