"""What the Activity pane asks of the engine.

It passes calls on, and combines what several parts of the engine hold: connections with the
restrictions a person put on agents, and the memories of a call with whether each still exists.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.activity.models import ActivityEvent, ListedAgent, NamedMemory
from synthorg_tui.tui.approvals.adapter import person

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.owner import ConnectedClient, Owner
    from synthorg_tui.memory.retrieval.explanation import Explanation

_Topic = Literal["call", "agents", "changed", "failed", "elsewhere", "connection"]
_TOPICS: Final[dict[str, _Topic]] = {
    "activity": "call",
    "sessions": "agents",
    "changed": "changed",
    "followed": "changed",
    "following_failed": "failed",
    "elsewhere": "elsewhere",
    "connection": "connection",
}


class EngineActivity:
    """What connected agents do; they can connect once ``open`` was called.

    Failures are ``DomainError``; so is an undo, and giving
    rights back, where a coding agent runs the app.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._owner: Owner | None = None
        self._listeners: list[Callable[[ActivityEvent], None]] = []
        engine.events.subscribe(self._notify)

    def open(self, owner: "Owner") -> None:
        """Accept agents through this owner of the store, and notify listeners of it."""
        self._owner = owner
        self._notify("sessions", None)

    @property
    def is_open(self) -> bool:
        """Whether agents can connect; shortly after the start they can't yet."""
        return self._owner is not None

    async def agents(self) -> tuple[ListedAgent, ...]:
        """List who is connected, in order of arrival, and who else is restricted."""
        if self._owner is None:
            return ()
        clients = [client for client in self._owner.clients if client.session]
        connected = {client.session.identity.agent_id for client in clients if client.session}
        restricted = self._engine.gateway.restricted
        away = [agent_id for agent_id in restricted if agent_id not in connected]
        return (*map(self._connected, clients), *map(self._away, away))

    async def calls(
        self, *, limit: int, agent: str = "", text: str = ""
    ) -> "tuple[CallRecord, ...]":
        """List calls, newest first; ``text`` occurs in the name or the arguments."""
        return await self._engine.gateway.calls(limit=limit, agent=agent or None, text=text or None)

    async def answer(self, call: "CallRecord") -> "Explanation | None":
        """Explain why a digest was as it was; ``None`` for other calls."""
        if not call.explanation or call.kind != "digest":
            return None
        return await asyncio.to_thread(_answer, call)

    async def memories(self, call: "CallRecord") -> tuple[NamedMemory, ...]:
        """Look up the memories a call names, as they are now, without those erased for good."""
        desk, named = self._engine.desk, list[NamedMemory]()
        for memory_id in call.memory_ids:
            live = await desk.lookup(memory_id, limit=1)
            for entry in live or await desk.lookup(memory_id, deleted=True, limit=1):
                named.append(NamedMemory(entry, bool(live)))
        return tuple(named)

    async def undo(self, call: "CallRecord") -> str:
        """Take back what a call wrote, or bring it back when that was done; says which."""
        from synthorg_tui.tui.base.formatting import memories

        undone = await self._engine.gateway.undo_call(call.number, actor=str(person()))
        count = memories(len(undone.memory_ids))
        again = f"{key_of('activity.undo')} brings back"
        return f"Brought back {count}" if undone.restored else f"Took back {count} · {again}"

    async def silenced(self) -> tuple[tuple[str, str], ...]:
        """List kind and subject of all that agents are given no hints about."""
        silenced = await self._engine.gateway.silenced()
        return tuple((each.kind.value, each.subject) for each in silenced)

    async def set_silenced(self, kind: str, subject: str, silent: bool) -> None:
        """Give agents no more hints about a subject, or allow them again."""
        from synthorg_tui.agents.silenced import SilencedKind

        gateway, actor = self._engine.gateway, str(person())
        if silent:
            await gateway.silence(SilencedKind(kind), subject, actor=actor)
        else:
            await gateway.unsilence(SilencedKind(kind), subject)

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse all calls of the agent, or allow them again."""
        self._require_open()
        if not paused:
            person()
        await self._engine.gateway.set_paused(agent_id, paused)

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse the agent's writes, or allow them again."""
        self._require_open()
        if not read_only:
            person()
        await self._engine.gateway.set_read_only(agent_id, read_only)

    async def disconnect(self, numbers: Sequence[int]) -> None:
        """End connections; they may come back."""
        if self._owner is not None:
            await asyncio.gather(*(self._owner.disconnect(number) for number in numbers))

    def listen(self, listener: Callable[[ActivityEvent], None]) -> None:
        """Call ``listener`` with everything from now on, on the event loop."""
        self._listeners.append(listener)

    def _notify(self, topic: str, data: object) -> None:
        if topic not in _TOPICS:
            return
        # Asked of the gateway: when somebody comes or goes, it knows before the clients do.
        connected = len(self._engine.gateway.sessions) if self._owner is not None else 0
        call: CallRecord | None = data if topic == "activity" else None  # type: ignore[assignment]
        event = ActivityEvent(
            _TOPICS[topic],
            connected,
            call,
            imported=data if topic == "followed" else None,  # type: ignore[arg-type]
            error=data if topic == "following_failed" else None,  # type: ignore[arg-type]
            lost=data if topic == "connection" else None,  # type: ignore[arg-type]
        )
        for listener in self._listeners:
            listener(event)

    def _require_open(self) -> None:
        if self._owner is None:  # rights are read then: set now, they would be overwritten
            raise DomainError("Agents can't connect yet.", remedy="Try again in a moment.")

    def _connected(self, client: "ConnectedClient") -> ListedAgent:
        assert client.session is not None
        identity = client.session.identity
        rights = self._engine.gateway.rights(identity.agent_id)
        return ListedAgent(
            agent_id=identity.agent_id,
            number=client.number,
            client=identity.client,
            project=identity.project or "",
            since=client.since,
            calls=client.session.recorded,
            paused=rights.paused,
            read_only=rights.read_only or identity.read_only,
        )

    def _away(self, agent_id: str) -> ListedAgent:
        rights = self._engine.gateway.rights(agent_id)
        return ListedAgent(agent_id, paused=rights.paused, read_only=rights.read_only)


def _answer(call: "CallRecord") -> "Explanation":
    from pydantic import TypeAdapter

    from synthorg_tui.memory.retrieval.explanation import Explanation

    return TypeAdapter(Explanation).validate_json(call.explanation)
