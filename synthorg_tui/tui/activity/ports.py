"""The interface between the Activity pane and the engine.

Calls are the engine's own records, named here for the type checker only: the app starts without
loading the engine. The classes here combine data of several parts of the engine: an agent with its
connection and its rights, and a memory with whether it still exists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.explanation import Explanation

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent that is connected, or that a person restricted.

    ``number`` is that of its connection, or 0 when it is not connected. ``calls`` counts the calls
    over this connection, ``since`` is when it began.
    """

    agent_id: str
    number: int = 0
    client: str = ""
    project: str = ""
    since: datetime | None = None
    calls: int = 0
    paused: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory that a call names; if it isn't live, it was deleted after the call."""

    row: ListedMemory
    is_live: bool


@dataclass(frozen=True, slots=True)
class ActivityEvent:
    """An event: a call, an agent that connected, left or was restricted, or a change of the store.

    ``connected`` is the number of connected agents.
    """

    topic: Literal["call", "agents", "changed"]
    connected: int
    call: "CallRecord | None" = None


class ActivityDesk(Protocol):
    """The interface to connected agents and their calls. Methods raise ``DomainError``.

    It is a protocol so that the screens are tested with agents in memory, which call at a chosen
    moment and need no socket.
    """

    @property
    def is_open(self) -> bool:
        """Whether agents can connect; for a moment after the start they can't yet."""
        ...

    async def agents(self) -> tuple[ListedAgent, ...]:
        """List connected agents in the order they connected, then others that are restricted."""
        ...

    async def calls(
        self, *, limit: int, agent: str = "", text: str = ""
    ) -> "tuple[CallRecord, ...]":
        """List at most ``limit`` calls, newest first.

        Only calls of ``agent`` with ``text`` in their name or arguments are listed; an empty string
        does not filter.
        """
        ...

    async def answer(self, call: "CallRecord") -> Explanation | None:
        """Return why each memory was in the call's digest or not; ``None`` for other calls."""
        ...

    async def memories(self, call: "CallRecord") -> tuple[NamedMemory, ...]:
        """Return the memories that the call names, as they are now, without purged ones."""
        ...

    async def undo(self, call: "CallRecord") -> str:
        """Undo what the call wrote, or redo it if it was undone.

        Returns a message for the person that says which of the two was done.
        """
        ...

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse all calls of the agent, or allow them again."""
        ...

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse the agent's writes, or allow them again."""
        ...

    async def disconnect(self, numbers: Sequence[int]) -> None:
        """Close the connections with these numbers; the agents may connect again."""
        ...

    def listen(self, listener: Callable[[ActivityEvent], None]) -> None:
        """Call ``listener`` on the event loop with each event that happens from now on."""
        ...
