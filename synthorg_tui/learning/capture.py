"""Strategies that draw lessons from runs, and the facts that a model may know of such a run.

A lesson from a failure is a mistake that was put right, one from a success the way a run was
checked and delivered. With it goes a payload for the proposer: names and numbers, without the
conversation, and without places or instructions that a transcript may hold. Everything here is
computed from one execution; comparing runs is for the service.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.curation.models import FailureAnalysisPayload, Lesson, SuccessAnalysisPayload
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES, Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.error_lines import ErrorKind
from synthorg_tui.learning.mistakes import Mistake, find_mistakes
from synthorg_tui.learning.recipes import find_recipe, recipe_lesson
from synthorg_tui.memory.config import CaptureConfig

_MAX_MESSAGE = 200
_MAX_TITLE = 80
_MAX_DESCRIPTION = 500
_MAX_TOOLS = 200
WITHHELD = "details redacted"
_ENDED = {
    ExecutionOutcome.COMPLETED: "completed",
    ExecutionOutcome.FAILED: "error",
    ExecutionOutcome.INTERRUPTED: "shutdown",
}
_CATEGORIES = {ErrorKind.CALL: "usage", ErrorKind.NAME: "not_found", ErrorKind.CODE: "code"}
_URL = re.compile(
    r"\b(?:https?|postgres\w*|mysql|redis|mongodb|amqp|s?ftp|file)(?:\+\w+)?://[^\s'\"<>]+",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"\b[A-Za-z]:\\[^\s'\"]+|\\\\[^\s'\"]+|(?<![\w.])\.{1,2}/[^\s'\"]*|(?<!\w)/(?!/)[^\s'\"]{2,}"
)
_MARKERS = re.compile(
    r"\bignore\b[^.\n]{0,60}\binstructions?\b|\[/?(?:INST|SYSTEM|SYS|USER|ASSISTANT)\]"
    r"|<\|[^|>]{0,40}\|>|={3,}\s*(?:BEGIN|END)\b[^=]{0,60}={3,}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Captured:
    """A lesson made from evidence alone, with the facts that a model may use to word it.

    ``quality`` is how good the run was (0 to 10) when the lesson is drawn from a success, else
    ``None``.
    """

    lesson: Lesson
    payload: FailureAnalysisPayload | SuccessAnalysisPayload
    quality: float | None = None


class CaptureStrategy(Protocol):
    """Draws lessons from recorded runs; needs no model and touches no store.

    Settings choose one of three; another is a class here and a value of ``CaptureConfig.type``.
    """

    @property
    def name(self) -> str:
        """The strategy's name: ``failure``, ``success`` or ``hybrid``."""
        ...

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return the lessons of one run, judged by itself; mostly none."""
        ...

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Tell whether a captured lesson is still worth proposing when compared with other runs.

        ``qualities`` are those of the other successful runs that are known.
        """
        ...


class FailureCaptureStrategy:
    """Draws one lesson from each mistake that was put right in a run."""

    name: str = "failure"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return a lesson for each mistake of the run; for the first ones of a reported run."""
        most = MAX_REPORTED_RECOVERIES if execution.is_reported else None
        return tuple(
            Captured(mistake_lesson(execution, mistake), failure_payload(execution, mistake))
            for mistake in islice(find_mistakes(execution), most)
        )

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return true: a mistake is always worth a lesson."""
        return True


class SuccessCaptureStrategy:
    """Draws at most one lesson from a run that ended well and had no failures to recover from."""

    name: str = "success"

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
        if captured.quality is None:
            return False
        share = self._config.success_quality_percentile / 100.0
        worse = sum(other < captured.quality for other in qualities)
        return worse >= share * len(qualities) if qualities else share == 0.0


class HybridCaptureStrategy:
    """Looks for mistakes in a run that has recoveries, and for what went well in one without."""

    name: str = "hybrid"

    def __init__(self, failure: FailureCaptureStrategy, success: SuccessCaptureStrategy) -> None:
        self._failure = failure
        self._success = success

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return the lessons that the strategy for this kind of run finds."""
        strategy = self._failure if execution.recoveries else self._success
        return strategy.capture(execution)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return the verdict of the strategy that captured the lesson."""
        strategy = self._failure if captured.quality is None else self._success
        return strategy.stands_out(captured, qualities)


def create_capture_strategy(config: CaptureConfig) -> CaptureStrategy:
    """Return the strategy that ``config`` names."""
    failure, success = FailureCaptureStrategy(), SuccessCaptureStrategy(config)
    if config.type == "failure":
        return failure
    return success if config.type == "success" else HybridCaptureStrategy(failure, success)


def sanitize_message(text: str) -> str:
    """Return an error message that a model may see: one line, without places or instructions.

    It is cut to 200 characters first; the placeholders for addresses, paths and markers may make it
    longer again. A message of which nothing is left becomes ``WITHHELD``.
    """
    text = sanitize_text(text[:_MAX_MESSAGE]).replace("\n", " ")
    return text.strip() if any(character.isalnum() for character in text) else WITHHELD


def failure_payload(execution: Execution, mistake: Mistake) -> FailureAnalysisPayload:
    """Return what a model may know of a mistake.

    Its retries are the further failures of calls with the same intent.
    """
    retries = sum(call.intent == mistake.failed.intent for call in execution.failures) - 1
    missing = mistake.step.words[0] if mistake.error.kind is ErrorKind.NAME else None
    return FailureAnalysisPayload(
        task_id=execution.id,
        task_title=_title(execution),
        task_description=one_line(sanitize_text(execution.task), _MAX_DESCRIPTION),
        task_type="development",
        error_message=sanitize_message(mistake.error.line),
        strategy_type="retry",
        termination_reason=_ENDED.get(execution.outcome, "unknown"),
        turn_count=len(execution.turns),
        tool_calls_made=_tools(execution.calls),
        retry_count=max(retries, 0),
        max_retries=max(retries, 0),
        error_category=_CATEGORIES[mistake.error.kind],
        missing_capability=missing,
    )


def success_payload(execution: Execution) -> SuccessAnalysisPayload:
    """Return what a model may know of a run that went well."""
    return SuccessAnalysisPayload(
        task_id=execution.id,
        turn_count=len(execution.turns),
        tool_names=tuple(sorted({call.tool for call in execution.calls})),
        outcome=_ENDED.get(execution.outcome, "unknown"),
    )


def sanitize_text(text: str) -> str:
    """Return ``text``, however long, with addresses, paths and prompt markers replaced."""
    text = _PATH.sub("[REDACTED_PATH]", _URL.sub("[REDACTED_URL]", text))
    text = _MARKERS.sub("[FILTERED]", text)
    return "".join(character for character in text if character.isprintable() or character == "\n")


def _title(execution: Execution) -> str:
    return one_line(sanitize_text(execution.task), _MAX_TITLE) or "untitled task"


def _tools(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    ran = [call.tool for call in calls if call.outcome is not CallOutcome.CANCELLED_WITH_SIBLING]
    return tuple(ran[:_MAX_TOOLS])
