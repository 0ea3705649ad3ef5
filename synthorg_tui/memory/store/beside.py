"""Finding memories by other memories: what stands beside them, their copies, the start of an id.

Plain functions on a connection, of one query each, as a search of 100,000 memories waits for them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.hits import CopiesOf, HitPlace
from synthorg_tui.memory.retrieval.neighbours import (
    MAX_LENDERS,
    NEIGHBOUR_FACTOR,
    Beside,
    Neighbours,
    beside,
    loans_of,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.edges import edges_of
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import LISTED
from synthorg_tui.persistence.port import Connection

_LINE: Final = re.compile(r"#L(\d+)")
"""The line of its session's record that a memory was drawn from."""

MAX_WITH_NEIGHBOURS: Final = 5
"""Hits, best first, whose neighbours are hits, too, even if neither meaning nor words find them."""


def neighbours_of(
    db: Connection, where: WhereClause, rows: Sequence[ListedMemory]
) -> dict[str, Beside]:
    """Return the matching memories before and after each of the first ``MAX_LENDERS`` rows, by id.

    The order is that of the lines which they were drawn from, else that of time. It is made here:
    a window over the sessions takes the database twice as long.
    """
    asked = {row.id for row in rows[:MAX_LENDERS] if row.session_id}
    sessions = sorted({row.session_id for row in rows[:MAX_LENDERS] if row.session_id})
    if not sessions:
        return {}
    found = db.execute(
        "SELECT m.id::VARCHAR, m.agent_id, m.session_id, m.source, m.created_at FROM memories m "
        f"WHERE {where} AND list_contains(?::VARCHAR[], m.session_id)",
        [*where.values, sessions],
    ).fetchall()
    lines: dict[tuple[str, str, str], list[tuple[datetime, int, str]]] = {}
    for key, agent, session, source, at in found:
        # The execution that a memory was drawn from: a session may hold those of several subagents.
        run, _, _ = (source or "").partition("#")
        line = _LINE.search(source or "")
        place = (at, int(line[1]) if line else -1, key)
        lines.setdefault((agent, session, run), []).append(place)
    near: dict[str, Beside] = {}
    for places in lines.values():
        ids = [None, *(key for _, _, key in sorted(places)), None]
        for before, key, after in zip(ids, ids[1:], ids[2:], strict=False):
            if key in asked and (before or after):
                near[key] = Beside(before, after)
    return near


def rows_beside(
    db: Connection,
    where: WhereClause,
    rows: Sequence[ListedMemory],
    neighbours: Neighbours,
) -> list[ListedMemory]:
    """Return what stands beside the first ``MAX_WITH_NEIGHBOURS`` rows, matches and isn't there.

    Nothing is known of it but where it stands: it has no raw scores, and the lowest fused one.
    Copies of the rows are counted already.
    """
    first = [row.id for row in rows[:MAX_WITH_NEIGHBOURS]]
    near = beside(first, neighbours) - {row.id for row in rows}
    if not near:
        return []
    found = queries.in_order(db, where, sorted(near), LISTED)
    lowest = min(row.fused or 0.0 for row in rows)
    said = {row.content for row in rows}
    return [replace(row, fused=lowest) for row in found if row.content not in said]


def with_loans(
    rows: Sequence[ListedMemory],
    near: Sequence[ListedMemory],
    neighbours: Neighbours,
    least: float,
) -> list[ListedMemory]:
    """Return hits and what stands beside them by the score that they have with what they are lent.

    Of ``near`` only what is lent something and then reaches the least score.
    """
    scores = {row.id: row.fused or 0.0 for row in (*rows, *near)}
    texts = {row.id: row.content for row in rows}
    loans = loans_of(scores, texts, neighbours, factor=NEIGHBOUR_FACTOR)
    total = {key: min(1.0, scores[key] + loan.amount) for key, loan in loans.items()}
    found = [*rows, *(row for row in near if total.get(row.id, -1.0) >= least)]
    found = [replace(row, fused=total.get(row.id, row.fused)) for row in found]
    return sorted(found, key=lambda row: -(row.fused or 0.0))


class HitFacts(NamedTuple):
    """Where hits are, and what lessons among them were made of, by their ids."""

    places: dict[str, HitPlace]
    made_of: dict[str, frozenset[str]]


def facts_of(db: Connection, rows: Sequence[ListedMemory], fingerprint: str) -> HitFacts:
    """Return what decides which of these hits are one line of an answer."""
    import numpy as np

    vectors = queries.vectors_by_id(db, [row.id for row in rows], fingerprint)
    places = {
        row.id: HitPlace(
            row.project,
            np.frombuffer(vectors[row.id], np.float32) if row.id in vectors else None,
        )
        for row in rows
    }
    lessons = [row.id for row in rows if row.category is MemoryCategory.PROCEDURAL]
    made_of: dict[str, set[str]] = {}
    for edge in edges_of(db, lessons, [EdgeKind.DERIVED_FROM]) if lessons else ():
        made_of.setdefault(edge.from_id, set()).add(edge.to_id)
    return HitFacts(places, {key: frozenset(found) for key, found in made_of.items()})


def first_copies(rows: Iterable[ListedMemory]) -> dict[str, list[str]]:
    """Return the ids of those rows that say exactly what an earlier one does, by the earlier id.

    Only by the fields of a row; ``copies_of`` also compares who may read each.
    """
    first: dict[object, str] = {}
    copies: dict[str, list[str]] = {}
    for row in rows:
        place = (row.agent_id, row.category, row.project, row.namespace, row.tags, row.content)
        kept = first.setdefault(place, row.id)
        if kept != row.id:
            copies.setdefault(kept, []).append(row.id)
    return copies


_PLACE: Final = (
    "m.agent_id, m.content_hash, m.category, m.namespace, m.shared, m.level, m.tags, m.project"
)


def without_copies(where: WhereClause) -> WhereClause:
    """Return what selects the matching memories, of exact copies for the same readers the newest.

    They are the ones of ``copies_of``.
    """
    first = WhereClause()
    first.add(
        "m.id IN (SELECT first(m.id ORDER BY m.created_at DESC, m.id) "
        f"FROM memories m WHERE {where} GROUP BY {_PLACE})",
        *where.values,
    )
    return first


def copies_of(
    db: Connection, where: WhereClause, ids: Sequence[str], limit: int
) -> dict[str, CopiesOf]:
    """Return the matching memories that say exactly what one of ``ids`` does, to the same readers.

    At most ``limit`` for each, by its id.
    """
    rows = db.execute(
        "SELECT o.id::VARCHAR,"
        f" list(m.id::VARCHAR ORDER BY m.created_at DESC, m.id)[1:{int(limit)}],"
        " max(m.created_at) FROM memories o JOIN memories m ON m.content_hash = o.content_hash"
        " AND m.id <> o.id AND m.agent_id = o.agent_id AND m.category = o.category"
        " AND m.namespace = o.namespace AND m.shared = o.shared AND m.level = o.level"
        " AND m.tags = o.tags AND m.project IS NOT DISTINCT FROM o.project"
        f" WHERE {where} AND o.id IN (SELECT unnest(?::UUID[])) GROUP BY o.id",
        [*where.values, list(ids)],
    ).fetchall()
    return {key: CopiesOf(tuple(found), last.replace(tzinfo=UTC)) for key, found, last in rows}
