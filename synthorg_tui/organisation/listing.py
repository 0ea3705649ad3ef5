"""SQL of a page of the list of entries, as they are or were at a moment.

A list of ten thousand facts is read in windows: the database filters, counts and orders, and only
the rows of a window become entries. What is listed besides facts is little, and is given.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.log import STATE_NOW, STATE_THEN, fact_rows, tags_of
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.organisation.entries import fact_entry
from synthorg_tui.organisation.models import EntryCriteria, EntryPage, OrgEntry, OrgOrigin
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc, number_of

MAX_PAGE: Final = 1000
"""Entries of a page at most."""
_ALL: Final = "true"
_THESE: Final = "fact_id IN (SELECT unnest(?::UUID[]))"
_REPLACES: Final = '"supersedes:'
_RANK: Final = f"list_position({[each.value for each in OrgFactCategory]}, category)"
_ORDER: Final = f"ORDER BY {_RANK}, created_at DESC, fact_id"
_TEXT: Final = "lower(content || chr(31) || tags)"


def entry_page(
    db: Connection,
    what: EntryCriteria,
    at: datetime | None,
    others: Sequence[OrgEntry],
    wanted: range,
) -> EntryPage:
    """Return the entries at the ``wanted`` places of the list, with its numbers.

    The list is in order of categories; policies of the settings stand first in theirs, then facts,
    the newest first, then what else is given in ``others``.
    """
    known, values = (STATE_NOW, list[Any]()) if at is None else (STATE_THEN, [naive_utc(at)])
    state, replaced = known.format(some=_ALL), _replaced(db, known, values)
    where, conditions = _where(what, replaced)
    rows = db.execute(
        f"SELECT category, count(*) FILTER ({where}), count(*) FILTER (retracted_at IS NULL), "
        f"count(*) FILTER (retracted_at IS NOT NULL) FROM ({state}) GROUP BY 1",
        [*conditions, *values],
    ).fetchall()
    facts = {OrgFactCategory(row[0]): int(row[1]) for row in rows}
    given = [each for each in others if is_listed(each, what)]
    places, shown, counts = _plan(facts, given, wanted)
    read: Iterator[OrgEntry] = iter(())
    if shown:
        span = [len(shown), shown.start]
        ids = db.execute(
            f"SELECT fact_id FROM ({state}) WHERE {where} {_ORDER} LIMIT ? OFFSET ?",
            [*values, *conditions, *span],
        ).fetchall()
        these = [*values, [key for (key,) in ids]]  # texts are read of what is shown alone
        read = map(fact_entry, fact_rows(db, _ORDER, these, of=f"({known.format(some=_THESE)})"))
    entries = tuple(each or next(read) for each in places)
    return EntryPage(
        entries,
        wanted.start,
        counts,
        {each.id: replaced[each.id] for each in entries if each.id in replaced},
        stored=sum(int(row[2]) for row in rows) + len(others),
        retracted=sum(int(row[3]) for row in rows),
        changes=_changes(db, at),
    )


def is_listed(entry: OrgEntry, what: EntryCriteria) -> bool:
    """Return whether a filter lists an entry that is no fact: none of these is ever replaced."""
    if what.ids is not None or what.superseded:
        return False
    if what.retracted is not (entry.retracted_at is not None):
        return False
    text = "\x1f".join((entry.content, *entry.traits.tags)).lower()
    return (
        (not what.categories or entry.category in what.categories)
        and (not what.origins or entry.origin in what.origins)
        and (
            not what.projects
            or any(each.lower() in entry.traits.project.lower() for each in what.projects)
        )
        and all(word.lower() in text for word in what.words)
        and not any(word.lower() in text for word in what.without)
    )


def _plan(
    facts: Mapping[OrgFactCategory, int], others: Sequence[OrgEntry], wanted: range
) -> tuple[list[OrgEntry | None], range, tuple[tuple[OrgFactCategory, int], ...]]:
    """Lay out the list by category: what stands where on the page, which facts, and the counts.

    A place has an entry that is given, or ``None`` for the next fact; the range is of the facts in
    their order.
    """
    whole: list[OrgEntry | None] = []
    counts: list[tuple[OrgFactCategory, int]] = []
    for category in OrgFactCategory:
        own = [each for each in others if each.category is category]
        before = [each for each in own if each.origin is OrgOrigin.SETTINGS]
        after = [each for each in own if each.origin is not OrgOrigin.SETTINGS]
        listed = [*before, *[None] * facts.get(category, 0), *after]
        whole += listed
        if listed:
            counts.append((category, len(listed)))
    places = whole[wanted.start : wanted.stop]
    first = whole[: wanted.start].count(None)
    return places, range(first, first + places.count(None)), tuple(counts)


def _replaced(db: Connection, known: str, values: Sequence[Any]) -> dict[str, str]:
    """The facts that a fact in force says it replaces, with that one."""
    says = f"contains(tags, '{_REPLACES}')"
    ever = f"fact_id IN (SELECT fact_id FROM org_operations WHERE {says})"
    rows = db.execute(
        f"SELECT fact_id, tags FROM ({known.format(some=ever)}) "
        f"WHERE retracted_at IS NULL AND {says}",
        values,
    ).fetchall()
    return {
        former: str(fact_id)
        for fact_id, tags in rows
        for former in OrgTraits.of(tags_of(tags)).supersedes
    }


def _where(what: EntryCriteria, replaced: Mapping[str, str]) -> tuple[str, list[Any]]:
    """The conditions on facts, and their values."""
    parts = [f"retracted_at IS {'NOT ' if what.retracted else ''}NULL"]
    values = list[Any]()

    def add(condition: str, *given: object) -> None:
        parts.append(condition)
        values.extend(given)

    if what.origins and OrgOrigin.FACT not in what.origins:
        add("false")
    if what.categories:
        add("list_contains(?::VARCHAR[], category)", [each.value for each in what.categories])
    if what.ids is not None:
        add("list_contains(?::VARCHAR[], fact_id::VARCHAR)", list(what.ids))
    if what.superseded:
        add("list_contains(?::VARCHAR[], fact_id::VARCHAR)", list(replaced))
    if what.projects:
        named = "|".join(re.escape(json.dumps(each)[1:-1]) for each in what.projects)
        add("regexp_matches(tags, ?, 'i')", f'"project:[^"]*({named})')
    for word in what.words:
        add(f"contains({_TEXT}, lower(?))", word)
    for word in what.without:
        add(f"NOT contains({_TEXT}, lower(?))", word)
    return " AND ".join(parts), values


def _changes(db: Connection, at: datetime | None) -> int:
    until, values = ("", []) if at is None else (" WHERE made_at <= ?", [naive_utc(at)])
    return number_of(db, f"SELECT count(*) FROM org_operations{until}", values)
