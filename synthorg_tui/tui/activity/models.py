"""What the Activity pane shows beside the engine's own records.

It is put together of several parts of the engine and exists nowhere else: an agent with its
connection and its rights, a memory with whether it is live. The app starts without loading the
engine, so its records are named for the type checker only.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord
    from synthorg_tui.ingest.service import ImportReport
    from synthorg_tui.wiring.hearing import LostConnection


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
class MutedSubject:
    """Something that a hint can be silenced for; ``shown`` is what a person is told it is.

    ``kind`` is ``command``, ``lesson`` or ``project``; ``is_silent`` when it is silenced already.
    """

    kind: str
    subject: str
    shown: str
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class ActivityEvent:
    """Something happened: a call, an agent came, left or was restricted, or the store changed.

    ``elsewhere`` is a change that another person's program made. ``connected`` is how many agents
    are connected, ``imported`` what came in by itself, and ``error`` what keeps that from coming.
    ``lost`` is the database's connection that is lost, ``None`` once it is there again.
    """

    topic: Literal["call", "agents", "changed", "failed", "elsewhere", "connection"]
    connected: int
    call: "CallRecord | None" = None
    imported: "ImportReport | None" = None
    error: DomainError | None = None
    lost: "LostConnection | None" = None
