"""Capture: the strategies that draw lessons from runs, and what a model may know of such a run.

A lesson from a failure is a mistake that was put right, one from a success the way a run was
checked and delivered. With it goes a payload for the proposer: names and numbers, without the
conversation, and without places or instructions that a transcript may hold. Everything here is
computed from one execution; comparing runs is for the service.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.curation.models import FailureAnalysisPayload, Lesson, SuccessAnalysisPayload
from synthorg_tui.executions.models import Execution, ToolCall
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
    """A lesson that stands on evidence alone, and what a proposer may know to word it.

    ``quality`` is how good the run was (0 to 10) when the lesson is drawn from a success.
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


class FailureCaptureStrategy:
    """One lesson for each mistake of a run that has recoveries."""

    name: str = "failure"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """The mistakes of the run."""
        return tuple(
            Captured(mistake_lesson(execution, mistake), failure_payload(execution, mistake))
            for mistake in find_mistakes(execution)
        )

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """A mistake always does."""
        return True


class SuccessCaptureStrategy:
    """At most one lesson from a run that ended well and had nothing to recover from."""

    name: str = "success"

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


class HybridCaptureStrategy:
    """A run with recoveries is looked at for mistakes, one without for what went well."""

    name: str = "hybrid"

    def __init__(self, failure: FailureCaptureStrategy, success: SuccessCaptureStrategy) -> None:
        self._failure = failure
        self._success = success

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """What the strategy for this run finds."""
        strategy = self._failure if execution.recoveries else self._success
        return strategy.capture(execution)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """What the strategy that found it says."""
        strategy = self._failure if captured.quality is None else self._success
        return strategy.stands_out(captured, qualities)


def create_capture_strategy(config: CaptureConfig) -> CaptureStrategy:
    """The configured strategy."""
    failure, success = FailureCaptureStrategy(), SuccessCaptureStrategy(config)
    if config.type == "failure":
        return failure
    return success if config.type == "success" else HybridCaptureStrategy(failure, success)


def sanitize_message(text: str) -> str:
    """An error message that may be shown to a model: short, without places or instructions.

    It is cut to 200 characters first; what is put in place of addresses, paths and markers may
    make it longer again.
    """
    text = sanitize_text(text[:_MAX_MESSAGE]).replace("\n", " ")
    return text.strip() if any(character.isalnum() for character in text) else WITHHELD


def failure_payload(execution: Execution, mistake: Mistake) -> FailureAnalysisPayload:
    """The payload of a mistake; its retries are the attempts that failed the same way."""
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
    """The payload of a run that went well."""
    return SuccessAnalysisPayload(
        task_id=execution.id,
        turn_count=len(execution.turns),
        tool_names=tuple(sorted({call.tool for call in execution.calls})),
        outcome=_ENDED.get(execution.outcome, "unknown"),
    )


def sanitize_text(text: str) -> str:
    """A longer text without places or instructions."""
    text = _PATH.sub("[REDACTED_PATH]", _URL.sub("[REDACTED_URL]", text))
    text = _MARKERS.sub("[FILTERED]", text)
    return "".join(character for character in text if character.isprintable() or character == "\n")


def _title(execution: Execution) -> str:
    return one_line(sanitize_text(execution.task), _MAX_TITLE) or "untitled task"


def _tools(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    ran = [call.tool for call in calls if call.outcome is not CallOutcome.CANCELLED_WITH_SIBLING]
    return tuple(ran[:_MAX_TOOLS])
