"""What the Activity pane asks of the engine.

Calls are the engine's own records, named here for the type checker only: the app starts without
loading the engine. What stands here is put together of several of its parts and exists nowhere
else: an agent with its connection and its rights, a memory with whether it is live.
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
    """An agent: connected under a ``number``, or, with 0, only restricted by a person.

    ``calls`` are those of the connection, ``since`` when it began.
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
    """A memory that a call names; one that isn't live was deleted meanwhile."""

    row: ListedMemory
    is_live: bool


@dataclass(frozen=True, slots=True)
class ActivityEvent:
    """Something happened: a call, an agent came, left or was restricted, or the store changed.

    ``connected`` is how many agents are connected.
    """

    topic: Literal["call", "agents", "changed"]
    connected: int
    call: "CallRecord | None" = None


class ActivityDesk(Protocol):
    """What connected agents do, for the person at the screen. Failures are ``DomainError``.

    A protocol so that the screens are tested with agents in memory, which call at a chosen moment
    and need no socket.
    """

    @property
    def is_open(self) -> bool:
        """Whether agents can connect; shortly after the start they can't yet."""
        ...

    async def agents(self) -> tuple[ListedAgent, ...]:
        """List who is connected, in order of arrival, and who else is restricted."""
        ...

    async def calls(
        self, *, limit: int, agent: str = "", text: str = ""
    ) -> "tuple[CallRecord, ...]":
        """List calls, newest first; ``text`` occurs in the name or the arguments."""
        ...

    async def answer(self, call: "CallRecord") -> Explanation | None:
        """Explain why a digest was as it was; ``None`` for other calls."""
        ...

    async def memories(self, call: "CallRecord") -> tuple[NamedMemory, ...]:
        """Look up the memories a call names, as they are now, without those erased for good."""
        ...

    async def undo(self, call: "CallRecord") -> str:
        """Take back what a call wrote, or bring it back when that was done; says which."""
        ...

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse everything to an agent, or nothing any more."""
        ...

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or no longer."""
        ...

    async def disconnect(self, numbers: Sequence[int]) -> None:
        """End connections; they may come back."""
        ...

    def listen(self, listener: Callable[[ActivityEvent], None]) -> None:
        """Call ``listener`` with everything from now on, on the event loop."""
        ...
