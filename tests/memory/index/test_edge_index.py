"""What the embedded index does beyond the contract: damage, owners, crashes, durable revisions."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.core import disk_space
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index import edge_files
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter, IndexPoint, SparseVector
from tests.patience import PATIENCE
from tests.soak import points

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVERYTHING = IndexFilter(now=NOW)


def uid(number: int) -> str:
    return str(uuid.UUID(int=number))


def point(number: int) -> IndexPoint:
    return IndexPoint(
        id=uid(number),
        agent_id="ada",
        category=MemoryCategory.EPISODIC,
        namespace="default",
        tags=(),
        created_at=NOW,
        expires_at=None,
        shared=False,
        level="persistent",
        session_id=None,
        project=None,
        dense=np.array([1, 0, 0, 0], dtype=np.float32),
        sparse=SparseVector((1, number + 1), (1.0, 1.0)),
    )


async def build(path: Path, *, points: int = 3) -> None:
    """An index with points 1.. applied at revision ``points``, closed."""
    index = EdgeIndex(path)
    await index.open(fingerprint="mini", dims=4)
    await index.apply([point(number) for number in range(1, points + 1)], [], revision=points)
    await index.close()


async def reopened(path: Path) -> tuple[int, int]:
    """The revision that opening returns, and the number of points; usable afterwards."""
    index = EdgeIndex(path)
    revision = await index.open(fingerprint="mini", dims=4)
    count = await index.count()
    await index.apply([point(99)], [], revision=revision + 1)
    assert uid(99) in [point_id async for point_id in index.ids()]
    await index.close()
    return revision, count


def spoil(path: Path, pattern: str) -> None:
    for victim in path.glob(pattern):
        if victim.is_file():
            victim.write_bytes(b"garbage")


def remove(path: Path, *names: str) -> None:
    for name in names:
        if (path / name).is_dir():
            shutil.rmtree(path / name)
        else:
            (path / name).unlink()


def set_aside(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.glob("index.broken-*"))


def stored_revision(path: Path) -> int:
    return int(json.loads((path / "state.json").read_text())["revision"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
async def index(path: Path) -> AsyncIterator[EdgeIndex]:
    made = EdgeIndex(path)
    await made.open(fingerprint="mini", dims=4)
    yield made
    await made.close()


# -- damage


@pytest.mark.parametrize(
    "victims",
    [
        "state.json",
        "shard/edge_config.json",
        "shard/segments/*/segment.json",
        "shard/segments/*/**/*",
        "shard/wal/*",
        "**/*",
    ],
)
async def test_overwritten_files_make_it_start_over(path: Path, victims: str) -> None:
    await build(path)
    spoil(path, victims)
    assert await reopened(path) == (0, 0)
    assert set_aside(path) == ["index.broken-1"]


async def test_an_index_without_its_state_starts_over(path: Path) -> None:
    await build(path)
    remove(path, "state.json")
    assert await reopened(path) == (0, 0)


async def test_an_index_that_lost_its_points_starts_over(path: Path) -> None:
    await build(path)
    remove(path, "shard/segments", "shard/wal")
    assert await reopened(path) == (0, 0)


async def test_lost_segments_come_back_from_the_log(path: Path) -> None:
    await build(path)
    remove(path, "shard/segments")
    assert await reopened(path) == (3, 3)


@pytest.mark.parametrize("victim", ["", "shard"])
async def test_a_deleted_directory_makes_it_start_over(path: Path, victim: str) -> None:
    await build(path)
    remove(path, victim)
    assert await reopened(path) == (0, 0)
    assert set_aside(path) == []


async def test_a_state_that_claims_nonsense_makes_it_start_over(path: Path) -> None:
    await build(path)
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(state | {"revision": "7"}))
    assert await reopened(path) == (0, 0)


async def test_only_the_last_broken_index_is_kept(path: Path) -> None:
    for _ in range(3):
        await build(path)
        (path / "shard" / "edge_config.json").write_text("garbage")
        await reopened(path)
    assert set_aside(path) == ["index.broken-3"]


async def test_another_embedders_index_is_dropped_rather_than_set_aside(path: Path) -> None:
    await build(path)
    index = EdgeIndex(path)
    assert await index.open(fingerprint="other", dims=4) == 0
    await index.close()
    assert set_aside(path) == []


async def test_clearing_removes_a_broken_index_too(path: Path) -> None:
    await build(path)
    (path / "shard" / "edge_config.json").write_text("garbage")
    index = EdgeIndex(path)
    await index.open(fingerprint="mini", dims=4)
    await index.clear()
    await index.close()
    assert set_aside(path) == []


async def test_an_index_of_another_layout_is_rebuilt(path: Path) -> None:
    await build(path)
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(state | {"format": state["format"] + 1}))
    assert await reopened(path) == (0, 0)


# -- one owner


@pytest.mark.parametrize("fingerprint", ["mini", "other"])
async def test_a_second_opener_is_refused_and_harms_nothing(
    index: EdgeIndex, path: Path, fingerprint: str
) -> None:
    await index.apply([point(1)], [], revision=1)
    with pytest.raises(VectorIndexError, match="in use by another process"):
        await EdgeIndex(path).open(fingerprint=fingerprint, dims=4)
    await index.apply([point(2)], [], revision=2)
    assert await index.count() == 2


async def test_opening_an_open_index_is_refused(index: EdgeIndex) -> None:
    with pytest.raises(VectorIndexError, match="open already"):
        await index.open(fingerprint="mini", dims=4)


async def test_an_opening_that_is_cancelled_leaves_the_directory_free(path: Path) -> None:
    await build(path)
    index = EdgeIndex(path)
    opening = asyncio.create_task(index.open(fingerprint="mini", dims=4))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await reopened(path) == (3, 3)
                return
            except VectorIndexError:
                await asyncio.sleep(0.02)


# -- durable revisions


async def test_a_revision_is_not_claimed_before_a_checkpoint(path: Path) -> None:
    index = EdgeIndex(path, checkpoint_changes=3, checkpoint_seconds=3600)
    await index.open(fingerprint="mini", dims=4)
    await index.apply([point(1), point(2)], [], revision=2)
    assert stored_revision(path) == 0
    await index.apply([], [uid(1)], revision=3)
    assert stored_revision(path) == 3
    await index.close()


async def test_the_log_that_a_checkpoint_syncs_holds_the_changes(path: Path) -> None:
    index = EdgeIndex(path, checkpoint_changes=1)
    await index.open(fingerprint="mini", dims=4)
    await index.apply([replace(point(7), agent_id="marked-agent")], [], revision=1)
    # A segment that is only being prepared has another name until it is ready.
    segments = (path / "shard" / "wal").glob("open-*")
    log = b"".join(file.read_bytes() for file in sorted(segments))
    assert b"marked-agent" in log
    await index.close()


async def test_a_checkpoint_is_due_after_a_while_too(path: Path) -> None:
    index = EdgeIndex(path, checkpoint_changes=1000, checkpoint_seconds=0.0)
    await index.open(fingerprint="mini", dims=4)
    await index.apply([point(1)], [], revision=1)
    assert stored_revision(path) == 1
    await index.close()


async def test_closing_claims_everything_applied(path: Path, index: EdgeIndex) -> None:
    await index.apply([point(1)], [], revision=8)
    await index.close()
    assert stored_revision(path) == 8


async def test_replaying_old_revisions_never_lowers_the_claim(path: Path, index: EdgeIndex) -> None:
    await index.apply([point(1)], [], revision=8)
    await index.apply([point(1)], [], revision=5)
    await index.close()
    assert stored_revision(path) == 8


async def test_a_failed_change_is_not_claimed(path: Path, index: EdgeIndex) -> None:
    await index.apply([point(1)], [], revision=1)
    with pytest.raises(VectorIndexError):
        await index.apply([], ["not a uuid"], revision=2)
    await index.close()
    assert stored_revision(path) == 1


WRITER = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from tests.memory.index.test_edge_index import EdgeIndex, point, uid

    async def main():
        index = EdgeIndex(Path(sys.argv[1]), checkpoint_changes=40)
        first = await index.open(fingerprint="mini", dims=4) + 1
        for revision in range(first, 100_000):
            deletes = [uid(revision - 5)] if revision % 10 == 0 else []
            await index.apply([point(revision)], deletes, revision=revision)
            print(revision, flush=True)

    asyncio.run(main())
    """
)


