"""The composite backend: routing, merging, and children that fail."""

from datetime import UTC, datetime, timedelta

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.backends.composite import CompositeBackend
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import (
    MemoryConfigError,
    MemoryConnectionError,
    MemoryRetrievalError,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.policy import StorePolicy

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SteppingClock:
    """A second later every time it is asked."""

    def __init__(self) -> None:
        self.current = NOW

    def now(self) -> datetime:
        self.current += timedelta(seconds=1)
        return self.current


class Scoring(InMemoryBackend):
    """Scores its matches by the number that a content ends with."""

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        found = await super().retrieve(agent_id, query)
        scores = [float(entry.content.rpartition(" ")[2]) for entry in found]
        return tuple(
            entry.model_copy(update={"relevance_score": score})
            for entry, score in zip(found, scores, strict=True)
        )


class Failing(InMemoryBackend):
    async def connect(self) -> None:
        raise MemoryConnectionError("out of order")


class Unsearchable(InMemoryBackend):
    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        raise MemoryRetrievalError("out of order")


class Stuck(InMemoryBackend):
    async def disconnect(self) -> None:
        raise MemoryConnectionError("does not let go")


def note(text: str, *, namespace: str = "default") -> MemoryStoreRequest:
    return MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text, namespace=namespace)


class Pair:
    """Namespaces ``work`` and ``play`` to their own child, the rest to ``main``."""

    def __init__(self, work: InMemoryBackend | None = None) -> None:
        clock = SteppingClock()
        self.main = InMemoryBackend(clock=clock)
        self.work = work or InMemoryBackend(clock=clock)
        self.whole = CompositeBackend(
            {"main": self.main, "work": self.work},
            routes={"work": "work", "play": "work"},
            default="main",
        )


@pytest.fixture
async def pair() -> Pair:
    made = Pair()
    await made.whole.connect()
    return made


@pytest.mark.parametrize(
    ("namespace", "in_work"), [("work", 1), ("play", 1), ("default", 0), ("other", 0)]
)
async def test_a_memory_goes_where_its_namespace_is_routed(
    pair: Pair, namespace: str, in_work: int
) -> None:
    await pair.whole.store("ada", note("x", namespace=namespace))
    assert (await pair.work.count("ada"), await pair.main.count("ada")) == (in_work, 1 - in_work)


async def test_results_of_all_children_are_merged_newest_first(pair: Pair) -> None:
    for number, namespace in enumerate(("default", "work", "default", "play")):
        await pair.whole.store("ada", note(f"note {number}", namespace=namespace))
    found = await pair.whole.retrieve("ada", MemoryQuery())
    assert [entry.content for entry in found] == ["note 3", "note 2", "note 1", "note 0"]


async def test_limit_holds_for_the_merged_results(pair: Pair) -> None:
    for number, namespace in enumerate(("default", "work", "default", "work")):
        await pair.whole.store("ada", note(f"note {number}", namespace=namespace))
    found = await pair.whole.retrieve("ada", MemoryQuery(limit=3))
    assert [entry.content for entry in found] == ["note 3", "note 2", "note 1"]


async def test_matches_are_merged_by_score_where_no_score_counts_as_the_default() -> None:
    pair = Pair(work=Scoring(clock=SteppingClock()))
    await pair.whole.connect()
    for text in ("hit 0.51", "hit 0.9", "hit 0.49"):
        await pair.whole.store("ada", note(text, namespace="work"))
    await pair.whole.store("ada", note("hit unscored"))
    found = await pair.whole.retrieve("ada", MemoryQuery(text="hit"))
    texts = [entry.content for entry in found]
    assert texts == ["hit 0.9", "hit 0.51", "hit unscored", "hit 0.49"]


async def test_only_children_that_the_namespaces_are_routed_to_are_asked() -> None:
    pair = Pair(work=Unsearchable())
    await pair.whole.connect()
    await pair.main.store("ada", note("safe"))
    query = MemoryQuery(namespaces=frozenset({"default"}))
    assert len(await pair.whole.retrieve("ada", query)) == 1


async def test_a_namespace_is_read_only_from_where_it_is_routed(pair: Pair) -> None:
    await pair.main.store("ada", note("stray", namespace="work"))
    await pair.whole.store("ada", note("routed", namespace="work"))
    both = MemoryQuery(namespaces=frozenset({"work", "default"}))
    found = await pair.whole.retrieve("ada", both)
    assert [entry.content for entry in found] == ["routed"]


