"""The engine behind the activity port."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.activity.ports import Call, Heard, Kept, Seat
from synthorg_tui.tui.digest.adapter import answer_of
from synthorg_tui.tui.digest.ports import Answer

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.owner import ConnectedClient, Owner

_TOPICS: Final[dict[str, Literal["call", "seats", "changed"]]] = {
    "activity": "call",
    "sessions": "seats",
    "changed": "changed",
}


class EngineActivity:
    """The activity port over an open engine; agents connect once ``open`` was called."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._owner: Owner | None = None
        self._listeners: list[Callable[[Heard], None]] = []
        engine.events.subscribe(self._tell)

    def open(self, owner: "Owner") -> None:
        """Agents can connect from now on."""
        self._owner = owner
        self._tell("sessions", None)

    @property
    def is_open(self) -> bool:
        """Whether agents can connect."""
        return self._owner is not None

    async def seats(self) -> tuple[Seat, ...]:
        """Who is connected, and who else is restricted."""
        if self._owner is None:
            return ()
        clients = self._clients()
        there = {each.session.identity.agent_id for each in clients if each.session}
        others = [each for each in self._engine.gateway.restricted if each not in there]
        return (*map(self._seat, clients), *map(self._absent, others))

    async def calls(self, *, limit: int, agent: str = "", text: str = "") -> tuple[Call, ...]:
        """Calls, newest first."""
        gateway = self._engine.gateway
        found = await gateway.calls(limit=limit, agent=agent or None, text=text or None)
        return tuple(map(_call, found))

    async def answer(self, call: Call) -> Answer | None:
        """Why a digest was as it was."""
        if not call.explanation:
            return None
        return await asyncio.to_thread(_answer, call)

    async def memories(self, call: Call) -> tuple[Kept, ...]:
        """The memories a call names, as they are now."""
        from synthorg_tui.tui.engine_adapter import memory_row

        desk, kept = self._engine.desk, list[Kept]()
        for memory_id in call.memory_ids:
            live = await desk.lookup(memory_id, limit=1)
            for entry in live or await desk.lookup(memory_id, deleted=True, limit=1):
                kept.append(Kept(memory_row(entry), bool(live)))
        return tuple(kept)

    async def undo(self, call: Call) -> str:
        """Take back what a call wrote, or bring it back."""
        from synthorg_tui.tui.base.formatting import memories
        from synthorg_tui.tui.engine_adapter import ACTOR

        undone = await self._engine.gateway.undo_call(call.number, actor=ACTOR)
        count = memories(len(undone.memory_ids))
        return f"Brought back {count}" if undone.restored else f"Took back {count} · u brings back"

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse everything to an agent, or no more."""
        self._require_open()
        await self._engine.gateway.set_paused(agent_id, paused)

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or no more."""
        self._require_open()
        await self._engine.gateway.set_read_only(agent_id, read_only)

    async def disconnect(self, numbers: Sequence[int]) -> None:
        """End connections."""
        if self._owner is not None:
            await asyncio.gather(*(self._owner.disconnect(number) for number in numbers))

    def listen(self, heard: Callable[[Heard], None]) -> None:
        """Tell of everything from now on."""
        self._listeners.append(heard)

    def _tell(self, topic: str, data: object) -> None:
        if topic not in _TOPICS:
            return
        # Asked of the gateway: when somebody comes or goes, it knows before the clients are told.
        connected = len(self._engine.gateway.sessions) if self._owner is not None else 0
        call = _call(data) if topic == "activity" else None  # type: ignore[arg-type]
        heard = Heard(_TOPICS[topic], connected, call)
        for listener in self._listeners:
            listener(heard)

    def _require_open(self) -> None:
        if self._owner is None:  # rights are read then: set now, they would be overwritten
            raise DomainError("Agents can't connect yet.", remedy="Try again in a moment.")

    def _clients(self) -> "list[ConnectedClient]":
        owner = self._owner
        return [each for each in owner.clients if each.session] if owner is not None else []

    def _seat(self, client: "ConnectedClient") -> Seat:
        assert client.session is not None
        who = client.session.identity
        rights = self._engine.gateway.rights(who.agent_id)
        return Seat(
            agent_id=who.agent_id,
            number=client.number,
            client=who.client,
            project=who.project or "",
            since=client.since,
            calls=max(client.calls - 1, 0),  # saying who it is was one of them
            paused=rights.paused,
            read_only=rights.read_only or who.read_only,
        )

    def _absent(self, agent_id: str) -> Seat:
        rights = self._engine.gateway.rights(agent_id)
        return Seat(agent_id, paused=rights.paused, read_only=rights.read_only)


def _call(record: "CallRecord") -> Call:
    from synthorg_tui.agents.tools import DELETE_ENTRY, WRITING

    return Call(
        number=record.number,
        at=record.at,
        agent_id=record.agent_id,
        client=record.client,
        project=record.project or "",
        kind=record.kind.value,
        name=record.name,
        arguments=record.arguments,
        reply=record.reply,
        is_error=record.is_error,
        tokens=record.tokens,
        milliseconds=record.milliseconds,
        memory_ids=record.memory_ids,
        wrote=record.wrote,
        waits=record.name in WRITING and not (record.wrote or record.is_error),
        deleted=record.wrote and record.name == DELETE_ENTRY,
        explanation=record.explanation,
    )


def _answer(call: Call) -> Answer:
    from pydantic import TypeAdapter

    from synthorg_tui.memory.retrieval.explanation import Explanation

    explained = TypeAdapter(Explanation).validate_json(call.explanation)
    return answer_of(explained, tokens=call.tokens)
