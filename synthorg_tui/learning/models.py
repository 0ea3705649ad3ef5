"""What learning needs of others, and what it reports."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from synthorg_tui.curation.models import Lesson


class RecurrenceSink(Protocol):
    """Keeps count of how often adopted lessons would have helped."""

    async def seen_again(self, lesson: Lesson) -> bool:
        """Whether an adopted skill stands for the lesson and took its evidence."""
        ...


class LearnVerdict(StrEnum):
    """What became of a lesson: new, with new evidence, as it was, or settled before."""

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
        """How many lessons met this end."""
        return sum(each.verdict is verdict for each in self.lessons)


@dataclass(frozen=True, slots=True)
class LearnProgress:
    """How far learning is in its stage: ``reading`` runs or ``wording`` lessons."""

    stage: str
    done: int
    total: int


Adopt = Callable[[], Awaitable[object]]
ProgressSink = Callable[[LearnProgress], None]
