"""A store that nobody asks gives back model and index, and is whole again with the next search."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from tests.conftest import FixedClock
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, FlakyIndex, opened, query, request
from tests.patience import PATIENCE

AFTER = timedelta(minutes=3)


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
async def store(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock, embedder=embedder, unload_after=AFTER) as backend:
        await backend.store(AGENT, request("push with an upstream"))
        yield backend


def mapped(folder: Path) -> int:
    """How many files of the index this process has in memory."""
    if sys.platform != "linux":
        pytest.skip("mapped files are read from /proc")
    return Path("/proc/self/maps").read_text(encoding="utf-8").count(str(folder / INDEX_DIR))


async def found(store: LocalMemoryBackend, text: str = "upstream") -> list[str]:
    return [hit.content for hit in (await store.admin.find(query(text))).hits]


async def test_model_and_index_leave_memory_once_nobody_asked_for_long_enough(
    store: LocalMemoryBackend, clock: FixedClock, embedder: HashEmbedder, tmp_path: Path
) -> None:
    assert mapped(tmp_path)
    clock.advance(minutes=3)
    assert await store.core.idle.release_if_due()
    assert embedder.unloaded == 1
    assert not mapped(tmp_path)


async def test_a_second_too_early_all_stays(
    store: LocalMemoryBackend, clock: FixedClock, embedder: HashEmbedder, tmp_path: Path
) -> None:
    clock.advance(minutes=2, seconds=59)
    assert not await store.core.idle.release_if_due()
    assert embedder.unloaded == 0
    assert mapped(tmp_path)


async def test_a_search_begins_the_time_anew(store: LocalMemoryBackend, clock: FixedClock) -> None:
    clock.advance(minutes=2)
    await found(store)
    clock.advance(minutes=2)
    assert not await store.core.idle.release_if_due()
    clock.advance(minutes=1)
    assert await store.core.idle.release_if_due()


async def test_a_search_loads_it_again_and_finds_the_same(
    store: LocalMemoryBackend, clock: FixedClock, tmp_path: Path
) -> None:
    before = await found(store)
    clock.advance(minutes=3)
    await store.core.idle.release_if_due()
    assert await found(store) == before != []
    assert mapped(tmp_path)
    clock.advance(minutes=3)
    assert await store.core.idle.release_if_due()


async def test_nothing_is_released_twice(store: LocalMemoryBackend, clock: FixedClock) -> None:
    clock.advance(minutes=3)
    assert await store.core.idle.release_if_due()
    clock.advance(minutes=3)
    assert not await store.core.idle.release_if_due()


async def test_changes_reach_an_index_at_rest(
    store: LocalMemoryBackend, clock: FixedClock, tmp_path: Path
) -> None:
    clock.advance(minutes=3)
    await store.core.idle.release_if_due()
    new = await store.store(AGENT, request("rebase before the upstream"))
    clock.advance(minutes=3)
    await store.core.idle.release_if_due()
    await store.admin.edit(new, MemoryEdit(content="merge into the upstream"), actor="me")
    assert set(await found(store)) == {"push with an upstream", "merge into the upstream"}
    assert (await Maintenance(store, data_dir=tmp_path).doctor()).ok


async def test_a_store_closed_at_rest_opens_again_whole(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> None:
    async with opened(tmp_path, clock=clock, embedder=embedder, unload_after=AFTER) as store:
        await store.store(AGENT, request("push with an upstream"))
        clock.advance(minutes=3)
        assert await store.core.idle.release_if_due()
    async with opened(tmp_path, clock=clock, embedder=embedder) as store:
        assert await found(store) == ["push with an upstream"]
        assert (await Maintenance(store, data_dir=tmp_path).doctor()).ok


async def test_searches_and_changes_go_on_while_memory_is_released(
    tmp_path: Path, clock: FixedClock
) -> None:
    embedder = create_embedder(MiniLMConfig())
    async with opened(tmp_path, clock=clock, embedder=embedder, unload_after=AFTER) as store:
        await store.store(AGENT, request("push with an upstream"))

        async def search(number: int) -> list[str]:
            return await found(store, f"how is a branch with an upstream pushed, {number}")

        async def release() -> bool:
            clock.advance(minutes=3)
            return await store.core.idle.release_if_due()

        releasing = [asyncio.create_task(release()) for _ in range(6)]
        adding = asyncio.create_task(store.store(AGENT, request("pull before you push")))
        for hits in await asyncio.gather(*map(search, range(12))):
            assert "push with an upstream" in hits
        await adding
        assert any(await asyncio.gather(*releasing))
    await embedder.close()


async def test_an_index_that_is_behind_is_not_put_to_rest(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(
        tmp_path, clock=clock, embedder=embedder, index=index, unload_after=AFTER
    ) as store:
        await found(store)
        index.broken = True
        await store.store(AGENT, request("push with an upstream"))
        clock.advance(minutes=3)
        assert not await store.core.idle.release_if_due()
        index.broken = False
        assert await found(store) == ["push with an upstream"]
        clock.advance(minutes=3)
        assert await store.core.idle.release_if_due()


async def test_without_a_time_nothing_is_released(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> None:
    async with opened(tmp_path, clock=clock, embedder=embedder) as store:
        await found(store)
        clock.advance(days=1)
        assert not await store.core.idle.release_if_due()


async def test_an_index_at_rest_that_is_damaged_says_so(
    tmp_path: Path, clock: FixedClock, embedder: HashEmbedder
) -> None:
    index = EdgeIndex(tmp_path / INDEX_DIR)
    await index.open(fingerprint="a", dims=4)
    await index.rest()
    for file in (tmp_path / INDEX_DIR).rglob("*.json"):
        if file.name != "state.json":
            file.write_text("{", encoding="utf-8")
    with pytest.raises(Exception, match="damaged while it was at rest"):
        await index.count()
    await index.close()


async def test_the_time_passes_by_itself(tmp_path: Path, embedder: HashEmbedder) -> None:
    released = timedelta(0)
    clock = FixedClock()
    async with opened(tmp_path, clock=clock, embedder=embedder, unload_after=released) as store:
        await found(store)
        await asyncio.wait_for(embedder.rests.wait(), PATIENCE)
