"""Imported sessions as a person sees them: listed with their size, and forgotten for good.

Of a forgotten session only a mark stays, a hash of its id, so that no import brings it back. The
functions that take a connection run inside the transaction that also erases what was made of it.
"""

import asyncio
import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import naive_utc

if TYPE_CHECKING:
    import duckdb

_TASK_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One imported session; ``size`` is what record and lines take in the database, in bytes.

    ``parent_id`` is the session whose agent started this one, ``None`` for a person's. ``path`` is
    where the transcript was read; that file isn't ours and may be gone.
    """

    id: str
    agent_id: str
    project: str | None
    path: str
    lines: int
    size: int
    task: str
    parent_id: str | None
    started_at: datetime | None
    ended_at: datetime | None


class SessionList:
    """Read access to the imported sessions, without their turns and lines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[StoredSession, ...]:
        """Return every session, the one that ended last first; those without a time are last."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT e.id, e.agent_id, e.project, e.path, e.line_count, "
                "octet_length(e.record) + coalesce((SELECT sum(octet_length(l.lines)) "
                "FROM execution_lines l WHERE l.execution_id = e.id), 0)::BIGINT, e.record "
                "FROM executions e"
            ).fetchall()
        )
        sessions = await asyncio.to_thread(lambda: [_session(*row) for row in rows])
        return tuple(sorted(sessions, key=_latest_first))

    async def with_parts(self, session_ids: Collection[NotBlankStr]) -> tuple[StoredSession, ...]:
        """Return the sessions with these ids and those of the subagents that they started."""
        sessions = await self.all()
        wanted = set(session_ids)
        while more := {s.id for s in sessions if s.parent_id in wanted} - wanted:
            wanted |= more
        return tuple(session for session in sessions if session.id in wanted)


def forget_in(db: "duckdb.DuckDBPyConnection", ids: Sequence[str], *, at: datetime) -> None:
    """Erase sessions, their lines, and what the marks of their files tell of their content."""
    listed = "(SELECT unnest(?::VARCHAR[]))"
    db.execute(
        "UPDATE file_marks SET digest = '' WHERE path IN "
        f"(SELECT path FROM executions WHERE id IN {listed})",
        [ids],
    )
    db.execute(f"DELETE FROM execution_lines WHERE execution_id IN {listed}", [ids])
    db.execute(f"DELETE FROM erased_lines WHERE execution_id IN {listed}", [ids])
    db.execute(f"DELETE FROM executions WHERE id IN {listed}", [ids])
    for mark in _marks(db, ids):
        db.execute("INSERT OR REPLACE INTO forgotten_sessions VALUES (?, ?)", [mark, naive_utc(at)])


def forgotten_in(db: "duckdb.DuckDBPyConnection", ids: Iterable[str]) -> bool:
    """Return whether any of these sessions was forgotten."""
    found = db.execute(
        "SELECT 1 FROM forgotten_sessions WHERE mark IN (SELECT unnest(?::VARCHAR[])) LIMIT 1",
        [_marks(db, ids)],
    ).fetchone()
    return found is not None


def _marks(db: "duckdb.DuckDBPyConnection", ids: Iterable[str]) -> list[str]:
    row = db.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    salt = str(row[0]) if row else ""
    return [hashlib.sha256(f"{salt}/{session_id}".encode()).hexdigest() for session_id in ids]


def _session(
    id_: str, agent: str, project: str | None, path: str, lines: int, size: int, record: bytes
) -> StoredSession:
    import zstandard

    fields = json.loads(zstandard.ZstdDecompressor().decompress(record))
    return StoredSession(
        id=id_,
        agent_id=agent,
        project=project,
        path=path,
        lines=lines,
        size=size,
        task=str(fields.get("task") or "")[:_TASK_CHARS],
        parent_id=fields.get("parent_id"),
        started_at=_moment(fields.get("started_at")),
        ended_at=_moment(fields.get("ended_at")),
    )


def _moment(text: object) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def _latest_first(session: StoredSession) -> tuple[bool, float, str]:
    moment = session.ended_at or session.started_at
    return (moment is None, -moment.timestamp() if moment else 0.0, session.id)
