"""Packing an index: the same answers from other files, whatever happens meanwhile."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.edge_files import pack_in_child
from synthorg_tui.memory.index.edge_types import FIELD_POINTS
from synthorg_tui.memory.index.protocol import IndexFilter, IndexPoint, SparseVector
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence import INDEX_DIR
from tests.memory.index.test_edge_index import EVERYTHING, NOW, point, reopened, set_aside, uid
from tests.memory.store.store_kit import AGENT, opened, query, request
from tests.soak import points

TAGS = ("red", "green", "blue")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index"


async def opened_index(
    path: Path, *, pack_changes: int = 1, field_points: int = FIELD_POINTS
) -> EdgeIndex:
    index = EdgeIndex(path, pack_changes=pack_changes, field_points=field_points)
    await index.open(fingerprint="mini", dims=4)
    return index


def shards(path: Path) -> list[str]:
    return sorted(found.name for found in path.glob("shard*"))


def copied(path: Path) -> None:
    """Wait until packing has begun."""
    while len(shards(path)) < 2:
        time.sleep(0.01)


def varied(number: int, chance: random.Random) -> IndexPoint:
    return replace(
        point(number),
        agent_id=chance.choice(("ada", "bob")),
        tags=(chance.choice(TAGS),),
        sparse=SparseVector((1, 2 + chance.randrange(5)), (1.0, 1.0 + chance.random())),
    )


async def seen(index: EdgeIndex) -> list[object]:
    """What the index has and finds, by everything that a search can ask for."""
    filters = [
        EVERYTHING,
        *(replace(EVERYTHING, agents=frozenset({agent})) for agent in ("ada", "bob")),
        *(replace(EVERYTHING, tags=(tag,)) for tag in TAGS),
        IndexFilter(now=NOW, since=NOW),
    ]
    terms = SparseVector((3,), (1.0,))
    found: list[object] = [await index.count(), sorted([each async for each in index.ids()])]
    for where in filters:
        hits = await index.search(where, dense=None, sparse=terms, limit=500)
        found.append(sorted(hit.id for hit in hits.sparse))
        near = await index.search(where, dense=point(1).dense, sparse=None, limit=500)
        found.append(sorted(hit.id for hit in near.dense))
    return found


async def test_a_packed_index_answers_as_one_that_is_not(path: Path) -> None:
    """Points come, change and go before and after it is packed, twice."""
    chance = random.Random(5)
    packed = await opened_index(path)
    plain = await opened_index(path.with_name("plain"))
    revision = 0
    for _ in range(3):
        for _ in range(12):
            revision += 1
            upserts = [varied(chance.randrange(1, 120), chance) for _ in range(10)]
            deletes = [uid(chance.randrange(1, 120))]
            for index in (packed, plain):
                await index.apply(upserts, deletes, revision=revision)
        assert await packed.pack()
        assert await packed.switch() == revision
        assert await seen(packed) == await seen(plain)
    await packed.close()
    again = await opened_index(path)
    assert await seen(again) == await seen(plain)
    await again.close()
    await plain.close()


def has_field_indexes(path: Path) -> bool:
    return any(path.glob("shard*/segments/*/payload_index/*-owner-map"))


async def test_fields_are_indexed_once_there_are_many_points(path: Path) -> None:
    """Also those of the points that were packed before."""
    chance = random.Random(7)
    growing = await opened_index(path, field_points=25)
    plain = await opened_index(path.with_name("plain"))
    for first in (1, 11, 21):
        added = [varied(number, chance) for number in range(first, first + 10)]
        for index in (growing, plain):
            await index.apply(added, [], revision=first + 9)
        assert has_field_indexes(path) is (first == 21)
        assert await growing.pack()
        await growing.switch()
        assert await seen(growing) == await seen(plain)
    await growing.close()
    again = await opened_index(path)
    assert await seen(again) == await seen(plain)
    await again.close()
    await plain.close()


async def test_little_that_is_new_is_not_worth_packing(path: Path) -> None:
    index = await opened_index(path, pack_changes=3)
    await index.apply([point(1), point(2)], [], revision=2)
    assert not await index.pack()
    await index.apply([point(3)], [], revision=3)
    assert await index.pack()
    await index.switch()
    await index.apply([point(4), point(5)], [], revision=5)
    assert not await index.pack(), "counted from the last packing"
    await index.close()


async def test_only_one_edition_stays(path: Path) -> None:
    index = await opened_index(path)
    await index.apply([point(1)], [], revision=1)
    await index.pack()
    assert shards(path) == ["shard", "shard-2"]
    await index.switch()
    assert shards(path) == ["shard-2"]
    await index.close()
    assert await reopened(path) == (1, 1)


async def test_switching_without_a_packed_edition_is_refused(path: Path) -> None:
    index = await opened_index(path)
    with pytest.raises(VectorIndexError, match="no packed copy"):
        await index.switch()
    await index.close()


async def test_a_packed_edition_that_was_not_switched_to_is_dropped(path: Path) -> None:
    index = await opened_index(path)
    await index.apply([point(1)], [], revision=1)
    await index.pack()
    await index.close()
    assert await reopened(path) == (1, 1)
    assert shards(path) == ["shard"]


async def test_packing_that_is_cancelled_leaves_what_was_there(path: Path) -> None:
    index = await opened_index(path)
    await index.apply([point(1)], [], revision=1)
    packing = asyncio.create_task(index.pack())
    await asyncio.to_thread(copied, path)
    packing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await packing
    assert await index.count() == 1
    await index.close()
    assert await reopened(path) == (1, 1)
    assert shards(path) == ["shard"]


async def test_packing_that_fails_is_told_and_leaves_what_was_there(path: Path) -> None:
    with pytest.raises(VectorIndexError, match="cannot pack the index"):
        await pack_in_child(path / "nowhere")


async def test_an_index_that_lost_its_packed_files_starts_over(path: Path) -> None:
    index = await opened_index(path)
    await index.apply([point(1)], [], revision=1)
    await index.pack()
    await index.switch()
    await index.close()
    for victim in (path / "shard-2" / "segments").rglob("*"):
        if victim.is_file():
            victim.write_bytes(b"garbage")
    assert await reopened(path) == (0, 0)
    assert len(set_aside(path)) == 1


async def test_what_changes_while_the_store_packs_its_index_is_found(tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path / INDEX_DIR, pack_changes=1)
    async with opened(tmp_path, index=index) as backend:
        gone = await backend.store(AGENT, request("alpha"))
        await backend.store(AGENT, request("bravo"))
        packing = asyncio.create_task(backend.core.pack())
        await asyncio.to_thread(copied, tmp_path / INDEX_DIR)
        assert await backend.delete(AGENT, gone)
        await backend.store(AGENT, request("charlie"))
        await packing
        assert shards(tmp_path / INDEX_DIR) == ["shard-2"]
        await assert_only(backend, "bravo", "charlie")
    async with opened(tmp_path) as backend:
        await assert_only(backend, "bravo", "charlie")


async def assert_only(backend: LocalMemoryBackend, *words: str) -> None:
    for word in ("alpha", "bravo", "charlie"):
        found = await backend.admin.find(query(word))
        assert word in [hit.content for hit in found.hits] or word not in words
        assert word in words or word not in [hit.content for hit in found.hits]
        assert found.degraded == ""


PACKER = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from tests.memory.index.test_edge_index import EdgeIndex, point, uid

    async def main():
        index = EdgeIndex(Path(sys.argv[1]), pack_changes=5)
        first = await index.open(fingerprint="mini", dims=4) + 1
        for revision in range(first, 100_000):
            deletes = [uid(revision - 5)] if revision % 10 == 0 else []
            await index.apply([point(revision)], deletes, revision=revision)
            print(revision, flush=True)
            if await index.pack():
                print(revision, flush=True)
                await index.switch()

    asyncio.run(main())
    """
)


