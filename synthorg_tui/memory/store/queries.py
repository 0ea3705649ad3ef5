"""SQL queries on the memory tables; every function runs on a thread of the database.

Plain functions on a connection, so that one snapshot or transaction can run several. Conditions are
built with ``WhereClause``, which keeps every value out of the SQL text.
"""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import ListedMemory, SortOrder
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.rows import LISTED, STORED, RowShape, RowT, StoredMemory
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc, parsed

if TYPE_CHECKING:  # the store is listed without pydantic
    from synthorg_tui.memory.models import MemoryQuery

_ALIKE = "m.import_key, m.id"
"""Orders rows that are alike: ids are random, the keys of an import the same in every store."""
ORDERS: dict[SortOrder, str] = {
    "newest": f"m.created_at DESC, {_ALIKE}",
    "oldest": f"m.created_at, {_ALIKE}",
    "agent": f"starts_with(m.agent_id, '__'), m.agent_id, m.created_at DESC, {_ALIKE}",
    "category": f"m.category, m.created_at DESC, {_ALIKE}",
    "confidence": f"m.confidence DESC, m.created_at DESC, {_ALIKE}",
}

HALF_ARCHIVED = (
    "(m.archived_at IS NULL) <> (m.archived_why IS NULL) "
    "OR (m.archived_at IS NULL AND m.archived_mode IS NOT NULL)"
)
"""That a memory's fields contradict each other on whether it is archived."""
LIVE = "m.deleted_at IS NULL AND m.archived_at IS NULL"

DRAWN_FROM = (
    "(m.source = s.id OR starts_with(m.source, s.id || '#') OR suffix(m.source, ':' || s.id))"
)
"""That a memory ``m`` was drawn from a session ``s``, or from what was made of that."""

HAS_PURGED = "has_purged"
"""Name of the fact that the file may hold what was purged; it outlives a crash."""
REDACTED = "redacted"
"""Name of the revision at which stored memories were redacted last."""
LEAST_REVISION = "least_revision"
"""Name of a revision that was taken, though no row has it any more."""


class WhereClause:
    """SQL conditions joined by AND, with the values of their placeholders.

    ``str()`` gives the SQL text. Values are always bound, never part of that text.
    """

    def __init__(self, *conditions: str) -> None:
        self._conditions = list(conditions)
        self.values: list[object] = []
        self.reads_texts = False

    def add(self, condition: str, *values: object) -> None:
        """Append a condition with the values for its placeholders."""
        self._conditions.append(condition)
        self.values.extend(values)

    def __str__(self) -> str:
        return " AND ".join(self._conditions) or "TRUE"


def live_where(
    *,
    now: datetime,
    ages: AgeRules,
    agent: str | None = None,
    shared: bool | None = None,
    visibility: Visibility | None = None,
) -> WhereClause:
    """Return conditions for live memories: not deleted, archived or expired at ``now``.

    ``agent``, ``shared`` and ``visibility`` restrict them further; ``None`` doesn't. A memory that
    names no project, or no session, isn't limited to one.
    """
    where = WhereClause(LIVE)
    where.add("(m.expires_at IS NULL OR m.expires_at > ?)", naive_utc(now))
    if ages.rules:
        ended, values = ages.ended_by_age(naive_utc(now))
        where.add(f"NOT {ended}", *values)
    if agent is not None:
        where.add("m.agent_id = ?", agent)
    if shared is not None:
        where.add("m.shared = ?", shared)
    add_visibility(where, visibility)
    return where


def add_visibility(where: WhereClause, visibility: Visibility | None) -> None:
    """Append the condition that a memory is seen from a session and project; ``None`` sees all."""
    if visibility is not None:
        where.add(
            "(m.level = ?"
            " OR (m.level = ? AND (m.project IS NULL OR list_contains(?::VARCHAR[], m.project)))"
            " OR (m.level = ? AND (m.session_id IS NULL OR m.session_id = ?)))",
            MemoryLevel.PERSISTENT.value,
            MemoryLevel.PROJECT.value,
            list(visibility.projects),
            MemoryLevel.SESSION.value,
            visibility.session_id,
        )


def add_query(where: WhereClause, query: "MemoryQuery") -> None:
    """Append the filters of a ``MemoryQuery`` (category, namespace, tags, time) to ``where``."""
    if query.categories:
        where.add("list_contains(?::VARCHAR[], m.category)", sorted(query.categories))
    if query.namespaces:
        where.add("list_contains(?::VARCHAR[], m.namespace)", sorted(query.namespaces))
    if query.tags:
        where.add("list_has_all(m.tags, ?::VARCHAR[])", list(query.tags))
    add_times(where, query.since, query.until)


