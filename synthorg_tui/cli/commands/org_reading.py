"""``org list``, ``show``, ``history``, ``as-of`` and ``search``: what the organisation knows.

Reading is the same for everybody, an agent's commands included; what is written is in ``org``.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, past_moment, whole
from synthorg_tui.cli.output import Console, cut, local_time
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from synthorg_tui.cli.context import Context
    from synthorg_tui.cli.shapes import Json
    from synthorg_tui.memory.org.models import OrgFact
    from synthorg_tui.organisation.models import OrgEntry, OrgVersion

KINDS: Final = tuple(category.value for category in OrgFactCategory)
_SHORT_ID: Final = 8
_FACT: Final = "fact"


def add_reading(actions: Subparsers) -> None:
    """Add these subcommands of ``org`` to ``actions``."""
    listing = add_command(
        actions,
        "list",
        run_list,
        "list policies, decisions, procedures and conventions",
        more="First those of the settings, then what was written, newest first; then approved"
        " lessons for all agents and published memories, which are changed where they are kept.",
        examples=("org list", "org list --category adr --project shop", "org list --at 7d --json"),
    )
    _add_filters(listing)
    listing.add_argument("--at", metavar="WHEN", type=past_moment, help="as it was at this time")
    past = add_command(
        actions,
        "as-of",
        run_list,
        "list what was known at a time",
        examples=("org as-of 2026-01-31", "org as-of 2w --category core_policy"),
    )
    past.add_argument("at", metavar="WHEN", type=past_moment, help="2026-01-31, or 12h, 7d, 2w ago")
    _add_filters(past)
    showing = add_command(
        actions, "show", run_show, "show one of them whole", examples=("org show 3f2a",)
    )
    showing.add_argument("id", metavar="ID")
    history = add_command(
        actions,
        "history",
        run_history,
        "show every version of a fact, and who wrote it",
        examples=("org history 3f2a",),
    )
    history.add_argument("id", metavar="ID")
    _add_search(actions)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    _add_category(parser)
    parser.add_argument(
        "--project", metavar="NAME", help="what holds in this folder: its name, or its path"
    )
    parser.add_argument("--retracted", action="store_true", help="those that were retracted, too")


def _add_category(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--category",
        action="append",
        default=[],
        choices=KINDS,
        metavar="NAME",
        help=f"only {', '.join(KINDS)} (repeatable)",
    )


def _add_search(actions: Subparsers) -> None:
    searching = add_command(
        actions,
        "search",
        run_search,
        "find facts by meaning and words, as agents do, and see why",
        examples=('org search "how do we store times"', "org search duckdb --category adr"),
    )
    searching.add_argument("query", metavar="QUERY")
    _add_category(searching)
    searching.add_argument(
        "--project", metavar="DIR", help="as asked in this folder (default: in all projects)"
    )
    searching.add_argument(
        "--limit", metavar="N", type=whole(1, 100), default=10, help="at most N (default 10)"
    )


async def run_list(context: "Context") -> int:
    """List the entries, as they are or were."""
    args = context.args
    kinds = frozenset(map(OrgFactCategory, args.category)) or None
    async with context.engine() as engine:
        every = await engine.organisation.entries(
            at=args.at, categories=kinds, retracted=args.retracted
        )
    found = [entry for entry in every if _holds_in(entry, args.project)]
    if context.wants_json:
        at = args.at.isoformat() if args.at else None
        context.console.json({"at": at, "entries": [entry_shape(entry) for entry in found]})
        return 0
    if not found:
        past = f" at {local_time(args.at)}" if args.at else ""
        context.console.line(
            f"Nothing that fits was known{past}."
            if every or past
            else "Nothing is written yet; `synthorg-tui org add` writes, `org import` reads files."
        )
        return 0
    _print_list(context.console, found, at=args.at)
    return 0


def _holds_in(entry: "OrgEntry", project: str | None) -> bool:
    """Whether an entry holds in a project: it names that, by its path or folder, or none."""
    named = entry.traits.project
    if not project or not named:
        return True
    path = str(expand_home(project).absolute())
    return named.rstrip("/") == path.rstrip("/") or Path(named).name == project


def _print_list(console: Console, found: "Sequence[OrgEntry]", *, at: "datetime | None") -> None:
    rows = [
        (
            short_id(entry),
            entry.category.value.replace("_", " "),
            _state(entry),
            Path(entry.traits.project).name or "all",
            _text(entry),
        )
        for entry in found
    ]
    console.table(("ID", "CATEGORY", "FROM", "PROJECT", "TEXT"), rows)
    past = f", as of {local_time(at)}" if at else ""
    console.note(f"{counted(len(found), 'entry', 'entries')}{past}")


def _text(entry: "OrgEntry") -> str:
    title = entry.traits.title
    return (
        f"{title}: {entry.content}"
        if title and not entry.content.startswith(title)
        else entry.content
    )


def _state(entry: "OrgEntry") -> str:
    """Where an entry comes from, or that it was retracted; an ADR's status."""
    if entry.retracted_at:
        return "retracted"
    if entry.origin.value != _FACT:
        return entry.origin.value
    return entry.traits.status or f"v{entry.version}"


