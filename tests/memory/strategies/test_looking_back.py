"""A digest as of a time: what the store would have given then."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.errors import MemoryCapabilityError
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened, request

FORMER = "Push the release branch to origin."
NEWER = "Push the release branch to the mirror."


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def told(memory: MemoryBackend, clock: FixedClock, at: datetime | None) -> str:
    service = InjectionService(memory, MemoryRetrievalConfig(), clock=clock)
    asked = InjectionRequest(AGENT, "push the release branch", 500, as_of=at)
    return (await service.prepare(asked)).text


async def test_facts_are_those_that_held_then_and_nothing_later_is_known(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    before = clock.now()
    clock.advance(days=1)
    await store.store(AGENT, request(FORMER, tags=("fact:remote",)))
    then = clock.now()
    clock.advance(days=1)
    await store.store(AGENT, request(NEWER, tags=("fact:remote",)))
    clock.advance(days=1)
    assert await told(store, clock, before) == ""
    assert FORMER in await told(store, clock, then)
    assert NEWER not in await told(store, clock, then)
    for at in (None, clock.now()):
        assert NEWER in await told(store, clock, at)
        assert FORMER not in await told(store, clock, at)


async def test_another_agents_memories_are_not_given_then_either(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    await store.store("somebody-else", request(FORMER))
    assert await told(store, clock, clock.now()) == ""


async def test_a_backend_without_a_past_says_so(clock: FixedClock) -> None:
    memory = InMemoryBackend()
    await memory.connect()
    with pytest.raises(MemoryCapabilityError, match="at a time"):
        await told(memory, clock, clock.now())


async def test_looking_back_asks_no_model(store: LocalMemoryBackend, clock: FixedClock) -> None:
    await store.store(AGENT, request(FORMER))
    wanted = MemoryRetrievalConfig(retriever="hierarchical", query_specific_rerank_enabled=True)
    service = InjectionService(store, wanted, clock=clock)
    asked = InjectionRequest(AGENT, "push the release branch", 500, as_of=clock.now())
    explanation = (await service.prepare(asked)).explanation
    assert [each.entry.content for each in explanation.included] == [FORMER]
    assert explanation.degraded == ""
