"""The index is a projection: it may fail, lag, vanish or change, and nothing is lost."""

import asyncio
import shutil
from pathlib import Path

import pytest

from synthorg_tui.memory.store import sync as projection
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, FlakyIndex, draft, opened, query, request
from tests.patience import PATIENCE

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")


async def fill(backend: LocalMemoryBackend) -> dict[str, str]:
    """One memory a word; ids by word."""
    return {word: await backend.store(AGENT, request(word)) for word in WORDS}


async def assert_found(backend: LocalMemoryBackend, ids: dict[str, str]) -> None:
    for word, memory_id in ids.items():
        result = await backend.find(query(word))
        assert result.hits, word
        assert result.hits[0].id == memory_id, word
        assert result.hits[0].dense is not None
        assert result.hits[0].sparse is not None
        assert result.degraded == ""


async def test_a_failed_index_write_loses_nothing_and_is_made_up_for(tmp_path: Path) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(tmp_path, index=index) as backend:
        ids = await fill(backend)
        index.broken = True
        ids["india"] = await backend.store(AGENT, request("india"))
        assert await backend.get(AGENT, ids["india"])
        assert await backend.delete(AGENT, ids.pop("alpha"))
        result = await backend.find(query("india"))
        assert "being repaired" in result.degraded
        assert not (await backend.find(query("alpha"))).hits, "deleted, though still indexed"
        index.broken = False
        await assert_found(backend, ids)
        assert not (await backend.find(query("alpha"))).hits


async def test_what_the_index_missed_is_replayed_at_the_next_opening(tmp_path: Path) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(tmp_path, index=index) as backend:
        ids = await fill(backend)
        index.broken = True
        ids["india"] = await backend.store(AGENT, request("india"))
        await backend.delete(AGENT, ids.pop("alpha"))
    async with opened(tmp_path) as backend:
        await assert_found(backend, ids)
        assert not (await backend.find(query("alpha"))).hits