async def test_a_child_that_fails_fails_the_whole_answer() -> None:
    pair = Pair(work=Unsearchable())
    await pair.whole.connect()
    with pytest.raises(MemoryRetrievalError):
        await pair.whole.retrieve("ada", MemoryQuery())


async def test_get_and_delete_find_the_child_that_has_the_memory(pair: Pair) -> None:
    for namespace in ("default", "work"):
        memory_id = await pair.whole.store("ada", note("x", namespace=namespace))
        entry = await pair.whole.get("ada", memory_id)
        assert entry is not None
        assert entry.namespace == namespace
        assert await pair.whole.delete("ada", memory_id)
        assert not await pair.whole.delete("ada", memory_id)
        assert await pair.whole.get("ada", memory_id) is None


async def test_count_is_the_sum_over_children(pair: Pair) -> None:
    for namespace in ("default", "work", "play"):
        await pair.whole.store("ada", note("x", namespace=namespace))
    assert await pair.whole.count("ada") == 3
    assert await pair.whole.count("ada", category=MemoryCategory.SEMANTIC) == 3
    assert await pair.whole.count("ada", category=MemoryCategory.SOCIAL) == 0


async def test_connecting_is_all_or_nothing() -> None:
    pair = Pair(work=Failing())
    with pytest.raises(MemoryConnectionError, match="out of order"):
        await pair.whole.connect()
    assert not pair.main.is_connected
    assert not pair.whole.is_connected


async def test_disconnecting_goes_on_after_a_child_that_fails() -> None:
    pair = Pair(work=Stuck())
    await pair.whole.connect()
    with pytest.raises(MemoryConnectionError, match="does not let go"):
        await pair.whole.disconnect()
    assert not pair.main.is_connected


async def test_it_is_connected_and_healthy_only_with_every_child(pair: Pair) -> None:
    assert pair.whole.is_connected
    assert await pair.whole.health_check()
    await pair.work.disconnect()
    assert not pair.whole.is_connected
    assert not await pair.whole.health_check()


def test_a_route_to_no_child_is_a_configuration_error() -> None:
    with pytest.raises(MemoryConfigError, match="'gone'"):
        CompositeBackend({"a": InMemoryBackend()}, routes={"x": "gone"}, default="a")


def test_capabilities_are_what_holds_whichever_child_is_hit() -> None:
    whole = CompositeBackend(
        {name: InMemoryBackend(max_memories_per_agent=n) for name, n in (("a", 5), ("b", 9))},
        routes={},
        default="a",
    )
    assert isinstance(whole, MemoryCapabilities)
    assert whole.supported_categories == frozenset(MemoryCategory)
    assert whole.supports_temporal
    assert not whole.supports_vector_search
    assert whole.supports_shared_access
    assert whole.max_memories_per_agent == 5


async def test_what_is_shared_in_any_child_is_found_and_withdrawn(pair: Pair) -> None:
    shared = [
        await pair.whole.publish("ada", note("the port is 8080", namespace=namespace))
        for namespace in ("default", "work")
    ]
    assert (await pair.main.search_shared(MemoryQuery()))[0].id == shared[0]
    found = await pair.whole.search_shared(MemoryQuery())
    assert [entry.id for entry in found] == shared[::-1]
    assert await pair.whole.search_shared(MemoryQuery(), exclude_agent="ada") == ()
    assert await pair.whole.retract("ada", shared[1])
    assert not await pair.whole.retract("ada", shared[1])


async def test_candidates_and_keyword_matches_come_from_all_children(pair: Pair) -> None:
    ids = {
        await pair.whole.store("ada", note(f"the {namespace} port", namespace=namespace))
        for namespace in ("default", "work")
    }
    query = MemoryQuery(text="which port?")
    found = await pair.whole.candidates("ada", query, include_shared=True)
    assert {hit.entry.id for hit in found.hits} == ids
    assert {entry.id for entry in await pair.whole.retrieve_sparse("ada", query)} == ids
    only = query.model_copy(update={"namespaces": frozenset({"work"})})
    assert len((await pair.whole.candidates("ada", only, include_shared=False)).hits) == 1


async def test_a_view_stores_and_sees_what_is_of_its_place() -> None:
    policy = StorePolicy(level=lambda _: MemoryLevel.PROJECT)
    child = InMemoryBackend(policy=policy)
    whole = CompositeBackend({"a": child}, routes={}, default="a")
    await whole.connect()
    here, there = (whole.scoped(Visibility("s", project)) for project in ("/here", "/there"))
    await here.store("ada", note("the port is 8080"))
    assert (await here.count("ada"), await there.count("ada")) == (1, 0)
    assert [memory.project for memory in await whole.everything()] == ["/here"]
