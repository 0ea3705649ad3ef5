"""What the Approvals pane asks of the engine, with the person who decides.

It calls and names who does; what a decision means is the engine's, how it reads the lines'. The
app starts without the engine, so what loads it is imported inside.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.approvals.person import Person
    from synthorg_tui.curation.models import Author, ProceduralMemoryProposal
    from synthorg_tui.curation.review import BulkOutcome, Decision, InboxEntry, Review
    from synthorg_tui.curation.review_sheet import SheetVerdict
    from synthorg_tui.engine import Engine
    from synthorg_tui.evaluation.models import SkillEvaluation

Status = Literal["pending", "approved", "rejected"]

_QUEUE_TOPICS: Final = frozenset({"changed", "approval.expired", "followed"})
"""Topics of the engine's events after which the queue may have changed."""


def person() -> "Person":
    """Return the identity of the person at the screen, in whose name changes are made.

    Raises ``DecisionRefusedError`` where a coding agent runs the app: then there is none.
    """
    from synthorg_tui.approvals.person import Person, require_no_agent

    require_no_agent()
    return Person("tui")


class EngineApprovals:
    """The queue of an open engine, for the person at the screen. Failures are ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._listening = False

    @property
    def sheet_folder(self) -> "Path":
        """The folder for texts that are open in an editor, which nothing else writes to."""
        from synthorg_tui.persistence import REVIEW_DIR

        return self._engine.data_dir / REVIEW_DIR

    async def pending(self) -> int:
        """Return the number of items that wait for a decision, without snoozed ones."""
        return (await self._engine.approvals.counts()).pending

    async def inbox(self, status: Status = "pending") -> "tuple[InboxEntry, ...]":
        """List the items of a status, newest first; pending ones include snoozed ones."""
        from synthorg_tui.approvals.models import ApprovalStatus

        return await self._engine.reviews.inbox(include_snoozed=True, status=ApprovalStatus(status))

    async def flag_counts(self, entries: "Sequence[InboxEntry]") -> Mapping[str, int]:
        """Count what looks dangerous in the texts of each item, by its id.

        They are scanned beside the event loop.
        """
        from synthorg_tui.approvals.scan import scan
        from synthorg_tui.curation.review import texts_of

        return await asyncio.to_thread(
            lambda: {entry.item.id: len(scan(texts_of(entry))) for entry in entries}
        )

    async def review(self, item_id: str) -> "Review":
        """Return everything about the item, and the effects of approving it now."""
        return await self._engine.reviews.review(item_id)

    async def evaluation(
        self, item_id: str, *, anew: bool = False
    ) -> "tuple[SkillEvaluation, ...]":
        """What is known of whether a proposed skill helps; looks where nothing is, or anew."""
        return await self._engine.evaluation.look(item_id, anew=anew)

    async def trail(self, item_id: str) -> "tuple[ApprovalEvent, ...]":
        """List what happened to the item, as its audit trail has it."""
        return tuple(await self._engine.approvals.events(item_id))

    async def approve(
        self,
        item_id: str,
        shown: str,
        edited: "ProceduralMemoryProposal | str | None" = None,
        authors: "Mapping[str, Author] | None" = None,
        scope: str | None = None,
    ) -> "Decision":
        """Approve what was shown, with the person's wording and scope where there are.

        ``shown`` is ``Review.shown`` of what the person read; ``authors`` says who wrote fields
        of a reworded lesson where it wasn't the person.

        Raises:
            ReviewChangedError: It is no longer what was shown.
        """
        from synthorg_tui.curation.edits import ProposalEdit
        from synthorg_tui.curation.models import ProceduralMemoryScope

        edit = None
        if edited is not None or scope is not None:
            wanted = None if scope is None else ProceduralMemoryScope(scope)
            edit = ProposalEdit(edited, authors or {}, wanted)
        return await self._engine.reviews.approve(
            item_id,
            shown=shown,
            person=await self._person(item_id),
            edit=None if edit is None else lambda _entry: edit,
        )

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> "BulkOutcome":
        """Approve these items, each only while it is still what was shown under its id."""
        return await self._engine.reviews.approve_many(
            reviewed, await self._person(*(item_id for item_id, _ in reviewed))
        )

    async def may_decide(self, item_ids: Sequence[str]) -> None:
        """Raise ``DecisionRefusedError`` where an agent runs the app, which these items record."""
        await self._person(*item_ids)

    async def decide(self, verdicts: "Sequence[SheetVerdict]") -> "BulkOutcome":
        """Approve, reword and reject items together, each only while it is what was shown."""
        ids = [verdict.item_id for verdict in verdicts]
        return await self._engine.reviews.decide(verdicts, await self._person(*ids))

    async def reject(self, item_id: str, shown: str, reason: str) -> "Decision":
        """Reject what was shown; raises ``ReviewChangedError`` like ``approve``."""
        return await self._engine.reviews.reject(
            item_id, shown=shown, reason=reason, person=await self._person(item_id)
        )

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Put an item out of the way until then; ``None`` wakes it."""
        await self._engine.reviews.snooze(item_id, until, await self._person(item_id))

    async def undo(self) -> "Decision | None":
        """Take back the last decision; ``None`` when there is none."""
        return await self._engine.reviews.undo(person())

    async def _person(self, *item_ids: str) -> "Person":
        """The person at the screen; what is refused to an agent stands in the items' trails."""
        from synthorg_tui.approvals.models import DecisionRefusedError
        from synthorg_tui.approvals.person import actor_of_command

        try:
            return person()
        except DecisionRefusedError as error:
            actor = str(actor_of_command())
            for item_id in item_ids:
                await self._engine.approvals.refused(item_id, actor=actor, reason=error.message)
            raise

    @property
    def notify(self) -> str:
        """How to call a person who looks elsewhere: off, bell or notification."""
        return self._engine.settings.approvals.notify

    def listen(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` when an agent or a command may have changed the queue."""
        if not self._listening:
            self._listening = True
            self._engine.events.subscribe(
                lambda topic, _: changed() if topic in _QUEUE_TOPICS else None
            )
