"""Which of several facts under one key holds: decided here alone, for writing and for reading.

A fact is a memory with a key; its key, owner and place say what it is the fact of. The newest
holds. What a person wrote is only replaced by a person: of an agent's newer fact both stay, and an
edge says that they contradict each other. Nothing here changes a text.
"""

from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from synthorg_tui.core.actors import PERSON_SUFFIXES, ActorKind
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.projects import repository_of
from synthorg_tui.memory.enums import ArchiveReason, EdgeKind, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES, FactKey
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.edges import MemoryEdge, edges_of, remove_edges
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.persistence.port import Connection

_PERSONS = (SourceKind.USER, SourceKind.OPERATOR)


class Succession(NamedTuple):
    """What follows for the facts under the keys of some memories.

    ``replaced`` are rows with the one that holds instead. ``ends`` is until when each of the
    former facts was true. ``noted`` are edges of those that are live on both sides, as from an
    agent's fact to a person's older one.
    """

    replaced: tuple[tuple[StoredMemory, StoredMemory], ...]
    ends: dict[str, datetime]
    noted: tuple[MemoryEdge, ...]


def is_fact(row: StoredMemory) -> bool:
    """Return whether a row is a fact: it has a key, and is of a category that facts have."""
    return row.fact_key is not None and row.category in FACT_CATEGORIES


def require_fact(row: StoredMemory) -> None:
    """Raise ``MemoryStoreError`` for times of being true that a row can't have."""
    if (row.valid_from or row.valid_to) and not is_fact(row):
        raise MemoryStoreError(
            "only facts are true from one time until another",
            remedy="Give the memory a key: --fact-key, or the tag fact:KEY.",
        )
    if row.valid_from and row.valid_to and row.valid_from >= row.valid_to:
        raise MemoryStoreError(f"a fact can't end ({row.valid_to}) before it begins")


def begins(row: StoredMemory) -> datetime:
    """Return since when a row is taken to be true: as stated, or since it happened."""
    return row.valid_from or row.created_at


def standing(db: Connection, rows: Sequence[StoredMemory], now: datetime) -> list[StoredMemory]:
    """Return the rows without facts that don't hold at ``now`` (naive UTC)."""
    facts = [row.id for row in rows if is_fact(row)]
    former = held(db, facts, now) if facts else {}
    return [row for row in rows if row.id not in former]


def succession(db: Connection, rows: Iterable[StoredMemory], now: datetime) -> Succession:
    """Return what follows from these rows, as they are in the database now.

    A fact that only begins later replaces nothing yet.
    """
    replaced, disputed = list[tuple[StoredMemory, StoredMemory]](), list[MemoryEdge]()
    ends: dict[str, datetime] = {}
    for family in _families(db, [row for row in rows if is_fact(row)]).values():
        said = by_persons(db, family)
        current = [row for row in family if row.is_live(now) and begins(row) <= now]
        for row in current:
            holder = _holder(row, current, said)
            if holder is not None:
                replaced.append((row, holder))
        over = {row.id for row, _ in replaced}
        standing = [row for row in current if row.id not in over]
        disputed += _disputes(standing, said)
        former = [row for row in family if row.archived_why == ArchiveReason.SUPERSEDED]
        ends |= _ends([row for row in family if row.id in over] + former, family)
    return Succession(tuple(replaced), ends, tuple(disputed))


def held(
    db: Connection, ids: Sequence[str], now: datetime, *, at: datetime | None = None
) -> dict[str, StoredMemory | None]:
    """Return those of these facts that don't hold, each with the one that does, ``None`` if none.

    ``now`` decides who is live; ``at`` is the time that is asked about, by default ``now``. The
    same rule as at writing, so it also holds for facts that an older store has side by side.
    """
    at = at or now
    asked = [row for row in queries.rows_by_id(db, ids).values() if is_fact(row)]
    found: dict[str, StoredMemory | None] = {}
    wanted = {row.id for row in asked}
    for family in _families(db, asked).values():
        said = by_persons(db, family)
        starts = {begins(row) for row in family}
        true = [row for row in family if _was_known(row, now, at) and _is_true(row, at, starts)]
        for row in family:
            if row.id in wanted and not _is_true(row, at, starts):
                found[row.id] = None
            elif row.id in wanted and (holder := _holder(row, true, said)) is not None:
                found[row.id] = holder
    return found


def stands_on_replaced(db: Connection, ids: Sequence[str]) -> dict[str, datetime]:
    """Return which of these memories stand on a fact that was replaced, and when that was (UTC)."""
    rows = db.execute(
        "SELECT e.from_id::VARCHAR, max(m.archived_at) FROM memory_edges e "
        "JOIN memories m ON m.id = e.to_id WHERE e.from_id IN (SELECT unnest(?::UUID[])) "
        "AND e.kind IN (?, ?) AND m.archived_why = ? GROUP BY 1",
        [
            queries.known_ids(ids),
            EdgeKind.DEPENDS_ON.value,
            EdgeKind.DERIVED_FROM.value,
            ArchiveReason.SUPERSEDED.value,
        ],
    ).fetchall()
    return {memory_id: at.replace(tzinfo=UTC) for memory_id, at in rows}


