"""Finds the failed calls that a later call of the same intent resolved.

The one analyser of "failed, then worked": the stored record, the memories of an import and the
lessons all ask it, so that they agree on what a success is and on which failure it answers. A
success answers a failure only if it wants the same: looking up a command's help doesn't, nor does
a way out such as ``--abort``. What is worth a memory or a lesson, and the words for it, are for
those who ask.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.call_words import CALLS
from synthorg_tui.executions.commands import Step, command_steps, related
from synthorg_tui.executions.models import Recovery, ToolCall
from synthorg_tui.executions.outcomes import went_well

RECOVERY_TAG = "recovery"
"""Tag of memories and lessons that are drawn from a recovery."""
MAX_LATER = 500
"""How many calls later a success may still be the answer to a failure."""
MAX_STORED = 60
"""How many calls between the two a recovery names: it bounds the record, not the search."""
MAX_BETWEEN = 15
"""Calls between a failure and its answer of which a cause can be told; a memory only says what
happened and does without this limit."""
_MAX_STAND_IN = 5
"""How many calls later another program may take the place of one that isn't there."""
_HARMLESS = frozenset(
    {"ls", "cat", "head", "tail", "grep", "rg", "find", "which", "stat", "test", "sed", "awk", "nl"}
    | {"wc", "diff", "jq", "tree", "less", "sort", "git diff", "git show", "git log", "git grep"}
)
"""Commands that look at something: what they don't find is no failure."""
_LOOKS_AFTER = _HARMLESS | {"git status", "git branch", "git remote", "echo", "pwd"}
"""Commands at the end of others that only look at what these did."""
MESSAGE_FLAGS = frozenset(
    {"-m", "--message", "--title", "--body", "-t", "-b", "--notes", "--description"}
)
_ALIKE = 0.6
"""The likeness from which on another name may be the one that was meant."""
_SAME_CODE = 0.7
"""The likeness from which on inline code is the same code, mended."""


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
            is_again = _wants_same(goal, steps[position], steps[index]) or (
                index - position <= _MAX_STAND_IN
                and _stands_in(goal, steps[position], steps[index])
            )
        else:
            is_again = goal.intent == later.intent
        if is_again and went_well(later):
            return index
    return None


def _wants_same(failed: ToolCall, steps: Sequence[Step], later: Sequence[Step]) -> bool:
    """Whether a later command is another attempt at what the failed one was for."""
    wanted = aimed(steps)
    again = tuple(step for step in later if _attempts(wanted[-1], step, failed.output))
    return related(wanted, again)


def aimed(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of a command without what only looks at its end, unless all of it looks."""
    looks = (place for place, step in enumerate(steps, 1) if step.intent not in _LOOKS_AFTER)
    return tuple(steps[: max(looks, default=len(steps))])


def _attempts(goal: Step, step: Step, output: str) -> bool:
    """Whether a step tries to do what the goal didn't manage, with the same thing."""
    if step.words == goal.words:
        return not (goal.directory and step.directory) or _one_inside(goal, step)
    before, after = " ".join(goal.words), " ".join(step.words)
    if any(
        one.fullmatch(after) and not one.fullmatch(before)
        for one in (CALLS["asks_help"], CALLS["way_out"])
    ):
        return False
    (given, code), (others, new_code) = _given(goal), _given(step)
    if code and new_code and _likeness(code, new_code) < _SAME_CODE:
        return False
    smaller = min(len(given), len(others))
    if not smaller or (2 * len(given & others) >= smaller and _same_verb(goal, given, others)):
        return True
    gone, come = given - others, others - given
    is_named = all(word in output for word in gone)
    return is_named and any(_likeness(word, new) >= _ALIKE for word in gone for new in come)


def _one_inside(goal: Step, step: Step) -> bool:
    one, other = PurePosixPath(goal.directory), PurePosixPath(step.directory)
    unknown = one.is_absolute() is not other.is_absolute()
    return unknown or one.is_relative_to(other) or other.is_relative_to(one)


def _given(step: Step) -> tuple[set[str], str]:
    """What a step is given: its words without options and messages, and its inline code."""
    named, code, message = set[str](), "", False
    for word in step.words[len(step.intent.split()) :]:
        if message or word.startswith("-"):
            message = word in MESSAGE_FLAGS
        elif re.search(r"[\s(){};]", word):
            code += word
        else:
            named.add(word)
    return named, code


def _same_verb(goal: Step, given: set[str], others: set[str]) -> bool:
    """Whether no plain word differs: it is a subcommand, a script or a service, but with git."""
    verbs, other_verbs = (set(filter(CALLS["bare"].fullmatch, words)) for words in (given, others))
    return goal.intent.startswith("git ") or verbs <= other_verbs or other_verbs <= verbs


def _likeness(text: str, other: str) -> float:
    return SequenceMatcher(None, text, other, autojunk=False).ratio()


def _stands_in(failed: ToolCall, steps: Sequence[Step], later: Sequence[Step]) -> bool:
    """Whether another program is given what the missing one was given."""
    given = steps[-1].words[1:]
    if not given or not CALLS["no_program"].search(failed.output):
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
        for position, later in resolved_failures(calls, is_failure)
    )


def next_attempt(
    calls: Sequence[ToolCall], position: int, end: int, recurs: Callable[[ToolCall], bool]
) -> int | None:
    """Return the position of the next attempt at the command at ``position``.

    Where no related command comes before ``end``, that is ``end`` itself. ``None`` when ``recurs``
    says that the same error occurs there (that later failure is the one to look at), or when more
    than ``MAX_BETWEEN`` calls lie between.
    """
    goal, later = calls[position], range(position + 1, end + 1)
    steps = _steps(goal)
    attempt = next(
        (at for at in later if steps and _wants_same(goal, steps, _steps(calls[at]))), end
    )
    if attempt - position - 1 > MAX_BETWEEN or recurs(calls[attempt]):
        return None
    return attempt


def is_failure(call: ToolCall) -> bool:
    """Tell whether a call failed in what it was to do, rather than found nothing."""
    return call.outcome is CallOutcome.FAILED and call.intent not in _HARMLESS


def _steps(call: ToolCall) -> tuple[Step, ...]:
    return command_steps(call.arguments) if call.is_shell else ()