async def test_a_deleted_index_is_rebuilt_on_opening(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    shutil.rmtree(tmp_path / INDEX_DIR)
    async with opened(tmp_path) as backend:
        await assert_found(backend, ids)
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


async def test_a_long_rebuild_goes_on_beside_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening waits for a part of it; nobody has to ask for the rest."""
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    shutil.rmtree(tmp_path / INDEX_DIR)
    monkeypatch.setattr(projection, "REPLAY_BATCH", 2)
    monkeypatch.setattr(projection, "OPENING_BATCHES", 1)
    async with opened(tmp_path) as backend:
        index = await backend.core.indexed()
        assert index.is_behind
        ids["india"] = await backend.store(AGENT, request("india"))
        await asyncio.wait_for(caught_up(index), PATIENCE)
        await assert_found(backend, ids)


async def test_how_far_a_long_rebuild_has_come_is_known_while_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as backend:
        await fill(backend)
        assert backend.core.index_progress is None
    shutil.rmtree(tmp_path / INDEX_DIR)
    monkeypatch.setattr(projection, "REPLAY_BATCH", 2)
    monkeypatch.setattr(projection, "OPENING_BATCHES", 1)
    async with opened(tmp_path) as backend:
        assert backend.core.index_progress is None
        index = await backend.core.indexed()
        assert backend.core.index_progress == 2 / len(WORDS)
        await asyncio.wait_for(caught_up(index), PATIENCE)
        assert backend.core.index_progress is None


async def test_a_rebuild_that_got_stuck_goes_on_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(tmp_path) as backend:
        await fill(backend)
    shutil.rmtree(tmp_path / INDEX_DIR)
    index.broken = True
    async with opened(tmp_path, index=index) as backend:
        assert (await backend.core.indexed()).is_behind
        async with asyncio.timeout(PATIENCE):
            while backend.core.index_progress is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def caught_up(index: projection.Projection) -> None:
    while index.is_behind:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_corrupt_index_is_rebuilt_on_opening(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    for file in (tmp_path / INDEX_DIR).rglob("*"):
        if file.is_file():
            file.write_bytes(b"\xff" * 64)
    async with opened(tmp_path) as backend:
        await assert_found(backend, ids)


async def test_an_index_of_another_database_is_not_used(tmp_path: Path) -> None:
    for name in ("a", "b"):
        async with opened(tmp_path / name) as backend:
            ids = await fill(backend)
            if name == "a":
                await backend.store(AGENT, request("stranger"))
    shutil.rmtree(tmp_path / "b" / INDEX_DIR)
    shutil.copytree(tmp_path / "a" / INDEX_DIR, tmp_path / "b" / INDEX_DIR)
    async with opened(tmp_path / "b") as backend:
        await assert_found(backend, ids)
        assert await (await backend.core.indexed()).index.count() == len(WORDS)


async def test_a_cancelled_store_is_either_complete_or_absent(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        for number in range(10):
            task = asyncio.create_task(backend.store(AGENT, request(f"word{number}")))
            await asyncio.sleep(number / 2000)
            task.cancel()
            await asyncio.wait([task])
        await backend.store(AGENT, request("last"))
        for entry in await backend.retrieve(AGENT, query(limit=100)):
            assert (await backend.find(query(entry.content))).hits[0].id == entry.id
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


async def test_concurrent_stores_all_arrive_in_order(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        words = [f"word{number}" for number in range(30)]
        ids = await asyncio.gather(*(backend.store(AGENT, request(word)) for word in words))
        await assert_found(backend, dict(zip(words, ids, strict=True)))
        revisions = [(await backend.history(i))[0].revision for i in ids]
        assert sorted(revisions) == list(range(1, 31))


# -- another embedder


async def test_a_changed_embedder_keeps_keywords_working_until_all_is_embedded_anew(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    other = HashEmbedder(dims=192, fingerprint="hash-2")
    async with opened(tmp_path, embedder=other) as backend:
        result = await backend.find(query("alpha"))
        assert [hit.id for hit in result.hits] == [ids["alpha"]]
        assert "8 memories wait for embedding" in result.degraded
        seen: list[tuple[int, int]] = []
        maintenance = Maintenance(backend, data_dir=tmp_path)
        assert not (await maintenance.doctor()).ok
        assert await maintenance.reembed(progress=lambda *p: seen.append(p)) == 8
        assert seen[-1] == (8, 8)
        await assert_found(backend, ids)
        assert await maintenance.reembed() == 0
        assert (await maintenance.doctor()).ok
    async with opened(tmp_path, embedder=other) as backend:
        await assert_found(backend, ids)


async def test_embedding_anew_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from synthorg_tui.core.errors import CancelledByUserError
    from synthorg_tui.memory.store import maintenance as module

    monkeypatch.setattr(module, "EMBED_BATCH", 3)
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    other = HashEmbedder(fingerprint="hash-2")
    cancel = threading.Event()
    async with opened(tmp_path, embedder=other) as backend:
        job = Maintenance(backend, data_dir=tmp_path)
        with pytest.raises(CancelledByUserError, match="3 of 8"):
            await job.reembed(progress=lambda *_: cancel.set(), cancel=cancel)
    async with opened(tmp_path, embedder=other) as backend:
        assert await Maintenance(backend, data_dir=tmp_path).reembed() == 5
        assert sum(other.calls) == 8
        await assert_found(backend, ids)


async def test_a_vector_of_the_former_embedder_is_used_again_after_switching_back(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    async with opened(tmp_path, embedder=HashEmbedder(fingerprint="hash-2")):
        pass
    async with opened(tmp_path) as backend:
        await assert_found(backend, ids)


async def test_memories_kept_while_the_embedder_was_broken_are_embedded_by_the_doctor(
    tmp_path: Path,
) -> None:
    embedder = HashEmbedder()
    async with opened(tmp_path, embedder=embedder) as backend:
        embedder.broken = True
        await backend.store_many(AGENT, [draft(word) for word in WORDS], actor="me")
        embedder.broken = False
        maintenance = Maintenance(backend, data_dir=tmp_path)
        before = {check.name: check.ok for check in (await maintenance.doctor()).checks}
        assert not before["vectors"]
        assert (await maintenance.doctor(fix=True)).ok
        found = await backend.retrieve(AGENT, query(limit=100))
        await assert_found(backend, {entry.content: entry.id for entry in found})


async def test_reindexing_embeds_what_has_no_vector_yet(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        ids = await fill(backend)
    other = HashEmbedder(fingerprint="hash-2")
    async with opened(tmp_path, embedder=other) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        other.broken = True
        assert await maintenance.reindex() == 8
        assert await backend.core.unembedded() == 8
        other.broken = False
        assert await maintenance.reindex() == 8
        await assert_found(backend, ids)
