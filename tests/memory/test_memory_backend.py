"""What every memory backend does, whatever it keeps memories in."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.backends.composite import CompositeBackend
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.config import CompanyMemoryConfig
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.factory import BackendContext, create_memory_backend
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.memory.mem0_config import Mem0BackendConfig
from synthorg_tui.memory.models import (
    MemoryEntry,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.shared import SHARED_OWNER
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.memory.mem0_kit import require_mem0
from tests.tables import rows

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
ALL = MemoryQuery(limit=1000)


class MovableClock:
    def __init__(self) -> None:
        self.current = NOW

    def now(self) -> datetime:
        return self.current


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The bundled model, loaded once."""
    return create_embedder(MiniLMConfig())


def inmemory(context: BackendContext) -> MemoryBackend:
    return InMemoryBackend(clock=context.clock)


def local(context: BackendContext) -> MemoryBackend:
    config = CompanyMemoryConfig(backend="local", level=MemoryLevel.PERSISTENT)
    return create_memory_backend(config, context=context)


def composite(context: BackendContext) -> MemoryBackend:
    children = {"left": inmemory(context), "right": inmemory(context)}
    return CompositeBackend(children, routes={"work": "right"}, default="left")


def mem0(context: BackendContext) -> MemoryBackend:
    require_mem0()
    return create_memory_backend(CompanyMemoryConfig(backend="mem0"), context=context)


def mem0_with_keywords(context: BackendContext) -> MemoryBackend:
    require_mem0()
    keywords = Mem0BackendConfig(sparse_search_enabled=True)
    config = CompanyMemoryConfig(backend="mem0", mem0=keywords)
    return create_memory_backend(config, context=context)


BACKENDS = {
    "inmemory": inmemory,
    "local": local,
    "composite": composite,
    "mem0": mem0,
    "mem0 with keywords": mem0_with_keywords,
    "postgres": local,
}


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=BACKENDS)
def unconnected(
    request: pytest.FixtureRequest, clock: MovableClock, embedder: Embedder, tmp_path: Path
) -> MemoryBackend:
    context = BackendContext(data_dir=tmp_path / "data", embedder=embedder, clock=clock)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        context = replace(context, database=PostgresDatabase(url, tmp_path / "data"))
    return BACKENDS[request.param](context)


@pytest.fixture
async def backend(unconnected: MemoryBackend) -> AsyncIterator[MemoryBackend]:
    await unconnected.connect()
    yield unconnected
    await unconnected.disconnect()


def request(
    content: str = "the deploy key lives in the vault",
    *,
    category: MemoryCategory = MemoryCategory.SEMANTIC,
    namespace: str = "default",
    tags: tuple[str, ...] = (),
    expires_at: datetime | None = None,
) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=category,
        namespace=namespace,
        content=content,
        metadata=MemoryMetadata(source="task-1", confidence=0.75, tags=tags),
        expires_at=expires_at,
    )


async def contents(backend: MemoryBackend, query: MemoryQuery, agent: str = "ada") -> list[str]:
    return [entry.content for entry in await backend.retrieve(agent, query)]


# -- lifecycle


def test_it_satisfies_the_protocol(unconnected: MemoryBackend) -> None:
    assert isinstance(unconnected, MemoryBackend)


async def test_connecting_and_disconnecting_show(unconnected: MemoryBackend) -> None:
    assert not unconnected.is_connected
    await unconnected.connect()
    assert unconnected.is_connected
    assert await unconnected.health_check()
    await unconnected.disconnect()
    assert not unconnected.is_connected


async def test_disconnecting_twice_does_nothing(unconnected: MemoryBackend) -> None:
    await unconnected.connect()
    await unconnected.disconnect()
    await unconnected.disconnect()


async def test_an_unconnected_backend_is_unhealthy(unconnected: MemoryBackend) -> None:
    assert not await unconnected.health_check()


async def test_operations_need_a_connection(unconnected: MemoryBackend) -> None:
    some_id = str(uuid.uuid4())
    with pytest.raises(MemoryConnectionError):
        await unconnected.store("ada", request())
    with pytest.raises(MemoryConnectionError):
        await unconnected.retrieve("ada", ALL)
    with pytest.raises(MemoryConnectionError):
        await unconnected.get("ada", some_id)
    with pytest.raises(MemoryConnectionError):
        await unconnected.delete("ada", some_id)
    with pytest.raises(MemoryConnectionError):
        await unconnected.count("ada")


async def test_operations_need_a_connection_again_after_disconnecting(
    unconnected: MemoryBackend,
) -> None:
    await unconnected.connect()
    await unconnected.disconnect()
    with pytest.raises(MemoryConnectionError):
        await unconnected.count("ada")


def test_the_name_is_the_one_that_the_configuration_uses(unconnected: MemoryBackend) -> None:
    assert unconnected.backend_name in {"local", "inmemory", "composite", "mem0"}


