"""Finding memories by other memories: by what stands beside them, or by the start of an id.

Plain functions on a connection, of one query each, as a search of 100,000 memories waits for them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from synthorg_tui.memory.store.queries import WhereClause

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_LINE: Final = "TRY_CAST(regexp_extract(m.source, '#L(\\d+)', 1) AS BIGINT)"
_RUN: Final = "split_part(coalesce(m.source, ''), '#', 1)"
"""The execution that a memory was drawn from: a session may hold those of several subagents."""


def neighbours_of(
    db: "Connection", where: WhereClause, ids: Sequence[str], sessions: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the ids of the matching memories before and after each of ``ids`` in its session.

    ``sessions`` are those of the memories. The order is that of the lines which they were drawn
    from, else that of time.
    """
    if not ids or not sessions:
        return {}
    rows = db.execute(
        "SELECT id, before, after FROM (SELECT m.id::VARCHAR AS id, "
        "lag(m.id::VARCHAR) OVER w AS before, lead(m.id::VARCHAR) OVER w AS after "
        f"FROM memories m WHERE {where} AND m.session_id IN (SELECT unnest(?::VARCHAR[])) "
        f"WINDOW w AS (PARTITION BY m.agent_id, m.session_id, {_RUN} "
        f"ORDER BY m.created_at, {_LINE} NULLS FIRST, m.id)) "
        "WHERE id IN (SELECT unnest(?::VARCHAR[]))",
        [*where.values, list(sessions), list(ids)],
    ).fetchall()
    return {key: tuple(filter(None, (before, after))) for key, before, after in rows}


def sole_id(db: "Connection", where: WhereClause, start: str) -> str:
    """Return the id of the only matching memory whose id begins so; empty without, or with more."""
    rows = db.execute(
        f"SELECT m.id::VARCHAR FROM memories m WHERE {where} "
        "AND starts_with(m.id::VARCHAR, ?) LIMIT 2",
        [*where.values, start.lower()],
    ).fetchall()
    return str(rows[0][0]) if len(rows) == 1 else ""
