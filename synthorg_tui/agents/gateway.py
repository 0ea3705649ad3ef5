"""The gate of the agents: they connect here, and a person slows, stops and undoes them here.

Whether an agent may connect and what is taken from it is decided here; what it can call is the
session's. Over the socket a person's programs take from agents, read and undo; an agent reaches
none of this.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import (
    AgentIdentity,
    AgentRefusedError,
    AgentRights,
    CallRecord,
    NothingToUndoError,
    UndoneCall,
)
from synthorg_tui.agents.session import WROTE, AgentSession, Services
from synthorg_tui.memory.shared import SHARED_OWNER

if TYPE_CHECKING:
    from synthorg_tui.memory.extensions import MemoryAdmin

SESSIONS: Final = "sessions"
"""Topic of the event that somebody connected or left."""
MAX_NAME: Final = 128

HangUp = Callable[[], Awaitable[None]]
"""Ends the connection of a session."""


async def _no_connection() -> None:
    """A session of this process: there is nothing to hang up."""


class AgentGateway:
    """The sessions of one store; ``open`` comes before the first of them.

    Args:
        services: What sessions work with.
        memories: The memories of all agents, asked for when a person takes something back.
    """

    def __init__(self, services: Services, *, memories: "Callable[[], MemoryAdmin]") -> None:
        self._services = services._replace(rights=self.rights)
        self._memories = memories
        self._rights: dict[str, AgentRights] | None = None
        self._sessions: dict[AgentSession, HangUp] = {}
        self._allowances: dict[str, WriteAllowance] = {}

    async def open(self) -> None:
        """Read what a person decided about agents."""
        self._rights = await self._services.audit.rights()

    @property
    def sessions(self) -> tuple[AgentSession, ...]:
        """The open sessions, in order of arrival."""
        return tuple(self._sessions)

    def connect(self, identity: AgentIdentity, hang_up: HangUp = _no_connection) -> AgentSession:
        """A session for a client; ``hang_up`` is how a person ends its connection.

        Raises ``AgentRefusedError`` for an identity that can't be.
        """
        _require_name(identity.agent_id)
        # Of the agent, not of the connection: who reconnects has no more than before.
        allowance = self._allowances.setdefault(
            identity.agent_id, WriteAllowance(self._services.config.writes_per_minute)
        )
        session = AgentSession(identity, self._services, allowance)
        self._sessions[session] = hang_up
        self._services.events.emit(SESSIONS)
        return session

    def disconnect(self, session: AgentSession) -> None:
        """End a session; ending it again does nothing."""
        if self._sessions.pop(session, None) is not None:
            self._services.events.emit(SESSIONS)

    async def hang_up(self, agent_id: str) -> int:
        """End the connections of an agent, which may come back; returns how many there were."""
        open_ = [(key, end) for key, end in self._sessions.items() if _is_of(key, agent_id)]
        for _, end in open_:
            await end()
        return len(open_)

    def rights(self, agent_id: str) -> AgentRights:
        """Return what a person took from the agent."""
        return (self._rights or {}).get(agent_id, AgentRights())

    @property
    def restricted(self) -> tuple[str, ...]:
        """The agents that something was taken from."""
        rights = self._rights or {}
        return tuple(agent for agent, taken in rights.items() if taken != AgentRights())

    async def restrictions(self) -> dict[str, AgentRights]:
        """Return what was taken, by agent; agents that may do everything are left out."""
        if self._rights is None:
            await self.open()
        return {agent: self.rights(agent) for agent in sorted(self.restricted)}

    async def restrict(
        self, agent_id: str, *, paused: bool = False, read_only: bool = False
    ) -> None:
        """Take more from an agent; nothing is given back.

        For programs over the socket, where nobody can tell a person's from an agent's: giving back
        is for who holds the store.
        """
        before = (await self.restrictions()).get(agent_id, AgentRights())
        paused, read_only = before.paused or paused, before.read_only or read_only
        await self._change(agent_id, paused=paused, read_only=read_only)

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse everything to an agent, or no more."""
        await self._change(agent_id, paused=paused)

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or no more."""
        await self._change(agent_id, read_only=read_only)

    async def calls(
        self, *, limit: int = 300, agent: str | None = None, text: str | None = None
    ) -> tuple[CallRecord, ...]:
        """Recorded calls, newest first; ``text`` occurs in the name or the arguments."""
        return await self._services.audit.calls(limit=limit, agent=agent, text=text)

    async def undo_call(self, number: int, *, actor: str) -> UndoneCall:
        """Delete what a call wrote, or bring back what it, or an undo of it, deleted.

        Only the agent's own memories: whatever a record says, no undo reaches another agent's.
        Raises ``NothingToUndoError``, and ``MemoryCapabilityError`` where the backend can't.
        """
        from synthorg_tui.agents.tools import DELETE_ENTRY

        record = await self._services.audit.call(number)
        if record is None:
            raise NothingToUndoError(f"There is no call {number} on record.")
        live, deleted = await self._own_memories(record) if record.wrote else ((), ())
        if not (live or deleted):
            raise NothingToUndoError("There is nothing of this call left to take back.")
        takes_back = bool(live) and record.name != DELETE_ENTRY
        if takes_back:
            await self._memories().remove(live, actor=actor)
        elif deleted:
            await self._memories().restore(deleted, actor=actor)
        else:
            raise NothingToUndoError("It was brought back already.")
        self._services.events.emit(WROTE, "agents.undo_call")
        changed = live if takes_back else deleted
        return UndoneCall(number, record.agent_id, changed, restored=not takes_back)

    async def close(self) -> None:
        """Write what isn't recorded yet."""
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
        _require_name(agent_id)
        if self._rights is None:  # or what was taken before would be overwritten
            await self.open()
        assert self._rights is not None
        before = self.rights(agent_id)
        rights = AgentRights(
            paused=before.paused if paused is None else paused,
            read_only=before.read_only if read_only is None else read_only,
        )
        await self._services.audit.set_rights(agent_id, rights)
        self._rights[agent_id] = rights
        self._services.events.emit(SESSIONS)


def _is_of(session: AgentSession, agent_id: str) -> bool:
    return session.identity.agent_id == agent_id


def _require_name(agent_id: str) -> None:
    if not agent_id.strip() or len(agent_id) > MAX_NAME:
        raise AgentRefusedError(f"an agent's id has 1 to {MAX_NAME} characters")
    if agent_id == SHARED_OWNER:
        raise AgentRefusedError(f"{SHARED_OWNER} is no agent")