# -- store and get


async def test_a_stored_memory_comes_back_whole(backend: MemoryBackend) -> None:
    wanted = request(tags=("ops", "keys"), namespace="work", expires_at=NOW + timedelta(days=1))
    memory_id = await backend.store("ada", wanted)
    entry = await backend.get("ada", memory_id)
    assert entry == MemoryEntry(
        id=memory_id,
        agent_id="ada",
        namespace="work",
        category=wanted.category,
        content=wanted.content,
        metadata=wanted.metadata,
        created_at=NOW,
        expires_at=wanted.expires_at,
    )


async def test_the_same_request_twice_makes_two_memories(backend: MemoryBackend) -> None:
    ids = {await backend.store("ada", request()) for _ in range(2)}
    assert len(ids) == 2
    assert await backend.count("ada") == 2


@rows("unknown", ["no-such-id", "00000000-0000-0000-0000-00000000000a"])
async def test_an_unknown_id_is_none(backend: MemoryBackend, unknown: str) -> None:
    assert await backend.get("ada", unknown) is None


async def test_a_memory_that_expired_before_it_was_stored_is_refused(
    backend: MemoryBackend,
) -> None:
    with pytest.raises(MemoryStoreError):
        await backend.store("ada", request(expires_at=NOW - TICK))
    assert await backend.count("ada") == 0


@rows("owner", [SHARED_OWNER, ORG_OWNER])
async def test_a_reserved_owner_is_no_agent(backend: MemoryBackend, owner: str) -> None:
    some_id = str(uuid.uuid4())
    with pytest.raises(MemoryStoreError):
        await backend.store(owner, request())
    with pytest.raises(MemoryStoreError):
        await backend.delete(owner, some_id)
    with pytest.raises(MemoryRetrievalError):
        await backend.retrieve(owner, ALL)
    with pytest.raises(MemoryRetrievalError):
        await backend.get(owner, some_id)
    with pytest.raises(MemoryRetrievalError):
        await backend.count(owner)


async def test_no_memory_is_stored_in_the_namespace_of_the_organisation(
    backend: MemoryBackend,
) -> None:
    with pytest.raises(MemoryStoreError, match="reserved for organisation memory") as refused:
        await backend.store("ada", request(namespace=ORG_NAMESPACE))
    assert "another namespace" in refused.value.remedy
    assert await backend.count("ada") == 0


# -- delete


async def test_a_deleted_memory_is_gone_everywhere(backend: MemoryBackend) -> None:
    memory_id = await backend.store("ada", request())
    assert await backend.delete("ada", memory_id)
    assert await backend.get("ada", memory_id) is None
    assert await backend.retrieve("ada", ALL) == ()
    assert await backend.retrieve("ada", MemoryQuery(text="deploy key")) == ()
    assert await backend.count("ada") == 0


@rows("unknown", ["no-such-id", "00000000-0000-0000-0000-00000000000a"])
async def test_deleting_what_is_not_there_is_false(backend: MemoryBackend, unknown: str) -> None:
    assert not await backend.delete("ada", unknown)


async def test_deleting_twice_is_false_the_second_time(backend: MemoryBackend) -> None:
    memory_id = await backend.store("ada", request())
    assert await backend.delete("ada", memory_id)
    assert not await backend.delete("ada", memory_id)


# -- isolation


async def test_agents_do_not_see_each_others_memories(backend: MemoryBackend) -> None:
    memory_id = await backend.store("ada", request())
    assert await backend.retrieve("bob", ALL) == ()
    assert await backend.retrieve("bob", MemoryQuery(text="deploy key")) == ()
    assert await backend.get("bob", memory_id) is None
    assert await backend.count("bob") == 0


async def test_an_agent_can_not_delete_anothers_memory(backend: MemoryBackend) -> None:
    memory_id = await backend.store("ada", request())
    with pytest.raises(MemoryStoreError):
        await backend.delete("bob", memory_id)
    assert await backend.get("ada", memory_id) is not None


# -- retrieve


async def test_without_text_the_order_is_newest_first(
    backend: MemoryBackend, clock: MovableClock
) -> None:
    for text in ("first", "second", "third"):
        await backend.store("ada", request(text))
        clock.current += TICK
    assert await contents(backend, ALL) == ["third", "second", "first"]


async def test_equal_times_are_ordered_by_id(backend: MemoryBackend) -> None:
    ids = [await backend.store("ada", request(str(number))) for number in range(5)]
    assert [entry.id for entry in await backend.retrieve("ada", ALL)] == sorted(ids)


async def test_without_text_there_is_no_score(backend: MemoryBackend) -> None:
    await backend.store("ada", request())
    (entry,) = await backend.retrieve("ada", MemoryQuery(min_relevance=1.0))
    assert entry.relevance_score is None


