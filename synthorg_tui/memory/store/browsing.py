"""SQL of a person's listings: the conditions of a filter, and the numbers of its groups.

Plain functions on a connection, as in ``queries``, whose conditions these are built from.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import folders_of, repository_of
from synthorg_tui.memory.kinds import KIND_SQL, MemoryKind
from synthorg_tui.memory.listing import BrowseFilter, Facets, Unwanted
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.queries import (
    DRAWN_FROM,
    LIVE,
    WhereClause,
    add_times,
    live_where,
    total,
)
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

_FOLDED_TAGS: Final = "(chr(31) || lower(array_to_string(m.tags, chr(31))) || chr(31))"
"""All tags in lower case between separators: a third of the time of lowering each in a list."""

_OF_SESSIONS: Final = (
    "(SELECT m.id FROM memories m, unnest(?::VARCHAR[]) AS s(id) "
    f"WHERE {DRAWN_FROM} OR starts_with(m.source, s.id || '/') OR m.session_id = s.id)"
)
"""The memories for which ``ListedMemory.is_of`` says so."""

ARCHIVED: Final = "m.deleted_at IS NULL AND m.archived_at IS NOT NULL"


def browse_where(what: BrowseFilter, now: datetime, ages: AgeRules) -> WhereClause:
    """Return the conditions for a person's listing filter."""
    where = _restricted(what, now, ages)
    _add_groups(where, what, wanted=True)
    _add_groups(where, what.unwanted, wanted=False)
    return where


def add_words(where: WhereClause, words: Sequence[str], without: Sequence[str]) -> None:
    """Append conditions on the content: all of ``words`` and none of ``without``, ignoring case."""
    # ILIKE with an ESCAPE clause takes more than twice as long as this.
    for word in words:
        where.add("contains(lower(m.content), lower(?))", word)
    for word in without:
        where.add("NOT contains(lower(m.content), lower(?))", word)
    where.reads_texts = bool(words or without)


def sole_spellings(db: Connection, tags: Sequence[str]) -> list[str]:
    """Return those of the tags, as they are stored, that are spelled in one way only."""
    if not tags:
        return []
    rows = db.execute(
        "SELECT lower(tag), list(tag) FROM (SELECT DISTINCT unnest(m.tags) AS tag FROM memories m) "
        "WHERE list_contains(?::VARCHAR[], lower(tag)) GROUP BY 1",
        [[tag.lower() for tag in tags]],
    ).fetchall()
    return [spellings[0] for _, spellings in rows if len(spellings) == 1]


def count_groups(db: Connection, what: BrowseFilter, now: datetime, ages: AgeRules) -> Facets:
    """Return the numbers of memories by group that a filter lists.

    Within each sort of group its own part of the filter doesn't count, so that the numbers of the
    groups that could be chosen instead are included.
    """
    where = _restricted(what, now, ages)
    rows = db.execute(
        f"SELECT m.agent_id, m.category, m.project, {KIND_SQL}, count(*) FROM memories m "
        f"WHERE {where} GROUP BY ALL",
        where.values,
    ).fetchall()
    return summed([Cell(*row[:4]) for row in rows], [row[4] for row in rows], what)


def count_all(db: Connection, now: datetime, ages: AgeRules) -> Facets:
    """Return the numbers of live memories by group, without kinds, which take far longer.

    The archived ones are counted, too.
    """
    where = live_where(now=now, ages=ages)
    rows = db.execute(
        "SELECT m.agent_id, m.category, m.project, count(*) FROM memories m "
        f"WHERE {where} GROUP BY ALL",
        where.values,
    ).fetchall()
    cells, counts = [Cell(*row[:3]) for row in rows], [row[3] for row in rows]
    return replace(summed(cells, counts, BrowseFilter()), archived=total(db, WhereClause(ARCHIVED)))


class Cell(NamedTuple):
    """The groups that some memories have in common; the fields are called as in ``_GROUPS``."""

    agents: str
    categories: str
    projects: str | None
    kinds: str = ""


_GROUPS: Final = {
    "agents": "m.agent_id",
    "categories": "m.category",
    "projects": "m.project",
    "kinds": KIND_SQL,
}
"""Names of the groups in filters, and their SQL."""


