"""Connected agents as values: who they are, what they may do, what they were answered.

``AgentIdentity``, ``CallReply``, ``ServedDigest`` and ``SkillCard`` cross the wire field by field,
``CallRecord`` is a stored row: to change a field is to change a protocol or a table.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

from pydantic import Field

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The agent of a client; ``project`` is a canonical path, ``client`` the program's name.

    A client that says ``read_only`` of itself is refused writes, whatever the agent may do.
    """

    agent_id: str
    project: str | None = None
    session_id: str | None = None
    client: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CallReply:
    """The reply that an agent reads; ``is_error`` when the tool didn't do what was asked.

    ``memory_ids`` are the memories that it was given, or that came or went; ``waiting`` the items
    that wait for a person before anything does.
    """

    content: str
    is_error: bool = False
    memory_ids: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedDigest:
    """Exactly what the agent is given, and the ids of the memories in it."""

    text: str
    tokens: int
    included: tuple[str, ...] = ()
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class SkillCard:
    """A skill as listed; ``sha256`` is of the bytes that were approved (hex)."""

    name: str
    description: str
    scope: str = ""
    sha256: str = ""


class CallKind(StrEnum):
    """The kinds of calls on record."""

    TOOL = "tool"
    DIGEST = "digest"
    SKILL = "skill"


class CallRecord(NamedTuple):
    """One call of an agent; texts are redacted and cut to what a person wants to see.

    ``reply`` of a digest is complete. ``memory_ids`` are those it was given or that it wrote;
    ``wrote`` tells which. ``explanation`` is JSON, for digests.
    """

    number: int
    at: datetime
    agent_id: str
    client: str
    project: str | None
    kind: CallKind
    name: str
    arguments: str
    reply: str
    is_error: bool
    tokens: int
    milliseconds: float
    memory_ids: tuple[str, ...] = ()
    wrote: bool = False
    explanation: str = ""


class AgentRights(NamedTuple):
    """Rights taken from an agent by a person: all while paused, writing while read-only."""

    paused: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class UndoneCall:
    """The memories that an undo of a call deleted, or, ``restored``, brought back."""

    number: int
    agent_id: str
    memory_ids: tuple[str, ...]
    restored: bool


class AgentAccessConfig(FrozenModel):
    """Settings for agents that are connected over MCP or hooks.

    ``writes`` off lets them only read; with ``approval`` what they write and delete waits for a
    person. An agent may write ``writes_per_minute`` memories, and as many at once after a pause.
    ``digest_token_budget`` is for those that don't name a budget; ``audit_calls`` is how many
    calls are kept for the record.
    """

    writes: Literal["direct", "approval", "off"] = "direct"
    writes_per_minute: int = Field(default=60, ge=1, le=10_000)
    digest_token_budget: int = Field(default=1500, ge=0, le=100_000)
    audit_calls: int = Field(default=20_000, ge=100)


class AgentRefusedError(DomainError):
    """The agent may not do that, or not now."""


class NothingToUndoError(DomainError):
    """Nothing of the call is left to take back, or there is no such call."""


class SkillNotFoundError(DomainError):
    """No skill that the agent may read has this name."""
