"""The interface between the Approvals pane and the engine, in the engine's own plain data.

The engine's types are named here for the type checker only, and the screens receive the objects at
run time, so that the app starts without loading the engine.
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
    """The interface to the queue of approvals. Methods raise ``DomainError``.

    It is a protocol so that the screens are tested with a queue in memory, which can change an item
    at a chosen moment while it is being reviewed.
    """

    async def pending(self) -> int:
        """Return the number of items that wait for a decision, without snoozed ones."""
        ...

    async def inbox(self, status: Status = "pending") -> "tuple[InboxEntry, ...]":
        """List the items of a status, newest first; pending ones include snoozed ones."""
        ...

    async def flag_counts(self, entries: "Sequence[InboxEntry]") -> Mapping[str, int]:
        """Return the number of suspicious passages in each item's texts, by item id."""
        ...

    async def review(self, item_id: str) -> "Review":
        """Return everything about the item, and the effects of approving it now."""
        ...

    async def trail(self, item_id: str) -> "tuple[ApprovalEvent, ...]":
        """Return the recorded events of the item, from its audit trail."""
        ...

    async def approve(
        self,
        item_id: str,
        shown: str,
        edited: "ProceduralMemoryProposal | str | None" = None,
        authors: "Mapping[str, Author] | None" = None,
    ) -> "Decision":
        """Approve the item as it was shown, or with the person's wording ``edited``.

        ``shown`` is ``Review.shown`` of the review the person read. ``authors`` names the authors
        of those fields of an edited lesson that the person didn't write.

        Raises:
            ReviewChangedError: The item differs from what was shown.
        """
        ...

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> "BulkOutcome":
        """Approve several items, given as pairs of an id and its ``Review.shown``.

        An item that differs from what was shown isn't approved; the outcome says why.
        """
        ...

    async def reject(self, item_id: str, shown: str, reason: str) -> "Decision":
        """Reject the item as it was shown; raises ``ReviewChangedError`` like ``approve``."""
        ...

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Hide the item from the queue until the given time; ``None`` shows it again."""
        ...

    async def undo(self) -> "Decision | None":
        """Undo the last decision and return it; ``None`` if there is none."""
        ...

    def listen(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever another process or an agent may have changed the queue."""
        ...
