"""Lessons from failures that were put right."""

from collections.abc import Sequence

from synthorg_tui.core.execution import Execution
from synthorg_tui.memory.procedural.capture.mistakes import find_mistakes
from synthorg_tui.memory.procedural.capture.protocol import Captured
from synthorg_tui.memory.procedural.grounded import mistake_lesson
from synthorg_tui.memory.procedural.payloads import failure_payload


class FailureCaptureStrategy:
    """One lesson for each mistake of a run that has recoveries."""

    name = "failure"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """The mistakes of the run."""
        return tuple(
            Captured(mistake_lesson(execution, found), failure_payload(execution, found))
            for found in find_mistakes(execution)
        )

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """A mistake always does."""
        return True