async def run_show(context: "Context") -> int:
    """Show one entry with all that is known of it."""
    async with context.engine() as engine:
        entry = await engine.organisation.entry(context.args.id)
    if context.wants_json:
        context.console.json(entry_shape(entry))
    else:
        print_entry(context.console, entry)
    return 0


def print_entry(console: Console, entry: "OrgEntry") -> None:
    """Print an entry whole: what is known of it, then its text."""
    traits = entry.traits
    console.facts(
        (
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
            ("retracted", local_time(entry.retracted_at) if entry.retracted_at else ""),
        )
    )
    console.line()
    console.block(entry.content)


async def run_history(context: "Context") -> int:
    """Show the versions of a fact, the first one first."""
    async with context.engine() as engine:
        entry = await engine.organisation.entry(context.args.id)
        versions = await engine.organisation.history(entry.id)
    if context.wants_json:
        context.console.json(
            {"id": entry.id, "versions": [_version_shape(version) for version in versions]}
        )
        return 0
    for version in versions:
        context.console.parts(
            [
                (f"v{version.version}", "bold"),
                (local_time(version.at), "dim"),
                (version.author,),
                (version.category.value.replace("_", " "), "dim"),
            ]
        )
        if version.content is None:
            context.console.line("  retracted", "yellow")
        else:
            context.console.block(version.content, indent=2)
    return 0


async def run_search(context: "Context") -> int:
    """Find facts, the best first, each with the reason."""
    from synthorg_tui.cli.errors import UsageError
    from synthorg_tui.memory.org.models import OrgMemoryQuery

    args = context.args
    if not args.query.strip():
        raise UsageError("the question is empty")
    query = OrgMemoryQuery(
        context=args.query,
        categories=frozenset(map(OrgFactCategory, args.category)) or None,
        limit=args.limit,
    )
    project = str(expand_home(args.project).absolute()) if args.project else None
    async with context.engine() as engine:
        found = await engine.organisation.find(query, project=project)
    if context.wants_json:
        context.console.json(
            [{**_fact_shape(hit.fact), "score": hit.score, "why": hit.why} for hit in found]
        )
        return 0
    if not found:
        context.console.line("No fact fits.")
    for hit in found:
        text = cut(" ".join(hit.fact.content.split()), context.console.width - 40)
        kind = hit.fact.category.value.replace("_", " ")
        context.console.parts(
            [(f"{hit.score:.2f}", "cyan"), (hit.fact.id[:_SHORT_ID], "dim"), (kind,), (text,)]
        )
        context.console.line(f"      {hit.why}", "dim")
    return 0


def short_id(entry: "OrgEntry") -> str:
    """The id of an entry as lists show it: of a fact or memory its start, else the whole."""
    return entry.id if entry.origin.value in ("settings", "skill") else entry.id[:_SHORT_ID]


def entry_shape(entry: "OrgEntry") -> "Json":
    """Return an entry as JSON."""
    traits = entry.traits
    return {
        "id": entry.id,
        "origin": entry.origin.value,
        "category": entry.category.value,
        "content": entry.content,
        "project": traits.project or None,
        "source": traits.source or None,
        "title": traits.title or None,
        "status": traits.status or None,
        "date": traits.date or None,
        "supersedes": list(traits.supersedes),
        "tags": list(traits.others),
        "author": entry.author,
        "created_at": entry.created_at.isoformat(),
        "changed_at": entry.changed_at.isoformat(),
        "version": entry.version,
        "retracted_at": entry.retracted_at.isoformat() if entry.retracted_at else None,
    }


def _version_shape(version: "OrgVersion") -> "Json":
    return {
        "version": version.version,
        "at": version.at.isoformat(),
        "author": version.author,
        "content": version.content,
        "category": version.category.value,
        "tags": list(version.tags),
    }


def _fact_shape(fact: "OrgFact") -> "Json":
    return {
        "id": fact.id,
        "category": fact.category.value,
        "content": fact.content,
        "tags": list(fact.tags),
        "created_at": fact.created_at.isoformat(),
    }
