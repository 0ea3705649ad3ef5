"""Storing imports: what is new, what has changed, what a person has decided."""

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.policy import StorePolicy
from tests.conftest import FixedClock
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, draft, opened, query, request

ME = "importer"


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
async def backend(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock, embedder=embedder) as backend:
        yield backend


async def test_a_batch_is_embedded_at_once_and_found(
    backend: LocalMemoryBackend, embedder: HashEmbedder
) -> None:
    drafts = [draft(f"memory about topic{n}", f"k{n}") for n in range(40)]
    outcome = await backend.store_many(AGENT, drafts, actor=ME)
    assert (len(outcome.added), outcome.updated, outcome.skipped) == (40, (), ())
    assert embedder.calls == [40]
    (best, *_) = await backend.retrieve(AGENT, query("topic7"))
    assert (best.id, best.content) == (outcome.added[7], "memory about topic7")
    (added,) = await backend.admin.history(best.id)
    assert added.actor == ME


async def test_importing_the_same_again_adds_and_embeds_nothing(
    backend: LocalMemoryBackend, embedder: HashEmbedder
) -> None:
    drafts = [draft("one", "k1"), draft("two", "k2")]
    await backend.store_many(AGENT, drafts, actor=ME)
    again = await backend.store_many(AGENT, drafts, actor=ME)
    assert again.skipped == (("k1", "unchanged"), ("k2", "unchanged"))
    assert (again.added, again.updated) == ((), ())
    assert embedder.calls == [2]
    assert await backend.count(AGENT) == 2


async def test_a_changed_content_updates_the_memory_under_its_key(
    backend: LocalMemoryBackend,
) -> None:
    first = await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)
    second = await backend.store_many(AGENT, [draft("omega", "k")], actor=ME)
    assert second.updated == first.added
    assert not await backend.retrieve(AGENT, query("alpha"))
    (entry,) = await backend.retrieve(AGENT, query("omega"))
    assert entry.id == first.added[0]


async def test_a_change_of_tags_alone_needs_no_embedding(
    backend: LocalMemoryBackend, embedder: HashEmbedder
) -> None:
    await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)
    tagged = draft("alpha", "k").model_copy(update={"request": request("alpha", tags=("new",))})
    outcome = await backend.store_many(AGENT, [tagged], actor=ME)
    assert len(outcome.updated) == 1
    assert embedder.calls == [1]
    assert await backend.retrieve(AGENT, query("alpha", tags=("new",)))


async def test_the_same_content_is_kept_once_by_agent(backend: LocalMemoryBackend) -> None:
    outcome = await backend.store_many(
        AGENT, [draft("alpha", "k1"), draft(" alpha ", "k2"), draft("beta", "k1")], actor=ME
    )
    assert len(outcome.added) == 1
    assert outcome.skipped == (("k2", "repeated in the batch"), ("k1", "repeated in the batch"))
    later = await backend.store_many(AGENT, [draft("alpha", "k3"), draft("alpha")], actor=ME)
    assert [reason for _, reason in later.skipped] == ["already stored", "already stored"]
    other = await backend.store_many("bob", [draft("alpha", "k1")], actor=ME)
    assert len(other.added) == 1


async def test_what_a_person_deleted_does_not_come_back(backend: LocalMemoryBackend) -> None:
    (memory_id,) = (await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)).added
    await backend.admin.remove([memory_id], actor="me")
    for again in (draft("alpha", "k"), draft("changed", "k"), draft("alpha", "other key")):
        outcome = await backend.store_many(AGENT, [again], actor=ME)
        assert outcome.skipped == ((again.key, "deleted"),)
    await backend.admin.restore([memory_id], actor="me")
    outcome = await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)
    assert outcome.skipped == (("k", "unchanged"),)


async def test_what_was_purged_does_not_come_back_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        (memory_id,) = (await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)).added
        await backend.admin.purge([memory_id], actor="me")
    async with opened(tmp_path) as backend:
        for again in (draft("alpha", "k"), draft("changed", "k"), draft("alpha", "other key")):
            outcome = await backend.store_many(AGENT, [again], actor=ME)
            assert outcome.skipped == ((again.key, "purged"),)
        assert (await backend.store_many("bob", [draft("alpha", "k")], actor=ME)).added


