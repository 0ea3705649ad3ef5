"""What the Activity pane asks of the engine, in plain data: no engine type crosses this line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.digest.ports import Answer


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent, as recorded; numbers grow with time.

    ``kind`` is tool, digest or skill; ``arguments`` is JSON, cut when it is long; ``reply`` is
    what the agent was told, of a digest all of it. ``memory_ids`` are those it was given, or,
    when it ``wrote``, those it stored or ``deleted``; a write that ``waits`` for a person has done
    nothing yet. ``explanation`` is for ``answer``.
    """

    number: int
    at: datetime
    agent_id: str
    client: str
    project: str
    kind: str
    name: str
    arguments: str
    reply: str
    is_error: bool
    tokens: int
    milliseconds: float
    memory_ids: tuple[str, ...] = ()
    wrote: bool = False
    deleted: bool = False
    waits: bool = False
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Seat:
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
class Kept:
    """A memory that a call names; one that isn't live was deleted meanwhile."""

    row: ListedMemory
    is_live: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """Something happened: a call, somebody came, left or was restricted, or the store changed.

    ``connected`` is how many agents are connected.
    """

    topic: Literal["call", "seats", "changed"]
    connected: int
    call: Call | None = None


class ActivityDesk(Protocol):
    """What connected agents do, for a person. Failures are ``DomainError``."""

    @property
    def is_open(self) -> bool:
        """Whether agents can connect; shortly after the start they can't yet."""
        ...

    async def seats(self) -> tuple[Seat, ...]:
        """Who is connected, in order of arrival, and who else is restricted."""
        ...

    async def calls(self, *, limit: int, agent: str = "", text: str = "") -> tuple[Call, ...]:
        """Calls, newest first; ``text`` occurs in the name or the arguments."""
        ...

    async def answer(self, call: Call) -> Answer | None:
        """Why a digest was as it was; ``None`` for other calls."""
        ...

    async def memories(self, call: Call) -> tuple[Kept, ...]:
        """The memories a call names, as they are now; those erased for good are left out."""
        ...

    async def undo(self, call: Call) -> str:
        """Take back what a call wrote, or bring it back when that was done; what was done."""
        ...

    async def set_paused(self, agent_id: str, paused: bool) -> None:
        """Refuse everything to an agent, or no more."""
        ...

    async def set_read_only(self, agent_id: str, read_only: bool) -> None:
        """Refuse writes to an agent, or no more."""
        ...

    async def disconnect(self, numbers: Sequence[int]) -> None:
        """End connections; they may come back."""
        ...

    def listen(self, heard: Callable[[Heard], None]) -> None:
        """Tell of everything from now on, on the event loop."""
        ...
