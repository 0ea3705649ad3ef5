"""The sessions of coding agents: which one a connection belongs to, and what ends with it.

A hook names its client's session, an MCP client doesn't: it belongs to the session whose hooks
come from the same program, found by the processes that both descend from. Memories that are
limited to a session are deleted when it ends, or a day after its last use when no end is seen.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.agents.handed import HandedOver
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.memory.store.queries import of_sessions
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc

if TYPE_CHECKING:
    from synthorg_tui.memory.extensions import MemoryAdmin

_log = logging.getLogger(__name__)

MAX_UNUSED: Final = timedelta(days=1)
"""How long after its last use a session counts as ended without an event of its end."""
ACTOR: Final = "policy (end of session)"
"""Who the history names for the deletion of a session's memories."""
_KNOWN_FOR: Final = timedelta(days=30)
_WRITE_AFTER: Final = timedelta(minutes=10)
_SWEEP_AFTER: Final = timedelta(hours=1)
_MAX_GENERATIONS: Final = 6
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"})


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A session that a client named; ``processes`` are those that its program descends from."""

    agent_id: str
    session_id: str
    project: str | None
    processes: tuple[str, ...]
    seen_at: datetime
    ended_at: datetime | None = None

    def is_over(self, now: datetime, changed_at: datetime) -> bool:
        """Return whether memories that were last changed at ``changed_at`` have had their time."""
        return self.ended_at is not None or now - max(self.seen_at, changed_at) > MAX_UNUSED


class ClientSessions:
    """Knows the sessions of all agents' clients, and deletes the memories of those that ended."""

    def __init__(
        self, database: StoreDatabase, *, clock: Clock, memories: "Callable[[], MemoryAdmin]"
    ) -> None:
        self._database = database
        self._clock = clock
        self._memories = memories
        self._known: dict[tuple[str, str], KnownSession] | None = None
        self._written: dict[tuple[str, str], datetime] = {}
        self._swept_at: datetime | None = None
        self.handed = HandedOver()
        """What each session was handed in digests."""

    async def current(self, identity: AgentIdentity, processes: tuple[str, ...]) -> str | None:
        """Return the id of the session that a client works in now.

        That is the one it names, else that of its program, else ``own_session``. ``processes`` are
        those of ``ancestors``.
        """
        known = await self._loaded()
        if identity.session_id is None:
            program = self._of_program(known, identity, processes)
            if program is not None:
                await self._note(replace(program, seen_at=self._clock.now()))
                return program.session_id
        session_id = identity.session_id or identity.own_session
        if session_id is not None:
            # Without project and processes no other connection is taken for a part of it.
            places = (identity.project, processes) if identity.session_id else (None, ())
            await self._note(
                KnownSession(identity.agent_id, session_id, *places, self._clock.now())
            )
        return session_id

    async def end(self, agent_id: str, session_id: str) -> int:
        """Delete the memories that are limited to a session; return their number.

        They can be restored. A session that is used again goes on without them.
        """
        self.handed.forget(agent_id, session_id)
        now, known = self._clock.now(), await self._loaded()
        blank = KnownSession(agent_id, session_id, None, (), now)
        session = known.get((agent_id, session_id), blank)
        await self._note(replace(session, ended_at=now))
        return await self._delete(now, agent_id, session_id)

    async def sweep(self) -> None:
        """Delete the memories of all sessions that ended; a failure is only logged."""
        with surviving("deleting the memories of ended sessions", _log):
            now = self._swept_at = self._clock.now()
            await self._delete(now)
            since = naive_utc(now - _KNOWN_FOR)
            await self._database.write(
                lambda db: db.execute("DELETE FROM agent_sessions WHERE seen_at < ?", [since])
            )

    async def _delete(
        self, now: datetime, agent_id: str | None = None, session_id: str | None = None
    ) -> int:
        known, over = await self._looked_up(), list[str]()
        for memory_id, agent, session, changed_at in await self._database.read(of_sessions):
            blank = KnownSession(agent, session, None, (), changed_at)
            is_meant = agent_id is None or (agent, session) == (agent_id, session_id)
            if is_meant and known.get((agent, session), blank).is_over(now, changed_at):
                over.append(memory_id)
        return await self._memories().remove(over, actor=ACTOR) if over else 0

    def _of_program(
        self,
        known: dict[tuple[str, str], KnownSession],
        identity: AgentIdentity,
        processes: tuple[str, ...],
    ) -> KnownSession | None:
        """The session of the program that a client was started by, the latest one."""
        now = self._clock.now()
        running = [
            session
            for session in known.values()
            if session.agent_id == identity.agent_id and not session.is_over(now, session.seen_at)
        ]
        # Where processes can't be read, all that works in the project is one program.
        of_program = [
            session
            for session in running
            if (
                _are_of_one_program(session.processes, processes)
                if processes and session.processes
                else not processes
                and session.project is not None
                and session.project == identity.project
            )
        ]
        # Of those last seen in the same moment, the one that was noted last.
        return max(reversed(of_program), key=lambda session: session.seen_at, default=None)

    async def _note(self, session: KnownSession) -> None:
        """Remember a session, on disk at once if it is new or ended, else now and then."""
        known, key = await self._loaded(), (session.agent_id, session.session_id)
        before = known.pop(key, None)
        known[key] = session
        written = self._written.get(key)
        same = before is not None and replace(before, seen_at=session.seen_at) == session
        if not same or written is None or session.seen_at - written > _WRITE_AFTER:
            self._written[key] = session.seen_at
            with surviving("recording a session", _log):  # a full disk stops no reader
                await self._database.write(lambda db: _write(db, session))
        if self._swept_at is None or session.seen_at - self._swept_at > _SWEEP_AFTER:
            await self.sweep()

    async def _looked_up(self) -> dict[tuple[str, str], KnownSession]:
        """Return all sessions, in a shared store those of other apps too."""
        known = await self._loaded()
        if self._database.is_shared:
            for row in await self._database.read(_read):
                key = (row.agent_id, row.session_id)
                if key not in known or known[key].seen_at < row.seen_at:
                    known[key] = row
        return known

    async def _loaded(self) -> dict[tuple[str, str], KnownSession]:
        if self._known is None:
            rows = await self._database.read(_read)
            self._known = {(row.agent_id, row.session_id): row for row in rows}
        return self._known