def add_times(where: WhereClause, since: datetime | None, until: datetime | None) -> None:
    """Append the condition that a memory was created in [``since``, ``until``)."""
    if since is not None:
        where.add("m.created_at >= ?", naive_utc(since))
    if until is not None:
        where.add("m.created_at < ?", naive_utc(until))


def known_ids(ids: Sequence[str]) -> list[str]:
    """Return the valid UUIDs among ``ids`` in canonical form, without duplicates, in order."""
    found: dict[str, None] = {}
    for text in ids:
        try:
            found[str(uuid.UUID(text))] = None
        except ValueError:
            continue
    return list(found)


def rows_by_id(db: Connection, ids: Sequence[str]) -> dict[str, StoredMemory]:
    """Return the rows with these ids, deleted ones included, by id."""
    return {row.id: row for row in in_order(db, WhereClause(), ids, STORED)}


def row_by_id(db: Connection, memory_id: str) -> StoredMemory | None:
    """Return the row with this id, deleted or not, or ``None``."""
    return next(iter(rows_by_id(db, [memory_id]).values()), None)


def page(
    db: Connection, where: WhereClause, *, order: str, limit: int, offset: int = 0
) -> tuple[list[ListedMemory], int]:
    """Return one page of the matching rows in ``order``, and the total number of matches."""
    if not where.reads_texts:
        listed = listing(db, where, LISTED, order=order, limit=limit, offset=offset)
        return listed, total(db, where)
    # Counting in the same pass is dear, but spares a second look at every text.
    ids = _ids(db, where, "count(*) OVER ()", order=order, limit=limit, offset=offset)
    matching = ids[0][1] if ids else total(db, where)
    return in_order(db, WhereClause(), [row[0] for row in ids], LISTED), matching


def listing(
    db: Connection,
    where: WhereClause,
    shape: RowShape[RowT],
    *,
    order: str,
    limit: int,
    offset: int = 0,
) -> list[RowT]:
    """Return at most ``limit`` matching rows from ``offset`` on, in ``order``."""
    ids = _ids(db, where, "NULL", order=order, limit=limit, offset=offset)
    return in_order(db, WhereClause(), [row[0] for row in ids], shape)


def _ids(
    db: Connection, where: WhereClause, also: str, *, order: str, limit: int, offset: int
) -> list[tuple[str, int]]:
    """Ids first: sorting whole rows costs seven times as much at 100,000 memories."""
    return db.execute(
        f"SELECT m.id::VARCHAR, {also} FROM memories m WHERE {where} "
        f"ORDER BY {order} LIMIT {int(limit)} OFFSET {int(offset)}",
        where.values,
    ).fetchall()


def in_order(
    db: Connection, where: WhereClause, ids: Sequence[str], shape: RowShape[RowT]
) -> list[RowT]:
    """Return the rows with one of these ids that match ``where``, in the order of the ids."""
    wanted = known_ids(ids)
    if not wanted:
        return []
    sql = (
        f"SELECT {shape.columns} FROM memories m "
        f"WHERE {where} AND m.id IN (SELECT unnest(?::UUID[]))"
    )
    found = db.execute(parsed(db, sql), [*where.values, wanted]).fetchall()
    rows = {row.id: row for row in map(shape.make, found)}
    return [rows[memory_id] for memory_id in wanted if memory_id in rows]


def matching_ids(db: Connection, where: WhereClause, suffix: str = "") -> list[str]:
    """Return the ids of the matching rows; ``suffix`` is SQL that orders or limits them."""
    sql = f"SELECT m.id::VARCHAR FROM memories m WHERE {where} {suffix}"
    return column(db, sql, where.values)


def total(db: Connection, where: WhereClause) -> int:
    """Return the number of matching rows."""
    return numbers(db, f"SELECT count(*) FROM memories m WHERE {where}", where.values)[0]


def latest_values(db: Connection, name: str, where: WhereClause) -> list[str]:
    """Return the values of the column ``name`` in matching rows, that of the newest memory first.

    ``name`` becomes part of the SQL text, so it must not come from a user.
    """
    sql = (
        f"SELECT m.{name} FROM memories m WHERE {where} AND m.{name} IS NOT NULL "
        "GROUP BY 1 ORDER BY max(m.created_at) DESC, 1"
    )
    return column(db, sql, where.values)


