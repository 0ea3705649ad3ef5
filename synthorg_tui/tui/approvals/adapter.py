"""Implementation of the approvals interface by the engine, acting as the person at the screen.

It passes calls on with the person's name. The meaning of a decision is the engine's, its rendering
is in ``lines``.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.tui.approvals.ports import Status

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.approvals.person import Person
    from synthorg_tui.curation.models import Author, ProceduralMemoryProposal
    from synthorg_tui.curation.review import BulkOutcome, Decision, InboxEntry, Review
    from synthorg_tui.engine import Engine

_QUEUE_TOPICS: Final = frozenset({"changed", "approval.expired"})
"""Topics of the engine's events after which the queue may have changed."""


def person() -> "Person":
    """Return the identity of the person at the screen."""
    from synthorg_tui.approvals.person import Person

    return Person("tui")


class EngineApprovals:
    """The implementation of ``ApprovalsDesk`` by an open engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._listening = False

    async def pending(self) -> int:
        """Return the number of items that wait for a decision, without snoozed ones."""
        return (await self._engine.approvals.counts()).pending

    async def inbox(self, status: Status = "pending") -> "tuple[InboxEntry, ...]":
        """List the items of a status, newest first; pending ones include snoozed ones."""
        from synthorg_tui.approvals.models import ApprovalStatus

        return await self._engine.reviews.inbox(include_snoozed=True, status=ApprovalStatus(status))

    async def flag_counts(self, entries: "Sequence[InboxEntry]") -> Mapping[str, int]:
        """Count the suspicious passages in each item's texts, in a thread."""
        from synthorg_tui.approvals.scan import scan
        from synthorg_tui.curation.review import texts_of

        return await asyncio.to_thread(
            lambda: {entry.item.id: len(scan(texts_of(entry))) for entry in entries}
        )

    async def review(self, item_id: str) -> "Review":
        """Return everything about the item, and the effects of approving it now."""
        return await self._engine.reviews.review(item_id)

    async def trail(self, item_id: str) -> "tuple[ApprovalEvent, ...]":
        """Return the recorded events of the item."""
        return tuple(await self._engine.approvals.events(item_id))

    async def approve(
        self,
        item_id: str,
        shown: str,
        edited: "ProceduralMemoryProposal | str | None" = None,
        authors: "Mapping[str, Author] | None" = None,
    ) -> "Decision":
        """Approve the item as it was shown, or with the person's wording ``edited``."""
        from synthorg_tui.curation.edits import ProposalEdit

        edit = None if edited is None else ProposalEdit(edited, authors or {})
        return await self._engine.reviews.approve(
            item_id,
            shown=shown,
            person=person(),
            edit=None if edit is None else lambda _entry: edit,
        )

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> "BulkOutcome":
        """Approve several items, each only if it is unchanged since it was shown."""
        return await self._engine.reviews.approve_many(reviewed, person())

    async def reject(self, item_id: str, shown: str, reason: str) -> "Decision":
        """Reject the item with a reason."""
        return await self._engine.reviews.reject(
            item_id, shown=shown, reason=reason, person=person()
        )

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Hide the item until the given time; ``None`` shows it again."""
        await self._engine.reviews.snooze(item_id, until, person())

    async def undo(self) -> "Decision | None":
        """Undo the last decision and return it; ``None`` if there is none."""
        return await self._engine.reviews.undo(person())

    def listen(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` when an agent or a command may have changed the queue."""
        if not self._listening:
            self._listening = True
            self._engine.events.subscribe(
                lambda topic, _: changed() if topic in _QUEUE_TOPICS else None
            )
