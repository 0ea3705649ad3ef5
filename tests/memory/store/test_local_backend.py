"""The local backend on real DuckDB and a real index: what each operation promises."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.extensions import (
    BatchStore,
    BrowseFilter,
    MemoryAdmin,
    MemoryBundle,
    NewMemory,
    SparseSearch,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import ORG_NAMESPACE
from synthorg_tui.memory.models import MemoryDraft, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.hits import ContentLookup
from synthorg_tui.memory.shared import SHARED_OWNER, SharedKnowledgeStore
from synthorg_tui.memory.store.admin import StoreAdmin
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.policy import StorePolicy
from tests.conftest import FixedClock
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, contents, opened, query, request


@pytest.fixture
async def backend(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def test_it_offers_every_contract(backend: LocalMemoryBackend) -> None:
    for contract in (
        MemoryBackend,
        MemoryCapabilities,
        SharedKnowledgeStore,
        SparseSearch,
        ContentLookup,
        BatchStore,
    ):
        assert isinstance(backend, contract)
    assert isinstance(backend.admin, MemoryAdmin)
    assert isinstance(backend.admin, StoreAdmin)


async def test_a_view_of_the_store_has_none_of_a_persons_powers(
    backend: LocalMemoryBackend,
) -> None:
    """It is handed to agents."""
    view = backend.scoped(Visibility("s1", "/work"))
    assert not isinstance(view, MemoryAdmin | StoreAdmin)
    assert not hasattr(view, "change_together")


async def test_operations_need_a_connection(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        assert backend.is_connected
        assert await backend.health_check()
    assert not backend.is_connected
    assert not await backend.health_check()
    for operation in (
        backend.store(AGENT, request("x")),
        backend.retrieve(AGENT, query()),
        backend.retrieve(AGENT, query("x")),
        backend.get(AGENT, "x"),
        backend.delete(AGENT, "x"),
        backend.count(AGENT),
        backend.admin.find(query("x")),
        backend.admin.facets(),
        backend.admin.remove(["x"], actor="me"),
    ):
        with pytest.raises(MemoryConnectionError):
            await operation


async def test_a_stored_memory_is_found_by_id_meaning_and_keyword(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    memory_id = await backend.store(AGENT, request("push with an upstream", tags=("git", "x")))
    for other in ("bake bread slowly", "water the plants"):
        await backend.store(AGENT, request(other))
    entry = await backend.get(AGENT, memory_id)
    assert entry is not None
    assert (entry.content, entry.created_at) == ("push with an upstream", clock.now())
    assert entry.metadata.tags == ("git", "x")
    (hit, *_) = (await backend.admin.find(query("push upstream"))).hits
    assert hit.id == memory_id
    assert hit.dense is not None
    assert hit.sparse is not None
    (entry, *_) = await backend.retrieve(AGENT, query("push upstream"))
    assert (entry.id, entry.relevance_score) == (memory_id, hit.fused)
    assert (await backend.retrieve_sparse(AGENT, query("upstream")))[0].id == memory_id


async def test_a_query_about_nothing_in_the_store_finds_nothing(
    backend: LocalMemoryBackend,
) -> None:
    await backend.store(AGENT, request("push with an upstream"))
    result = await backend.admin.find(query("zebra quantum"))
    assert (result.hits, result.degraded) == ((), "")


async def test_without_a_text_the_newest_come_first_and_ties_by_id(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    await backend.store(AGENT, request("oldest"))
    clock.advance(seconds=1)
    tied = [await backend.store(AGENT, request(f"tied {n}")) for n in range(5)]
    clock.advance(seconds=1)
    newest = await backend.store(AGENT, request("newest"))
    entries = await backend.retrieve(AGENT, query())
    assert [e.id for e in entries[:-1]] == [newest, *sorted(tied)]
    assert entries[-1].content == "oldest"
    assert all(e.relevance_score is None for e in entries)


async def test_since_is_inclusive_and_until_exclusive(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    await backend.store(AGENT, request("alpha"))
    now, tick = clock.now(), timedelta(microseconds=1)
    for text in (None, "alpha"):
        assert await backend.retrieve(AGENT, query(text, since=now))
        assert not await backend.retrieve(AGENT, query(text, since=now + tick))
        assert await backend.retrieve(AGENT, query(text, until=now + tick))
        assert not await backend.retrieve(AGENT, query(text, until=now))


async def test_tags_must_all_be_there_and_categories_and_namespaces_any(
    backend: LocalMemoryBackend,
) -> None:
    await backend.store(AGENT, request("alpha", tags=("a", "b"), namespace="n1"))
    for text in (None, "alpha"):
        assert await backend.retrieve(AGENT, query(text, tags=("a", "b")))
        assert not await backend.retrieve(AGENT, query(text, tags=("a", "c")))
        assert await backend.retrieve(AGENT, query(text, categories={"semantic", "social"}))
        assert not await backend.retrieve(AGENT, query(text, categories={"social"}))
        assert await backend.retrieve(AGENT, query(text, namespaces={"n1", "n2"}))
        assert not await backend.retrieve(AGENT, query(text, namespaces={"n2"}))


async def test_an_expired_memory_is_gone_from_every_view(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    end = clock.now() + timedelta(seconds=10)
    memory_id = await backend.store(AGENT, request("alpha", expires_at=end))
    clock.advance(seconds=9)
    assert await backend.get(AGENT, memory_id)
    assert await backend.count(AGENT) == 1
    clock.advance(seconds=1)
    assert await backend.get(AGENT, memory_id) is None
    assert await backend.count(AGENT) == 0
    for text in (None, "alpha"):
        assert not await backend.retrieve(AGENT, query(text))
    assert (await backend.admin.browse(BrowseFilter())).total == 0


async def test_what_has_expired_already_is_refused(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    past = clock.now() - timedelta(seconds=1)
    with pytest.raises(MemoryStoreError, match="expired"):
        await backend.store(AGENT, request("alpha", expires_at=past))


async def test_agents_do_not_see_each_others_memories(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    assert await backend.get("bob", memory_id) is None
    assert not await backend.retrieve("bob", query("alpha"))
    assert await backend.count("bob") == 0
    with pytest.raises(MemoryStoreError, match="another agent"):
        await backend.delete("bob", memory_id)


async def test_deleting_tells_whether_there_was_something(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    assert await backend.delete(AGENT, memory_id)
    assert not await backend.delete(AGENT, memory_id)
    assert not await backend.delete(AGENT, "no such id")
    assert await backend.get(AGENT, memory_id) is None
    assert not await backend.retrieve(AGENT, query("alpha"))
    assert not await backend.retrieve_sparse(AGENT, query("alpha"))


class TestAMemoryIsFoundByAllThatItSays:
    async def test_spaces_around_it_and_tags_beyond_do_not_matter(
        self, backend: LocalMemoryBackend
    ) -> None:
        memory_id = await backend.store(AGENT, request("alpha", tags=("a", "b")))
        for same in (request("alpha", tags=("a", "b")), request(" alpha\n", tags=("b",))):
            assert await backend.with_content(AGENT, same) == memory_id

    @pytest.mark.parametrize(
        "other",
        [
            request("Alpha", tags=("a",)),
            request("alpha beta", tags=("a",)),
            request("alpha", tags=("a", "c")),
            request("alpha", tags=("a",), category=MemoryCategory.PROCEDURAL),
        ],
    )
    async def test_what_says_something_else_is_another(
        self, backend: LocalMemoryBackend, other: MemoryStoreRequest
    ) -> None:
        await backend.store(AGENT, request("alpha", tags=("a",)))
        assert await backend.with_content(AGENT, other) is None

    async def test_only_a_live_own_private_one_counts(self, backend: LocalMemoryBackend) -> None:
        await backend.store("bob", request("of another"))
        await backend.publish(AGENT, request("shared"))
        await backend.delete(AGENT, await backend.store(AGENT, request("deleted")))
        for content in ("of another", "shared", "deleted"):
            assert await backend.with_content(AGENT, request(content)) is None

    async def test_it_must_be_seen_from_where_it_is_asked(self, tmp_path: Path) -> None:
        here, there = (Visibility("s", str(tmp_path / name)) for name in ("here", "there"))
        policy = StorePolicy(level=lambda _: MemoryLevel.PROJECT)
        async with opened(tmp_path, policy=policy) as backend:
            memory_id = await backend.scoped(here).store(AGENT, request("alpha"))
            assert await backend.scoped(here).with_content(AGENT, request("alpha")) == memory_id
            assert await backend.scoped(there).with_content(AGENT, request("alpha")) is None


async def test_the_reserved_owner_is_no_agent(backend: LocalMemoryBackend) -> None:
    with pytest.raises(MemoryStoreError, match="reserved"):
        await backend.store(SHARED_OWNER, request("alpha"))
    with pytest.raises(MemoryStoreError, match="reserved"):
        await backend.delete(SHARED_OWNER, "x")
    with pytest.raises(MemoryRetrievalError, match="reserved"):
        await backend.retrieve(SHARED_OWNER, query())
    with pytest.raises(MemoryRetrievalError, match="reserved"):
        await backend.get(SHARED_OWNER, "x")


class TestTheNamespaceOfTheOrganisationIsReserved:
    async def test_to_imports(self, backend: LocalMemoryBackend) -> None:
        one = MemoryDraft(request=request("alpha", namespace=ORG_NAMESPACE))
        with pytest.raises(MemoryStoreError, match="reserved"):
            await backend.store_many(AGENT, [one], actor="import")

    async def test_to_what_is_shared(self, backend: LocalMemoryBackend) -> None:
        with pytest.raises(MemoryStoreError, match="reserved"):
            await backend.publish(AGENT, request("alpha", namespace=ORG_NAMESPACE))

    async def test_to_what_a_person_decides(self, backend: LocalMemoryBackend) -> None:
        one = MemoryDraft(request=request("alpha", namespace=ORG_NAMESPACE))
        bundle = MemoryBundle(add=(NewMemory(agent_id=AGENT, draft=one),))
        with pytest.raises(MemoryStoreError, match="reserved"):
            await backend.admin.change_together(bundle, lambda db, outcome: None, actor="person")


async def test_without_room_being_made_an_agent_may_keep_so_many_memories_and_no_more(
    tmp_path: Path,
) -> None:
    async with opened(
        tmp_path, policy=StorePolicy(max_memories_per_agent=2, makes_room=False)
    ) as backend:
        first = await backend.store(AGENT, request("one"))
        await backend.store(AGENT, request("two"))
        with pytest.raises(MemoryStoreError, match="2 memories already"):
            await backend.store(AGENT, request("three"))
        await backend.store("bob", request("one"))
        await backend.publish(AGENT, request("shared"))
        await backend.delete(AGENT, first)
        await backend.store(AGENT, request("three"))
        assert await backend.count(AGENT) == 2


async def test_a_missing_tag_is_told_once_and_blocks_nothing(
    backend: LocalMemoryBackend, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await backend.store(AGENT, request("alpha", tags=("other",)))
        assert len(caplog.records) == 1
        assert "category semantic, 5 characters" in caplog.text
        assert "alpha" not in caplog.text
        await backend.store(AGENT, request("beta", tags=("non-inferable",)))
        assert len(caplog.records) == 1


async def test_a_publication_is_found_by_all_under_its_publisher(
    backend: LocalMemoryBackend,
) -> None:
    memory_id = await backend.publish(AGENT, request("alpha"))
    await backend.store(AGENT, request("alpha private"))
    for text in (None, "alpha"):
        (entry,) = await backend.search_shared(query(text))
        assert (entry.id, entry.agent_id) == (memory_id, AGENT)
        assert not await backend.search_shared(query(text), exclude_agent=AGENT)
        assert await backend.search_shared(query(text), exclude_agent="bob")
    assert contents(await backend.retrieve(AGENT, query())) == ["alpha private"]
    assert await backend.get(AGENT, memory_id) is None
    assert await backend.count(AGENT) == 1


async def test_leaving_out_an_agent_happens_before_the_limit(backend: LocalMemoryBackend) -> None:
    await backend.publish("bob", request("alpha by bob"))
    for number in range(3):
        await backend.publish(AGENT, request(f"alpha {number}"))
    (entry,) = await backend.search_shared(query(limit=1), exclude_agent=AGENT)
    assert entry.agent_id == "bob"


async def test_only_the_publisher_retracts_and_only_publications(
    backend: LocalMemoryBackend,
) -> None:
    shared = await backend.publish(AGENT, request("alpha"))
    private = await backend.store(AGENT, request("beta"))
    with pytest.raises(MemoryStoreError, match="another agent"):
        await backend.retract("bob", shared)
    with pytest.raises(MemoryStoreError, match="private"):
        await backend.retract(AGENT, private)
    with pytest.raises(MemoryStoreError, match="retract"):
        await backend.delete(AGENT, shared)
    assert not await backend.retract(AGENT, "no such id")
    assert await backend.retract(AGENT, shared)
    assert not await backend.retract(AGENT, shared)
    assert not await backend.search_shared(query())


async def test_without_an_embedder_memories_are_kept_and_found_by_keywords(
    tmp_path: Path,
) -> None:
    embedder = HashEmbedder()
    async with opened(tmp_path, embedder=embedder) as backend:
        embedder.broken = True
        for text in ("alpha upstream", "bread", "plants", "sky", "sea"):
            await backend.store(AGENT, request(text))
        found = await backend.retrieve_sparse(AGENT, query("upstream"))
        assert contents(found) == ["alpha upstream"]
        assert (
            "keywords only: the model is missing"
            in (await backend.admin.find(query("alpha"))).degraded
        )
        embedder.broken = False
        assert (
            "5 memories wait for embedding" in (await backend.admin.find(query("alpha"))).degraded
        )
