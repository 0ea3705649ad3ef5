"""Which lessons are drawn from runs: the strategies of all kinds, put together as settings say.

A lesson from a failure is a mistake that was put right, one from a success the way a run was
checked and delivered; the other kinds have modules of their own. Everything is computed from one
execution; comparing runs is for the service.
"""

from collections.abc import Sequence
from itertools import islice

from synthorg_tui.curation.models import FailureAnalysisPayload, LessonKind
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES, Execution
from synthorg_tui.learning.captured import (
    Captured,
    CaptureStrategy,
    incident_payload,
    success_payload,
)
from synthorg_tui.learning.corrections import CorrectionCaptureStrategy
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.error_lines import ErrorKind
from synthorg_tui.learning.habits import HabitCaptureStrategy
from synthorg_tui.learning.mistakes import Mistake, find_mistakes
from synthorg_tui.learning.recipes import find_recipe, recipe_lesson
from synthorg_tui.learning.repeats import RepeatCaptureStrategy
from synthorg_tui.memory.config import CaptureConfig

_CATEGORIES = {ErrorKind.CALL: "usage", ErrorKind.NAME: "not_found", ErrorKind.CODE: "code"}


class FailureCaptureStrategy:
    """Draws one lesson from each command that failed, or that a hook stopped, and was put right."""

    name: str = "commands"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return a lesson for each mistake of the run; for the first ones of a reported run."""
        most = MAX_REPORTED_RECOVERIES if execution.is_reported else None
        return tuple(
            Captured(mistake_lesson(execution, mistake), failure_payload(execution, mistake))
            for mistake in islice(find_mistakes(execution), most)
        )

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return true for a mistake: it is always worth a lesson."""
        return captured.lesson.kind in {LessonKind.FAILURE, LessonKind.GATE}


class SuccessCaptureStrategy:
    """Draws at most one lesson from a run that ended well and had no failures to recover from."""

    name: str = "successes"

    def __init__(self, config: CaptureConfig) -> None:
        self._config = config

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return how the run was checked and delivered; empty below ``min_quality_score``."""
        recipe = find_recipe(execution)
        if recipe is None or recipe.quality < self._config.min_quality_score:
            return ()
        lesson = recipe_lesson(execution, recipe)
        return (Captured(lesson, success_payload(execution), recipe.quality),)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Tell whether it is better than ``success_quality_percentile`` percent of the others."""
        if captured.lesson.kind is not LessonKind.SUCCESS or captured.quality is None:
            return False
        share = self._config.success_quality_percentile / 100.0
        worse = sum(other < captured.quality for other in qualities)
        return worse >= share * len(qualities) if qualities else share == 0.0


class CombinedCaptureStrategy:
    """Draws what several strategies find, in their order.

    One that was made of all of them looks for successes only in runs without recoveries: a recipe
    has none.
    """

    def __init__(self, name: str, strategies: Sequence[CaptureStrategy]) -> None:
        self.name = name
        self._strategies = tuple(strategies)

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return the lessons that any of the strategies finds."""
        return tuple(
            captured for strategy in self._strategies for captured in strategy.capture(execution)
        )

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return the verdict of the strategy whose kind the lesson is."""
        return any(strategy.stands_out(captured, qualities) for strategy in self._strategies)


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


def failure_payload(execution: Execution, mistake: Mistake) -> FailureAnalysisPayload:
    """Return what a model may know of a mistake.

    Its retries are the further failures of calls with the same intent.
    """
    retries = sum(call.intent == mistake.failed.intent for call in execution.failures) - 1
    return incident_payload(
        execution,
        mistake.error.line,
        category=_CATEGORIES[mistake.error.kind],
        retries=max(retries, 0),
        missing=mistake.step.words[0] if mistake.error.kind is ErrorKind.NAME else None,
    )
