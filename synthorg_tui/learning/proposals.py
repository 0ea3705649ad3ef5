"""Lessons in the approval queue: proposed once, then brought up to date until they are decided.

The same lesson is the same item for good, whatever became of it. Nothing here approves or rejects,
and nothing may: learning runs by itself, and only a person decides.
"""

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    DecisionRefusedError,
    QueueFullError,
)
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation.inbox import (
    ACTOR,
    WORDING_TRIED,
    item_id,
    item_of,
    lesson_of,
    metadata_of,
    title_of,
)
from synthorg_tui.curation.models import Lesson
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.evidence import LessonEvidence
from synthorg_tui.learning.models import Learned, LearnVerdict, update_item


class LessonProposals:
    """Puts lessons in the approval queue and keeps their items up to date.

    Args:
        queue: Where lessons wait for a person.
        clock: Dates new items.
        min_confidence: A lesson that is less certain isn't proposed.
        evidence: Receives the evidence for lessons that were approved already.
    """

    def __init__(
        self,
        queue: ProposalBox,
        *,
        clock: Clock,
        min_confidence: float = 0.0,
        evidence: LessonEvidence | None = None,
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._min_confidence = min_confidence
        self._evidence = evidence

    async def submit(self, lesson: Lesson) -> Learned:
        """Propose a lesson, or add its evidence to the item or the skill that it has already."""
        identity = item_id(lesson.key)
        item = await self._queue.get(identity)
        if item is None:
            if lesson.proposal.confidence < self._min_confidence:
                return _learned(lesson, LearnVerdict.UNCERTAIN)
            try:
                await self._queue.add(item_of(lesson, self._clock))
            except QueueFullError:
                return _learned(lesson, LearnVerdict.CROWDED)
            except ApprovalConflictError:  # somebody else was quicker
                item = await self._queue.get(identity)
            else:
                return _learned(lesson, LearnVerdict.PROPOSED)
        return await self._known(item, lesson) if item else _learned(lesson, LearnVerdict.KNOWN)

    async def _known(self, item: ApprovalItem, lesson: Lesson) -> Learned:
        if item.status is ApprovalStatus.REJECTED:
            return _learned(lesson, LearnVerdict.REJECTED)
        if item.status is ApprovalStatus.APPROVED:
            adopted = self._evidence is not None and await self._evidence.add(lesson)
            return _learned(lesson, LearnVerdict.ADOPTED if adopted else LearnVerdict.KNOWN)
        known = lesson_of(item)
        if known is None:
            return _learned(lesson, LearnVerdict.KNOWN)
        together = merged(known, lesson) if known.evidence else lesson
        is_over = item.status is ApprovalStatus.EXPIRED
        if is_over and together.proposal.confidence < self._min_confidence:
            return _learned(lesson, LearnVerdict.UNCERTAIN)
        is_new = together is lesson or together.source is not known.source
        renew = self._replace if is_new else self._update
        if together is known or not await renew(item, together):
            return _learned(known, LearnVerdict.KNOWN)
        return _learned(together, LearnVerdict.SEEN_AGAIN)

    async def _update(self, item: ApprovalItem, lesson: Lesson) -> bool:
        return await update_item(
            self._queue,
            item,
            actor=ACTOR,
            payload=lesson.model_dump_json(),
            metadata=metadata_of(lesson),
            title=title_of(lesson),
            description=lesson.proposal.condition,
        )

    async def _replace(self, item: ApprovalItem, lesson: Lesson) -> bool:
        """Give an undecided item other words, with the risk and the requester that go with them."""
        fresh = item_of(lesson, self._clock)
        kept = {name: getattr(item, name) for name in ("created_at", "expires_at", "snoozed_until")}
        if item.status is ApprovalStatus.EXPIRED:
            kept["expires_at"] = None
        try:
            return await self._queue.save(fresh.model_copy(update=kept)) is not None
        except DecisionRefusedError:
            return False

    async def unworded(self, key: str) -> Lesson | None:
        """Return the pending lesson with this key; ``None`` once a model was asked to word it."""
        item = await self._queue.get(item_id(key))
        if item is None or item.status is not ApprovalStatus.PENDING:
            return None
        return None if WORDING_TRIED in item.metadata else lesson_of(item)

    async def put_worded(self, lesson: Lesson) -> bool:
        """Store the new wording of a pending lesson, with the evidence that it has by now.

        Returns ``False`` when it is no longer pending, or stands on other words of code.
        """
        item = await self._queue.get(item_id(lesson.key))
        if item is None or item.status is not ApprovalStatus.PENDING:
            return False
        known = lesson_of(item)
        if known is not None and known.evidence != lesson.evidence:
            if known.grounded.discovery != lesson.grounded.discovery:
                return False
            confidence = {"confidence": known.proposal.confidence}
            lesson = lesson.model_copy(
                update={
                    "evidence": known.evidence,
                    "proposal": lesson.proposal.model_copy(update=confidence),
                    "grounded": known.grounded,
                }
            )
        return await update_item(
            self._queue,
            item,
            actor=ACTOR,
            payload=lesson.model_dump_json(),
            metadata={WORDING_TRIED: "yes"},
            title=title_of(lesson),
            description=lesson.proposal.condition,
        )


def _learned(lesson: Lesson, verdict: LearnVerdict) -> Learned:
    return Learned(
        item_id=item_id(lesson.key),
        title=title_of(lesson),
        verdict=verdict,
        recurrence=lesson.recurrence,
        confidence=lesson.proposal.confidence,
    )
