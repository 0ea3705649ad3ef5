"""The local backend on real DuckDB and a real index: what each operation promises."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from conftest import FixedClock
from hash_embedder import HashEmbedder
from store_kit import AGENT, opened, query, request

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.backends.local.backend import LocalMemoryBackend
from synthorg_tui.memory.backends.local.policy import UniformPolicy
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.extensions import (
    BatchStore,
    BrowseFilter,
    ChangeKind,
    Desk,
    MemoryEdit,
    SparseSearch,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.shared import SHARED_OWNER, SharedKnowledgeStore


@pytest.fixture
async def backend(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


def contents(entries: tuple[MemoryEntry, ...]) -> list[str]:
    return [entry.content for entry in entries]


async def test_it_offers_every_contract(backend: LocalMemoryBackend) -> None:
    for contract in (
        MemoryBackend,
        MemoryCapabilities,
        SharedKnowledgeStore,
        SparseSearch,
        BatchStore,
        Desk,
    ):
        assert isinstance(backend, contract)


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
        backend.find(query("x")),
        backend.facets(),
        backend.remove(["x"], actor="me"),
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
    (hit, *_) = (await backend.find(query("push upstream"))).hits
    assert (hit.entry.id, hit.entry.relevance_score) == (memory_id, hit.fused)
    assert hit.dense is not None
    assert hit.sparse is not None
    assert (await backend.retrieve(AGENT, query("push upstream")))[0].id == memory_id
    assert (await backend.retrieve_sparse(AGENT, query("upstream")))[0].id == memory_id


async def test_a_query_about_nothing_in_the_store_finds_nothing(
    backend: LocalMemoryBackend,
) -> None:
    await backend.store(AGENT, request("push with an upstream"))
    result = await backend.find(query("zebra quantum"))
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
    assert (await backend.browse(BrowseFilter())).total == 0


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


async def test_the_reserved_owner_is_no_agent(backend: LocalMemoryBackend) -> None:
    with pytest.raises(MemoryStoreError, match="reserved"):
        await backend.store(SHARED_OWNER, request("alpha"))
    with pytest.raises(MemoryStoreError, match="reserved"):
        await backend.delete(SHARED_OWNER, "x")
    with pytest.raises(MemoryRetrievalError, match="reserved"):
        await backend.retrieve(SHARED_OWNER, query())
    with pytest.raises(MemoryRetrievalError, match="reserved"):
        await backend.get(SHARED_OWNER, "x")


async def test_an_agent_may_keep_so_many_memories_and_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=UniformPolicy(max_memories_per_agent=2)) as backend:
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


# -- shared


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


# -- desk


async def test_an_edit_is_found_under_its_new_words_only(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    clock.advance(seconds=5)
    change = MemoryEdit(
        content="omega", category=MemoryCategory.SOCIAL, tags=("t",), confidence=0.5
    )
    entry = await backend.edit(memory_id, change, actor="me")
    assert (entry.content, entry.category) == ("omega", MemoryCategory.SOCIAL)
    assert (entry.metadata.tags, entry.metadata.confidence) == (("t",), 0.5)
    assert entry.updated_at == clock.now()
    assert not (await backend.find(query("alpha"))).hits
    (hit,) = (await backend.find(query("omega", tags=("t",), categories={"social"}))).hits
    assert hit.entry == entry.model_copy(update={"relevance_score": hit.fused})


async def test_what_is_not_there_cannot_be_edited(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    await backend.remove([memory_id], actor="me")
    for missing in (memory_id, "00000000-0000-0000-0000-000000000000", "nonsense"):
        with pytest.raises(MemoryNotFoundError):
            await backend.edit(missing, MemoryEdit(content="x"), actor="me")


@pytest.mark.parametrize("confidence", [-0.01, 1.01])
async def test_a_confidence_out_of_range_is_refused(
    backend: LocalMemoryBackend, confidence: float
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    with pytest.raises(MemoryStoreError, match="0 to 1"):
        await backend.edit(memory_id, MemoryEdit(confidence=confidence), actor="me")


async def test_the_history_says_who_changed_what_and_when(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    clock.advance(seconds=1)
    await backend.edit(memory_id, MemoryEdit(content="omega"), actor="me")
    await backend.edit(memory_id, MemoryEdit(content="omega"), actor="me")  # changes nothing
    await backend.remove([memory_id], actor="me")
    await backend.restore([memory_id], actor="you")
    restored, deleted, edited, added = await backend.history(memory_id)
    assert (added.kind, added.actor, added.before) == (ChangeKind.ADDED, AGENT, {})
    assert added.after["content"] == "alpha"
    assert (edited.kind, edited.actor, edited.at) == (ChangeKind.EDITED, "me", clock.now())
    assert (edited.before, edited.after) == ({"content": "alpha"}, {"content": "omega"})
    assert (deleted.kind, restored.kind, restored.actor) == ("deleted", "restored", "you")
    assert added.revision < edited.revision < deleted.revision < restored.revision
    assert await backend.history("nonsense") == ()


async def test_a_deleted_memory_can_be_brought_back_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("alpha"))
        assert await backend.remove([memory_id, memory_id, "nonsense"], actor="me") == 1
        assert await backend.remove([memory_id], actor="me") == 0
        assert not (await backend.find(query("alpha"))).hits
        assert contents((await backend.browse(BrowseFilter(deleted=True))).entries) == ["alpha"]
    async with opened(tmp_path) as backend:
        assert await backend.restore([memory_id], actor="me") == 1
        assert await backend.restore([memory_id], actor="me") == 0
        assert contents(await backend.retrieve(AGENT, query("alpha"))) == ["alpha"]


async def test_a_purge_leaves_nothing_of_the_content(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        live = await backend.store(AGENT, request("xylophone secret"))
        gone = await backend.store(AGENT, request("xylophone other"))
        await backend.edit(live, MemoryEdit(content="xylophone changed"), actor="me")
        await backend.remove([gone], actor="me")
        assert await backend.purge([live, gone, "nonsense"], actor="me") == 2
        assert await backend.purge([live], actor="me") == 0
        assert not await backend.retrieve_sparse(AGENT, query("xylophone"))
        assert (await backend.browse(BrowseFilter(deleted=True))).total == 0
        assert await backend.restore([live], actor="me") == 0
        purged, *earlier = await backend.history(live)
        assert (purged.kind, purged.actor) == (ChangeKind.PURGED, "me")
        assert all(r.before == {} and r.after == {} for r in earlier)
        dump = await backend.core.read(
            lambda db: [
                str(db.execute(f"SELECT * FROM {table}").fetchall())
                for table in ("memories", "vectors", "history", "tombstones")
            ]
        )
        assert "xylophone" not in "".join(dump)
        assert await (await backend.core.indexed()).index.count() == 0


async def test_listing_filters_sorts_and_counts_all_that_match(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    for number in range(6):
        agent = AGENT if number % 2 else "bob"
        category = MemoryCategory.SOCIAL if number < 2 else MemoryCategory.EPISODIC
        await backend.store(
            agent, request(f"Alpha {number}", category=category, tags=(f"t{number}",))
        )
        clock.advance(seconds=1)
    page = await backend.browse(BrowseFilter(), offset=1, limit=2)
    assert (contents(page.entries), page.offset, page.total) == (["Alpha 4", "Alpha 3"], 1, 6)
    for what, expected in (
        (BrowseFilter(agents=("bob",)), ["Alpha 4", "Alpha 2", "Alpha 0"]),
        (BrowseFilter(categories=(MemoryCategory.SOCIAL,)), ["Alpha 1", "Alpha 0"]),
        (BrowseFilter(tags=("t3",)), ["Alpha 3"]),
        (BrowseFilter(words=("alpha", "3")), ["Alpha 3"]),
        (BrowseFilter(words=("ALPHA",), without=("1", "2", "3", "4")), ["Alpha 5", "Alpha 0"]),
        (BrowseFilter(words=("%",)), []),
        (BrowseFilter(since=clock.now() - timedelta(seconds=1)), ["Alpha 5"]),
        (BrowseFilter(until=clock.now() - timedelta(seconds=5)), ["Alpha 0"]),
    ):
        page = await backend.browse(what)
        assert (contents(page.entries), page.total) == (expected, len(expected))
    oldest = await backend.browse(BrowseFilter(), sort="oldest")
    assert contents(oldest.entries) == [f"Alpha {n}" for n in range(6)]
    by_agent = await backend.browse(BrowseFilter(), sort="agent")
    assert [e.agent_id for e in by_agent.entries] == ["ada"] * 3 + ["bob"] * 3


async def test_facets_count_what_is_live(backend: LocalMemoryBackend) -> None:
    for agent in ("bob", "ada", "bob"):
        await backend.store(agent, request("x", category=MemoryCategory.EPISODIC))
    gone = await backend.store("bob", request("y", category=MemoryCategory.WORKING))
    await backend.remove([gone], actor="me")
    facets = await backend.facets()
    assert facets.agents == (("bob", 2), ("ada", 1))
    assert facets.categories == ((MemoryCategory.EPISODIC, 3),)


async def test_a_memory_is_looked_up_by_the_start_of_its_id(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    assert contents(await backend.lookup(memory_id[:8].upper())) == ["alpha"]
    assert not await backend.lookup("not-an-id")
    await backend.remove([memory_id], actor="me")
    assert not await backend.lookup(memory_id)
    assert contents(await backend.lookup(memory_id, deleted=True)) == ["alpha"]


# -- levels


def at_level(level: str) -> UniformPolicy:
    return UniformPolicy(default_level=MemoryLevel(level))


@pytest.mark.parametrize(
    ("level", "same_session", "same_project"),
    [("persistent", True, True), ("project", False, True), ("session", True, False)],
)
async def test_a_memory_reaches_as_far_as_its_level(
    tmp_path: Path, level: str, same_session: bool, same_project: bool
) -> None:
    here = Visibility(session_id="s1", project=str(tmp_path / "p1"))
    other_project = Visibility(session_id="s1", project=str(tmp_path / "p2"))
    other_session = Visibility(session_id="s2", project=str(tmp_path / "p1"))
    nowhere = Visibility(session_id=None, project=None)
    async with opened(tmp_path, policy=at_level(level)) as backend:
        memory_id = await backend.scoped(here).store(AGENT, request("alpha"))
        for view, expected in (
            (here, True),
            (other_project, same_session),
            (other_session, same_project),
            (nowhere, level == "persistent"),
        ):
            scoped = backend.scoped(view)
            assert bool(await scoped.get(AGENT, memory_id)) == expected
            assert await scoped.count(AGENT) == int(expected)
            for text in (None, "alpha"):
                assert bool(await scoped.retrieve(AGENT, query(text))) == expected
        assert await backend.get(AGENT, memory_id)
        if level != "persistent":
            assert not await backend.scoped(nowhere).delete(AGENT, memory_id)
        assert await backend.scoped(here).delete(AGENT, memory_id)


async def test_a_project_is_the_same_by_whichever_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with opened(tmp_path / "data", policy=at_level("project")) as backend:
        real = Visibility(session_id=None, project=str(tmp_path / "real"))
        link = Visibility(session_id=None, project=f"{tmp_path}/./link/")
        await backend.scoped(real).store(AGENT, request("alpha"))
        assert await backend.scoped(link).retrieve(AGENT, query("alpha"))


async def test_an_agent_without_memory_stores_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=at_level("none")) as backend:
        with pytest.raises(MemoryStoreError, match="level none"):
            await backend.store(AGENT, request("alpha"))
        with pytest.raises(MemoryStoreError, match="level none"):
            await backend.publish(AGENT, request("alpha"))
        assert await backend.count(AGENT) == 0


async def test_publications_reach_across_sessions_and_projects(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=at_level("session")) as backend:
        await backend.scoped(Visibility("s1", None)).publish(AGENT, request("alpha"))
        assert await backend.scoped(Visibility("s2", "/p")).search_shared(query("alpha"))


async def test_retention_ends_a_memory_that_has_no_expiry_of_its_own(
    tmp_path: Path, clock: FixedClock
) -> None:
    policy = UniformPolicy(keep=timedelta(days=1))
    async with opened(tmp_path, clock=clock, policy=policy) as backend:
        await backend.store(AGENT, request("kept a day"))
        await backend.store(
            AGENT, request("kept a week", expires_at=clock.now() + timedelta(days=7))
        )
        clock.advance(days=1)
        assert contents(await backend.retrieve(AGENT, query())) == ["kept a week"]


# -- the embedder is missing


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
            "keywords only: the model is missing" in (await backend.find(query("alpha"))).degraded
        )
        embedder.broken = False
        assert "5 memories wait for embedding" in (await backend.find(query("alpha"))).degraded


@pytest.mark.parametrize(
    ("word", "found"), [("50%", 1), ("a_b", 1), ("wow!", 1), ("ÜBER", 1), ("a%b", 0)]
)
async def test_words_of_a_filter_are_taken_literally(tmp_path: Path, word: str, found: int) -> None:
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("über 50% of a_b, wow! and axb"))
        assert (await backend.browse(BrowseFilter(words=(word,)))).total == found
        assert (await backend.browse(BrowseFilter(without=(word,)))).total == 1 - found