def of_sessions(db: Connection) -> list[tuple[str, str, str, datetime]]:
    """Return id, agent, session and last change of each live memory limited to a session."""
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.agent_id, m.session_id, max(h.changed_at) FROM memories m "
        f"JOIN history h ON h.memory_id = m.id WHERE {LIVE} AND m.level = ? "
        "AND NOT m.shared AND m.session_id IS NOT NULL GROUP BY ALL",
        [MemoryLevel.SESSION.value],
    ).fetchall()
    return [(key, agent, session, at.replace(tzinfo=UTC)) for key, agent, session, at in rows]


def last_revision(db: Connection) -> int:
    """Return the highest revision number assigned so far; 0 in an empty store."""
    select = (
        "SELECT coalesce(max(revision), 0) FROM (SELECT max(revision) AS revision FROM history "
        "UNION ALL SELECT max(revision) FROM vectors "
        "UNION ALL SELECT max(revision) FROM org_facts "
        "UNION ALL SELECT max(value::BIGINT) FROM meta WHERE name = ?) AS latest"
    )
    return numbers(db, select, [LEAST_REVISION])[0]


def changes_since(db: Connection, revision: int, limit: int) -> list[tuple[str, int]]:
    """Return the next memories and facts changed after ``revision``, each with its latest one.

    At most ``limit`` pairs, in ascending order of revision.
    """
    return db.execute(
        "SELECT memory_id::VARCHAR, max(revision) AS last FROM ("
        " SELECT id AS memory_id, revision FROM memories WHERE revision > $1"
        " UNION ALL SELECT memory_id, revision FROM vectors WHERE revision > $1"
        " UNION ALL SELECT memory_id, revision FROM tombstones WHERE revision > $1"
        " UNION ALL SELECT fact_id, revision FROM org_facts WHERE revision > $1"
        f") AS changed GROUP BY memory_id ORDER BY last LIMIT {int(limit)}",
        [revision],
    ).fetchall()


def vectors_by_id(db: Connection, ids: Sequence[str], fingerprint: str) -> dict[str, bytes]:
    """Return the stored vectors of one embedder as bytes, by memory id."""
    sql = (
        "SELECT memory_id::VARCHAR, vector FROM vectors "
        "WHERE fingerprint = ? AND memory_id IN (SELECT unnest(?::UUID[]))"
    )
    return dict(db.execute(parsed(db, sql), [fingerprint, list(ids)]).fetchall())


_UNEMBEDDED = (
    f"SELECT m.id, m.content FROM memories m WHERE {LIVE} AND NOT EXISTS "
    "(SELECT 1 FROM vectors v WHERE v.memory_id = m.id AND v.fingerprint = $1) "
    "UNION ALL SELECT f.fact_id, f.content FROM org_facts f WHERE f.retracted_at IS NULL AND "
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory_id = f.fact_id AND v.fingerprint = $1)"
)


def count_unembedded(db: Connection, fingerprint: str) -> int:
    """Return how many live memories and facts have no vector of the embedder's fingerprint."""
    return numbers(db, f"SELECT count(*) FROM ({_UNEMBEDDED}) AS w", [fingerprint])[0]


def unembedded(db: Connection, fingerprint: str, limit: int) -> list[tuple[str, str]]:
    """Return id and content of live memories and facts without a vector from this embedder."""
    return db.execute(
        f"SELECT id::VARCHAR, content FROM ({_UNEMBEDDED}) AS waiting LIMIT {int(limit)}",
        [fingerprint],
    ).fetchall()