def summed(cells: Sequence[Cell], counts: Sequence[int], what: BrowseFilter) -> Facets:
    """Return the numbers by group of memories that pass the rest of a filter, given by cell.

    Of each sort of group its own part of the filter doesn't count.
    """
    sums: dict[str, Counter[str]] = {name: Counter() for name in _GROUPS}
    for cell, count in zip(cells, counts, strict=True):
        hidden_by = [name for name in _GROUPS if not _has_group(cell, name, what)]
        for name in _GROUPS if not hidden_by else hidden_by if len(hidden_by) == 1 else ():
            if value := getattr(cell, name):
                sums[name][repository_of(value) if name == "projects" else value] += count
    ranked = {
        name: sorted(c.items(), key=lambda each: (-each[1], each[0])) for name, c in sums.items()
    }
    return Facets(
        agents=tuple(ranked["agents"]),
        categories=tuple(
            (c, sums["categories"][c]) for c in MemoryCategory if c in sums["categories"]
        ),
        projects=tuple(ranked["projects"]),
        kinds=tuple((k, sums["kinds"][k]) for k in MemoryKind if k in sums["kinds"]),
    )


def is_in_groups(cell: Cell, what: BrowseFilter) -> bool:
    """Return whether memories of these groups pass a filter's parts on groups."""
    return all(_has_group(cell, name, what) for name in _GROUPS)


def _has_group(cell: Cell, name: str, what: BrowseFilter) -> bool:
    value = getattr(cell, name)
    wanted, unwanted = (_values(each, name) for each in (what, what.unwanted))
    return (not wanted or value in wanted) and value not in unwanted


def _values(groups: BrowseFilter | Unwanted, name: str) -> list[str]:
    """The values of a group that a filter names; a project with all its folders."""
    values = list(map(str, getattr(groups, name)))
    if name != "projects":
        return values
    return list(dict.fromkeys(folder for value in values for folder in folders_of(value)))


def _restricted(what: BrowseFilter, now: datetime, ages: AgeRules) -> WhereClause:
    """The conditions of a filter apart from those on groups."""
    where = _removed_where(now, ages) if what.deleted else _of_state(what, now, ages)
    if "edited" in what.states:
        where.add("m.edited")
    if "shared" in what.states:
        where.add("m.shared")
    if "expiring" in what.states:
        ending, values = ages.ending()
        where.add(ending, *values)
    _add_tags(where, what)
    _add_sessions(where, what)
    add_times(where, what.since, what.until)
    add_words(where, what.words, what.without)
    return where


def _of_state(what: BrowseFilter, now: datetime, ages: AgeRules) -> WhereClause:
    """Live memories, or those that are archived, expired, or both."""
    if not {"archived", "expired"}.intersection(what.states):
        return live_where(now=now, ages=ages)
    where = WhereClause(ARCHIVED if "archived" in what.states else LIVE)
    if what.archived_for:
        reasons = [reason.value for reason in what.archived_for]
        where.add("list_contains(?::VARCHAR[], m.archived_why)", reasons)
    if "expired" in what.states:
        ended, values = ages.ended(naive_utc(now))
        where.add(ended, *values)
    return where


def _removed_where(now: datetime, ages: AgeRules) -> WhereClause:
    """Every memory that is neither live nor archived, so that none is in no list."""
    ended, values = ages.ended(naive_utc(now))
    where = WhereClause()
    where.add(f"(m.deleted_at IS NOT NULL OR (m.archived_at IS NULL AND {ended}))", *values)
    return where


def _add_groups(where: WhereClause, groups: BrowseFilter | Unwanted, *, wanted: bool) -> None:
    for name, column in _GROUPS.items():
        if values := _values(groups, name):
            is_one = f"list_contains(?::VARCHAR[], {column})"
            where.add(is_one if wanted else f"NOT coalesce({is_one}, false)", values)


def _add_tags(where: WhereClause, what: BrowseFilter) -> None:
    for tag in what.tags:
        where.add(f"contains({_FOLDED_TAGS}, ?)", _folded(tag))
    for tag in what.unwanted.tags:
        where.add(f"NOT contains({_FOLDED_TAGS}, ?)", _folded(tag))


def _add_sessions(where: WhereClause, what: BrowseFilter) -> None:
    if what.sessions:
        where.add(f"m.id IN {_OF_SESSIONS}", list(what.sessions))
    if what.unwanted.sessions:
        where.add(f"m.id NOT IN {_OF_SESSIONS}", list(what.unwanted.sessions))


def _folded(tag: str) -> str:
    return f"\x1f{tag.lower()}\x1f"
