"""The in-memory backend, beyond what every backend does."""

from datetime import UTC, datetime, timedelta

import pytest

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval.hits import ContentLookup
from synthorg_tui.memory.shared import SharedKnowledgeStore
from tests.tables import rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class MovableClock:
    def __init__(self) -> None:
        self.current = NOW

    def now(self) -> datetime:
        return self.current


def note(text: str, *, expires_at: datetime | None = None) -> MemoryStoreRequest:
    return MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text, expires_at=expires_at)


async def connected(*, limit: int = 100, clock: Clock | None = None) -> InMemoryBackend:
    backend = InMemoryBackend(max_memories_per_agent=limit, clock=clock)
    await backend.connect()
    return backend


@rows("text", ["GIT push", "upstream", "a branch"])
async def test_text_matches_any_part_of_the_content_regardless_of_case(text: str) -> None:
    backend = await connected()
    await backend.store("ada", note("Git push of a branch without upstream"))
    assert len(await backend.retrieve("ada", MemoryQuery(text=text))) == 1


async def test_words_that_are_not_next_to_each_other_do_not_match() -> None:
    backend = await connected()
    await backend.store("ada", note("git push"))
    assert await backend.retrieve("ada", MemoryQuery(text="push git")) == ()


async def test_matches_come_newest_first_and_without_a_score() -> None:
    clock = MovableClock()
    backend = await connected(clock=clock)
    for text in ("first match", "second match", "third"):
        await backend.store("ada", note(text))
        clock.current += timedelta(seconds=1)
    found = await backend.retrieve("ada", MemoryQuery(text="match", min_relevance=1.0))
    assert [entry.content for entry in found] == ["second match", "first match"]
    assert {entry.relevance_score for entry in found} == {None}


async def test_a_content_is_found_by_all_that_it_says() -> None:
    clock = MovableClock()
    backend = await connected(clock=clock)
    memory_id = await backend.store("ada", note("git push", expires_at=NOW + timedelta(days=1)))
    assert isinstance(backend, ContentLookup)
    assert await backend.with_content("ada", note(" git push\n")) == memory_id
    tagged = note("git push").model_copy(update={"metadata": MemoryMetadata(tags=("x",))})
    other = note("git push").model_copy(update={"category": MemoryCategory.EPISODIC})
    for request in (note("git pus"), tagged, other):
        assert await backend.with_content("ada", request) is None
    assert await backend.with_content("bob", note("git push")) is None
    clock.current += timedelta(days=1)
    assert await backend.with_content("ada", note("git push")) is None


async def test_an_agent_may_have_exactly_the_maximum() -> None:
    backend = await connected(limit=2)
    await backend.store("ada", note("one"))
    await backend.store("ada", note("two"))
    with pytest.raises(MemoryStoreError, match="'ada' has 2 memories"):
        await backend.store("ada", note("three"))
    await backend.store("bob", note("the bound is each agent's own"))


async def test_expired_memories_make_room() -> None:
    clock = MovableClock()
    backend = await connected(limit=1, clock=clock)
    await backend.store("ada", note("soon gone", expires_at=NOW + timedelta(seconds=1)))
    clock.current = NOW + timedelta(seconds=1)
    await backend.store("ada", note("fits"))
    assert await backend.count("ada") == 1


async def test_a_deleted_memory_makes_room() -> None:
    backend = await connected(limit=1)
    memory_id = await backend.store("ada", note("one"))
    await backend.delete("ada", memory_id)
    await backend.store("ada", note("two"))


async def test_memories_outlive_a_reconnection() -> None:
    backend = await connected()
    await backend.store("ada", note("still here"))
    await backend.disconnect()
    await backend.connect()
    assert await backend.count("ada") == 1


def test_capabilities() -> None:
    backend = InMemoryBackend(max_memories_per_agent=7)
    assert isinstance(backend, MemoryCapabilities)
    assert isinstance(backend, SharedKnowledgeStore)
    assert backend.supported_categories == frozenset(MemoryCategory)
    assert backend.supports_temporal
    assert not backend.supports_vector_search
    assert not backend.supports_graph
    assert backend.supports_shared_access
    assert backend.max_memories_per_agent == 7
