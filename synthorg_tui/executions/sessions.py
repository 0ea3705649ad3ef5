"""Imported sessions as a person sees them: listed with their size, and read as conversations.

The list is made of columns, so it takes no record; a conversation takes one.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.executions.blame import Blame, blame_of
from synthorg_tui.executions.conversation import Conversation, StartedSession, conversation_of
from synthorg_tui.executions.facts import fill_missing
from synthorg_tui.executions.forgotten import AgedSessions, aged_in
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import aware

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
    """Read access to the imported sessions."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._executions = ExecutionStore(database)

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

    async def aged(self) -> AgedSessions:
        """Return how many sessions were deleted by age, and when the last one was."""
        return await self._database.read(aged_in)

    async def blame(self, path: NotBlankStr, text: str | None = None) -> Blame:
        """Return the calls that changed a file; the one that wrote the line ``text`` is first."""
        return await blame_of(self._database, self._executions, path, text)

    async def conversation(self, session_id: NotBlankStr) -> Conversation | None:
        """Return a session as a conversation; ``None`` when there is no such session."""
        execution = await self._executions.get(session_id)
        if execution is None:
            return None
        parts = []
        for part in await self.with_parts([session_id]):
            if part.parent_id == session_id:
                record = await self._executions.get(part.id)
                parts.append(StartedSession(part.id, record.task if record else ""))
        return await asyncio.to_thread(conversation_of, execution, parts)


def older_families(
    sessions: Sequence[StoredSession], before: datetime
) -> tuple[tuple[str, ...], ...]:
    """Return the ids of sessions with their subagents', of which all ended before a moment.

    One without any time isn't old.
    """
    parents = {session.id: session.parent_id for session in sessions}
    families: dict[str, list[StoredSession]] = {}
    for session in sessions:
        root, seen = session.id, {session.id}
        while (parent := parents.get(root)) in parents and parent not in seen:
            root = parent
            seen.add(root)
        families.setdefault(root, []).append(session)
    return tuple(
        tuple(session.id for session in family)
        for family in families.values()
        if all(session.latest is not None and session.latest < before for session in family)
    )


def _session(row: Sequence[Any]) -> StoredSession:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["outcome"] = ExecutionOutcome(values["outcome"])
    values |= {name: aware(values[name]) for name in ("started_at", "ended_at")}
    return StoredSession(**values)
