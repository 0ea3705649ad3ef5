"""Where agents connect: gives out sessions, and lets a person slow or stop an agent."""

from typing import Final

from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import AgentIdentity, AgentRefusedError, AgentRights, CallRecord
from synthorg_tui.agents.session import AgentSession, Services
from synthorg_tui.memory.shared import SHARED_OWNER

SESSIONS: Final = "sessions"
"""Topic of the event that somebody connected or left."""
MAX_NAME: Final = 128


class AgentGateway:
    """The sessions of one store; ``open`` comes before everything else."""

    def __init__(self, services: Services) -> None:
        self._services = services._replace(rights=self.rights)
        self._rights: dict[str, AgentRights] = {}
        self._sessions: list[AgentSession] = []
        self._allowances: dict[str, WriteAllowance] = {}

    async def open(self) -> None:
        """Read what a person decided about agents."""
        self._rights = await self._services.audit.rights()

    @property
    def sessions(self) -> tuple[AgentSession, ...]:
        """Who is connected, in order of arrival."""
        return tuple(self._sessions)

    def connect(self, identity: AgentIdentity) -> AgentSession:
        """A session for a client; raises ``AgentRefusedError`` for an identity that can't be."""
        if not identity.agent_id.strip() or len(identity.agent_id) > MAX_NAME:
            raise AgentRefusedError(f"an agent's id has 1 to {MAX_NAME} characters")
        if identity.agent_id == SHARED_OWNER:
            raise AgentRefusedError(f"{SHARED_OWNER} is no agent")
        # Of the agent, not of the connection: who reconnects has no more than before.
        allowance = self._allowances.setdefault(
            identity.agent_id, WriteAllowance(self._services.config.writes_per_minute)
        )
        session = AgentSession(identity, self._services, allowance)
        self._sessions.append(session)
        self._services.events.emit(SESSIONS)
        return session

    def disconnect(self, session: AgentSession) -> None:
        """End a session; ending it again does nothing."""
        if session in self._sessions:
            self._sessions.remove(session)
            self._services.events.emit(SESSIONS)

    def rights(self, agent_id: str) -> AgentRights:
        """What a person took from the agent."""
        return self._rights.get(agent_id, AgentRights())

    @property
    def restricted(self) -> tuple[str, ...]:
        """The agents that something was taken from."""
        return tuple(agent for agent, rights in self._rights.items() if rights != AgentRights())

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse everything to an agent, or no more."""
        await self._set(agent_id, self.rights(agent_id)._replace(paused=paused))

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or no more."""
        await self._set(agent_id, self.rights(agent_id)._replace(read_only=read_only))

    async def calls(
        self, *, limit: int = 300, agent: str | None = None, text: str | None = None
    ) -> tuple[CallRecord, ...]:
        """Recorded calls, newest first."""
        return await self._services.audit.calls(limit=limit, agent=agent, text=text)

    async def close(self) -> None:
        """Write what isn't recorded yet."""
        await self._services.audit.close()

    async def _set(self, agent_id: str, rights: AgentRights) -> None:
        await self._services.audit.set_rights(agent_id, rights)
        self._rights[agent_id] = rights
        self._services.events.emit(SESSIONS)
