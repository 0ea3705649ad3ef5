"""Finds the failed calls that a later call of the same intent resolved.

The one analyser of "failed, then worked": the stored record, the memories of an import and the
lessons all ask it, so that they agree on what a success is and on which failure it answers. What
is worth a memory or a lesson, and the words for it, are for those who ask.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps, related
from synthorg_tui.executions.models import Recovery, ToolCall

RECOVERY_TAG = "recovery"
"""Tag of memories and lessons that are drawn from a recovery."""
MAX_LATER = 500
"""How many calls later a success may still be the answer to a failure."""
MAX_STORED = 60
"""How many calls between the two a recovery names: it bounds the record, not the search."""
MAX_BETWEEN = 15
"""Calls between a failure and its answer of which a cause can be told; a memory only says what
happened and does without this limit."""
_STILL_FAILING = re.compile(
    r"\b[1-9]\d* (?:failures?|failed|errors?)\b|^FAILED\b|\bCompilation error\b|^error(?:\[|:)"
    r"|^fatal:|\*\* \(\w+Error\)",
    re.MULTILINE,
)
BACKGROUND = ("Command running in background", "Process running with session ID")
"""How the output of a call begins that only started something."""
_NO_PROGRAM = re.compile(
    r"command not found|: not found\s*$|is not recognized as|Unknown command", re.MULTILINE
)
_MAX_STAND_IN = 5
"""How many calls later another program may take the place of one that isn't there."""
_HARMLESS = frozenset({"ls", "cat", "head", "tail", "grep", "rg", "find", "which", "stat", "test"})


def resolved_failures(
    calls: Sequence[ToolCall], is_failure: Callable[[ToolCall], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the position of each failure that was resolved, with that of the call that resolved it.

    Positions are indexes into ``calls``, in the order of the failures. ``is_failure`` says which
    calls to look at. One call may resolve several failures.
    """
    steps = [_steps(call) for call in calls]
    for position, call in enumerate(calls):
        if is_failure(call) and (later := _resolving(calls, steps, position)) is not None:
            yield position, later


def _resolving(
    calls: Sequence[ToolCall], steps: Sequence[tuple[Step, ...]], position: int
) -> int | None:
    """The position of the call that resolved the one at ``position``, or ``None``.

    ``steps`` are those of the calls' commands.
    """
    goal = calls[position]
    for index in range(position + 1, min(len(calls), position + 1 + MAX_LATER)):
        later = calls[index]
        if goal.is_shell != later.is_shell:
            continue
        if steps[position]:
            is_again = related(steps[position], steps[index]) or (
                index - position <= _MAX_STAND_IN
                and _stands_in(goal, steps[position], steps[index])
            )
        else:
            is_again = goal.intent == later.intent
        if is_again and really_ok(later):
            return index
    return None


def _stands_in(failed: ToolCall, steps: Sequence[Step], later: Sequence[Step]) -> bool:
    """Whether another program is given what the missing one was given."""
    given = steps[-1].words[1:]
    if not given or not _NO_PROGRAM.search(failed.output):
        return False
    return any(step.words[-len(given) :] == given for step in later)


def find_recoveries(calls: Sequence[ToolCall]) -> tuple[Recovery, ...]:
    """Return a recovery for each failed call that was resolved, in the order of the failures."""
    return tuple(
        Recovery(
            failed_call=calls[position].id,
            resolved_by=calls[later].id,
            between=tuple(call.id for call in calls[position + 1 : later][:MAX_STORED]),
        )
        for position, later in resolved_failures(calls, _is_failure)
    )


def next_attempt(
    calls: Sequence[ToolCall], position: int, end: int, recurs: Callable[[ToolCall], bool]
) -> int | None:
    """Return the position of the next attempt at the command at ``position``.

    Where no related command comes before ``end``, that is ``end`` itself. ``None`` when ``recurs``
    says that the same error occurs there (that later failure is the one to look at), or when more
    than ``MAX_BETWEEN`` calls lie between.
    """
    failed = _steps(calls[position])
    later = range(position + 1, end + 1)
    attempt = next((index for index in later if related(failed, _steps(calls[index]))), end)
    if attempt - position - 1 > MAX_BETWEEN or recurs(calls[attempt]):
        return None
    return attempt


def _is_failure(call: ToolCall) -> bool:
    return call.outcome is CallOutcome.FAILED and call.intent not in _HARMLESS


def _steps(call: ToolCall) -> tuple[Step, ...]:
    return command_steps(call.arguments) if call.is_shell else ()


def really_ok(call: ToolCall) -> bool:
    """Tell whether a call really succeeded: not merely started, nor failing behind a pipe."""
    if call.outcome is not CallOutcome.OK or call.output.startswith(BACKGROUND):
        return False
    if not call.is_shell or "|" not in call.arguments:
        return True
    return _STILL_FAILING.search(call.output) is None