def contents_by_id(db: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the present texts of memories and facts, by id."""
    return dict(
        db.execute(
            "SELECT id::VARCHAR, content FROM memories WHERE id IN (SELECT unnest($1::UUID[])) "
            "UNION ALL SELECT fact_id::VARCHAR, content FROM org_facts "
            "WHERE fact_id IN (SELECT unnest($1::UUID[]))",
            [known_ids(ids)],
        ).fetchall()
    )


def drawn_from(db: Connection, execution_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of memories whose source is one of these sessions.

    A source is lines of a session, a session, or a session after what was made of it
    (``failure:<session>``).
    """
    sql = (
        "SELECT DISTINCT m.id::VARCHAR FROM memories m, unnest(?::VARCHAR[]) AS s(id) "
        f"WHERE {DRAWN_FROM} ORDER BY 1"
    )
    return tuple(column(db, sql, [list(execution_ids)]))


def stored_sources(db: Connection, memory_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the sources of memories, deleted ones too, that name lines of a stored session."""
    sql = (
        "SELECT DISTINCT m.source FROM memories m JOIN executions e "
        "ON starts_with(m.source, e.id || '#') "
        "WHERE m.id IN (SELECT unnest(?::UUID[])) ORDER BY 1"
    )
    return tuple(column(db, sql, [known_ids(memory_ids)]))


def last_purge(db: Connection) -> int:
    """Return the revision of the latest purge or redaction of memories, 0 without one."""
    (purged,) = numbers(db, "SELECT max(revision) FROM tombstones")
    return max(purged, int(meta(db).get(REDACTED, 0)))


def meta(db: Connection) -> dict[str, str]:
    """Return the entries of the ``meta`` table."""
    return dict(db.execute("SELECT name, value FROM meta").fetchall())


def imported(
    db: Connection,
    agent_id: str,
    keys: Sequence[str],
    hashes: Sequence[str],
    *,
    shared: bool = False,
) -> list[StoredMemory]:
    """Return an agent's private rows, or its shared ones, with these import keys or content hashes.

    Deleted rows are included and come before live ones.
    """
    where = WhereClause("m.shared = ?")
    where.values.append(shared)
    where.add("m.agent_id = ?", agent_id)
    where.add(
        "(m.import_key IN (SELECT unnest(?::VARCHAR[])) "
        "OR m.content_hash IN (SELECT unnest(?::VARCHAR[])))",
        list(keys),
        list(hashes),
    )
    rows = db.execute(
        f"SELECT {STORED.columns} FROM memories m WHERE {where} ORDER BY m.deleted_at NULLS LAST",
        where.values,
    ).fetchall()
    return [STORED.make(row) for row in rows]


def purged(db: Connection, agent_id: str, keys: Sequence[str], hashes: Sequence[str]) -> set[str]:
    """Return which of these import keys and content hashes of an agent were purged."""
    rows = db.execute(
        "SELECT import_key, content_hash FROM tombstones WHERE agent_id = ? "
        "AND (import_key IN (SELECT unnest(?::VARCHAR[])) "
        "OR content_hash IN (SELECT unnest(?::VARCHAR[])))",
        [agent_id, list(keys), list(hashes)],
    ).fetchall()
    return {value for row in rows for value in row if value is not None}


HistoryRow: TypeAlias = tuple[int, str, datetime, str, str, str, str]


def history_of(db: Connection, memory_id: str) -> list[HistoryRow]:
    """Return the history rows of a memory, newest first."""
    return db.execute(
        "SELECT revision, memory_id::VARCHAR, changed_at, actor, kind, fields_before, fields_after "
        "FROM history WHERE memory_id IN (SELECT unnest(?::UUID[])) ORDER BY revision DESC",
        [known_ids([memory_id])],
    ).fetchall()


def last_actors(db: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return who made the last change of each memory, whatever it was."""
    return dict(
        db.execute(
            "SELECT memory_id::VARCHAR, arg_max(actor, revision) FROM history "
            "WHERE memory_id IN (SELECT unnest(?::UUID[])) GROUP BY 1",
            [known_ids(ids)],
        ).fetchall()
    )


def authors_of(db: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return who last wrote the content of each memory, as the history records it."""
    return dict(
        db.execute(
            "SELECT memory_id::VARCHAR, arg_max(actor, revision) FROM history "
            "WHERE memory_id IN (SELECT unnest(?::UUID[])) AND contains(fields_after, ?) "
            "GROUP BY 1",
            [known_ids(ids), '"content":'],
        ).fetchall()
    )


def count_changed(db: Connection) -> int:
    """Return how many memories and facts a full rebuild of the index has to process."""
    tables = ("memories", "tombstones", "org_facts")
    return sum(numbers(db, f"SELECT count(*) FROM {table}")[0] for table in tables)


def column(db: Connection, sql: str, values: Sequence[object] = ()) -> list[Any]:
    """Return the first column of what a query finds."""
    return [row[0] for row in db.execute(sql, list(values)).fetchall()]


def numbers(db: Connection, sql: str, values: object = ()) -> tuple[int, ...]:
    """Return the one row of numbers that a query gives, ``NULL`` as 0."""
    row = db.execute(parsed(db, sql), values).fetchone() or ()
    return tuple(int(value or 0) for value in row)
