"""Usage of language models in tokens and money, and the daily token limit."""

import json
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
    TokenUsage,
)
from synthorg_tui.providers.models import ChatMessage

_TOKENS_PER_MESSAGE = 4
"""What a chat template adds to each message, about."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Usage of one answer: when, by which model, its tokens, duration and cost.

    ``seconds`` includes loading the model; ``cost`` is in the currency of the configured prices.
    ``provider`` is the kind of what answered; ``agent_id`` and ``task_id`` say for whom, and are
    empty for what the program asks by itself.
    """

    at: datetime
    model: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float = 0.0
    provider: str = "unknown"
    agent_id: str = ""
    task_id: str = ""

    @property
    def tokens(self) -> int:
        """Sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


_charged: ContextVar[tuple[str, str]] = ContextVar("charged", default=("", ""))


@contextmanager
def charged_to(agent_id: str, task_id: str) -> Iterator[None]:
    """Record what models are asked for inside as used by this agent for this task.

    That holds for what this task of asyncio awaits or starts inside, and for no other.
    """
    before = _charged.set((agent_id, task_id))
    try:
        yield
    finally:
        _charged.reset(before)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, for prompts and for completions."""

    prompt: float = 0.0
    completion: float = 0.0

    def cost(self, usage: TokenUsage) -> float:
        """Return the cost of an answer, in the currency of the prices."""
        read, written = usage.prompt_tokens, usage.completion_tokens
        return (read * self.prompt + written * self.completion) / _MILLION


@dataclass(frozen=True, slots=True)
class DailyLimit:
    """The most tokens of a day; ``used_since`` sums up those of all records from a moment on."""

    tokens: int
    used_since: Callable[[datetime], Awaitable[int]]


class DailyLimitError(CompletionError):
    """The daily token limit is reached; requests are accepted again the next day."""

    def __init__(self, limit: int, used: int) -> None:
        super().__init__(
            f"{used:,} of the {limit:,} tokens allowed a day are used",
            retryable=True,
            remedy="Wait until tomorrow, or raise providers.completion.daily_token_limit",
        )


class MeteredCompletion:
    """Wraps a provider, records the usage of each answer and enforces the daily token limit.

    An answer gets what is left of the day at most; so the limit is passed only by as much as
    the length of a prompt was underestimated.

    Args:
        provider: What answers.
        model: Its name in the records.
        record: Stores a record; ``limit`` counts it from then on.
        clock: Decides which day it is.
        prices: What its tokens cost.
        limit: What a day allows; without one everything.
    """

    def __init__(
        self,
        provider: CompletionProvider,
        *,
        model: str,
        record: Callable[[UsageRecord], Awaitable[None]],
        clock: Clock,
        prices: Prices = Prices(),
        limit: DailyLimit | None = None,
    ) -> None:
        self._provider = provider
        self._model = model
        self._record = record
        self._clock = clock
        self._prices = prices
        self._limit = limit
        self._reserved = 0  # by answers under way

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        prompt = sum(map(_tokens_of, messages)) + _tokens_offered(options)
        options = await self._within_limit(prompt, options)
        reserved = prompt + options.max_tokens
        self._reserved += reserved
        try:
            started = time.perf_counter()
            answer = await self._provider.complete(messages, options)
            usage = _told_or_estimated(answer, prompt)
            agent_id, task_id = _charged.get()
            await self._record(
                UsageRecord(
                    at=self._clock.now(),
                    model=self._model,
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                    seconds=time.perf_counter() - started,
                    cost=self._prices.cost(usage),
                    agent_id=agent_id,
                    task_id=task_id,
                )
            )
        finally:
            self._reserved -= reserved
        return answer

    async def close(self) -> None:
        await self._provider.close()

    async def _within_limit(self, prompt: int, options: CompletionOptions) -> CompletionOptions:
        """The options with no longer an answer than the day has tokens for."""
        if self._limit is None:
            return options
        used = await self._limit.used_since(start_of_day(self._clock.now()))
        left = self._limit.tokens - used - self._reserved - prompt
        if left < 1:
            raise DailyLimitError(self._limit.tokens, used)
        return options.model_copy(update={"max_tokens": min(options.max_tokens, left)})


def _tokens_of(message: ChatMessage) -> int:
    calls = (f"{use.name} {json.dumps(dict(use.arguments))}" for use in message.tool_uses)
    return _TOKENS_PER_MESSAGE + sum(map(estimate_tokens, (message.content, *calls)))


def _tokens_offered(options: CompletionOptions) -> int:
    return sum(estimate_tokens(tool.model_dump_json()) for tool in options.tools)


def start_of_day(now: datetime) -> datetime:
    """Return the most recent midnight in the system's time zone, timezone-aware."""
    return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)


def _told_or_estimated(answer: Completion, prompt: int) -> TokenUsage:
    """The provider's count; an estimate where it tells none."""
    usage = answer.usage
    return TokenUsage(
        prompt_tokens=usage.prompt_tokens or prompt,
        completion_tokens=usage.completion_tokens or _written(answer),
    )


def _written(answer: Completion) -> int:
    calls = (json.dumps(dict(use.arguments)) for use in answer.tool_uses)
    return sum(map(estimate_tokens, (answer.text, *calls)))
