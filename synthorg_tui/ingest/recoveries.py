"""Finds failed calls that a later call of the same intent made good."""

import re
from collections.abc import Sequence

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.execution import SHELL_TOOLS, Recovery, ToolCall
from synthorg_tui.ingest.intent import Step, command_steps, related

_MAX_BETWEEN = 60
_STILL_FAILING = re.compile(
    r"\b[1-9]\d* (?:failures?|failed|errors?)\b|^FAILED\b|\bCompilation error\b|^error(?:\[|:)"
    r"|^fatal:|\*\* \(\w+Error\)",
    re.MULTILINE,
)
_BACKGROUND = ("Command running in background", "Process running with session ID")
_HARMLESS = frozenset({"ls", "cat", "head", "tail", "grep", "rg", "find", "which", "stat", "test"})


def find_recoveries(calls: Sequence[ToolCall]) -> tuple[Recovery, ...]:
    """A recovery for each failed call that was made good, in order of the failures."""
    found: list[Recovery] = []
    for position, call in enumerate(calls):
        if call.outcome is CallOutcome.FAILED and call.intent not in _HARMLESS:
            later = resolving_call(calls, position)
            if later is not None:
                between = tuple(each.id for each in calls[position + 1 : later])
                found.append(
                    Recovery(
                        failed_call=call.id,
                        resolved_by=calls[later].id,
                        between=between[:_MAX_BETWEEN],
                    )
                )
    return tuple(found)


def resolving_call(calls: Sequence[ToolCall], position: int) -> int | None:
    """Where the call stands that made good the one at ``position``, or ``None``."""
    goal = calls[position]
    steps = _steps(goal)
    for index in range(position + 1, len(calls)):
        later = calls[index]
        if _same_kind(goal, later) and _same_intent(goal, steps, later) and really_ok(later):
            return index
    return None


def _same_kind(goal: ToolCall, later: ToolCall) -> bool:
    return (goal.tool.lower() in SHELL_TOOLS) == (later.tool.lower() in SHELL_TOOLS)


def _same_intent(goal: ToolCall, steps: tuple[Step, ...], later: ToolCall) -> bool:
    if steps:
        return related(steps, _steps(later))
    return goal.intent == later.intent


def _steps(call: ToolCall) -> tuple[Step, ...]:
    return command_steps(call.arguments) if call.tool.lower() in SHELL_TOOLS else ()


def really_ok(call: ToolCall) -> bool:
    """Whether an ok call did work: not merely started, nor failing behind a pipe."""
    if call.outcome is not CallOutcome.OK or call.output.startswith(_BACKGROUND):
        return False
    if call.tool.lower() not in SHELL_TOOLS or "|" not in call.arguments:
        return True
    return _STILL_FAILING.search(call.output) is None
