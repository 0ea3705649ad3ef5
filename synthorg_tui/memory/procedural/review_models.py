"""What a person sees of an item before deciding, and what comes of a decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from synthorg_tui.approvals.errors import StaleReviewError
from synthorg_tui.approvals.models import ApprovalItem, Flag
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.procedural.agent_writes import WritePayload
from synthorg_tui.memory.procedural.models import (
    Author,
    Evidence,
    FileChangePayload,
    Lesson,
    PrunePayload,
)

Subject: TypeAlias = Lesson | FileChangePayload | PrunePayload | WritePayload
"""What an item can be about."""


class SubjectKind(StrEnum):
    """What an item is about; ``UNREADABLE`` ones can only be rejected.

    ``WRITE`` and ``DELETE`` are asked for by agents whose writes wait for a person.
    """

    LESSON = "lesson"
    PROMOTION = "promotion"
    CONFLICT = "conflict"
    FILE_CHANGE = "file_change"
    PRUNE = "prune"
    WRITE = "write"
    DELETE = "delete"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FieldText:
    """One text of a proposal that can be edited and who wrote it; steps are lines."""

    text: str
    author: Author


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One item as a list shows it.

    ``subject`` is its payload, ``None`` when that can't be read. ``confidence`` is ``None`` for
    what has none; ``recurrence`` counts the runs it was seen in.
    """

    item: ApprovalItem
    kind: SubjectKind
    subject: Subject | None
    scope: str = ""
    confidence: float | None = None
    recurrence: int = 0
    evidence: tuple[Evidence, ...] = ()
    fields: Mapping[str, FieldText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NearSkill:
    """A skill or lesson in force that says something alike; ``similarity`` is in [0, 1].

    ``verdict`` is what the proposal does to it: ``full`` takes its place, ``partial`` stands
    beside it, ``conflict`` says otherwise for the same situation.
    """

    memory_id: str
    name: str
    discovery: str
    similarity: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Review:
    """All that approving an item would do, as of now.

    ``shown`` is a SHA-256 (hex) over the payload, the bytes of the files it would touch and the
    memories it would replace: an approval names it, and is refused when it is another by then.
    ``path`` and ``text`` are the file that would be written, empty when there is none. ``diff``
    is unified, line by line, against what it would replace; empty when that is nothing.
    ``replaces`` are the memories that would go, ``agents`` those who would get a copy.
    ``problem`` says why it can only be rejected, empty when it can be approved.
    """

    entry: InboxEntry
    shown: str
    path: str = ""
    text: str = ""
    diff: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    near: tuple[NearSkill, ...] = ()
    replaces: tuple[MemoryEntry, ...] = ()
    agents: tuple[str, ...] = ()
    problem: str = ""

    @property
    def item(self) -> ApprovalItem:
        """The item itself."""
        return self.entry.item


class DecisionKind(StrEnum):
    """What a person did; of these an undo and a purge can't be undone."""

    APPROVED = "approved"
    REJECTED = "rejected"
    RETIRED = "retired"
    FILE_RESTORED = "file_restored"
    UNDONE = "undone"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that has taken effect.

    ``item_id`` is ``None`` when it was about a skill rather than an item. ``memory_ids`` are the
    memories that came (or came back), ``paths`` the files written or removed. ``left_alone`` are
    files that somebody changed at that very moment: they stay as they are and come up for review.
    ``count`` is how many decisions an undo took back at once.
    """

    number: int
    kind: DecisionKind
    title: str
    at: datetime
    item_id: str | None = None
    memory_ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """Decisions taken together.

    Of the rest, which stay as they are, ``stale`` are those no longer as shown; ``refused`` pairs
    the id of any other with the reason.
    """

    decisions: tuple[Decision, ...]
    stale: tuple[Review, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


class ReviewChangedError(StaleReviewError):
    """What was shown has changed; ``review`` is how it is now."""

    def __init__(self, review: Review) -> None:
        super().__init__(
            f"{review.item.title!r} has changed since it was shown",
            remedy="Read it again, then decide.",
        )
        self.review = review