async def test_what_a_person_edited_is_not_overwritten(backend: LocalMemoryBackend) -> None:
    (memory_id,) = (await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)).added
    await backend.admin.edit(memory_id, MemoryEdit(content="mine"), actor="me")
    same = await backend.store_many(AGENT, [draft("alpha", "k")], actor=ME)
    assert same.skipped == (("k", "unchanged"),)
    changed = await backend.store_many(AGENT, [draft("omega", "k")], actor=ME)
    assert changed.skipped == (("k", "edited by hand"),)
    assert (await backend.get(AGENT, memory_id)).content == "mine"  # type: ignore[union-attr]


async def test_drafts_keep_when_it_happened_and_where(tmp_path: Path) -> None:
    then = datetime(2020, 5, 17, 12, tzinfo=UTC)
    project = str(tmp_path / "p")
    async with opened(tmp_path / "data") as backend:
        told = draft("alpha", "k", created_at=then, level=MemoryLevel.PROJECT, project=project)
        await backend.store_many(AGENT, [told], actor=ME)
        (entry,) = await backend.scoped(Visibility(None, project)).retrieve(AGENT, query())
        assert entry.created_at == then
        assert not await backend.scoped(Visibility(None, None)).retrieve(AGENT, query())


async def test_drafts_at_level_none_and_expired_ones_are_skipped(
    tmp_path: Path, clock: FixedClock
) -> None:
    policy = StorePolicy(retention_days=lambda *_: 30)
    async with opened(tmp_path, clock=clock, policy=policy) as backend:
        outcome = await backend.store_many(
            AGENT,
            [
                draft("none", "k1", level=MemoryLevel.NONE),
                draft("old", "k2", created_at=clock.now() - timedelta(days=30)),
                draft("recent", "k3", created_at=clock.now() - timedelta(days=29)),
            ],
            actor=ME,
        )
        assert outcome.skipped == (("k1", "memory level is none"), ("k2", "expired"))
        assert len(outcome.added) == 1


async def test_drafts_beyond_the_agents_bound_are_skipped_where_no_room_is_made(
    tmp_path: Path,
) -> None:
    policy = StorePolicy(max_memories_per_agent=2, makes_room=False)
    async with opened(tmp_path, policy=policy) as backend:
        drafts = [draft(f"text {n}", f"k{n}") for n in range(3)]
        outcome = await backend.store_many(AGENT, drafts, actor=ME)
        assert outcome.skipped == (("k2", "the agent's memory is full"),)
        changed = await backend.store_many(AGENT, [draft("changed", "k0")], actor=ME)
        assert len(changed.updated) == 1


async def test_a_batch_is_kept_whole_or_not_at_all(
    backend: LocalMemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.memory.store.writes import Changes

    def fail(self: Changes) -> None:
        raise MemoryStoreError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Changes, "finish", fail)
        with pytest.raises(MemoryStoreError, match="disk full"):
            await backend.store_many(AGENT, [draft("one", "k1"), draft("two", "k2")], actor=ME)
    assert await backend.count(AGENT) == 0
    assert not await backend.retrieve(AGENT, query("one"))
    assert len((await backend.store_many(AGENT, [draft("one", "k1")], actor=ME)).added) == 1


async def test_an_empty_batch_does_nothing(backend: LocalMemoryBackend) -> None:
    outcome = await backend.store_many(AGENT, [], actor=ME)
    assert (outcome.added, outcome.updated, outcome.skipped) == ((), (), ())


async def test_the_advice_about_missing_tags_comes_once_a_batch(
    backend: LocalMemoryBackend, caplog: pytest.LogCaptureFixture
) -> None:
    untagged = [
        draft("x", f"k{n}").model_copy(update={"request": request(f"text {n}", tags=())})
        for n in range(3)
    ]
    with caplog.at_level(logging.WARNING):
        outcome = await backend.store_many(AGENT, untagged, actor=ME)
    assert len(caplog.records) == 1
    assert len(outcome.added) == 3


async def test_a_batch_without_an_embedder_is_kept_for_later(
    backend: LocalMemoryBackend, embedder: HashEmbedder
) -> None:
    embedder.broken = True
    outcome = await backend.store_many(AGENT, [draft("one", "k1"), draft("two", "k2")], actor=ME)
    assert len(outcome.added) == 2
    assert await backend.core.unembedded() == 2