def marked(db: Connection, entries: Iterable[ListedMemory]) -> tuple[ListedMemory, ...]:
    """Return the memories, those that stand on a replaced fact with the mark of it."""
    entries = tuple(entries)
    found = stands_on_replaced(db, [entry.id for entry in entries])
    return tuple(
        replace(entry, stands_on_replaced=found[entry.id]) if entry.id in found else entry
        for entry in entries
    )


def release(db: Connection, rows: Iterable[StoredMemory]) -> None:
    """Undo what superseding did to these rows besides archiving them."""
    ids = [row.id for row in rows if row.archived_why == ArchiveReason.SUPERSEDED]
    if ids:
        edges = edges_of(db, ids, [EdgeKind.SUPERSEDES])
        mine = [edge for edge in edges if edge.to_id in ids]
        holders = queries.rows_by_id(db, [edge.from_id for edge in mine])
        times = {begins(row) for row in holders.values()}
        db.execute(
            "UPDATE memories SET valid_to = NULL WHERE id IN (SELECT unnest(?::UUID[])) "
            "AND (fact_key IS NULL OR valid_to IN (SELECT unnest(?::TIMESTAMP[])))",
            [ids, list(times)],
        )
        remove_edges(db, mine)


def _is_true(row: StoredMemory, at: datetime, starts: Container[datetime]) -> bool:
    """Whether what a fact says is true at a time, by what was said of its time.

    An end at which another fact begins follows from that one, which may not have been known then.
    """
    stated = None if row.valid_to in starts else row.valid_to
    return begins(row) <= at and (stated is None or stated > at)


def _was_known(row: StoredMemory, now: datetime, at: datetime) -> bool:
    if at >= now:
        return row.is_live(now)
    is_gone = row.archived_at is not None and row.archived_at <= at
    return (row.recorded_at or row.created_at) <= at and row.deleted_at is None and not is_gone


def _family_of(row: StoredMemory) -> tuple[Hashable, ...]:
    """What a row is the fact of, for whom, and where."""
    project = repository_of(row.project or "") if row.level == MemoryLevel.PROJECT else None
    session = row.session_id if row.level == MemoryLevel.SESSION else None
    key = FactKey.parse(row.fact_key or "")
    return (row.agent_id, row.shared, row.namespace, row.level, project, session, key.identity)


def _families(
    db: Connection, rows: Sequence[StoredMemory]
) -> dict[tuple[Hashable, ...], list[StoredMemory]]:
    """All facts that are of one thing with one of these rows, deleted ones left out."""
    wanted = {_family_of(row) for row in rows}
    if not wanted:
        return {}
    where = queries.WhereClause("m.deleted_at IS NULL")
    where.add("list_contains(?::VARCHAR[], m.agent_id)", sorted({row.agent_id for row in rows}))
    subjects = {FactKey.parse(row.fact_key or "").subject.casefold() for row in rows}
    where.add(
        "list_contains(?::VARCHAR[], trim(regexp_extract(lower(m.fact_key), '^[^@?]*')))",
        sorted(subjects),
    )
    found: dict[tuple[Hashable, ...], list[StoredMemory]] = defaultdict(list)
    sql = f"SELECT {STORED.columns} FROM memories m WHERE {where}"
    for row in map(STORED.make, db.execute(sql, where.values).fetchall()):
        if is_fact(row) and _family_of(row) in wanted:
            found[_family_of(row)].append(row)
    return found


def by_persons(db: Connection, rows: Sequence[StoredMemory]) -> frozenset[str]:
    """Ids of the rows whose text is a person's: written or last edited by one."""
    said = {row.id for row in rows if row.source_kind in _PERSONS}
    edited = [row.id for row in rows if row.edited and row.id not in said]
    authors = queries.authors_of(db, edited) if edited else {}
    person = ActorKind.PERSON.value
    return frozenset(said) | {
        memory_id
        for memory_id, who in authors.items()
        if who == person or who.endswith(PERSON_SUFFIXES)
    }


def _holder(
    row: StoredMemory, current: Sequence[StoredMemory], said: frozenset[str]
) -> StoredMemory | None:
    """The newest fact that replaces a row; ``None`` where none does."""
    newer = [other for other in current if _age(other) > _age(row)]
    if row.id in said:
        newer = [other for other in newer if other.id in said]
    return max(newer, key=_age, default=None)


def _age(row: StoredMemory) -> tuple[datetime, datetime, int]:
    """Sort key of age; of facts of one moment the one written last is the newest."""
    return (begins(row), row.recorded_at or row.created_at, row.revision)


def _disputes(standing: Sequence[StoredMemory], said: frozenset[str]) -> list[MemoryEdge]:
    return [
        MemoryEdge(other.id, row.id, EdgeKind.CONTRADICTS)
        for row in standing
        for other in standing
        if row.id in said and other.id not in said and other.content_hash != row.content_hash
    ]


def _ends(over: Sequence[StoredMemory], family: Sequence[StoredMemory]) -> dict[str, datetime]:
    """Until when each former fact was true: when the next one began, if none said otherwise."""
    starts = sorted({begins(row) for row in family})
    ends: dict[str, datetime] = {}
    for row in over:
        later = next((start for start in starts if start > begins(row)), None)
        stated = row.valid_to is not None and row.valid_to not in starts
        if later is not None and not stated and row.valid_to != later:
            ends[row.id] = later
    return ends
