"""What learning needs of the approval queue, and what it reports."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.proposals import ProposalBox


async def update_item(
    queue: ProposalBox,
    item: ApprovalItem,
    *,
    actor: str,
    payload: str,
    metadata: Mapping[str, str],
    title: str,
    description: str | None = None,
) -> bool:
    """Give an undecided item new content; one that has expired waits again, with its title.

    ``metadata`` is added to what it has. ``False`` when the item was decided meanwhile.
    """
    metadata = {**item.metadata, **metadata}
    if item.status is ApprovalStatus.EXPIRED:
        changes = {
            "status": ApprovalStatus.PENDING,
            "expires_at": None,
            "payload": payload,
            "metadata": metadata,
        }
        return await queue.save(item.model_copy(update=changes)) is not None
    try:
        await queue.revise(
            item.id,
            actor=actor,
            payload=payload,
            metadata=metadata,
            title=title,
            description=description,
        )
    except ApprovalConflictError:
        return False
    return True


class LearnVerdict(StrEnum):
    """What became of a lesson: new, with new evidence, as it was, or decided before."""

    PROPOSED = "proposed"
    SEEN_AGAIN = "seen_again"
    KNOWN = "known"
    ADOPTED = "adopted"
    REJECTED = "rejected"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Learned:
    """One lesson of a run of learning; ``worded`` are the fields that the model wrote now."""

    item_id: str
    title: str
    verdict: LearnVerdict
    recurrence: int
    confidence: float
    worded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What learning found: ``lessons`` of ``executions``, and what went wrong on the way."""

    executions: int = 0
    lessons: tuple[Learned, ...] = ()
    warnings: tuple[str, ...] = ()
    cancelled: bool = False

    def count(self, verdict: LearnVerdict) -> int:
        """How many lessons have this verdict."""
        return sum(lesson.verdict is verdict for lesson in self.lessons)


@dataclass(frozen=True, slots=True)
class LearnProgress:
    """How far learning is in its stage: ``reading`` runs or ``wording`` lessons."""

    stage: str
    done: int
    total: int


Adopt = Callable[[], Awaitable[object]]
ProgressSink = Callable[[LearnProgress], None]
