"""Functions of a run's stored steps: its conversation, its usage, its result, its open calls.

The loop uses them from the first turn on, so that a resumed run asks the model exactly what it
would have asked without the interruption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage, ToolUse
from synthorg_tui.runtime.models import ExecutionResult, RunRequest, RunStep, StepKind

UNREADABLE: Final = "The answer can't be used: "
"""Begins a note that is sent to the model instead of a tool's output."""
RESUMED: Final = "Resumed: "
"""Begins the note of a run that goes on after its process ended, or after a decision."""
OUTCOME_UNKNOWN: Final = (
    "The program ended while this call was being done. Whether it took effect is not known: look "
    "before doing it again."
)


@dataclass(frozen=True, slots=True)
class Used:
    """What a run used so far: answers of the model, tool calls, tokens, cost, and seconds."""

    turns: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Sum of the tokens read and written."""
        return self.prompt_tokens + self.completion_tokens


def used_by(steps: Sequence[RunStep]) -> Used:
    """Return what the steps used; of time, that between them in which the run worked."""
    return Used(
        turns=sum(step.kind is StepKind.ANSWER for step in steps),
        calls=sum(step.kind is StepKind.CALL for step in steps),
        prompt_tokens=sum(step.prompt_tokens for step in steps),
        completion_tokens=sum(step.completion_tokens for step in steps),
        cost=sum(step.cost for step in steps),
        seconds=sum(
            (after.at - before.at).total_seconds()
            for before, after in pairwise(steps)
            if not after.text.startswith(RESUMED)
        ),
    )


def result_of(
    run_id: str,
    request: RunRequest,
    steps: Sequence[RunStep],
    reason: TerminationReason,
    error: str = "",
) -> ExecutionResult:
    """Return what a run with these steps came to; ``error`` is what went wrong, in words."""
    used = used_by(steps)
    return ExecutionResult(
        run_id=run_id,
        agent_id=request.agent_id,
        task_id=run_id,
        termination_reason=reason,
        text=last_text(steps),
        turns=used.turns,
        tool_calls=used.calls,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost=used.cost,
        seconds=used.seconds,
        error_message=error,
    )


def open_uses(steps: Sequence[RunStep]) -> tuple[ToolUse, ...]:
    """Return the calls that the last answer asks for and that no step has answered yet."""
    last = next((step for step in reversed(steps) if step.kind is StepKind.ANSWER), None)
    if last is None:
        return ()
    done = {
        step.use_id for step in steps if step.kind is StepKind.CALL and step.number > last.number
    }
    return tuple(use for use in last.uses if use.id not in done)


def parked_step(steps: Sequence[RunStep], use_id: str) -> RunStep | None:
    """Return the step by which a call of the last answer waits or waited for a person, if any."""
    for step in reversed(steps):
        if step.kind is StepKind.ANSWER:
            return None
        if step.kind is StepKind.PARKED and step.use_id == use_id:
            return step
    return None


def is_answered(steps: Sequence[RunStep]) -> bool:
    """Tell whether the last answer of the model ends the run: it could be used, and asks nothing.

    An answer that couldn't be used has ``FAILED`` as its outcome.
    """
    last = next((step for step in reversed(steps) if step.kind is StepKind.ANSWER), None)
    return last is not None and not last.uses and last.outcome is None


def format_errors(steps: Sequence[RunStep]) -> int:
    """Count the answers that couldn't be used since the last one that could."""
    count = 0
    for step in reversed(steps):
        if step.kind is StepKind.ANSWER:
            if step.outcome is None:
                break
            count += 1
    return count


def last_text(steps: Sequence[RunStep]) -> str:
    """Return the last text of the model; empty when it has said nothing."""
    return next((step.text for step in reversed(steps) if step.kind is StepKind.ANSWER), "")


def conversation(
    given: Sequence[ChatMessage], task: str, steps: Iterable[RunStep]
) -> list[ChatMessage]:
    """Return the messages of a run: ``given``, the task, then what was said and done since.

    ``given`` are the system prompt and what memory gave.
    """
    messages = [*given, ChatMessage(role=MessageRole.USER, content=task)]
    for step in steps:
        if step.kind is StepKind.ANSWER:
            said = ChatMessage(role=MessageRole.ASSISTANT, content=step.text, tool_uses=step.uses)
            messages.append(said)
        elif step.kind is StepKind.CALL:
            reply = ChatMessage(role=MessageRole.TOOL, content=step.text, tool_use_id=step.use_id)
            messages.append(reply)
        elif step.kind is StepKind.NOTE and step.text.startswith(UNREADABLE):
            messages.append(ChatMessage(role=MessageRole.USER, content=step.text))
    return messages
