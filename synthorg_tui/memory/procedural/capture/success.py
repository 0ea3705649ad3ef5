"""Lessons from runs that went well from start to end."""

from collections.abc import Sequence

from synthorg_tui.core.execution import Execution
from synthorg_tui.memory.procedural.capture.protocol import Captured
from synthorg_tui.memory.procedural.capture.recipes import find_recipe, recipe_lesson
from synthorg_tui.memory.procedural.config import CaptureConfig
from synthorg_tui.memory.procedural.payloads import success_payload


class SuccessCaptureStrategy:
    """At most one lesson from a run that ended well and had nothing to recover from."""

    name = "success"

    def __init__(self, config: CaptureConfig) -> None:
        self._config = config

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """The way the run was checked and delivered, when its quality suffices."""
        recipe = find_recipe(execution)
        if recipe is None or recipe.quality < self._config.min_quality_score:
            return ()
        lesson = recipe_lesson(execution, recipe)
        return (Captured(lesson, success_payload(execution), recipe.quality),)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Whether it is better than ``success_quality_percentile`` percent of the others."""
        if captured.quality is None:
            return False
        share = self._config.success_quality_percentile / 100.0
        worse = sum(other < captured.quality for other in qualities)
        return worse >= share * len(qualities) if qualities else share == 0.0
