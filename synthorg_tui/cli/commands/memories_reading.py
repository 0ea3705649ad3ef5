"""The subcommands of ``memories`` that change nothing: ``list``, ``show`` and ``history``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import (
    ID,
    MEMORY_FILTERS,
    OFFSET,
    Argument,
    ArgumentGroup,
    limit,
    whole,
)
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.naming import known_projects, project_named, the_only
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Block,
    Facts,
    Line,
    Parts,
    Table,
    View,
    cut,
    local_time,
)
from synthorg_tui.cli.records import Json, shaped
from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted
from synthorg_tui.memory.errors import MemoryNotFoundError

if TYPE_CHECKING:
    from synthorg_tui.executions.models import Execution, SourceRef
    from synthorg_tui.executions.store import Excerpt
    from synthorg_tui.memory.extensions import MemoryAdmin
    from synthorg_tui.memory.listing import BrowseFilter, ListedMemory, MemoryPage, MemoryRevision

SHORT_ID: Final = 8
"""Characters of an id that are shown where it stands for a memory among others."""
MAX_AGENT: Final = 12
"""Columns for an agent's id in a table."""
MAX_ENTRIES: Final = 15
"""Entries of a session that are shown with a memory: a screen of them."""
MAX_NAMED: Final = 10
"""Memories that are listed one by one; of more only the number is printed."""
_SORTS: Final = ("newest", "oldest", "agent", "category", "confidence")


@Command(
    "list",
    "list memories",
    examples=("memories list --since 7d", "memories list --word git --without test --deleted"),
    arguments=(
        *MEMORY_FILTERS,
        Argument(
            "--word", action="append", default=[], metavar="TEXT", help="must occur (repeatable)"
        ),
        Argument("--without", action="append", default=[], metavar="TEXT", help="must not occur"),
        ArgumentGroup(
            Argument("--deleted", action="store_true", help="deleted and expired memories instead"),
            Argument("--archived", action="store_true", help="archived memories instead"),
        ),
        Argument("--shared", action="store_true", help="only what is given to all agents"),
        Argument(
            "--sort", choices=_SORTS, default="newest", metavar="ORDER", help=f"{', '.join(_SORTS)}"
        ),
        OFFSET,
        limit(50),
    ),
).asks
async def list_memories(context: Context, engine: AnyEngine) -> Answer:
    """Print the matching memories, from ``--offset`` on and at most ``--limit`` of them."""
    args = context.args
    wanted = replace(
        await filter_of(context, engine),
        words=tuple(args.word),
        without=tuple(args.without),
        deleted=args.deleted,
        states=(*("archived",) * args.archived, *("shared",) * args.shared),
    )
    page = await engine.desk.browse(wanted, sort=args.sort, offset=args.offset, limit=args.limit)
    if context.wants_json:
        return Answer(await page_json(page, engine), "")
    facets = await engine.desk.facets()
    reason = "Nothing that far down." if page.total else "No memory matches."
    if not page.total and not facets.agents:
        first = "agents write them" if facets.final else "they come with `synthorg-tui import`"
        reason = f"No memories yet; {first}."
    return Answer(None, _page_view(page) if page.entries else reason)


def _page_view(page: "MemoryPage") -> View:
    """A table in which the title has most of the room; an agent is named where it changes."""
    from synthorg_tui.memory.listing import SHARED_OWNER

    owners = [entry.agent_id for entry in page.entries]
    table: list[tuple[str, ...]] = [
        ("ID", "CREATED", "AGENT", "KIND", "TITLE"),
        *(
            (
                entry.id[:SHORT_ID],
                local_time(entry.created_at),
                cut(_whose(entry), MAX_AGENT) if entry.agent_id != before else "",
                entry.kind.value,
                title_of(entry)[0],
            )
            for entry, before in zip(page.entries, ["", *owners], strict=False)
        ),
    ]
    told = f"{len(owners):,} of {counted(page.total, 'memory', 'memories')}"
    if len(set(owners)) == 1:
        table = [(*row[:2], *row[3:]) for row in table]
        told += ", for all agents" if owners[0] == SHARED_OWNER else f", all of {owners[0]}"
    return Table(table[0], table[1:]), Line(told, "dim")


async def page_json(page: "MemoryPage", engine: AnyEngine) -> Json:
    """Return a page of memories as JSON, with their sources."""
    resolver = shapes.SourceResolver(engine.executions)
    return {
        "total": page.total,
        "offset": page.offset,
        "memories": [
            shapes.memory(each, await resolver.resolve(each.source)) for each in page.entries
        ],
    }


def title_of(entry: "ListedMemory") -> tuple[str, str]:
    """Return the first line of a memory, without what all of its kind begin with, and the rest."""
    from synthorg_tui.memory.kinds import TITLE_STARTS

    title, _, rest = entry.content.strip().partition("\n")
    return title.removeprefix(TITLE_STARTS.get(entry.kind, "")), rest


