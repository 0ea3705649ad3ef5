"""Data and helpers that the modules of learning share: results, progress, updates of items."""

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.proposals import ProposalBox

_log = logging.getLogger(__name__)


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
    """Give an undecided approval item new content; return ``False`` when it was decided meanwhile.

    ``metadata`` is added to the item's own. An expired item becomes pending again, and then retains
    its title and description.
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
    """The result for one lesson of a learning run.

    ``PROPOSED`` is new, ``SEEN_AGAIN`` gained evidence while it waits for a decision, ``KNOWN``
    brought nothing new. ``ADOPTED`` was approved before and its skill gained the evidence,
    ``REJECTED`` was rejected before, ``UNCERTAIN`` isn't certain enough to be proposed, and
    ``CROWDED`` was reported by an agent that has too much waiting already.
    """

    PROPOSED = "proposed"
    SEEN_AGAIN = "seen_again"
    KNOWN = "known"
    ADOPTED = "adopted"
    REJECTED = "rejected"
    UNCERTAIN = "uncertain"
    CROWDED = "crowded"


@dataclass(frozen=True, slots=True)
class Learned:
    """One lesson of a learning run.

    ``recurrence`` is the number of runs it was seen in, ``confidence`` is in [0, 1]; ``worded``
    names the fields whose text is now the model's, ``refused`` says what else it wrote and why that
    wasn't taken, and ``seconds`` how long it took.
    """

    item_id: str
    title: str
    verdict: LearnVerdict
    recurrence: int
    confidence: float
    worded: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LearnReport:
    """The result of a learning run: its lessons, and warnings about what went wrong.

    ``executions`` is the number of executions that were looked at; ``notes`` say what the model
    wasn't asked, and why.
    """

    executions: int = 0
    lessons: tuple[Learned, ...] = ()
    warnings: tuple[str, ...] = ()
    cancelled: bool = False
    notes: tuple[str, ...] = ()

    def count(self, verdict: LearnVerdict) -> int:
        """Return the number of lessons with this verdict."""
        return sum(lesson.verdict is verdict for lesson in self.lessons)


@dataclass(frozen=True, slots=True)
class LearnProgress:
    """The progress of learning: ``stage`` is ``reading`` (executions) or ``wording`` (lessons).

    ``done`` and ``total`` are numbers of these.
    """

    stage: str
    done: int
    total: int


Adopt = Callable[[], Awaitable[object]]
ProgressSink = Callable[[LearnProgress], None]


@dataclass(slots=True)
class LearnRun:
    """One run of learning: who watches it, whether it shall stop, and what went wrong.

    ``read`` has the executions that were read, by id, with the number of their lines.
    """

    progress: ProgressSink | None
    cancel: threading.Event
    read: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_cancelled(self) -> bool:
        """Whether the person wants it to stop."""
        return self.cancel.is_set()

    def show(self, stage: str, done: int, total: int) -> None:
        """Tell who watches how far it is."""
        if self.progress is not None:
            self.progress(LearnProgress(stage, done, total))

    def warn(self, text: str) -> None:
        """Log what went wrong, and put it into the report."""
        _log.warning("%s", text)
        self.warnings.append(text)

    def tell(self, text: str) -> None:
        """Put a note into the report."""
        self.notes.append(text)

    def report(self, learned: Sequence[Learned]) -> LearnReport:
        """Return the result, with these lessons."""
        return LearnReport(
            len(self.read),
            tuple(learned),
            tuple(self.warnings),
            cancelled=self.is_cancelled,
            notes=tuple(self.notes),
        )
