"""Lessons from both: what was put right, and what went well."""

from collections.abc import Sequence

from synthorg_tui.core.execution import Execution
from synthorg_tui.memory.procedural.capture.failure import FailureCaptureStrategy
from synthorg_tui.memory.procedural.capture.protocol import Captured, CaptureStrategy
from synthorg_tui.memory.procedural.capture.success import SuccessCaptureStrategy
from synthorg_tui.memory.procedural.config import CaptureConfig


class HybridCaptureStrategy:
    """A run with recoveries is looked at for mistakes, one without for what went well."""

    name = "hybrid"

    def __init__(self, failure: FailureCaptureStrategy, success: SuccessCaptureStrategy) -> None:
        self._failure = failure
        self._success = success

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """What the strategy for this run finds."""
        return self._for(recovered=bool(execution.recoveries)).capture(execution)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """What the strategy that found it says."""
        return self._for(recovered=captured.quality is None).stands_out(captured, qualities)

    def _for(self, *, recovered: bool) -> CaptureStrategy:
        return self._failure if recovered else self._success


def create_capture_strategy(config: CaptureConfig) -> CaptureStrategy:
    """The configured strategy."""
    failure, success = FailureCaptureStrategy(), SuccessCaptureStrategy(config)
    if config.type == "failure":
        return failure
    return success if config.type == "success" else HybridCaptureStrategy(failure, success)
