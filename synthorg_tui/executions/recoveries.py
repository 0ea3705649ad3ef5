"""Finds failed calls that a later call of the same intent made good."""

import re
from collections.abc import Sequence

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps, related
from synthorg_tui.executions.models import SHELL_TOOLS, Recovery, ToolCall

_MAX_BETWEEN = 60
_MAX_LATER = 500
"""How many calls later a success may still be the answer to a failure."""
_STILL_FAILING = re.compile(
    r"\b[1-9]\d* (?:failures?|failed|errors?)\b|^FAILED\b|\bCompilation error\b|^error(?:\[|:)"
    r"|^fatal:|\*\* \(\w+Error\)",
    re.MULTILINE,
)
_BACKGROUND = ("Command running in background", "Process running with session ID")
_NO_PROGRAM = re.compile(
    r"command not found|: not found\s*$|is not recognized as|Unknown command", re.MULTILINE
)
_MAX_STAND_IN = 5
"""How many calls later another program may take the place of one that isn't there."""
_HARMLESS = frozenset({"ls", "cat", "head", "tail", "grep", "rg", "find", "which", "stat", "test"})


class Attempts:
    """The calls of an execution, each with what its command was for, worked out once."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._calls = calls
        self._steps = [_steps(call) for call in calls]

    def resolving(self, position: int) -> int | None:
        """Where the call stands that made good the one at ``position``, or ``None``."""
        for index in range(position + 1, min(len(self._calls), position + 1 + _MAX_LATER)):
            if self._same_intent(position, index) and really_ok(self._calls[index]):
                return index
        return None

    def _same_intent(self, position: int, index: int) -> bool:
        goal, later = self._calls[position], self._calls[index]
        if _is_shell(goal) != _is_shell(later):
            return False
        if self._steps[position]:
            again = related(self._steps[position], self._steps[index])
            return again or self._stands_in(position, index)
        return goal.intent == later.intent

    def _stands_in(self, position: int, index: int) -> bool:
        """Whether another program is given what the missing one was given."""
        if index - position > _MAX_STAND_IN or not _NO_PROGRAM.search(self._calls[position].output):
            return False
        given = self._steps[position][-1].words[1:]
        later = [step.words for step in self._steps[index]]
        return bool(given) and any(words[-len(given) :] == given for words in later)


def find_recoveries(calls: Sequence[ToolCall]) -> tuple[Recovery, ...]:
    """A recovery for each failed call that was made good, in order of the failures."""
    found: list[Recovery] = []
    attempts = Attempts(calls)
    for position, call in enumerate(calls):
        if call.outcome is not CallOutcome.FAILED or call.intent in _HARMLESS:
            continue
        later = attempts.resolving(position)
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


def _is_shell(call: ToolCall) -> bool:
    return call.tool.lower() in SHELL_TOOLS


def _steps(call: ToolCall) -> tuple[Step, ...]:
    return command_steps(call.arguments) if _is_shell(call) else ()


def really_ok(call: ToolCall) -> bool:
    """Whether an ok call did work: not merely started, nor failing behind a pipe."""
    if call.outcome is not CallOutcome.OK or call.output.startswith(_BACKGROUND):
        return False
    if not _is_shell(call) or "|" not in call.arguments:
        return True
    return _STILL_FAILING.search(call.output) is None
