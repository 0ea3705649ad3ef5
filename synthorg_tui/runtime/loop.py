"""The loop of one run: ask the model and do the calls it asks for, until an answer or a limit.

Each step is stored before the next request. So a run whose process was killed goes on after its
last complete step: the model is asked the same as before, and a call that was under way gets an
unknown outcome instead of being made again. The invoker decides which calls are allowed; ``engine``
makes the messages before the task and does the stages after the run.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import CallOutcome, SecurityVerdictType, TerminationReason
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.redaction import marks_in
from synthorg_tui.core.text import counted, duration, estimate_tokens, safe_text
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
    TokenUsage,
)
from synthorg_tui.providers.completion.usage import DailyLimitError, Prices, charged_to
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse
from synthorg_tui.runtime.invoker import Invocation
from synthorg_tui.runtime.models import RunRequest, RunStep, StepKind
from synthorg_tui.runtime.protocol import OnStep
from synthorg_tui.runtime.recovery import FIRST_WAIT, answer_to
from synthorg_tui.runtime.runs import RunStore
from synthorg_tui.runtime.steps import (
    OUTCOME_UNKNOWN,
    UNREADABLE,
    Used,
    conversation,
    format_errors,
    is_answered,
    open_uses,
    parked_step,
    used_by,
)

_log = logging.getLogger(__name__)

MAX_ANSWER: Final = 4096
"""Tokens of one answer; a model with less room writes less."""
_SECRET_GONE: Final = (
    "The call held a secret, which isn't stored, and so it can't be done now. Make it again."
)


@dataclass(frozen=True, slots=True)
class ParkedDecision:
    """What a person decided on a parked call; ``reason`` tells the model why it isn't done."""

    approved: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunTools:
    """The tools of one run.

    ``invoke`` does a call; its second argument says that a person allowed this very call.
    ``is_harmless`` tells of a tool's name that a call of it may be done twice. ``park`` makes the
    approval item of a call, with why it asks and in which turn, and returns its id; the same for
    the same call. ``decided`` returns what the person decided on an item about a call, or ``None``
    while it waits; ``used`` is told before the run acts on that.
    """

    definitions: tuple[ToolDefinition, ...]
    invoke: Callable[[ToolUse, bool], Awaitable[Invocation]]
    is_harmless: Callable[[str], bool]
    park: Callable[[ToolUse, str, int], Awaitable[str]]
    decided: Callable[[str, ToolUse], Awaitable[ParkedDecision | None]]
    used: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """How a loop ended, with the reason in words (``told``)."""

    reason: TerminationReason
    told: str = ""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Settings that all loops share.

    ``first_wait`` are seconds before a failed request is repeated. ``refusal`` returns why an agent
    may not go on, empty when it may; it is asked before each turn.
    """

    clock: Clock
    prices: Prices = field(default_factory=Prices)
    max_format_errors: int = 3
    first_wait: float = FIRST_WAIT
    refusal: Callable[[str], Awaitable[str]] | None = None


@dataclass(slots=True)
class RunSteps:
    """The steps of one run, in order; ``add`` stores each before it tells of it."""

    run_id: str
    agent_id: str
    store: RunStore
    on_step: OnStep
    clock: Clock
    steps: list[RunStep] = field(default_factory=list)

    @property
    def turn(self) -> int:
        """The number of answers so far."""
        return sum(step.kind is StepKind.ANSWER for step in self.steps)

    async def add(self, kind: StepKind, **values: Any) -> RunStep:
        """Store the next step and return it as it is stored, without secrets."""
        number = self.steps[-1].number + 1 if self.steps else 1
        turn = self.turn + (kind is StepKind.ANSWER)
        step = RunStep(number=number, turn=turn, at=self.clock.now(), kind=kind, **values)
        # Who is cancelled here goes only when it is known what is stored: no number is used twice.
        writing = asyncio.ensure_future(self.store.add(self.run_id, self.agent_id, step))
        try:
            await asyncio.shield(writing)
        finally:
            stored = await writing
            self.steps.append(stored)
            self.on_step(stored)
        return stored


class AgentLoop:
    """Carries out one run with a model and tools.

    Args:
        request: What was asked for.
        model: What answers.
        tools: What it may call.
        steps: The steps so far, to which those of the loop are added.
        given: The messages before the task.
        settings: Settings that all loops share.
    """

    def __init__(
        self,
        request: RunRequest,
        model: CompletionProvider,
        tools: RunTools,
        steps: RunSteps,
        given: Sequence[ChatMessage],
        settings: LoopSettings,
    ) -> None:
        self._request = request
        self._model = model
        self._tools = tools
        self._steps = steps
        self._given = given
        self._settings = settings
        self._exact: dict[str, ToolUse] = {}
        self._interrupted = ""

    async def run(self) -> LoopEnd:
        """Take turns until the run ends or is parked; a failure is part of the returned end.

        Cancelling the awaiting task stops it between or within steps; a call that was under way
        gets an unknown outcome when the run is resumed.
        """
        limits = self._request.limits
        self._interrupted = await self._steps.store.doing(self._steps.run_id)
        deadline = asyncio.timeout(max(0.0, limits.seconds - used_by(self._steps.steps).seconds))
        try:
            async with deadline:
                return await self._turns()
        except TimeoutError:
            if not deadline.expired():
                raise
            await self._note_cut_off()
            return LoopEnd(
                TerminationReason.BUDGET_EXHAUSTED,
                f"the {duration(limits.seconds)} that it may work are used up",
            )
        except CompletionError as error:
            spent = TerminationReason.BUDGET_EXHAUSTED
            reason = spent if isinstance(error, DailyLimitError) else TerminationReason.ERROR
            return LoopEnd(reason, f"the model gave no answer: {error.message}")

    async def _turns(self) -> LoopEnd:
        while True:
            for use in open_uses(self._steps.steps):
                if await self._call(use):
                    told = f"{safe_text(use.name)} waits for you"
                    return LoopEnd(TerminationReason.PARKED, told)
            if is_answered(self._steps.steps):
                return LoopEnd(TerminationReason.COMPLETED)
            used = used_by(self._steps.steps)
            if (end := await self._stopped_by(used)) is not None:
                return end
            await self._ask(used)

    async def _stopped_by(self, used: Used) -> LoopEnd | None:
        """The end of a run whose agent may not go on, or that used up what it may."""
        limits, spent = self._request.limits, TerminationReason.BUDGET_EXHAUSTED
        ask = self._settings.refusal
        if ask is not None and (refusal := await ask(self._request.agent_id)):
            return LoopEnd(TerminationReason.SHUTDOWN, refusal)
        wrong = format_errors(self._steps.steps)
        if wrong >= self._settings.max_format_errors:
            told = f"{counted(wrong, 'answer')} in a row couldn't be used"
            return LoopEnd(TerminationReason.ERROR, told)
        if used.turns >= limits.turns:
            told = f"the {counted(limits.turns, 'answer')} that it may take are used up"
            return LoopEnd(TerminationReason.MAX_TURNS, told)
        if used.tokens >= limits.tokens:
            return LoopEnd(spent, f"the {limits.tokens:,} tokens that it may use are used up")
        if limits.cost is not None and used.cost >= limits.cost:
            return LoopEnd(spent, f"the cost of {limits.cost:g} that it may have is reached")
        return None

    async def _ask(self, used: Used) -> None:
        """Ask the model for its next answer and store it."""
        limits = self._request.limits
        messages = conversation(self._given, self._request.task, self._steps.steps)
        options = CompletionOptions(
            max_tokens=max(1, min(MAX_ANSWER, limits.tokens - used.tokens)),
            tools=self._tools.definitions,
        )
        with charged_to(self._request.agent_id, self._steps.run_id):
            answer = await answer_to(
                lambda: self._model.complete(messages, options),
                self._note,
                max_retries=limits.retries,
                first_wait=self._settings.first_wait,
            )
        usage = _usage(answer, messages)
        turn = used.turns + 1
        # The model's own ids may repeat; ours tell which call a step is about.
        uses = tuple(
            use.model_copy(update={"id": f"call_{turn}_{number}"})
            for number, use in enumerate(answer.tool_uses, 1)
        )
        self._exact = {use.id: use for use in uses}
        problem = _problem(answer)
        await self._steps.add(
            StepKind.ANSWER,
            text=answer.text,
            outcome=CallOutcome.FAILED if problem else None,
            uses=uses,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost=self._settings.prices.cost(usage),
        )
        if problem:
            await self._note(f"{UNREADABLE}{problem}")

    async def _call(self, use: ToolUse) -> str:
        """Do a call that the last answer asks for; returns the item that it waits for, if any."""
        if use.id == self._interrupted:
            self._interrupted = ""
            await self._done(use, CallOutcome.UNKNOWN, OUTCOME_UNKNOWN)
            return ""
        leave, parked = False, parked_step(self._steps.steps, use.id)
        if parked is not None:
            decision = await self._tools.decided(parked.item_id, use)
            if decision is None:
                return parked.item_id
            await self._tools.used(parked.item_id)
            if not decision.approved:
                await self._done(use, CallOutcome.DENIED_BY_USER, decision.reason)
                return ""
            leave = True
        exact = self._exact.get(use.id)
        if exact is None and marks_in(json.dumps(dict(use.arguments))):
            await self._done(use, CallOutcome.FAILED, _SECRET_GONE)
            return ""
        return await self._invoke(exact or use, leave=leave)

    async def _invoke(self, use: ToolUse, *, leave: bool) -> str:
        if not self._tools.is_harmless(use.name):
            await self._steps.store.change(self._steps.run_id, doing=use.id)
        started = monotonic()
        try:
            done = await self._tools.invoke(use, leave)
        except Exception as error:  # a tool's mistake is the model's to hear of, not the run's end
            raise_fatal(error)
            _log.exception("the tool %s failed", safe_text(use.name)[:64])
            took = f"after {monotonic() - started:.1f} s"
            told = f"The tool failed with {type(error).__name__} {took}."
            await self._done(use, CallOutcome.FAILED, told)
            return ""
        if done.verdict is SecurityVerdictType.ESCALATE and not leave:
            await self._steps.store.change(self._steps.run_id, doing="")  # nothing was done
            item_id = await self._tools.park(use, done.why, self._steps.turn)
            await self._steps.add(
                StepKind.PARKED,
                tool=use.name,
                arguments=dict(use.arguments),
                use_id=use.id,
                item_id=item_id,
            )
            return item_id
        await self._done(use, done.outcome, done.content, exit_code=done.exit_code)
        return ""

    async def _done(
        self, use: ToolUse, outcome: CallOutcome, text: str, *, exit_code: int | None = None
    ) -> None:
        await self._steps.add(
            StepKind.CALL,
            tool=use.name,
            arguments=dict(use.arguments),
            use_id=use.id,
            outcome=outcome,
            text=text,
            exit_code=exit_code,
        )

    async def _note(self, text: str) -> None:
        await self._steps.add(StepKind.NOTE, text=text)

    async def _note_cut_off(self) -> None:
        """Say of a call that the end of its time cut off that its outcome isn't known."""
        doing = await self._steps.store.doing(self._steps.run_id)
        for use in open_uses(self._steps.steps):
            if use.id == doing:
                told = "The time of the run ended while this call was being done."
                await self._done(use, CallOutcome.UNKNOWN, told)


def _problem(answer: Completion) -> str:
    """What keeps an answer from being used, in words for the model; empty when nothing does."""
    if answer.format_error:
        return answer.format_error
    if answer.tool_uses:
        return ""
    if answer.finish_reason is FinishReason.MAX_TOKENS:
        return "it was cut off, being too long. Be briefer, or do one call at a time."
    if not answer.text.strip():
        return "it is empty. Call a tool, or answer in words."
    return ""


def _usage(answer: Completion, messages: Sequence[ChatMessage]) -> TokenUsage:
    """The tokens that the provider tells; an estimate where it tells none."""
    usage = answer.usage
    return TokenUsage(
        prompt_tokens=usage.prompt_tokens
        or sum(estimate_tokens(message.content) for message in messages),
        completion_tokens=usage.completion_tokens or estimate_tokens(answer.text),
    )
