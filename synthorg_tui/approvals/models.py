"""Items of the approval queue, what happens to them, and what can go wrong.

The queue knows nothing of what an item is about: its payload is text that only the part that asked
for it can read. So nothing about lessons, skills or memories may move in here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel, NotBlankStr


class ApprovalStatus(StrEnum):
    """Where an item stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class RiskLevel(StrEnum):
    """How much harm a wrong approval could do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


_DECIDED = frozenset({ApprovalStatus.APPROVED, ApprovalStatus.REJECTED})


class ApprovalItem(FrozenModel):
    """Something that waits for a person's decision, or has it.

    ``payload`` is what would be approved, as text that only the part that asked can read;
    ``metadata`` is what the queue can show and filter by. An item may be snoozed: it is pending
    but out of the way until ``snoozed_until``. ``consumed_at`` is when an approval took effect.
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
        if self.consumed_at is not None and self.status is not ApprovalStatus.APPROVED:
            raise ValueError("only an approved item can have taken effect")
        return self


class ApprovalEventKind(StrEnum):
    """What the audit trail records."""

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
    """One line of the audit trail; ``payload_hash`` is of what the item held then."""

    number: int
    item_id: str
    at: datetime
    kind: ApprovalEventKind
    actor: str
    reason: str
    payload_hash: str


class FlagKind(StrEnum):
    """What in a text asks for a second look."""

    SECRET = "secret"
    INJECTION = "injection"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something suspicious in a text: ``place`` names which text, ``found`` says what it is.

    ``found`` never holds the secret itself; it is still text from a stranger.
    """

    kind: FlagKind
    place: str
    found: str


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """How many items there are of each status; ``pending`` excludes the ``snoozed``."""

    pending: int = 0
    snoozed: int = 0
    approved: int = 0
    rejected: int = 0
    expired: int = 0


class ApprovalError(DomainError):
    """The base of the queue's errors."""


class ApprovalNotFoundError(ApprovalError):
    """There is no such item."""


class ApprovalConflictError(ApprovalError):
    """An item with this id is there already, or the item is no longer as expected."""


class StaleReviewError(ApprovalError):
    """What was shown is no longer what would be approved; it has to be read again."""


class DecisionRefusedError(ApprovalError):
    """The decision doesn't come from a person who could see what is decided."""
