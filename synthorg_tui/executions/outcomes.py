"""How commands ended: by their exit status, and where something hides that, by their output.

A log of passing tests may be full of errors, so that its words count only where no status is known:
behind a pipe, before ``;`` or ``||``. There the last counts of a run decide ("12 passed, 0
failed"), and marks of failure only where they come after those.
"""

from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.languages import error_in_english
from synthorg_tui.executions.call_words import CALLS
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.output_lines import clean_output

BACKGROUND: Final = (
    "Command running in background",
    "Process running with session ID",
    "Script running",
)
"""How the output of a call begins that only started something."""
_TAIL: Final = 4_000
_BAD: Final = r"(?:fail(?:ed|ing|ures?)?|errors?|broken)"
_NEAR: Final = 4
"""Lines before the last one with counts that belong to the same summary."""


def went_well(call: ToolCall) -> bool:
    """Tell whether a call really succeeded: not merely started, nor failing behind a pipe."""
    if call.outcome is not CallOutcome.OK or call.output.startswith(BACKGROUND):
        return False
    steps = command_steps(call.arguments) if call.is_shell else ()
    return not any(step.hidden_by and step_outcome(call, step) is False for step in steps)


def step_outcome(call: ToolCall, step: Step) -> bool | None:
    """Return whether a step of a shell call went well; ``None`` when nothing tells."""
    is_over = call.outcome in {CallOutcome.OK, CallOutcome.FAILED}
    is_over = is_over and step.hidden_by != "&" and not call.output.startswith(BACKGROUND)
    if not is_over or _ran_nothing(call):
        return None
    ended_well = call.outcome is CallOutcome.OK
    if ended_well and not step.hidden_by and call.exit_code is not None:
        return True
    if CALLS["showing"].fullmatch(step.intent):
        return ended_well or None
    verdict = _echoed_status(call, step)
    verdict = output_verdict(call.output) if verdict is None else verdict
    if ended_well:
        return verdict if step.hidden_by == "||" else verdict is not False
    if step.hidden_by:
        return verdict
    own = [other for other in command_steps(call.arguments) if not other.hidden_by]
    return False if own == [step] else verdict if own[0] == step else None


def _ran_nothing(call: ToolCall) -> bool:
    """Whether a runner ended well for it had nothing to run."""
    tail = call.output[-_TAIL:] if call.outcome is CallOutcome.OK else ""
    return CALLS["nothing_ran"].search(tail) is not None and CALLS["ran"].search(tail) is None


def output_verdict(output: str) -> bool | None:
    """Return what the end of an output says of how its command ended; ``None`` for nothing."""
    lines = [error_in_english(line) for line in clean_output(output[-_TAIL:]).splitlines()]
    counted = [place for place, line in enumerate(lines) if CALLS["counts"].search(line)]
    if not counted:
        return False if CALLS["marks"].search("\n".join(lines)) else None
    summary = lines[max(0, counted[-1] - _NEAR) : counted[-1] + 1]
    found = [match for line in summary for match in CALLS["counts"].finditer(line)]
    if any(int(match["bad"] or match["named"] or 0) for match in found):
        return False
    return CALLS["marks"].search("\n".join(lines[counted[-1] :])) is None


def _echoed_status(call: ToolCall, step: Step) -> bool | None:
    """What a line says that prints the exit status of the command before it."""
    match = CALLS["echoed"].search(call.arguments)
    if match is None or (step.hidden_by == "|" and "status" not in match[0].casefold()):
        return None
    told = CALLS["status"].search(call.output)
    return told[1] == "0" if told else None