async def filter_of(context: Context, engine: AnyEngine) -> "BrowseFilter":
    """Return the filter that the options ``MEMORY_FILTERS`` make."""
    from synthorg_tui.cli.commands.sessions_reading import find_session
    from synthorg_tui.memory.kinds import MemoryKind
    from synthorg_tui.memory.listing import BrowseFilter, owner_named

    args = context.args
    return BrowseFilter(
        agents=tuple(map(owner_named, args.agent)),
        categories=tuple(MemoryCategory(name) for name in args.category),
        tags=tuple(args.tag),
        since=args.since,
        until=args.until,
        projects=await _projects(context, engine),
        kinds=tuple(map(MemoryKind, args.kind)),
        sessions=tuple([(await find_session(engine, each)).id for each in args.session]),
    )


async def _projects(context: Context, engine: AnyEngine) -> tuple[str, ...]:
    from synthorg_tui.memory.listing import projects_named

    found: list[str] = []
    for named in context.args.project:
        known = projects_named(named, await known_projects(engine))
        found += known or [await project_named(engine, named)]
    return tuple(dict.fromkeys(found))


@Command(
    "show",
    "show a memory and where it comes from",
    arguments=(
        ID,
        Argument(
            "--context",
            metavar="N",
            type=whole(0, 100),
            default=0,
            help="transcript lines around the source",
        ),
        Argument(
            "--raw", action="store_true", help="all fields, and the lines as the store has them"
        ),
    ),
).asks
async def show_memory(context: Context, engine: AnyEngine) -> Answer:
    """Print one memory, its metadata and the transcript lines it comes from."""
    from synthorg_tui.executions.models import SourceRef

    entry = await find_one(engine.desk, context.args.id, deleted=True)
    source = await shapes.SourceResolver(engine.executions).resolve(entry.source)
    ref, around = SourceRef.parse(entry.source or ""), context.args.context
    stands = await engine.desk.stands_for(entry.id) if entry.archived_at else None
    if not (context.wants_json or context.args.raw):
        execution = await engine.executions.get(ref.execution_id) if ref else None
        lines = _conversation(execution, ref, around) if execution and ref else ""
        return Answer(None, (_readable(entry, stands, ref), lines))
    excerpt = await engine.executions.excerpt(ref, context=around) if ref else None
    numbered = [{"line": number, "text": text} for number, text in excerpt.lines] if excerpt else []
    return Answer(
        {
            **shapes.memory(entry, source),
            "excerpt": numbered,
            "replaced_by": stands.id if stands else None,
        },
        _raw(entry, shapes.place(source), excerpt),
    )


def _readable(
    entry: "ListedMemory", stands: "ListedMemory | None", ref: "SourceRef | None"
) -> View:
    """What a person wants to know of a memory; ``stands`` is what stands for it."""
    from synthorg_tui.memory.enums import Sensitivity
    from synthorg_tui.memory.retrieval.tags import parse_tags

    sensitivity = parse_tags(entry.tags).sensitivity
    title, text = title_of(entry)
    session = entry.session_id or (ref.execution_id if ref else "")
    facts = (
        ("kind", f"{entry.kind.value}, {entry.category.value}"),
        ("project", short_path(entry.project) if entry.project else ""),
        ("session", f"{session} of {entry.agent_id}" if session else ""),
        ("agent", "" if session else _whose(entry)),
        ("when", local_time(entry.created_at)),
        ("changed", local_time(entry.updated_at)),
        ("expires", local_time(entry.expires_at)),
        ("deleted", local_time(entry.deleted_at)),
        ("archived", archived_words(entry)),
        ("replaced by", f"{stands.id[:8]} {title_of(stands)[0]}" if stands else ""),
        *_times(entry),
        ("sensitivity", "" if sensitivity is Sensitivity.PRIVATE else sensitivity.value),
        ("tags", " ".join(f"#{tag}" for tag in entry.tags)),
        ("id", entry.id),
    )
    body = (BLANK, Block(text.strip("\n"))) if text.strip() else ""
    return Line(title, "bold"), Facts(facts), body


def _conversation(execution: "Execution", ref: "SourceRef", around: int) -> View:
    """A screen of the session that the memory was drawn from, one line an entry."""
    from synthorg_tui.cli.session_text import brief
    from synthorg_tui.executions.conversation import conversation_of

    first, last = ref.first_line - around, ref.last_line + around
    told = conversation_of(execution)
    chosen = [
        index
        for index, entry in enumerate(told.entries)
        if entry.last_line >= first and entry.first_line <= last
    ]
    more = f"and {len(chosen) - MAX_ENTRIES:,} more; --raw prints their lines"
    return (
        BLANK,
        brief(told, chosen[:MAX_ENTRIES]),
        len(chosen) > MAX_ENTRIES and Line(more, "dim"),
    )