def killed_packer(path: Path, lines: int, delay: float) -> int:
    """Run the packer, kill -9 it, and return the last revision that it acknowledged."""
    here = Path(__file__).parent
    packer = subprocess.Popen(
        [sys.executable, "-c", PACKER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{here}{os.pathsep}{here.parents[1]}"},
    )
    assert packer.stdout is not None
    acknowledged = [int(line) for line, _ in zip(packer.stdout, range(lines), strict=False)]
    time.sleep(delay)
    packer.send_signal(signal.SIGKILL)
    rest, _ = packer.communicate()
    return max(*acknowledged, *map(int, rest.split()), 0)


@pytest.mark.soak
async def test_kill_9_while_packing_loses_nothing_acknowledged(path: Path) -> None:
    chance = random.Random(11)
    for _ in range(points(2, 30)):
        acknowledged = killed_packer(path, chance.randrange(4, 12), chance.random() / 2)
        index = await opened_index(path)
        there = {each async for each in index.ids()}
        removed = {uid(revision - 5) for revision in range(10, acknowledged + 1, 10)}
        unheard = uid(acknowledged + 1 - 5)
        assert {uid(each) for each in range(1, acknowledged + 1)} - removed - {unheard} <= there
        assert not removed & there
        await index.close()
        assert set_aside(path) == []
