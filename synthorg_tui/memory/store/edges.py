"""How memories stand to one another: what supersedes, stems from or contradicts what.

Plain functions on a connection, to be part of the transaction that gives the reason. What the
edges mean for what agents are given is decided where that is chosen.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.memory.enums import ArchiveReason, EdgeKind
from synthorg_tui.persistence.port import Connection


class MemoryEdge(NamedTuple):
    """An edge from one memory to another; both are ids."""

    from_id: str
    to_id: str
    kind: EdgeKind


def add_edges(
    db: Connection, edges: Iterable[MemoryEdge], *, made_at: datetime, made_by: str
) -> None:
    """Record edges at ``made_at`` (naive UTC); those that are known stay as they are."""
    rows = list(edges)
    if rows:
        db.execute(
            "INSERT OR IGNORE INTO memory_edges SELECT unnest(?::UUID[]), unnest(?::UUID[]), "
            "unnest(?::VARCHAR[]), ?::TIMESTAMP, ?",
            [
                [edge.from_id for edge in rows],
                [edge.to_id for edge in rows],
                [edge.kind.value for edge in rows],
                made_at,
                made_by,
            ],
        )


def edges_of(
    db: Connection, ids: Sequence[str], kinds: Sequence[EdgeKind] = tuple(EdgeKind)
) -> tuple[MemoryEdge, ...]:
    """Return the edges of these kinds that begin or end at one of these memories."""
    rows = db.execute(
        "SELECT from_id::VARCHAR, to_id::VARCHAR, kind FROM memory_edges "
        "WHERE (from_id IN (SELECT unnest(?::UUID[])) OR to_id IN (SELECT unnest(?::UUID[]))) "
        "AND kind IN (SELECT unnest(?::VARCHAR[])) ORDER BY made_at, 1, 2, 3",
        [list(ids), list(ids), [kind.value for kind in kinds]],
    ).fetchall()
    return tuple(MemoryEdge(start, end, EdgeKind(kind)) for start, end, kind in rows)


_STANDS: Final = {
    ArchiveReason.SUPERSEDED: EdgeKind.SUPERSEDES,
    ArchiveReason.DUPLICATE: EdgeKind.DUPLICATE_OF,
    ArchiveReason.CONSOLIDATED: EdgeKind.DERIVED_FROM,
}


def stands_for(db: Connection, memory_id: str, why: ArchiveReason) -> tuple[str, ...]:
    """Return the ids of what stands for a memory that was archived for this reason.

    That is what it is a copy of, the facts that replaced it, or the texts it was merged into.
    """
    kind = _STANDS.get(why)
    if kind is None:
        return ()
    ends = {
        edge.to_id if edge.from_id == memory_id else edge.from_id
        for edge in edges_of(db, [memory_id], [kind])
        if (edge.from_id == memory_id) == (kind is EdgeKind.DUPLICATE_OF)
    }
    return tuple(sorted(ends))


def copies_published(db: Connection, ids: Sequence[str], *, live: bool = True) -> dict[str, str]:
    """Return the published copies of these private memories, by the id of what each is made of.

    Without ``live`` deleted and archived copies are found, too.
    """
    state = "AND c.deleted_at IS NULL AND c.archived_at IS NULL" if live else ""
    rows = db.execute(
        "SELECT e.to_id::VARCHAR, e.from_id::VARCHAR FROM memory_edges e "
        "JOIN memories c ON c.id = e.from_id JOIN memories o ON o.id = e.to_id "
        "WHERE e.to_id IN (SELECT unnest(?::UUID[])) AND e.kind = ? AND c.shared "
        f"AND NOT o.shared AND c.agent_id = o.agent_id {state}",
        [list(ids), EdgeKind.DERIVED_FROM.value],
    ).fetchall()
    return dict(rows)


def remove_edges(db: Connection, edges: Iterable[MemoryEdge]) -> None:
    """Remove these edges; unknown ones are ignored."""
    for edge in edges:
        db.execute("DELETE FROM memory_edges WHERE from_id = ? AND to_id = ? AND kind = ?", edge)


def remove_made(db: Connection, made_by: str) -> None:
    """Remove all edges that were recorded as made by this."""
    db.execute("DELETE FROM memory_edges WHERE made_by = ?", [made_by])


IS_LOOSE: Final = (
    "e.from_id NOT IN (SELECT id FROM memories) OR e.to_id NOT IN (SELECT id FROM memories)"
)
"""That an edge ``e`` has no memory at one of its ends."""


def remove_all(db: Connection, ids: Sequence[str]) -> None:
    """Remove all edges that begin or end at one of these memories."""
    db.execute(
        "DELETE FROM memory_edges WHERE from_id IN (SELECT unnest(?::UUID[])) "
        "OR to_id IN (SELECT unnest(?::UUID[]))",
        [list(ids), list(ids)],
    )
