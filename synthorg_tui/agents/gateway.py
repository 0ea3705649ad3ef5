"""Opens the sessions of agents, and lets a person restrict agents and undo their calls.

Whether an agent may connect, and which rights it has, is decided here; what it can call is in
``agents.session``. A person's programs reach this over the socket, but only to restrict agents
further, to read their calls and to undo them. An agent reaches none of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from synthorg_tui.agents.client_sessions import ancestors
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import (
    DELETED,
    EDITED,
    AgentIdentity,
    AgentRefusedError,
    AgentRights,
    CallRecord,
    UndoneCall,
)
from synthorg_tui.agents.session import WROTE, AgentSession, Services
from synthorg_tui.agents.silenced import Silence, SilencedHints, SilencedKind
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import in_place
from synthorg_tui.core.text import agent_id_problem

if TYPE_CHECKING:
    from synthorg_tui.memory.extensions import MemoryAdmin

SESSIONS: Final = "sessions"
"""Topic of the event that a session was opened or closed."""

MOMENT: Final = 2.0
"""Seconds after an answer in which an agent probably asks again."""

HangUp = Callable[[], Awaitable[None]]
"""Ends the connection of a session."""


async def _no_connection() -> None:
    """A session of this process: there is nothing to hang up."""


class AgentGateway:
    """All agents' sessions with one store; await ``open`` before the first ``connect``.

    Args:
        services: What every session is given to work with.
        memories: Returns the access to all agents' memories; called when a person undoes a call.
    """

    def __init__(self, services: Services, *, memories: "Callable[[], MemoryAdmin]") -> None:
        self._services = services._replace(rights=self._held)
        self._holds_writes = False
        self._memories = memories
        self._rights: dict[str, AgentRights] | None = None
        self._opening = asyncio.Lock()
        self._sessions: dict[AgentSession, HangUp] = {}
        self._allowances: dict[str, WriteAllowance] = {}
        self._answering = 0
        self._answered = -MOMENT

    async def open(self) -> None:
        """Load the rights that a person took from agents, and end the sessions that are over.

        Opening it again does nothing.
        """
        async with self._opening:
            if self._rights is None:
                rights = await self._services.audit.rights()
                await self._services.sessions.sweep()
                self._rights = rights

    @property
    def sessions(self) -> tuple[AgentSession, ...]:
        """The open sessions, oldest first."""
        return tuple(self._sessions)

    def connect(
        self, identity: AgentIdentity, hang_up: HangUp = _no_connection, *, pid: int = 0
    ) -> AgentSession:
        """Open and return a session for a client that acts as the agent ``identity``.

        ``hang_up`` is awaited when a person ends the connection; ``pid`` is the client's process,
        by which the session that it works in is found. Raises ``AgentRefusedError`` for
        an agent id that is not allowed, such as the reserved owner of shared memories.
        """
        _require_name(identity.agent_id)
        if identity.project:  # of a run that works in a copy, the project that it is a copy of
            identity = replace(identity, project=in_place(identity.project))
        # The agent's, not the connection's: reconnecting doesn't renew it.
        allowance = self._allowances.setdefault(
            identity.agent_id, WriteAllowance(self._services.config.writes_per_minute)
        )
        processes = ancestors(pid) if pid > 1 else ()
        session = AgentSession(identity, self._services, allowance, processes)
        self._sessions[session] = hang_up
        self._services.events.emit(SESSIONS)
        return session

    def disconnect(self, session: AgentSession) -> None:
        """End a session; ending it again does nothing."""
        if self._sessions.pop(session, None) is not None:
            self._services.events.emit(SESSIONS)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Inside the ``with``, an agent waits for an answer."""
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1
            self._answered = monotonic()

    @property
    def is_waited_for(self) -> bool:
        """Whether an agent waits for an answer now, or was given one within ``MOMENT``."""
        return self._answering > 0 or monotonic() - self._answered < MOMENT

    async def hang_up(self, agent_id: str) -> int:
        """End all connections of an agent and return their number; it may connect again."""
        open_ = [
            (key, end) for key, end in self._sessions.items() if (key.identity.agent_id == agent_id)
        ]
        for _, end in open_:
            await end()
        return len(open_)

    def rights(self, agent_id: str) -> AgentRights:
        """Return the restrictions on an agent; by default there are none."""
        return (self._rights or {}).get(agent_id, AgentRights())

    def mirror(self, writes: str) -> None:
        """Refuse every agent's writes from now on where these are ``off``, or allow them again."""
        self._holds_writes = writes == "off"

    def _held(self, agent_id: str) -> AgentRights:
        rights = self.rights(agent_id)
        return rights._replace(read_only=True) if self._holds_writes else rights

    @property
    def restricted(self) -> tuple[str, ...]:
        """The ids of the agents that are paused or read-only."""
        rights = self._rights or {}
        return tuple(agent for agent, taken in rights.items() if taken != AgentRights())

    async def restrictions(self) -> dict[str, AgentRights]:
        """Return the rights of every paused or read-only agent, by its id."""
        await self.open()
        return {agent: self.rights(agent) for agent in sorted(self.restricted)}

    async def restrict(
        self, agent_id: str, *, paused: bool = False, read_only: bool = False
    ) -> None:
        """Pause an agent or make it read-only; ``False`` leaves a restriction as it is.

        Programs call this over the socket, where a person's can't be told from an agent's.
        Therefore it lifts no restriction: ``set_paused`` and ``set_read_only`` do, and only the
        process that has the store open can call them.
        """
        before = (await self.restrictions()).get(agent_id, AgentRights())
        paused, read_only = before.paused or paused, before.read_only or read_only
        await self._change(agent_id, paused=paused, read_only=read_only)

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Pause an agent, which is then refused every call, or let it go on."""
        await self._change(agent_id, paused=paused)

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or allow them again."""
        await self._change(agent_id, read_only=read_only)

    async def calls(
        self, *, limit: int = 300, agent: str | None = None, text: str | None = None
    ) -> tuple[CallRecord, ...]:
        """Return at most ``limit`` recorded calls, newest first.

        ``agent`` limits them to one agent's id; ``text`` must occur in the tool's name or the
        arguments, in upper or lower case.
        """
        return await self._services.audit.calls(limit=limit, agent=agent, text=text)

    async def silenced(self) -> tuple[Silence, ...]:
        """Return the silenced commands, lessons and projects, the latest first."""
        return await self._hints.all()

    async def silence(self, kind: SilencedKind, subject: str, *, actor: str) -> Silence:
        """Give agents no more hints about a command, a lesson or a project, from now on.

        ``actor`` is recorded as who wanted it. Like ``unsilence`` it can't be called over the
        socket: hints may keep an agent from what a person doesn't want.
        """
        silence = await self._hints.silence(kind, subject, actor=actor)
        self._services.events.emit(SESSIONS)
        return silence

    async def unsilence(self, kind: SilencedKind, subject: str) -> Silence:
        """Allow hints about it again; raises ``DomainError`` if they were."""
        silence = await self._hints.unsilence(kind, subject)
        self._services.events.emit(SESSIONS)
        return silence

    @property
    def _hints(self) -> SilencedHints:
        return self._services.tools().recall.silenced

    async def undo_call(self, number: int, *, actor: str) -> UndoneCall:
        """Undo a recorded call, or redo it when it was undone before.

        Memories that the call wrote are deleted. Memories that the call, or an earlier undo of
        it, deleted are restored. Only memories of the agent that made the call are touched,
        whatever the record says. ``actor`` is recorded as the author of the change.

        Raises ``DomainError`` when nothing can be changed, and ``MemoryCapabilityError``
        when the memory backend can't delete or restore.
        """
        from synthorg_tui.agents.tools import DELETE_ENTRY

        record = await self._services.audit.call(number)
        if record is None:
            raise DomainError(f"There is no call {number} on record.")
        if record.name == EDITED:
            raise DomainError("An edit can't be taken back; the history has the text before.")
        live, deleted = await self._own_memories(record) if record.wrote else ((), ())
        if not (live or deleted):
            raise DomainError("There is nothing of this call left to take back.")
        takes_back = bool(live) and record.name not in (DELETE_ENTRY, DELETED)
        if takes_back:
            await self._memories().remove(live, actor=actor)
        elif deleted:
            await self._memories().restore(deleted, actor=actor)
        else:
            raise DomainError("It was brought back already.")
        self._services.events.emit(WROTE, "agents.undo_call")
        changed = live if takes_back else deleted
        return UndoneCall(number, record.agent_id, changed, restored=not takes_back)

    async def close(self) -> None:
        """Write the calls that are not on disk yet; comes last."""
        await self._services.audit.close()

    async def _own_memories(self, record: CallRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids of the memories of the call that are its agent's own: the live, the deleted ones."""
        admin, live, deleted = self._memories(), list[str](), list[str]()
        for memory_id in record.memory_ids:
            active = await admin.lookup(memory_id, limit=1)
            stored = active or await admin.lookup(memory_id, deleted=True, limit=1)
            if [(entry.id, entry.agent_id) for entry in stored] == [(memory_id, record.agent_id)]:
                (live if active else deleted).append(memory_id)
        return tuple(live), tuple(deleted)

    async def _change(
        self, agent_id: str, *, paused: bool | None = None, read_only: bool | None = None
    ) -> None:
        await self.open()  # the stored rights, which would be overwritten otherwise
        assert self._rights is not None
        if agent_id not in self._rights:  # those restricted when more ids were allowed stay
            _require_name(agent_id)
        before = self.rights(agent_id)
        rights = AgentRights(
            paused=before.paused if paused is None else paused,
            read_only=before.read_only if read_only is None else read_only,
        )
        await self._services.audit.set_rights(agent_id, rights)
        self._rights[agent_id] = rights
        self._services.events.emit(SESSIONS)


def _require_name(agent_id: str) -> None:
    if problem := agent_id_problem(agent_id):
        raise AgentRefusedError(problem)
    if Actor.parse(agent_id) != Actor(ActorKind.AGENT, agent_id):
        raise AgentRefusedError(f"{agent_id!r} names somebody else, not an agent")
