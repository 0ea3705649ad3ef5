"""What answers use is recorded, and a day uses no more than is allowed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.factory import create_metered_provider, model_name
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
    TokenUsage,
)
from synthorg_tui.providers.completion.usage import (
    DailyLimit,
    DailyLimitError,
    MeteredCompletion,
    Prices,
    UsageRecord,
    charged_to,
    start_of_day,
)
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.models import ChatMessage
from tests.conftest import FixedClock
from tests.scripted import BUSY, ScriptedProvider

QUESTION = (ChatMessage(role=MessageRole.USER, content="x" * 24),)
PROMPT = 4 + 6
"""What the question is estimated at."""


@dataclass
class Log:
    records: list[UsageRecord] = field(default_factory=list)

    async def add(self, record: UsageRecord) -> None:
        self.records.append(record)

    async def tokens_since(self, moment: datetime) -> int:
        return sum(each.tokens for each in self.records if each.at >= moment)


class Counting:
    """Uses what it is allowed and says so."""

    def __init__(self, usage: TokenUsage | None = None) -> None:
        self.usage = usage
        self.allowed: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        self.allowed.append(options.max_tokens)
        await self.gate.wait()
        usage = self.usage or TokenUsage(prompt_tokens=10, completion_tokens=options.max_tokens)
        return Completion(text="y" * 20, finish_reason=FinishReason.STOP, usage=usage)

    async def close(self) -> None: ...


def metered(
    provider: CompletionProvider, log: Log, clock: FixedClock, limit: int | None = None
) -> MeteredCompletion:
    return MeteredCompletion(
        provider,
        model="m",
        record=log.add,
        clock=clock,
        prices=Prices(prompt=1_000.0, completion=2_000.0),
        limit=DailyLimit(limit, log.tokens_since) if limit is not None else None,
    )


async def test_an_answer_is_recorded_with_its_price(clock: FixedClock) -> None:
    log = Log()
    model = metered(Counting(TokenUsage(prompt_tokens=500, completion_tokens=100)), log, clock)
    await model.complete(QUESTION, CompletionOptions())
    (record,) = log.records
    assert (record.model, record.at, record.tokens) == ("m", clock.now(), 600)
    assert record.cost == pytest.approx(0.5 + 0.2)


async def test_a_server_that_counts_nothing_is_estimated(clock: FixedClock) -> None:
    log = Log()
    await metered(Counting(TokenUsage()), log, clock).complete(QUESTION, CompletionOptions())
    assert (log.records[0].prompt_tokens, log.records[0].completion_tokens) == (PROMPT, 5)


async def test_a_failure_is_not_recorded_and_gives_its_reservation_back(clock: FixedClock) -> None:
    log = Log()
    model = metered(ScriptedProvider(BUSY, "fine"), log, clock, limit=PROMPT + 256)
    with pytest.raises(CompletionError, match="busy"):
        await model.complete(QUESTION, CompletionOptions())
    assert log.records == []
    await model.complete(QUESTION, CompletionOptions())
    assert len(log.records) == 1


async def test_without_a_limit_the_question_goes_on_as_it_is(clock: FixedClock) -> None:
    provider = ScriptedProvider("a")
    options = CompletionOptions(max_tokens=99, seed=4)
    await metered(provider, Log(), clock).complete(QUESTION, options)
    assert provider.asked == [(QUESTION, options)]


async def test_the_last_answer_of_a_day_is_cut_to_what_is_left(clock: FixedClock) -> None:
    provider = Counting()
    model = metered(provider, Log(), clock, limit=100)
    await model.complete(QUESTION, CompletionOptions(max_tokens=70))  # 80 with the prompt
    await model.complete(QUESTION, CompletionOptions(max_tokens=70))
    assert provider.allowed == [70, 10]


@pytest.mark.parametrize(("limit", "is_refused"), [(PROMPT, True), (PROMPT + 1, False)])
async def test_a_day_without_room_for_an_answer_is_over(
    clock: FixedClock, limit: int, is_refused: bool
) -> None:
    provider = Counting()
    model = metered(provider, Log(), clock, limit=limit)
    if is_refused:
        with pytest.raises(DailyLimitError, match="tokens allowed a day") as caught:
            await model.complete(QUESTION, CompletionOptions())
        assert caught.value.retryable
        assert "daily_token_limit" in caught.value.remedy
        assert provider.allowed == []
    else:
        await model.complete(QUESTION, CompletionOptions())


async def test_answers_under_way_count(clock: FixedClock) -> None:
    provider = Counting()
    provider.gate.clear()
    model = metered(provider, Log(), clock, limit=100)
    first = asyncio.ensure_future(model.complete(QUESTION, CompletionOptions(max_tokens=80)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(DailyLimitError):
        await model.complete(QUESTION, CompletionOptions(max_tokens=80))
    provider.gate.set()
    await first


async def test_the_next_day_starts_anew(clock: FixedClock) -> None:
    provider = Counting()
    model = metered(provider, Log(), clock, limit=30)
    await model.complete(QUESTION, CompletionOptions())
    with pytest.raises(DailyLimitError):
        await model.complete(QUESTION, CompletionOptions())
    clock.current = start_of_day(clock.now()) + timedelta(days=1)
    await model.complete(QUESTION, CompletionOptions())
    assert len(provider.allowed) == 2


async def test_closing_closes_the_model(clock: FixedClock) -> None:
    provider = ScriptedProvider()
    await metered(provider, Log(), clock).close()
    assert provider.closed


async def test_the_configured_limit_and_prices_hold(clock: FixedClock) -> None:
    config = OpenAIModelConfig(
        type="openai", base_url="http://h/v1", model="big", daily_token_limit=1, prompt_price=3.0
    )
    log = Log()
    model = create_metered_provider(
        config, record=log.add, used_since=log.tokens_since, clock=clock
    )
    assert model is not None
    with pytest.raises(DailyLimitError):
        await model.complete(QUESTION, CompletionOptions())
    await model.close()
    assert model_name(config) == "big"


async def test_an_answer_is_charged_to_whoever_asks(clock: FixedClock) -> None:
    log = Log()
    model = metered(Counting(), log, clock)
    options = CompletionOptions(max_tokens=5)

    async def ask(agent: str, task: str) -> None:
        with charged_to(agent, task):
            await asyncio.sleep(0)
            await model.complete(QUESTION, options)

    await asyncio.gather(ask("a", "r1"), ask("b", "r2"))
    await model.complete(QUESTION, options)
    found = {(record.agent_id, record.task_id) for record in log.records}
    assert found == {("a", "r1"), ("b", "r2"), ("", "")}