def killed_after(path: Path, lines: int) -> int:
    """Run the writer, kill -9 it, and return the last revision that it acknowledged."""
    here = Path(__file__).parent
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{here}{os.pathsep}{here.parents[1]}"},
    )
    assert writer.stdout is not None
    acknowledged = 0
    for line, _ in zip(writer.stdout, range(lines), strict=False):
        acknowledged = int(line)
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    return int(rest.split()[-1]) if rest.split() else acknowledged


@pytest.mark.soak
async def test_kill_9_loses_nothing_acknowledged_and_claims_nothing_missing(path: Path) -> None:
    for lines in points((3, 90), tuple(range(1, 121, 7))):
        acknowledged = killed_after(path, lines)
        index = EdgeIndex(path)
        claimed = await index.open(fingerprint="mini", dims=4)
        there = {uuid.UUID(point_id).int async for point_id in index.ids()}
        removed = {revision - 5 for revision in range(10, acknowledged + 1, 10)}
        unheard = acknowledged + 1 - 5  # the next change may have been made before the kill
        kept = set(range(1, acknowledged + 1)) - removed - {unheard}
        assert claimed <= acknowledged
        assert kept <= there
        assert not removed & there
        hits = await index.search(
            EVERYTHING, dense=None, sparse=SparseVector((acknowledged + 1,), (1.0,)), limit=1
        )
        assert [hit.id for hit in hits.sparse] == [uid(acknowledged)]
        await index.close()
        assert set_aside(path) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system can't do it")
async def test_what_closing_writes_has_its_blocks_from_the_opening_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_files, "fill_holes", disk_space.fill_holes)
    path = tmp_path / "index"
    await build(path)
    index = EdgeIndex(path)
    await index.open(fingerprint="mini", dims=4)
    files = [file.stat() for file in (path / "shard").rglob("*") if file.is_file()]
    assert all(file.st_blocks * 512 >= min(file.st_size, 32 * 1024) for file in files)
    await index.close()


async def test_an_index_that_could_not_be_built_anew_is_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = EdgeIndex(tmp_path / "index")
    await index.open(fingerprint="mini", dims=4)
    await index.apply([point(1)], [], revision=1)
    real, asked = os.statvfs, []

    def full_after_the_first(path: Path) -> os.statvfs_result:
        asked.append(path)
        found = list(real(path))
        return os.statvfs_result([*found[:4], found[4] if len(asked) == 1 else 0, *found[5:]])

    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", full_after_the_first)
        with pytest.raises(VectorIndexError, match="nearly full"):
            await index.clear()
        with pytest.raises(VectorIndexError, match="nearly full"):
            await index.count()
    assert await index.count() == 0
    await index.apply([point(2)], [], revision=2)
    assert await index.count() == 1
    await index.close()
    assert await reopened(tmp_path / "index") == (2, 1)
