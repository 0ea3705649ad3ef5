"""What the Approvals pane asks of the engine, in plain data: no engine type crosses this line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from synthorg_tui.core.errors import DomainError

Status = Literal["pending", "approved", "rejected"]
FIELDS = ("discovery", "condition", "action", "rationale")
"""The fields of a lesson that are one text each; its steps are the fifth."""

STEPS = "execution_steps"
LIMITS = {"discovery": 600, "condition": 2000, "action": 2000, "rationale": 2000, STEPS: 50}
"""Most characters of a field, and most steps."""
LONGEST_NOTE = 50_000
"""Most characters of what an agent wants kept."""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """An item of the queue as listed.

    ``kind`` is lesson, promotion, conflict, file_change, prune, write, delete or
    unreadable. ``recurrence`` counts the runs that
    taught it. ``flags`` counts what looks dangerous in its text.
    """

    id: str
    kind: str
    title: str
    created_at: datetime
    status: str = "pending"
    risk: str = "medium"
    agent_id: str = ""
    scope: str = ""
    confidence: float | None = None
    recurrence: int = 0
    flags: int = 0
    expires_at: datetime | None = None
    snoozed_until: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """What a lesson says."""

    discovery: str
    condition: str
    action: str
    rationale: str
    steps: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """A field by name; the steps as lines."""
        return "\n".join(self.steps) if name == STEPS else str(getattr(self, name))


@dataclass(frozen=True, slots=True)
class Note:
    """A memory that an agent wants kept: exactly its text, and what goes with it.

    ``source`` names the program it came through, ``written_at`` is when. ``redactions`` are the
    secrets taken out of it, by kind.
    """

    text: str
    category: str
    source: str = ""
    project: str = ""
    sensitivity: str = "private"
    tags: tuple[str, ...] = ()
    written_at: datetime | None = None
    redactions: tuple[tuple[str, int], ...] = ()


Reworded: TypeAlias = Wording | str
"""What a person made of a lesson, or of the text of a note."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One recorded time that it happened; ``source`` names the transcript lines."""

    source: str
    agent_id: str
    failed: str = ""
    error: str = ""
    resolved_by: str = ""
    between: tuple[str, ...] = ()
    at: datetime | None = None
    project: str = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """Something dangerous in a text: secret, injection or hidden, where, and what it is."""

    kind: str
    where: str
    says: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A skill there already that says nearly the same; ``similarity`` is in [0, 1].

    ``verdict`` is what approving does to it: full takes its place, partial stands beside it,
    conflict says otherwise for the same situation.
    """

    name: str
    says: str
    similarity: float
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class TrailEvent:
    """A line of the audit trail."""

    at: datetime
    kind: str
    actor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReviewSheet:
    """Everything a decision stands on; ``shown`` is the hash that binds the decision to it.

    ``proposed`` is what a lesson says and ``authors`` who wrote each field (evidence, model or
    person); ``grounded`` is the draft made of the evidence. ``text`` is the file that would be
    written at ``path``, ``diff`` the lines of a unified diff against what it would replace.
    ``replaces`` says what memories would go, ``agents`` who would get a copy. ``ours`` is our text
    when both sides changed a file. ``note`` is what an agent wants kept. ``problem`` says why it
    can only be rejected.
    """

    row: ApprovalRow
    shown: str
    proposed: Wording | None = None
    grounded: Wording | None = None
    authors: tuple[tuple[str, str], ...] = ()
    occurrences: tuple[Occurrence, ...] = ()
    flags: tuple[Flag, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    path: str = ""
    text: str = ""
    diff: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    ours: str = ""
    note: Note | None = None
    problem: str = ""
    description: str = ""
    requested_by: str = ""
    trail: tuple[TrailEvent, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether something in it asks for a decision of its own, never one among many."""
        contradicts = any(each.verdict == "conflict" for each in self.neighbours)
        return bool(self.flags or self.ours or self.problem or contradicts)

    @property
    def rewordable(self) -> Reworded | None:
        """What of it a person can reword: a lesson, or the text of a note."""
        return self.note.text if self.note is not None else self.proposed

    def author(self, name: str) -> str:
        """Who wrote a field."""
        return dict(self.authors).get(name, "evidence")


class StaleReview(DomainError):
    """What was shown is no longer what would be decided; ``sheet`` is how it stands now."""

    def __init__(self, sheet: ReviewSheet) -> None:
        super().__init__("It changed since it was shown: read it again.")
        self.sheet = sheet


@dataclass(frozen=True, slots=True)
class Bulk:
    """What approving several did: how many, and those that were not with the reason."""

    approved: int
    refused: tuple[tuple[str, str], ...] = ()


class ApprovalsDesk(Protocol):
    """The queue, for a person. Failures are ``DomainError``; what was done is told in a line."""

    async def pending(self) -> int:
        """How many wait, snoozed ones left out."""
        ...

    async def inbox(self, status: Status = "pending") -> tuple[ApprovalRow, ...]:
        """All items of a status, newest first; snoozed ones are among the pending."""
        ...

    async def review(self, item_id: str) -> ReviewSheet:
        """An item with everything a decision stands on."""
        ...

    async def approve(self, item_id: str, shown: str, edited: Reworded | None = None) -> str:
        """Approve what was shown, with the person's wording if there is one.

        Raises:
            StaleReview: It is no longer what was shown.
        """
        ...

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> Bulk:
        """Approve these ids, each only while it is still what was shown."""
        ...

    async def reject(self, item_id: str, shown: str, reason: str) -> str:
        """Reject what was shown; raises ``StaleReview`` like ``approve``."""
        ...

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Out of the way until then; ``None`` wakes it."""
        ...

    async def undo(self) -> str | None:
        """Take back the last decision; ``None`` when there is none."""
        ...

    def listen(self, changed: Callable[[], None]) -> None:
        """Tell when the queue may have changed from elsewhere, until the store closes."""
        ...
