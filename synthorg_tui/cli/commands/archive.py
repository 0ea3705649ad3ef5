"""``archive``: memories that are kept as they are and given to nobody, and how they come back."""

from dataclasses import replace
from typing import Final

from synthorg_tui.cli.arguments import IDS, MEMORY_FILTERS, OFFSET, Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import search
from synthorg_tui.cli.commands.memories_reading import (
    SHORT_ID,
    changed,
    filter_of,
    find_one,
    ids_of,
    page_json,
    title_of,
)
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, Table, local_time
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.errors import MemoryNotFoundError

_REASONS: Final = tuple(reason.value for reason in ArchiveReason)
_ABOUT: Final = """\
Archived memories are kept byte for byte, with their history, but no agent is given them
and they don't count against an agent's limit. Memories come here that expired, were
merged or replaced, or made room for others, and those that a person puts here."""
_UNDO: Final = "`synthorg-tui memories undo` takes it back."


@Command(
    "list",
    "list archived memories, the newest first",
    arguments=(
        *MEMORY_FILTERS,
        Argument("--why", choices=_REASONS, metavar="REASON", help=f"only {', '.join(_REASONS)}"),
        OFFSET,
        limit(50),
    ),
).asks
async def list_archived(context: Context, engine: AnyEngine) -> Answer:
    """Print archived memories with when and why they were archived."""
    why = (ArchiveReason(context.args.why),) if context.args.why else ()
    what = replace(await filter_of(context, engine), states=("archived",), archived_for=why)
    page = await engine.desk.browse(what, offset=context.args.offset, limit=context.args.limit)
    rows = [
        (
            entry.id[:SHORT_ID],
            local_time(entry.archived_at),
            (entry.archived_why or "").replace("_", " "),
            entry.kind.value,
            title_of(entry)[0],
        )
        for entry in page.entries
    ]
    total = counted(page.total, "archived memory", "archived memories")
    view = Table(("ID", "ARCHIVED", "WHY", "KIND", "TITLE"), rows), f"{len(rows):,} of {total}"
    none = "Nothing that far down." if page.total else "No archived memory matches."
    return Answer(await page_json(page, engine), view if rows else none)


@Command("add", "archive memories by hand", more=_UNDO, arguments=(IDS,)).asks
async def add_memories(context: Context, engine: AnyEngine) -> Answer:
    """Archive live memories."""
    entries = [await find_one(engine.desk, start) for start in context.args.ids]
    count = await engine.desk.archive(ids_of(entries), actor=context.actor)
    return changed("archived", count, "Undo with: synthorg-tui archive restore ID")


@Command(
    "restore",
    "make archived memories live again, as they were",
    more=_UNDO,
    arguments=(IDS,),
).asks
async def restore(context: Context, engine: AnyEngine) -> Answer:
    """Make archived memories live again."""
    entries = [await find_one(engine.desk, start, archived=True) for start in context.args.ids]
    for entry in entries:
        if entry.archived_at is None:
            raise MemoryNotFoundError(
                f"{entry.id[:SHORT_ID]} is not in the archive",
                remedy="See `synthorg-tui archive list`.",
            )
    count = await engine.desk.restore(ids_of(entries), actor=context.actor)
    return changed("restored", count)


GROUP: Final = Command(
    "archive",
    about=_ABOUT,
    examples=(
        "archive list --why expired",
        'archive search "release checklist"',
        "archive add 3f2a && synthorg-tui archive restore 3f2a",
    ),
    commands=(
        list_archived,
        Command(
            "search",
            "find archived memories by meaning and by words",
            more="`synthorg-tui search --archived` is the same.",
            arguments=(search.QUERY, *MEMORY_FILTERS, limit(10)),
            preset={"archived": True, "as_of": None},
        ).runs(search.find_memories),
        add_memories,
        restore,
    ),
)