async def test_a_text_finds_what_has_it_and_nothing_else(backend: MemoryBackend) -> None:
    await backend.store("ada", request("git push of a branch without upstream fails"))
    await backend.store("ada", request("bananas ripen faster next to apples"))
    found = await contents(backend, MemoryQuery(text="git push"))
    assert found == ["git push of a branch without upstream fails"]


async def test_a_text_that_matches_nothing_finds_nothing(backend: MemoryBackend) -> None:
    await backend.store("ada", request())
    assert await backend.retrieve("ada", MemoryQuery(text="qwzxv plomkr")) == ()


async def test_limit_keeps_the_newest(backend: MemoryBackend, clock: MovableClock) -> None:
    for text in ("first", "second", "third"):
        await backend.store("ada", request(text))
        clock.current += TICK
    assert await contents(backend, MemoryQuery(limit=2)) == ["third", "second"]


async def found_both_ways(backend: MemoryBackend, filters: dict[str, object]) -> set[str]:
    """The last words of what a filter lets through, the same with and without a text."""
    ways = []
    for text in (None, "deploy key"):
        query = MemoryQuery.model_validate({"text": text, **filters})
        ways.append({each.rpartition(" ")[2] for each in await contents(backend, query)})
    assert ways[0] == ways[1]
    return ways[0]


async def test_filters_hold_with_and_without_a_text(backend: MemoryBackend) -> None:
    await backend.store("ada", request("deploy key one", tags=("a", "b")))
    await backend.store("ada", request("deploy key two", tags=("a",), namespace="work"))
    social = request("deploy key three", category=MemoryCategory.SOCIAL)
    await backend.store("ada", social)

    async def found(**filters: object) -> set[str]:
        return await found_both_ways(backend, filters)

    assert await found() == {"one", "two", "three"}
    assert await found(tags=("a",)) == {"one", "two"}
    assert await found(tags=("a", "b")) == {"one"}
    assert await found(tags=("c",)) == set()
    assert await found(namespaces={"work"}) == {"two"}
    assert await found(namespaces={"work", "default"}) == {"one", "two", "three"}
    assert await found(namespaces=set()) == {"one", "two", "three"}
    assert await found(categories={MemoryCategory.SOCIAL}) == {"three"}
    assert await found(categories=set()) == {"one", "two", "three"}
    assert await found(categories={MemoryCategory.SOCIAL}, tags=("a",)) == set()


async def test_since_is_inclusive_and_until_exclusive(
    backend: MemoryBackend, clock: MovableClock
) -> None:
    for name, at in (("before", NOW - TICK), ("at", NOW), ("after", NOW + TICK)):
        clock.current = at
        await backend.store("ada", request(f"deploy key {name}"))

    async def found(**times: object) -> set[str]:
        return await found_both_ways(backend, times)

    assert await found(since=NOW) == {"at", "after"}
    assert await found(until=NOW) == {"before"}
    assert await found(since=NOW, until=NOW + TICK) == {"at"}


async def test_a_memory_is_gone_from_the_moment_it_expires(
    backend: MemoryBackend, clock: MovableClock
) -> None:
    end = NOW + timedelta(seconds=1)
    memory_id = await backend.store("ada", request(expires_at=end))
    for now, live in ((end - TICK, 1), (end, 0)):
        clock.current = now
        assert len(await backend.retrieve("ada", ALL)) == live
        assert len(await backend.retrieve("ada", MemoryQuery(text="deploy key"))) == live
        assert (await backend.get("ada", memory_id) is not None) == bool(live)
        assert await backend.count("ada") == live


async def test_count_is_by_agent_and_category(backend: MemoryBackend) -> None:
    await backend.store("ada", request("one"))
    await backend.store("ada", request("two", namespace="work"))
    await backend.store("ada", request("three", category=MemoryCategory.SOCIAL))
    assert await backend.count("ada") == 3
    assert await backend.count("ada", category=MemoryCategory.SEMANTIC) == 2
    assert await backend.count("ada", category=MemoryCategory.SOCIAL) == 1
    assert await backend.count("ada", category=MemoryCategory.WORKING) == 0


# -- the protocol itself


class TenMembers:
    """Nothing but the documented members."""

    is_connected = True
    backend_name = "fake"

    async def connect(self) -> None: ...

    async def disconnect(self) -> None: ...

    async def health_check(self) -> bool:
        return True

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        return "id"

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return ()

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        return None

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return False

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return 0


MEMBERS = sorted(name for name in vars(TenMembers) if not name.startswith("_"))


def test_ten_members_are_enough() -> None:
    assert len(MEMBERS) == 10
    assert isinstance(TenMembers(), MemoryBackend)


@rows("missing", MEMBERS)
def test_nine_members_are_not(missing: str) -> None:
    rest = {name: member for name, member in vars(TenMembers).items() if name != missing}
    assert not isinstance(type("NineMembers", (), rest)(), MemoryBackend)
