"""What was done between a failure and its answer, as far as it can be what put it right.

Only commands that belong to the error count: other work is done in between as well, and a cause
that isn't plain is worse than none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.learning.error_lines import CallError, ErrorKind
from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.phrases import name_of
from synthorg_tui.learning.project_commands import role_in

_MAX_KEPT = 3
_COMMON = frozenset({"git", "python", "python3", "node", "npx", "bash", "sh"})
"""Programs whose name alone names no command."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What was done between a failure and its answer and belongs to the error.

    ``steps`` are commands, ``directory`` is where a call of its own changed to. ``unclear`` is set
    when files were changed, or only things that the error has nothing to do with: then no cause is
    plain.
    """

    steps: tuple[Step, ...] = ()
    directory: str = ""
    unclear: bool = False


def preparation(
    between: Sequence[ToolCall], attempt: ToolCall, error: CallError, *, is_same: bool
) -> Preparation:
    """Return what was done in ``between``, and by ``attempt`` before its own program.

    What the failed command did before as well must not be in ``attempt``: it didn't help. Where
    that is the very same command (``is_same``), the only one that changed anything is the cause.
    """
    ran = [call for call in between if call.is_shell and call.outcome is CallOutcome.OK]
    steps = [step for call in ran for step in command_steps(call.arguments)]
    prepared = [step for step in steps if _belongs(step, error)]
    unrelated = [
        step for step in steps if step not in prepared and FAILURES["any"].match(step.intent)
    ]
    edited = any(call.changed_path for call in between)
    edited = edited or any(FAILURES["shell_edit"].search(call.arguments) for call in ran)
    kept = _distinct([*prepared, *_activations([*ran, attempt])])
    is_alone = is_same and not (kept or edited or unrelated)
    if is_alone and not FAILURES["none_found"].search(error.line):
        counts = builds if error.kind is ErrorKind.CODE else changes_things
        acts = _distinct([step for step in steps if counts(step)])
        kept = acts if len(acts) == 1 else ()
    return Preparation(kept, _moved(ran), unclear=edited or bool(unrelated and not kept))


def wanted_by_gate(ran: Sequence[Step], output: str) -> tuple[Step, ...]:
    """Return the steps that a gate's text names; else the only one, if it puts files right."""
    acts = _distinct([step for step in ran if not step.intent.startswith(("git ", "gh "))])
    asked = tuple(step for step in acts if is_named(step, output))
    return asked or (
        acts if len(acts) == 1 and FAILURES["mends"].search(" ".join(acts[0].words)) else ()
    )


def is_named(step: Step, output: str) -> bool:
    """Tell whether an output names a command, with its arguments or without."""
    name = name_of(step)
    if name in _COMMON or len(name) <= 2:
        return " ".join(step.words) in output
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w:-])", output) is not None


def leading_preparation(
    before: Sequence[Step], after: Sequence[Step], worked: Step, error: CallError
) -> tuple[Step, ...]:
    """Return what an attempt ran ahead of ``worked``, as far as the failed command didn't."""
    known = {step.words for step in before}
    first: list[Step] = []
    for step in after:
        if step.words == worked.words:
            break
        if step.words not in known and _belongs(step, error):
            first.append(step)
    return _distinct(first)


def changes_things(step: Step) -> bool:
    """Tell whether a step may put something right: it doesn't look, examine, deliver or wait."""
    text = " ".join(step.words)
    return (
        FAILURES["mends"].search(text) is not None
        or FAILURES["changes_nothing"].fullmatch(text) is None
    )


def builds(step: Step) -> bool:
    """Tell whether a step makes files that others then use, so that stale ones may be the cause."""
    return role_in(step) in {"build", "generate"}


def activates(step: Step) -> bool:
    """Tell whether a step enters an environment, such as a virtual environment."""
    return FAILURES["activation"].match(" ".join(step.words)) is not None


def _distinct(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple({step.words: step for step in steps}.values())[-_MAX_KEPT:]


def _belongs(step: Step, error: CallError) -> bool:
    """Whether a command prepares what the error misses, or is the one that the error names."""
    said = error.plain
    if step.words and " ".join(step.words) in said:
        return True
    if len(step.intent.split()) > 1 and re.search(rf"\b{re.escape(step.intent)}\b", said):
        return True
    done = step.intent.removeprefix("./")
    return any(
        FAILURES[wrong].search(said) and FAILURES[mends].fullmatch(done)
        for wrong, mends in FAILURES.data["related"].items()
    )


def _activations(calls: Sequence[ToolCall]) -> Iterator[Step]:
    for call in calls:
        if match := FAILURES["activation"].search(call.arguments):
            words = tuple(match["how"].split())
            yield Step(words[0], frozenset(), words)


def _moved(ran: Sequence[ToolCall]) -> str:
    """The directory that calls of their own changed to and stayed in."""
    directory = ""
    for call in ran:
        match = re.fullmatch(
            r"\s*cd\s+([^\s;&|$`]+)\s*(?:&&\s*(?:pwd|ls)\b[^;&|]*)?", call.arguments
        )
        directory = match[1] if match else directory
    return directory
