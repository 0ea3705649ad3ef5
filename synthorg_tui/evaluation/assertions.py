"""Assertions about a run that a script decides, written as plain sentences.

The files of evaluations know assertions as text alone, so the sentence is the check: one of four
forms is read back from it. A check only looks at the record of the run and never runs a command,
so that a sentence of a foreign file can do nothing. Any other sentence is left undecided.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.evaluation.models import GradedAssertion
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.learning.actions import arguments, stands_for
from synthorg_tui.learning.triggers import comparable

_CODE: Final = r"`([^`\n]{1,400})`"
_EXITS: Final = re.compile(rf"(?:the command )?{_CODE} exits 0\.?", re.IGNORECASE)
_NOT_FIRST: Final = re.compile(rf"(?:the form )?{_CODE} isn't tried first\.?", re.IGNORECASE)
_BEFORE: Final = re.compile(rf"{_CODE} runs before {_CODE}\.?", re.IGNORECASE)
_UNSEEN: Final = re.compile(rf"the error {_CODE} isn't seen\.?", re.IGNORECASE)
_MAX_SHOWN: Final = 160
_MAX_GAP: Final = 100
_FAILED: Final = frozenset({CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK})
UNDECIDED: Final = "no script can decide this"


class _RanStep(NamedTuple):
    """A program that a run started, with the call that did, in order."""

    step: Step
    call: ToolCall

    @property
    def is_ok(self) -> bool:
        return self.call.outcome is CallOutcome.OK and self.call.exit_code in (None, 0)

    @property
    def shown(self) -> str:
        said = truncate(safe_text(self.call.arguments), _MAX_SHOWN)
        code = f", exit code {self.call.exit_code}" if self.call.exit_code else ""
        return f"`{said}` {self.call.outcome.value.replace('_', ' ')}{code}"


def exits(command: str) -> str:
    """The assertion that a command of this form is run and goes well."""
    return f"The command `{quoted(command)}` exits 0."


def not_first(command: str) -> str:
    """The assertion that a program isn't run in this form the first time."""
    return f"The form `{quoted(command)}` isn't tried first."


def runs_before(first: str, then: str) -> str:
    """The assertion that one program has gone well before another is run."""
    return f"`{quoted(first)}` runs before `{quoted(then)}`."


def unseen(error: str) -> str:
    """The assertion that no call fails with an error; ``<>`` in it stands for any name."""
    return f"The error `{quoted(error)}` isn't seen."


def quoted(text: str) -> str:
    """Return a text as it can stand between back quotes on one line."""
    return truncate(" ".join(safe_text(text.replace("`", "'")).split()), 300)


def is_decidable(text: str) -> bool:
    """Tell whether a script can decide an assertion."""
    return _reading(text) is not None


def grade(assertions: Sequence[str], execution: Execution) -> tuple[GradedAssertion, ...]:
    """Check assertions against the record of a run; those of no known form stay undecided."""
    ran = [
        _RanStep(step, call)
        for call in execution.calls
        if call.is_shell
        for step in command_steps(call.arguments)
    ]
    return tuple(_graded(text, ran, execution) for text in assertions)


def _graded(text: str, ran: Sequence[_RanStep], execution: Execution) -> GradedAssertion:
    reading = _reading(text)
    if reading is None:
        return GradedAssertion(text=text, passed=None, evidence=UNDECIDED)
    check, codes = reading
    if check is _has_no_error:
        passed, evidence = _has_no_error(codes[0], execution)
    else:
        steps = [last_step(code) for code in codes]
        known = [step for step in steps if step is not None]
        if len(known) < len(steps):
            return GradedAssertion(text=text, passed=None, evidence="it names no command")
        passed, evidence = check(ran, *known)
    return GradedAssertion(text=text, passed=passed, evidence=evidence)


def _reading(text: str) -> "tuple[Callable[..., tuple[bool, str]], tuple[str, ...]] | None":
    """The check that a sentence stands for, and what it names; ``None`` for any other sentence."""
    said = text.strip()
    for form, check in _FORMS:
        if (match := form.fullmatch(said)) is not None:
            return check, match.groups()
    return None


def last_step(command: str) -> Step | None:
    """Return the last program that a command starts; its beginning may be cut off."""
    steps = command_steps(command.removeprefix("… "))
    return steps[-1] if steps else None


def _went_well(ran: Sequence[_RanStep], wanted: Step) -> tuple[bool, str]:
    """Whether a step of the wanted intent, with all its options, went well."""
    options = arguments(wanted)[1]
    tried = [each for each in ran if each.step.intent == wanted.intent]
    for each in tried:
        words = each.step.words
        if each.is_ok and all(any(stands_for(o, w) for w in words) for o in options):
            return True, each.shown
    return False, tried[-1].shown if tried else f"`{wanted.intent}` was never run"


def _not_so_first(ran: Sequence[_RanStep], failing: Step) -> tuple[bool, str]:
    """Whether the first step of the intent has other options, or another number of names."""
    first = next((each for each in ran if each.step.intent == failing.intent), None)
    if first is None:
        return True, f"`{failing.intent}` was never run"
    names, options = arguments(failing)
    own_names, own_options = arguments(first.step)
    is_same = own_options == options and len(own_names) == len(names)
    return not is_same, first.shown


def _in_order(ran: Sequence[_RanStep], first: Step, then: Step) -> tuple[bool, str]:
    """Whether a step of the first intent had gone well when the other was run."""
    done = ""
    for each in ran:
        if each.step.intent == then.intent:
            return bool(done), done or each.shown
        if each.step.intent == first.intent and each.is_ok:
            done = each.shown
    return False, f"`{then.intent}` was never run"


def _has_no_error(pattern: str, execution: Execution) -> tuple[bool, str]:
    """Whether no call failed with a line that fits the pattern."""
    pieces = [piece for piece in pattern.lower().rstrip("…").split("<>") if piece.strip()]
    for call in execution.calls:
        if call.outcome not in _FAILED:
            continue
        for line in call.output.splitlines()[:400]:
            if _holds(comparable(line), pieces) or _holds(line.lower(), pieces):
                return False, truncate(safe_text(line), _MAX_SHOWN)
    return True, "no call failed so"


def _holds(line: str, pieces: Sequence[str]) -> bool:
    """Whether a line has the pieces of a pattern in their order, with a name in between."""
    place = 0
    for piece in pieces:
        found = line.find(piece, place, None if place == 0 else place + _MAX_GAP + len(piece))
        if found < 0:
            return False
        place = found + len(piece)
    return bool(pieces)


_FORMS: Final = (
    (_EXITS, _went_well),
    (_NOT_FIRST, _not_so_first),
    (_BEFORE, _in_order),
    (_UNSEEN, _has_no_error),
)
