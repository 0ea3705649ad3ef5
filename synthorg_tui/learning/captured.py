"""What every capture strategy gives and is given: the protocol, lessons, facts for a model.

Strategies import this and never each other; ``capture`` puts them together. The payload of a
captured lesson is what a model may know of its run: names and numbers, without the conversation,
and without places or instructions that a transcript may hold.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.curation.models import FailureAnalysisPayload, Lesson, SuccessAnalysisPayload
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line

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
    """Draws lessons of one kind from recorded runs; needs no model and touches no store.

    Each kind is a class in a module of its own; ``create_capture_strategy`` says which of them a
    setting stands for.
    """

    @property
    def name(self) -> str:
        """The strategy's name, such as ``commands`` or ``gates``; of all together the setting's."""

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return the lessons of one run, judged by itself; mostly none."""

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Tell whether a captured lesson is still worth proposing when compared with other runs.

        That is one of its own kind: of another kind it is false. ``qualities`` are those of the
        other successful runs that are known.
        """


def sanitize_message(text: str) -> str:
    """Return an error message that a model may see: one line, without places or instructions.

    It is cut to 200 characters first; the placeholders for addresses, paths and markers may make it
    longer again. A message of which nothing is left becomes ``WITHHELD``.
    """
    text = sanitize_text(text[:_MAX_MESSAGE]).replace("\n", " ")
    return text.strip() if any(character.isalnum() for character in text) else WITHHELD


def incident_payload(
    execution: Execution, error: str, *, category: str, retries: int = 0, missing: str | None = None
) -> FailureAnalysisPayload:
    """Return what a model may know of something that went wrong in a run.

    ``error`` is what was said of it, ``category`` one word for the sort of thing, ``missing`` what
    wasn't there.
    """
    return FailureAnalysisPayload(
        task_id=execution.id,
        task_title=one_line(sanitize_text(execution.task), _MAX_TITLE) or "untitled task",
        task_description=one_line(sanitize_text(execution.task), _MAX_DESCRIPTION),
        task_type="development",
        error_message=sanitize_message(error),
        strategy_type="retry",
        termination_reason=_ENDED.get(execution.outcome, "unknown"),
        turn_count=len(execution.turns),
        tool_calls_made=_tools(execution.calls),
        retry_count=retries,
        max_retries=retries,
        error_category=category,
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


def _tools(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    ran = [call.tool for call in calls if call.outcome is not CallOutcome.CANCELLED_WITH_SIBLING]
    return tuple(ran[:_MAX_TOOLS])