def _raw(entry: "ListedMemory", place: str, excerpt: "Excerpt | None") -> View:
    from synthorg_tui.memory.retrieval.tags import parse_tags

    tags = parse_tags(entry.tags)
    facts = (
        ("id", entry.id),
        ("agent", _whose(entry)),
        ("category", entry.category.value),
        ("namespace", entry.namespace),
        ("fact key", tags.fact_key or ""),
        ("sensitivity", tags.sensitivity.value),
        ("tags", ", ".join(entry.tags)),
        ("confidence", f"{entry.confidence:g}"),
        ("created", local_time(entry.created_at)),
        ("updated", local_time(entry.updated_at)),
        ("expires", local_time(entry.expires_at)),
        ("archived", archived_words(entry)),
        ("recorded", local_time(entry.recorded_at)),
        *_times(entry),
        ("source", place),
    )
    ref = excerpt.ref if excerpt is not None else None
    lines = [
        Parts([(f"{number:>6}", "cyan" if inside else "dim"), (text[:2000],)])
        for number, text in (excerpt.lines if excerpt else ())
        for inside in [ref is not None and ref.first_line <= number <= ref.last_line]
    ]
    return Block(entry.content), BLANK, Facts(facts), excerpt is not None and (BLANK, lines)


def _times(entry: "ListedMemory") -> list[tuple[str, str]]:
    """When a fact or statement is true, and whether it stands on one that isn't any more."""
    replaced = local_time(entry.stands_on_replaced)
    return [
        ("true from", local_time(entry.valid_from)),
        ("true until", local_time(entry.valid_to)),
        ("careful", f"stands on a fact that was replaced on {replaced}" if replaced else ""),
    ]


def archived_words(entry: "ListedMemory") -> str:
    """Return when and why a memory was archived; empty for one that isn't."""
    if entry.archived_at is None:
        return ""
    why = (entry.archived_why or "").replace("_", " ")
    return f"{local_time(entry.archived_at)}, {why}"


@Command("history", "show every change to a memory", arguments=(ID,)).asks
async def show_history(context: Context, engine: AnyEngine) -> Answer:
    """Print every change to a memory, newest first."""
    memory_id = await any_id(engine.desk, context.args.id)
    changes = await engine.desk.history(memory_id)
    if not changes:
        raise _not_found(context.args.id)
    return Answer(
        {
            "id": memory_id,
            "history": shaped(changes, "revision at actor kind before after"),
        },
        map(_change, changes),
    )


def _change(change: "MemoryRevision") -> View:
    before, after = change.before, change.after
    head = [
        (f"{change.revision:>6}", "dim"),
        (local_time(change.at), "dim"),
        (change.kind.value, "bold"),
        (f"by {actor_words(change.actor)}",),
    ]
    return Parts(head), [
        Block(f"{field}: {_shown(before.get(field))} -> {_shown(after.get(field))}", indent=4)
        for field in dict.fromkeys((*before, *after))
    ]


async def find_one(
    desk: "MemoryAdmin", id_start: str, *, deleted: bool = False, archived: bool = False
) -> "ListedMemory":
    """Return the memory whose id starts with ``id_start``.

    With ``archived`` archived memories are looked at, too, with ``deleted`` also deleted ones.
    Raises ``MemoryNotFoundError`` for no match, and ``UsageError`` for several.
    """
    entries = await desk.lookup(id_start.lower(), deleted=deleted or archived, limit=MAX_NAMED)
    if not deleted:
        entries = tuple(entry for entry in entries if entry.deleted_at is None)
    return the_only(entries, id_start, _not_found(id_start))


async def any_id(desk: "MemoryAdmin", id_start: str) -> str:
    """Return the full id of a memory, deleted or not; one looked up in vain may be purged."""
    try:
        return (await find_one(desk, id_start, deleted=True)).id
    except MemoryNotFoundError:
        return id_start


def _not_found(id_start: str) -> MemoryNotFoundError:
    return MemoryNotFoundError(
        f"no memory has an id that starts with {id_start!r}",
        remedy="See `synthorg-tui memories list`, also with --deleted.",
    )


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)


def _whose(entry: "ListedMemory") -> str:
    from synthorg_tui.memory.listing import owner_words

    return owner_words(entry.agent_id)


def ids_of(entries: "Sequence[ListedMemory]") -> list[str]:
    """Return the ids of these memories, each once."""
    return list(dict.fromkeys(entry.id for entry in entries))


def changed(done: str, count: int, hint: str = "") -> Answer:
    """Say how many memories were ``done``, such as "deleted"; ``hint`` says how to undo it."""
    return Answer(
        {done: count},
        f"{done.capitalize()} {counted(count, 'memory', 'memories')}.",
        note=hint if count else "",
    )
