"""Which lessons are drawn from runs: the strategies of all kinds, put together as settings say.

A lesson from a failure is a mistake that was put right, one from a success the way a run was
checked and delivered; the other kinds have modules of their own. Everything is computed from one
execution; comparing runs is for the service.
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import Protocol

from synthorg_tui.curation.models import Lesson
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES, Execution
from synthorg_tui.learning.corrections import CorrectionCaptureStrategy
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.habits import HabitCaptureStrategy
from synthorg_tui.learning.mistakes import find_mistakes
from synthorg_tui.learning.recipes import find_recipe, recipe_lesson
from synthorg_tui.learning.repeats import RepeatCaptureStrategy
from synthorg_tui.memory.config import CaptureConfig


class CaptureStrategy(Protocol):
    """Draws lessons of one kind from recorded runs; needs no model and touches no store.

    ``create_capture_strategy`` says which of them a setting stands for.
    """

    @property
    def name(self) -> str:
        """The strategy's name, such as ``commands``; of all together the setting's."""
        ...

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return the lessons of one run, judged by itself; mostly none."""
        ...


class FailureCaptureStrategy:
    """Draws one lesson from each command that failed, or that a hook stopped, and was put right."""

    name: str = "commands"

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return a lesson for each mistake of the run; for the first ones of a reported run."""
        most = MAX_REPORTED_RECOVERIES if execution.is_reported else None
        found = islice(find_mistakes(execution), most)
        return tuple(mistake_lesson(execution, mistake) for mistake in found)


class SuccessCaptureStrategy:
    """Draws at most one lesson from a run that ended well and had no failures to recover from."""

    name: str = "successes"

    def __init__(self, config: CaptureConfig) -> None:
        self._least = config.min_quality_score

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return how the run was checked and delivered; empty below ``min_quality_score``."""
        recipe = find_recipe(execution)
        is_good = recipe is not None and recipe.quality >= self._least
        return (recipe_lesson(execution, recipe),) if recipe and is_good else ()


class CombinedCaptureStrategy:
    """Draws what several strategies find, in their order."""

    def __init__(self, name: str, strategies: Sequence[CaptureStrategy]) -> None:
        self.name = name
        self._strategies = tuple(strategies)

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return the lessons that any of the strategies finds."""
        return tuple(chain.from_iterable(one.capture(execution) for one in self._strategies))


def create_capture_strategy(config: CaptureConfig) -> CaptureStrategy:
    """Return the strategy that ``config`` names.

    ``failure`` is what failed, ``hybrid`` every kind there is.
    """
    failures: list[CaptureStrategy] = [FailureCaptureStrategy(), RepeatCaptureStrategy()]
    success = SuccessCaptureStrategy(config)
    strategies: dict[str, list[CaptureStrategy]] = {
        "failure": failures,
        "success": [success],
        "hybrid": [*failures, success, CorrectionCaptureStrategy(), HabitCaptureStrategy()],
    }
    return CombinedCaptureStrategy(config.type, strategies[config.type])
