"""``org list``, ``show``, ``history``, ``as-of`` and ``search``: what the organisation knows.

Reading is the same for everybody, an agent's commands included; what is written is in ``org``.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import ID, PROJECT, Argument, limit, past_moment
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Block,
    Facts,
    Line,
    Note,
    Parts,
    Table,
    View,
    cut,
    local_time,
)
from synthorg_tui.cli.records import Json, fields, shaped
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.projects import same_project
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.memory.org.search import FoundFact
    from synthorg_tui.organisation.models import OrgEntry

KINDS: Final = tuple(category.value for category in OrgFactCategory)
_SHORT_ID: Final = 8
_FACT: Final = "fact"
_CATEGORY: Final = Argument(
    "--category",
    action="append",
    default=[],
    choices=KINDS,
    metavar="NAME",
    help=f"only {', '.join(KINDS)} (repeatable)",
)
_FILTERS: Final = (
    _CATEGORY,
    Argument("--project", metavar="NAME", help=f"what holds in this one: {PROJECT}"),
    Argument("--retracted", action="store_true", help="those that were retracted, too"),
)


async def _list(context: Context, engine: AnyEngine) -> Answer:
    """List the entries, as they are or were."""
    args = context.args
    kinds = frozenset(map(OrgFactCategory, args.category)) or None
    every = await engine.organisation.entries(
        at=args.at, categories=kinds, retracted=args.retracted
    )
    about = (entry.traits.project for entry in every)
    project = await project_named(engine, args.project, *about) if args.project else None
    found = [each for each in every if not project or same_project(each.traits.project, project)]
    past = f" at {local_time(args.at)}" if args.at else ""
    none = "Nothing is written yet; `synthorg-tui org add` writes, `org import` reads files."
    if every or past:
        none = f"Nothing that fits was known{past}."
    at = args.at.isoformat() if args.at else None
    return Answer(
        {"at": at, "entries": [entry_shape(entry) for entry in found]},
        _list_view(found, at=args.at) if found else none,
    )


@Command("show", "show one of them whole", examples=("org show 3f2a",), arguments=(ID,)).asks
async def show_entry(context: Context, engine: AnyEngine) -> Answer:
    """Show one entry with all that is known of it."""
    entry = await engine.organisation.entry(context.args.id)
    return Answer(entry_shape(entry), _entry_view(entry))


@Command(
    "history",
    "show every version of a fact, and who wrote it",
    examples=("org history 3f2a",),
    arguments=(ID,),
).asks
async def show_history(context: Context, engine: AnyEngine) -> Answer:
    """Show the versions of a fact, the first one first."""
    entry = await engine.organisation.entry(context.args.id)
    versions = await engine.organisation.history(entry.id)
    return Answer(
        {"id": entry.id, "versions": shaped(versions, "version at author content category tags")},
        [
            (
                Parts(
                    [
                        (f"v{version.version}", "bold"),
                        (local_time(version.at), "dim"),
                        (version.author,),
                        (version.category.value.replace("_", " "), "dim"),
                    ]
                ),
                Line("  retracted", "yellow")
                if version.content is None
                else Block(version.content, indent=2),
            )
            for version in versions
        ],
    )


@Command(
    "search",
    "find facts by meaning and words, as agents do, and see why",
    examples=('org search "how do we store times"', "org search duckdb --category adr"),
    arguments=(
        Argument("query", metavar="QUERY"),
        _CATEGORY,
        Argument(
            "--project", metavar="NAME", help=f"as asked in this one: {PROJECT} (default: in all)"
        ),
        limit(10, "at most N (default {})", most=100),
    ),
).runs
async def search_facts(context: Context) -> Answer:
    """Find facts, the best first, each with the reason."""
    from synthorg_tui.memory.org.models import OrgMemoryQuery

    args = context.args
    if not args.query.strip():
        raise UsageError("the question is empty")
    query = OrgMemoryQuery(
        context=args.query,
        categories=frozenset(map(OrgFactCategory, args.category)) or None,
        limit=args.limit,
    )
    async with context.engine() as engine:
        about = (entry.traits.project for entry in await engine.organisation.entries())
        project = await project_named(engine, args.project, *about) if args.project else None
        found = await engine.organisation.find(query, project=project)
    names = "id=fact.id category=fact.category content=fact.content tags=fact.tags"
    return Answer(
        shaped(found, f"{names} created_at=fact.created_at score why"),
        map(_hit_view, found) if found else "No fact fits.",
    )


def _hit_view(hit: "FoundFact") -> View:
    kind, text = hit.fact.category.value.replace("_", " "), " ".join(hit.fact.content.split())
    head = [(f"{hit.score:.2f}", "cyan"), (hit.fact.id[:_SHORT_ID], "dim"), (kind,)]
    return (
        lambda console: Parts([*head, (cut(text, console.width - 40),)]),
        Line(f"      {hit.why}", "dim"),
    )


def _list_view(found: "Sequence[OrgEntry]", *, at: datetime | None) -> View:
    rows = [
        (
            entry.id if entry.origin.value in ("settings", "skill") else entry.id[:_SHORT_ID],
            entry.category.value.replace("_", " "),
            _state(entry),
            Path(entry.traits.project).name or "all",
            _text(entry),
        )
        for entry in found
    ]
    past = f", as of {local_time(at)}" if at else ""
    told = Note(f"{counted(len(found), 'entry', 'entries')}{past}")
    return Table(("ID", "CATEGORY", "FROM", "PROJECT", "TEXT"), rows), told


def _entry_view(entry: "OrgEntry") -> View:
    """An entry whole: what is known of it, then its text."""
    traits = entry.traits
    facts = (
        ("id", entry.id),
        ("category", entry.category.value.replace("_", " ")),
        ("from", "" if entry.origin.value == _FACT else entry.origin.value),
        ("title", traits.title),
        ("status", " ".join(filter(None, (traits.status, traits.date)))),
        ("project", traits.project or "all"),
        ("source", traits.source),
        ("supersedes", ", ".join(traits.supersedes)),
        ("tags", ", ".join(traits.others)),
        ("written by", entry.author),
        ("written", local_time(entry.created_at)),
        ("version", f"{entry.version}, {local_time(entry.changed_at)}" * bool(entry.version)),
        ("retracted", local_time(entry.retracted_at)),
    )
    return Facts(facts), BLANK, Block(entry.content)


DECLARED: Final = (
    Command(
        "list",
        "list policies, decisions, procedures and conventions",
        more="First those of the settings, then what was written, newest first; then approved"
        " lessons for all agents and published memories, which are changed where they are kept.",
        examples=(
            "org list",
            "org list --category adr --project shop",
            "org list --at 7d --json",
        ),
        arguments=(
            *_FILTERS,
            Argument("--at", metavar="WHEN", type=past_moment, help="as it was at this time"),
        ),
    ).asks(_list),
    Command(
        "as-of",
        "list what was known at a time",
        examples=("org as-of 2026-01-31", "org as-of 2w --category core_policy"),
        arguments=(
            Argument("at", metavar="WHEN", type=past_moment, help="2026-01-31, or 12h, 7d, 2w ago"),
            *_FILTERS,
        ),
    ).asks(_list),
    show_entry,
    show_history,
    search_facts,
)
"""The commands that read, for ``org``."""


def _text(entry: "OrgEntry") -> str:
    title = entry.traits.title
    is_told = not title or entry.content.startswith(title)
    return entry.content if is_told else f"{title}: {entry.content}"


def _state(entry: "OrgEntry") -> str:
    """Where an entry comes from, or that it was retracted; an ADR's status."""
    if entry.retracted_at:
        return "retracted"
    if entry.origin.value != _FACT:
        return entry.origin.value
    return entry.traits.status or f"v{entry.version}"


def entry_shape(entry: "OrgEntry") -> Json:
    """Return an entry as JSON."""
    return {
        **fields(entry, "id origin category content"),
        **fields(entry.traits, "project? source? title? status? date? supersedes tags=others"),
        **fields(entry, "author created_at changed_at version retracted_at"),
    }