def ancestors(pid: int) -> tuple[str, ...]:
    """Return the processes that a process descends from, the nearest first, without shells.

    Each is named by its id and the time of its start. Empty where that can't be read.
    """
    found: list[str] = []
    for generation in range(_MAX_GENERATIONS):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            break
        name, _, rest = stat.partition("(")[2].rpartition(")")
        fields = rest.split()
        if generation and name not in _SHELLS:
            found.append(f"{pid}:{fields[19]}")
        pid = int(fields[1])
        if pid <= 1:
            break
    return tuple(found)


def _are_of_one_program(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether one program started both, at most one of them through another program.

    Processes further up, such as a terminal, start several programs.
    """
    near = ((0, 0), (0, 1), (1, 0))
    return any(first[one : one + 1] == second[other : other + 1] != () for one, other in near)


def _write(db: Connection, session: KnownSession) -> None:
    db.execute(
        "INSERT OR REPLACE INTO agent_sessions VALUES (?, ?, ?, ?, ?, ?)",
        [
            session.agent_id,
            session.session_id,
            session.project,
            list(session.processes),
            naive_utc(session.seen_at),
            naive_utc(session.ended_at) if session.ended_at else None,
        ],
    )


def _read(db: Connection) -> list[KnownSession]:
    rows = db.execute(
        "SELECT agent_id, session_id, project, processes, seen_at, ended_at FROM agent_sessions"
    ).fetchall()
    return [
        KnownSession(agent, session, project, tuple(processes), aware(seen), aware(ended))  # type: ignore[arg-type]
        for agent, session, project, processes, seen, ended in rows
    ]
