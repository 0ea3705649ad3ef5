"""The local backend for a person: edits, history, deletions, lists."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import (
    MemoryNotFoundError,
    MemoryStoreError,
)
from synthorg_tui.memory.extensions import (
    BrowseFilter,
    ChangeKind,
    MemoryEdit,
)
from synthorg_tui.memory.models import MemoryDraft
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.rows import MAX_MEMORY_CHARS
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, draft, opened, query, request
from tests.tables import rows


@pytest.fixture
async def backend(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def test_an_edit_is_found_under_its_new_words_only(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    clock.advance(seconds=5)
    change = MemoryEdit(
        content="omega", category=MemoryCategory.SOCIAL, tags=("t",), confidence=0.5
    )
    entry = await backend.admin.edit(memory_id, change, actor="me")
    assert (entry.content, entry.category) == ("omega", MemoryCategory.SOCIAL)
    assert (entry.tags, entry.confidence) == (("t",), 0.5)
    assert entry.updated_at == clock.now()
    assert not (await backend.admin.find(query("alpha"))).hits
    (hit,) = (await backend.admin.find(query("omega", tags=("t",), categories={"social"}))).hits
    assert hit == replace(entry, dense=hit.dense, sparse=hit.sparse, fused=hit.fused)


async def test_what_is_not_there_cannot_be_edited(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    await backend.admin.remove([memory_id], actor="me")
    for missing in (memory_id, "00000000-0000-0000-0000-000000000000", "nonsense"):
        with pytest.raises(MemoryNotFoundError):
            await backend.admin.edit(missing, MemoryEdit(content="x"), actor="me")


@pytest.mark.parametrize("confidence", [-0.01, 1.01])
async def test_a_confidence_out_of_range_is_refused(
    backend: LocalMemoryBackend, confidence: float
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    with pytest.raises(MemoryStoreError, match="0 to 1"):
        await backend.admin.edit(memory_id, MemoryEdit(confidence=confidence), actor="me")


async def test_the_history_says_who_changed_what_and_when(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    clock.advance(seconds=1)
    await backend.admin.edit(memory_id, MemoryEdit(content="omega"), actor="me")
    await backend.admin.edit(memory_id, MemoryEdit(content="omega"), actor="me")  # changes nothing
    await backend.admin.remove([memory_id], actor="me")
    await backend.admin.restore([memory_id], actor="you")
    restored, deleted, edited, added = await backend.admin.history(memory_id)
    assert (added.kind, added.actor, added.before) == (ChangeKind.ADDED, AGENT, {})
    assert added.after["content"] == "alpha"
    assert (edited.kind, edited.actor, edited.at) == (ChangeKind.EDITED, "me", clock.now())
    assert (edited.before, edited.after) == ({"content": "alpha"}, {"content": "omega"})
    assert (deleted.kind, restored.kind, restored.actor) == ("deleted", "restored", "you")
    assert added.revision < edited.revision < deleted.revision < restored.revision
    assert await backend.admin.history("nonsense") == ()


async def test_a_deleted_memory_can_be_brought_back_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("alpha"))
        assert await backend.admin.remove([memory_id, memory_id, "nonsense"], actor="me") == 1
        assert await backend.admin.remove([memory_id], actor="me") == 0
        assert not (await backend.admin.find(query("alpha"))).hits
        assert contents((await backend.admin.browse(BrowseFilter(deleted=True))).entries) == [
            "alpha"
        ]
    async with opened(tmp_path) as backend:
        assert await backend.admin.restore([memory_id], actor="me") == 1
        assert await backend.admin.restore([memory_id], actor="me") == 0
        assert contents(await backend.retrieve(AGENT, query("alpha"))) == ["alpha"]


async def test_an_expired_memory_is_listed_with_the_deleted_ones_and_can_be_purged(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    ends = clock.now() + timedelta(seconds=10)
    memory_id = await backend.store(AGENT, request("alpha", expires_at=ends))
    clock.advance(seconds=9)
    assert (await backend.admin.browse(BrowseFilter(deleted=True))).total == 0
    clock.advance(seconds=1)
    assert (await backend.admin.browse(BrowseFilter())).total == 0
    (listed,) = (await backend.admin.browse(BrowseFilter(deleted=True))).entries
    assert (listed.id, listed.deleted_at, listed.expires_at) == (memory_id, None, ends)
    assert await backend.admin.purge([memory_id], actor="me") == 1
    assert (await backend.admin.browse(BrowseFilter(deleted=True))).total == 0


@pytest.mark.parametrize("deleted", [False, True])
async def test_restoring_an_expired_memory_removes_its_time_of_expiry(
    backend: LocalMemoryBackend, clock: FixedClock, deleted: bool
) -> None:
    ends = clock.now() + timedelta(seconds=10)
    memory_id = await backend.store(AGENT, request("alpha", expires_at=ends))
    if deleted:
        await backend.admin.remove([memory_id], actor="me")
    clock.advance(seconds=10)
    assert await backend.admin.restore([memory_id], actor="me") == 1
    assert await backend.admin.restore([memory_id], actor="me") == 0
    (hit,) = (await backend.admin.find(query("alpha"))).hits
    assert (hit.id, hit.expires_at) == (memory_id, None)
    newest = (await backend.admin.history(memory_id))[0]
    assert (newest.kind, newest.actor) == (ChangeKind.RESTORED, "me")


async def test_restoring_a_memory_before_it_expires_leaves_it_its_time(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    ends = clock.now() + timedelta(seconds=10)
    memory_id = await backend.store(AGENT, request("alpha", expires_at=ends))
    await backend.admin.remove([memory_id], actor="me")
    await backend.admin.restore([memory_id], actor="me")
    (hit,) = (await backend.admin.find(query("alpha"))).hits
    assert hit.expires_at == ends


async def test_counts_tell_when_an_agent_can_store_no_more(tmp_path: Path) -> None:
    policy = StorePolicy(max_memories_per_agent=2, makes_room=False)
    async with opened(tmp_path, policy=policy) as backend:
        await backend.store(AGENT, request("alpha"))
        facets = await backend.admin.facets()
        assert (facets.limit, facets.is_full(1), facets.is_full(2)) == (2, False, True)
        await backend.store(AGENT, request("omega"))
        with pytest.raises(MemoryStoreError) as refused:
            await backend.store(AGENT, request("iota"))
        assert "max_memories_per_agent" in refused.value.remedy


async def test_a_purge_leaves_nothing_of_the_content(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        live = await backend.store(AGENT, request("xylophone secret"))
        gone = await backend.store(AGENT, request("xylophone other"))
        await backend.admin.edit(live, MemoryEdit(content="xylophone changed"), actor="me")
        await backend.admin.remove([gone], actor="me")
        assert await backend.admin.purge([live, gone, "nonsense"], actor="me") == 2
        assert await backend.admin.purge([live], actor="me") == 0
        assert not await backend.retrieve_sparse(AGENT, query("xylophone"))
        assert (await backend.admin.browse(BrowseFilter(deleted=True))).total == 0
        assert await backend.admin.restore([live], actor="me") == 0
        purged, *earlier = await backend.admin.history(live)
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
    page = await backend.admin.browse(BrowseFilter(), offset=1, limit=2)
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
        page = await backend.admin.browse(what)
        assert (contents(page.entries), page.total) == (expected, len(expected))
    oldest = await backend.admin.browse(BrowseFilter(), sort="oldest")
    assert contents(oldest.entries) == [f"Alpha {n}" for n in range(6)]
    by_agent = await backend.admin.browse(BrowseFilter(), sort="agent")
    assert [e.agent_id for e in by_agent.entries] == ["ada"] * 3 + ["bob"] * 3


async def test_facets_count_what_is_live(backend: LocalMemoryBackend) -> None:
    for agent in ("bob", "ada", "bob"):
        await backend.store(agent, request("x", category=MemoryCategory.EPISODIC))
    gone = await backend.store("bob", request("y", category=MemoryCategory.WORKING))
    await backend.admin.remove([gone], actor="me")
    facets = await backend.admin.facets()
    assert facets.agents == (("bob", 2), ("ada", 1))
    assert facets.categories == ((MemoryCategory.EPISODIC, 3),)


async def test_a_memory_is_looked_up_by_the_start_of_its_id(backend: LocalMemoryBackend) -> None:
    memory_id = await backend.store(AGENT, request("alpha"))
    assert contents(await backend.admin.lookup(memory_id[:8].upper())) == ["alpha"]
    assert not await backend.admin.lookup("not-an-id")
    await backend.admin.remove([memory_id], actor="me")
    assert not await backend.admin.lookup(memory_id)
    assert contents(await backend.admin.lookup(memory_id, deleted=True)) == ["alpha"]


async def test_memories_are_read_by_their_ids_in_the_order_asked_for(
    backend: LocalMemoryBackend,
) -> None:
    first, second, gone = [await backend.store(AGENT, request(text)) for text in "abc"]
    await backend.admin.remove([gone], actor="me")
    wanted = [second, gone, "not-an-id", first, first[:8]]
    assert contents(await backend.admin.entries(wanted)) == ["b", "a"]
    assert contents(await backend.admin.entries(wanted, deleted=True)) == ["b", "c", "a"]
    assert not await backend.admin.entries(())


@rows(("word", "found"), [("50%", 1), ("a_b", 1), ("wow!", 1), ("ÜBER", 1), ("a%b", 0)])
async def test_words_of_a_filter_are_taken_literally(tmp_path: Path, word: str, found: int) -> None:
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("über 50% of a_b, wow! and axb"))
        assert (await backend.admin.browse(BrowseFilter(words=(word,)))).total == found
        assert (await backend.admin.browse(BrowseFilter(without=(word,)))).total == 1 - found


@pytest.mark.parametrize("limit", [1, 7, 60])
async def test_excluded_words_are_left_out_before_the_limit(
    backend: LocalMemoryBackend, limit: int
) -> None:
    """The shorter texts are the better matches, far more of them than a search looks at."""
    excluded = [draft(f"alpha Beta {number}") for number in range(500)]
    others = [draft(f"alpha gamma delta kappa {number}") for number in range(60)]
    await backend.store_many(AGENT, [*excluded, *others], actor="me")
    found = await backend.admin.find(query("alpha", limit=limit))
    assert any("Beta" in content for content in contents(found.hits))
    found = await backend.admin.find(
        query("alpha", limit=limit), within=BrowseFilter(without=("BETA",))
    )
    assert len(found.hits) == limit
    assert not any("Beta" in content for content in contents(found.hits))
    neither = BrowseFilter(without=("beta", "gamma"))
    none_left = await backend.admin.find(query("alpha", limit=limit), within=neither)
    assert none_left.hits == ()


async def test_a_secret_is_redacted_whoever_stores_or_edits(backend: LocalMemoryBackend) -> None:
    token, mark = "ghp_0123456789abcdefghijABCDEFGHIJ012345", "[REDACTED:github-token]"
    stored = await backend.store(AGENT, request(f"stored {token}"))
    draft = MemoryDraft(request=request(f"added {token}"))
    (added,) = (await backend.store_many(AGENT, [draft], actor="me")).added
    edited = await backend.admin.edit(added, MemoryEdit(tags=(f"a {token}",)), actor="me")
    assert edited.tags == (f"a {mark}",)
    edited = await backend.admin.edit(added, MemoryEdit(content=f"edited {token}"), actor="me")
    (entry,) = await backend.admin.entries([stored])
    assert (entry.content, edited.content) == (f"stored {mark}", f"edited {mark}")
    history = await backend.admin.history(added)
    assert token not in str(history)


async def test_who_wrote_the_text_last_is_its_author(backend: LocalMemoryBackend) -> None:
    first = await backend.store(AGENT, request("alpha"))
    second = await backend.store(AGENT, request("beta"))
    await backend.admin.edit(first, MemoryEdit(content="omega"), actor="eva (terminal)")
    await backend.admin.edit(second, MemoryEdit(tags=('"content":',)), actor="me")
    await backend.admin.edit(second, MemoryEdit(confidence=0.5), actor="learn")
    unknown = "00000000-0000-0000-0000-000000000000"
    assert await backend.admin.authors([first, second, unknown, "nonsense"]) == {
        first: "eva (terminal)",
        second: AGENT,
    }


async def test_a_text_of_two_megabytes_is_stored_and_one_beyond_the_limit_says_so(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        stored = await backend.store(AGENT, request("note " * 400_000))
        with pytest.raises(MemoryStoreError, match="4,000,000 characters at most") as refused:
            await backend.store(AGENT, request("x" * (MAX_MEMORY_CHARS + 1)))
        assert "in parts" in refused.value.remedy
        change = MemoryEdit(content="x" * (MAX_MEMORY_CHARS + 1))
        with pytest.raises(MemoryStoreError, match="this text has 4,000,001"):
            await backend.admin.edit(stored, change, actor="me")
        (kept,) = await backend.admin.entries([stored])
        assert len(kept.content) == 2_000_000
