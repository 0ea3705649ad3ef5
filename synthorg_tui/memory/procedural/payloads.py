"""What a proposer is told of a run: names and numbers, sanitised, without the conversation."""

import re
from collections.abc import Sequence

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.execution import Execution, ToolCall
from synthorg_tui.core.outputs import one_line
from synthorg_tui.memory.procedural.capture.errors import ErrorKind
from synthorg_tui.memory.procedural.capture.mistakes import Mistake
from synthorg_tui.memory.procedural.models import FailureAnalysisPayload, SuccessAnalysisPayload

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


def sanitize_message(text: str) -> str:
    """An error message that may be shown to a model: short, without places or instructions.

    It is cut to 200 characters first; what is put in place of addresses, paths and markers may
    make it longer again.
    """
    text = sanitize_text(text[:_MAX_MESSAGE]).replace("\n", " ")
    return text.strip() if any(each.isalnum() for each in text) else WITHHELD


def failure_payload(execution: Execution, found: Mistake) -> FailureAnalysisPayload:
    """The payload of a mistake; its retries are the attempts that failed the same way."""
    retries = sum(call.intent == found.failed.intent for call in execution.failures) - 1
    missing = found.step.words[0] if found.error.kind is ErrorKind.NAME else None
    return FailureAnalysisPayload(
        task_id=execution.id,
        task_title=_title(execution),
        task_description=one_line(sanitize_text(execution.task), _MAX_DESCRIPTION),
        task_type="development",
        error_message=sanitize_message(found.error.line),
        strategy_type="retry",
        termination_reason=_ENDED.get(execution.outcome, "unknown"),
        turn_count=len(execution.turns),
        tool_calls_made=_tools(execution.calls),
        retry_count=max(retries, 0),
        max_retries=max(retries, 0),
        error_category=_CATEGORIES[found.error.kind],
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
    return "".join(each for each in text if each.isprintable() or each == "\n")


def _title(execution: Execution) -> str:
    return one_line(sanitize_text(execution.task), _MAX_TITLE) or "untitled task"


def _tools(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    made = [call.tool for call in calls if call.outcome is not CallOutcome.CANCELLED_WITH_SIBLING]
    return tuple(made[:_MAX_TOOLS])
