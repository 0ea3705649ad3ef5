"""What the Approvals pane asks of the engine, in the engine's own plain data.

The screens import no engine: its types are named here for the type checker only, and the objects
come through the port at run time, so that the app starts without loading any of it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.models import Author, ProceduralMemoryProposal
    from synthorg_tui.curation.review import BulkOutcome, Decision, InboxEntry, Review

Status = Literal["pending", "approved", "rejected"]


class ApprovalsDesk(Protocol):
    """The queue, for the person at the screen. Failures are ``DomainError``.

    A protocol so that the screens are tested against a queue in memory, which can change an item
    behind a review's back at a chosen moment.
    """

    async def pending(self) -> int:
        """Count the items that wait, without the snoozed ones."""
        ...

    async def inbox(self, status: Status = "pending") -> "tuple[InboxEntry, ...]":
        """List the items of a status, newest first; snoozed ones are among the pending."""
        ...

    async def flag_counts(self, entries: "Sequence[InboxEntry]") -> Mapping[str, int]:
        """Count what looks dangerous in the texts of each item, by its id."""
        ...

    async def review(self, item_id: str) -> "Review":
        """Work out all that approving the item would do, as of now."""
        ...

    async def trail(self, item_id: str) -> "tuple[ApprovalEvent, ...]":
        """List what happened to the item, as its audit trail has it."""
        ...

    async def approve(
        self,
        item_id: str,
        shown: str,
        edited: "ProceduralMemoryProposal | str | None" = None,
        authors: "Mapping[str, Author] | None" = None,
    ) -> "Decision":
        """Approve what was shown, with the person's wording if there is one.

        ``shown`` is ``Review.shown`` of what the person read; ``authors`` says who wrote fields
        of a reworded lesson where it wasn't the person.

        Raises:
            ReviewChangedError: It is no longer what was shown.
        """
        ...

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> "BulkOutcome":
        """Approve these items, each only while it is still what was shown under its id."""
        ...

    async def reject(self, item_id: str, shown: str, reason: str) -> "Decision":
        """Reject what was shown; raises ``ReviewChangedError`` like ``approve``."""
        ...

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Put an item out of the way until then; ``None`` wakes it."""
        ...

    async def undo(self) -> "Decision | None":
        """Take back the last decision; ``None`` when there is none."""
        ...

    def listen(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever the queue may have changed from elsewhere."""
        ...
