"""Data types of the approval queue: items, their audit trail, flags, and the queue's errors.

The queue knows nothing of what an item is about: its payload is text that only the part that asked
for it can read. So nothing about lessons, skills or memories may move in here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import RiskLevel as RiskLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel, NotBlankStr


class ApprovalStatus(StrEnum):
    """The state of an item: waiting for a decision, decided, or expired without one."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


_DECIDED = frozenset({ApprovalStatus.APPROVED, ApprovalStatus.REJECTED})


class ApprovalItem(FrozenModel):
    """A proposal that a person has to approve or reject, with the decision once it is taken.

    ``payload`` is what would be approved, serialised by the part of the program that proposed it
    and readable only there; ``metadata`` is what the queue can show and filter by. A snoozed item
    is pending but hidden until ``snoozed_until``. ``consumed_at`` is when an approval took effect,
    or when whoever asked acted on the decision.
    """

    id: NotBlankStr
    action_type: NotBlankStr
    title: NotBlankStr
    description: str = ""
    requested_by: NotBlankStr
    risk_level: RiskLevel = RiskLevel.MEDIUM
    status: ApprovalStatus = ApprovalStatus.PENDING
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    snoozed_until: AwareDatetime | None = None
    decided_at: AwareDatetime | None = None
    decided_by: NotBlankStr | None = None
    decision_reason: NotBlankStr | None = None
    consumed_at: AwareDatetime | None = None
    task_id: NotBlankStr | None = None
    source: NotBlankStr | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    payload: str = ""

    @model_validator(mode="after")
    def _validate_decision(self) -> Self:
        if self.expires_at is not None and self.expires_at <= self.created_at:
            raise ValueError("expires_at must be after created_at")
        decided = self.decided_at is not None and self.decided_by is not None
        if self.status in _DECIDED and not decided:
            raise ValueError(f"an item that is {self.status} needs decided_at and decided_by")
        if self.status not in _DECIDED and (self.decided_at or self.decided_by):
            raise ValueError(f"an item that is {self.status} has no decided_at and no decided_by")
        if self.status is ApprovalStatus.REJECTED and self.decision_reason is None:
            raise ValueError("a rejected item needs a decision_reason")
        if self.consumed_at is not None and self.status not in _DECIDED:
            raise ValueError("only a decided item can have taken effect")
        return self


def decided_words(item: ApprovalItem) -> str:
    """Return by whom a decided item was decided, and when in this machine's time."""
    if item.decided_by is None or item.decided_at is None:
        return "nobody decided it"
    at = item.decided_at.astimezone()
    return f"{actor_words(item.decided_by)} decided at {at:%H:%M} on {at:%Y-%m-%d}"


class ApprovalEventKind(StrEnum):
    """The kinds of event that the audit trail of an item records.

    ``REFUSED`` is a decision that was attempted but not accepted.
    """

    ADDED = "added"
    REVISED = "revised"
    APPROVED = "approved"
    REJECTED = "rejected"
    SNOOZED = "snoozed"
    EXPIRED = "expired"
    REOPENED = "reopened"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ApprovalEvent:
    """One entry of an item's audit trail.

    ``number`` orders the entries; ``payload_hash`` is the SHA-256 (hex) of the item's payload as it
    was after the event.
    """

    number: int
    item_id: str
    at: datetime
    kind: ApprovalEventKind
    actor: str
    reason: str
    payload_hash: str


class FlagKind(StrEnum):
    """The kinds of suspicious content that ``scan`` looks for in a text.

    ``SECRET`` is a credential, ``INJECTION`` a phrase that tries to steer a model, ``HIDDEN`` text
    that a reader wouldn't see.
    """

    SECRET = "secret"
    INJECTION = "injection"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something suspicious in a text: ``place`` names the text, ``found`` describes what is in it.

    ``found`` never holds a secret itself, but it may quote the text: treat it as untrusted.
    """

    kind: FlagKind
    place: str
    found: str


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """The number of items of each status; ``pending`` excludes the ``snoozed`` ones."""

    pending: int = 0
    snoozed: int = 0
    approved: int = 0
    rejected: int = 0
    expired: int = 0


class ApprovalError(DomainError):
    """Base class of the approval queue's errors."""


class ApprovalNotFoundError(ApprovalError):
    """There is no item with the given id."""


class ApprovalConflictError(ApprovalError):
    """The item's state doesn't allow the operation, or an item with its id exists already."""


class OvertakenError(ApprovalError):
    """Another program decided something while this decision was worked out; try it anew."""


class QueueFullError(ApprovalError):
    """An agent has as many proposals waiting as it may; the message is meant for the agent."""


class StaleReviewError(ApprovalError):
    """The item has changed since the person was shown it; it has to be read again."""


class DecisionRefusedError(ApprovalError):
    """The decision isn't allowed: no person takes it, or the item can't be decided that way."""
