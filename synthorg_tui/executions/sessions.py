"""Imported sessions as a person sees them: listed with their size, and read as conversations.

The list is made of columns, so it takes no record; a conversation takes one.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.executions.blame import Blame, blame_of
from synthorg_tui.executions.conversation import Conversation, StartedSession, conversation_of
from synthorg_tui.executions.facts import fill_missing
from synthorg_tui.executions.forgotten import AgedSessions, aged_in
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.persistence.port import Connection, StoreDatabase
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
    "branch_of": "NULL",
}
"""Fields of a session with what the table has for them."""
_OF_BRANCH: Final = {
    "id": "b.id",
    "agent_id": "e.agent_id",
    "project": "e.project",
    "path": "b.path",
    "lines": "list_sum(list_transform(range(1, len(b.spans) + 1, 2), "
    "lambda i: b.spans[i + 1] - b.spans[i] + 1))::BIGINT",
    "title": "b.title",
    "outcome": "e.outcome",
    "ended_at": "b.ended_at",
    "parent_id": "e.parent_id",
    "model": "e.model",
    "branch_of": "b.execution_id",
}
_SELECT: Final = (
    f"SELECT {', '.join(_COLUMNS.values())} FROM executions "
    "ORDER BY coalesce(ended_at, started_at) DESC NULLS LAST, id"
)
_SELECT_BRANCHES: Final = (
    f"SELECT {', '.join(_OF_BRANCH.values())} FROM session_branches b "
    "JOIN executions e ON e.id = b.execution_id WHERE b.id <> e.id ORDER BY b.ended_at, b.id"
)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One imported session; ``size`` is what record and lines take in the database, in bytes.

    ``parent_id`` is the session whose agent started this one, ``None`` for a person's. ``path`` is
    where the transcript was read; that file isn't ours and may be gone. ``title`` says what
    happened; ``calls``, ``failures`` and ``files`` are numbers of calls and of files changed.
    A session with ``branch_of`` is another file of that one, a fork or a copy: ``lines`` is the
    number of those that it holds, ``title`` what it has of its own.
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
    branch_of: str | None = None

    @property
    def above(self) -> str | None:
        """The session under which it is listed: the one that it is a branch or a subagent of."""
        return self.branch_of or self.parent_id

    @property
    def started_by(self) -> str | None:
        """The session whose agent started it; of a subagent's branch, that of the same file."""
        root, slash, _ = self.id.partition("/")
        return (root if slash else None) if self.branch_of else self.parent_id

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
        """Return every session, the one that ended last first, and then the branches of all.

        Those without a time are the last sessions.
        """
        await fill_missing(self._database)

        def work(db: Connection) -> list[StoredSession]:
            sessions = [_session(_COLUMNS, row) for row in db.execute(_SELECT).fetchall()]
            branches = db.execute(_SELECT_BRANCHES).fetchall()
            return [*sessions, *(_session(_OF_BRANCH, row) for row in branches)]

        return tuple(await self._database.read(work))

    async def with_parts(self, session_ids: Collection[NotBlankStr]) -> tuple[StoredSession, ...]:
        """Return the sessions with these ids and those of the subagents that they started.

        Their branches are others' sessions, and not among them.
        """
        sessions = await self.all()
        wanted = set(session_ids)
        while more := {s.id for s in sessions if s.started_by in wanted} - wanted:
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
        execution = await self._executions.get(session_id) or await self._branch(session_id)
        if execution is None:
            return None
        parts = []
        for part in await self.with_parts([session_id]):
            if part.parent_id == session_id:
                record = await self._executions.get(part.id)
                parts.append(StartedSession(part.id, record.task if record else ""))
        return await asyncio.to_thread(conversation_of, execution, parts)

    async def _branch(self, branch_id: str) -> Execution | None:
        """A branch as a session: what of the stored session stands in its file."""
        listed = next((each for each in await self.all() if each.id == branch_id), None)
        execution = await self._executions.get((listed and listed.branch_of) or "")
        if execution is None:
            return None
        branches = await self._executions.branches(execution.id)
        held = next(each.numbers for each in branches if each.id == branch_id)
        turns = tuple(turn for turn in execution.turns if turn.first_line in held)
        calls = tuple(call for call in execution.calls if call.call_line in held)
        return execution.model_copy(update={"id": branch_id, "turns": turns, "calls": calls})


def older_families(
    sessions: Sequence[StoredSession], before: datetime
) -> tuple[tuple[str, ...], ...]:
    """Return the ids of sessions with their subagents', of which all ended before a moment.

    One without any time isn't old.
    """
    parents = {session.id: session.above for session in sessions}
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


def _session(columns: Iterable[str], row: Sequence[Any]) -> StoredSession:
    values = {"size": 0, "started_at": None} | dict(zip(columns, row, strict=True))
    if values["branch_of"]:
        values["title"] = values["title"] or "a copy: nothing in it is its own"
    values["outcome"] = ExecutionOutcome(values["outcome"])
    values |= {name: aware(values[name]) for name in ("started_at", "ended_at")}
    return StoredSession(**values)
