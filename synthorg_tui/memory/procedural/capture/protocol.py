"""What every way of drawing lessons from runs offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from synthorg_tui.core.execution import Execution
from synthorg_tui.memory.procedural.models import (
    FailureAnalysisPayload,
    Lesson,
    SuccessAnalysisPayload,
)


@dataclass(frozen=True, slots=True)
class Captured:
    """A lesson that stands on evidence alone, and what a proposer is told to word it.

    ``quality`` is how good the run was (0 to 10) when the lesson is drawn from a success.
    """

    lesson: Lesson
    payload: FailureAnalysisPayload | SuccessAnalysisPayload
    quality: float | None = None


class CaptureStrategy(Protocol):
    """Draws lessons from recorded runs; needs no model and touches no store."""

    @property
    def name(self) -> str:
        """``failure``, ``success`` or ``hybrid``."""
        ...

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """What the run teaches, seen by itself; mostly nothing."""
        ...

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Whether it is still worth a lesson next to the other runs.

        ``qualities`` are those of the other successful runs that are known.
        """
        ...
