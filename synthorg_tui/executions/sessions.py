"""Imported sessions as a person sees them: listed with their size, and forgotten for good.

Of a forgotten session only a mark stays, a hash of its id, so that no import brings it back. The
functions that take a connection run inside the transaction that also erases what was made of it.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.executions.facts import fill_missing
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import aware, naive, naive_utc

if TYPE_CHECKING:
    import duckdb


_COLUMNS: Final = {
    "id": "id",
    "agent_id": "agent_id",
    "project": "project",
    "path": "path",
    "lines": "line_count",
    "size": "size",
    "title": "title",
    "outcome": "outcome",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "parent_id": "parent_id",
    "model": "model",
    "calls": "calls",
    "failures": "failures",
    "files": "len(files)",
}
"""Fields of a session with what the table has for them."""
_SELECT: Final = (
    f"SELECT {', '.join(_COLUMNS.values())} FROM executions "
    "ORDER BY coalesce(ended_at, started_at) DESC NULLS LAST, id"
)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One imported session; ``size`` is what record and lines take in the database, in bytes.

    ``parent_id`` is the session whose agent started this one, ``None`` for a person's. ``path`` is
    where the transcript was read; that file isn't ours and may be gone. ``title`` says what
    happened; ``calls``, ``failures`` and ``files`` are numbers of calls and of files changed.
    """

    id: str
    agent_id: str
    project: str | None
    path: str
    lines: int
    size: int
    title: str
    outcome: ExecutionOutcome
    started_at: datetime | None
    ended_at: datetime | None
    parent_id: str | None = None
    model: str | None = None
    calls: int = 0
    failures: int = 0
    files: int = 0

    @property
    def latest(self) -> datetime | None:
        """When it ended; without that, when it started."""
        return self.ended_at or self.started_at


class SessionList:
    """Read access to the imported sessions, without their turns and lines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[StoredSession, ...]:
        """Return every session, the one that ended last first; those without a time are last."""
        await fill_missing(self._database)
        rows = await self._database.read(lambda db: db.execute(_SELECT).fetchall())
        return tuple(_session(row) for row in rows)

    async def with_parts(self, session_ids: Collection[NotBlankStr]) -> tuple[StoredSession, ...]:
        """Return the sessions with these ids and those of the subagents that they started."""
        sessions = await self.all()
        wanted = set(session_ids)
        while more := {s.id for s in sessions if s.parent_id in wanted} - wanted:
            wanted |= more
        return tuple(session for session in sessions if session.id in wanted)


def forget_in(
    db: "duckdb.DuckDBPyConnection", ids: Sequence[str], *, at: datetime, by_age: bool = False
) -> None:
    """Erase sessions, their lines, and what the marks of their files tell of their content.

    With ``by_age`` one that goes on later is imported again, and lines erased from it stay so.
    """
    listed = "(SELECT unnest(?::VARCHAR[]))"
    db.execute(
        "UPDATE file_marks SET digest = '' WHERE path IN "
        f"(SELECT path FROM executions WHERE id IN {listed})",
        [ids],
    )
    db.execute(f"DELETE FROM execution_lines WHERE execution_id IN {listed}", [ids])
    if not by_age:
        db.execute(f"DELETE FROM erased_lines WHERE execution_id IN {listed}", [ids])
    db.execute(f"DELETE FROM executions WHERE id IN {listed}", [ids])
    for mark in _marks(db, ids):
        db.execute(
            "INSERT OR REPLACE INTO forgotten_sessions (mark, forgotten_at, by_age) "
            "VALUES (?, ?, ?)",
            [mark, naive_utc(at), by_age],
        )


def forgotten_in(
    db: "duckdb.DuckDBPyConnection", ids: Iterable[str], ended_at: datetime | None = None
) -> bool:
    """Return whether any of these sessions was forgotten, or deleted by age after it ended."""
    found = db.execute(
        "SELECT 1 FROM forgotten_sessions WHERE mark IN (SELECT unnest(?::VARCHAR[])) "
        "AND NOT (by_age AND coalesce(?::TIMESTAMP > forgotten_at, false)) LIMIT 1",
        [_marks(db, ids), naive(ended_at)],
    ).fetchone()
    return found is not None


def _marks(db: "duckdb.DuckDBPyConnection", ids: Iterable[str]) -> list[str]:
    row = db.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    salt = str(row[0]) if row else ""
    return [hashlib.sha256(f"{salt}/{session_id}".encode()).hexdigest() for session_id in ids]


def _session(row: Sequence[Any]) -> StoredSession:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["outcome"] = ExecutionOutcome(values["outcome"])
    values |= {name: aware(values[name]) for name in ("started_at", "ended_at")}
    return StoredSession(**values)
