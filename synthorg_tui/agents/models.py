"""Plain data about connected agents: identity, rights, settings, replies and recorded calls.

``AgentIdentity``, ``CallReply``, ``ServedDigest``, ``ServedHint`` and ``SkillCard`` cross the wire
field by field, ``CallRecord`` is a stored row: to change a field is to change a protocol or a
table.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from pydantic import Field

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel, NotBlankStr


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The agent that a client acts as, and the client itself.

    ``project`` is the canonical path of the project's folder, ``client`` the program's name.
    ``session_id`` is the session of the agent's program; a client that isn't told it makes one up
    for itself, ``own_session``, for when it can't be found out. With
    ``read_only`` the client is refused writes, even if the agent may write.
    """

    agent_id: str
    project: str | None = None
    session_id: str | None = None
    client: str = ""
    read_only: bool = False
    own_session: str | None = None


@dataclass(frozen=True, slots=True)
class CallReply:
    """The reply to an agent's call; ``is_error`` when the tool didn't do what was asked.

    ``memory_ids`` are the memories that were returned, stored or deleted. ``waiting`` are the ids
    of proposals made instead of changes: nothing happens before a person approves them. With a
    ``receipt`` the content counts as handed over once that is acknowledged.
    """

    content: str
    is_error: bool = False
    memory_ids: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class ServedDigest:
    """A digest exactly as the agent receives it, and the ids of the memories in it.

    ``handed`` is how much more would be in it, policies included, had the session not been handed
    it before. With a ``receipt`` it counts as handed over once that is acknowledged.
    """

    text: str
    tokens: int
    included: tuple[str, ...] = ()
    degraded: str = ""
    handed: int = 0
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class ServedHint:
    """A hint about one call exactly as the agent receives it, and why it was given.

    Both are empty when there is nothing to say. It counts as said, and as a use of its lesson, once
    its ``receipt`` is acknowledged.
    """

    text: str = ""
    reason: str = ""
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class SkillCard:
    """A skill's entry in a list; ``sha256`` (hex) is the hash of the approved file."""

    name: str
    description: str
    scope: str = ""
    sha256: str = ""


EDITED: Final = "memories edit"
DELETED: Final = "memories delete"
"""Names under which an agent's commands are recorded that undoing a call has to know."""


PAUSED: Final = "a person paused this agent"
ONLY_READS: Final = "this agent may only read"
NO_TOOL: Final = "there is no tool"
"""Beginnings of the texts that refuse an agent's call, or name an unknown tool."""


class CallKind(StrEnum):
    """The kind of a recorded call."""

    TOOL = "tool"
    DIGEST = "digest"
    SKILL = "skill"
    HINT = "hint"


class CallRecord(NamedTuple):
    """One recorded call of an agent; its texts are redacted, and shortened for display.

    The ``reply`` of a digest is complete. ``memory_ids`` are the memories that the call changed
    if ``wrote`` is true, else those that it returned, and before them the policies and facts of
    the organisation that it did. ``explanation`` is JSON for a digest or a hint, empty for other
    calls.
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
    """Restrictions that a person put on an agent: it may do nothing, or only read."""

    paused: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class UndoneCall:
    """The result of undoing a call: the memories deleted, or, if ``restored``, restored."""

    number: int
    agent_id: str
    memory_ids: tuple[str, ...]
    restored: bool


class AgentAccessConfig(FrozenModel):
    """Settings for agents that are connected over MCP or hooks.

    ``writes`` says whether agents may write at once, not at all (``off``), or only after a person
    has approved each write and deletion (``approval``). An agent may write ``writes_per_minute``
    memories a minute, and as many at once after a pause. ``digest_token_budget`` is the token
    budget of digests for which an agent names none; ``audit_calls`` is how many calls stay on
    record. ``administrator`` is the id of the agent that gets the tools of administration; what it
    would change with them waits for a person all the same.
    """

    writes: Literal["direct", "approval", "off"] = "direct"
    writes_per_minute: int = Field(default=60, ge=1, le=10_000)
    digest_token_budget: int = Field(default=1500, ge=0, le=100_000)
    audit_calls: int = Field(default=20_000, ge=100)
    administrator: NotBlankStr | None = None


class AgentRefusedError(DomainError):
    """The agent may not do that, or not now."""


class SkillNotFoundError(DomainError):
    """No skill that the agent may read has this name."""
