"""A full disk is told as such, with what to do about it."""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from synthorg_tui.core.disk_space import INDEX_ROOM, WRITE_ROOM
from synthorg_tui.core.errors import DiskFullError
from synthorg_tui.memory.errors import (
    MemoryStoreError,
    VectorIndexError,
    translate_errors,
)
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.database import Database
from tests import REPO
from tests.disk_kit import disk_of
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, opened, query, request
from tests.patience import PATIENCE

FULL_DEVICE = "/dev/full"
"""Everything written there meets a full disk."""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such device elsewhere")
def test_a_disk_that_is_full_for_the_database_is_told_as_such() -> None:
    numbers = f"COPY (SELECT range FROM range(100000)) TO '{FULL_DEVICE}' (FORMAT csv)"
    with (
        pytest.raises(MemoryStoreError) as failed,
        translate_errors(MemoryStoreError, "storing"),
        duckdb.connect() as database,
    ):
        database.execute(numbers)
    assert (failed.value.message, failed.value.remedy) == ("The disk is full.", "Free some space.")
    assert isinstance(failed.value.__cause__, duckdb.Error)


def test_a_disk_that_is_full_for_the_index_is_told_as_such() -> None:
    full = OSError(28, "No space left on device")
    with pytest.raises(MemoryStoreError) as failed, translate_errors(MemoryStoreError, "storing"):
        raise VectorIndexError(f"cannot write: {full}")
    assert (failed.value.message, failed.value.remedy) == ("The disk is full.", "Free some space.")


def test_any_other_failure_says_what_was_done_and_why_it_failed() -> None:
    with (
        pytest.raises(MemoryStoreError, match=r"^storing failed: Catalog Error: Table"),
        translate_errors(MemoryStoreError, "storing"),
        duckdb.connect() as database,
    ):
        database.execute("SELECT * FROM nothing")


async def test_without_room_for_the_index_a_memory_is_stored_and_found_once_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
        disk.free = INDEX_ROOM - 1
        late = await backend.store(AGENT, request("bravo"))
        found = await backend.admin.find(query("alpha"))
        assert [hit.content for hit in found.hits] == ["alpha"]
        assert "the newest memories may be missing" in found.degraded
        disk.free = INDEX_ROOM
        assert [hit.id for hit in (await backend.admin.find(query("bravo"))).hits] == [late]


async def test_without_room_for_the_database_nothing_is_stored_and_searches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
        disk.free = WRITE_ROOM - 1
        with pytest.raises(MemoryStoreError, match="The disk is nearly full: 31 MB are free"):
            await backend.store(AGENT, request("bravo"))
        assert await backend.count(AGENT) == 1
        assert (await backend.admin.find(query("alpha"))).hits
        disk.free = None
        await backend.store(AGENT, request("bravo"))
        assert (await backend.admin.find(query("bravo"))).hits


@pytest.mark.parametrize("free_mib", [0, 31, 63])
async def test_without_room_to_open_the_index_searches_are_answered_from_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int
) -> None:
    async with opened(tmp_path) as backend:
        alpha = await backend.store(AGENT, request("alpha"))
        await backend.store("another", request("alpha of another agent"))
        await backend.store(AGENT, request("bravo"))
    disk = disk_of(monkeypatch, free_mib=free_mib)
    async with opened(tmp_path) as backend:
        found = await backend.admin.find(query("alpha"))
        assert found.hits[0].id == alpha
        assert f"searched without the index: The disk is nearly full: {free_mib} MB" in (
            found.degraded
        )
        assert [hit.id for hit in await backend.retrieve(AGENT, query("alpha"))] == [alpha]
        assert [hit.id for hit in await backend.retrieve_sparse(AGENT, query("alpha"))] == [alpha]
        disk.free = INDEX_ROOM
        found = await backend.admin.find(query("alpha"))
        assert (found.hits[0].id, found.degraded) == (alpha, "")
    assert not list(tmp_path.glob("index.broken*"))


async def test_closing_without_room_is_quiet_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
        disk.free = 0
    disk.free = None
    async with opened(tmp_path) as backend:
        assert (await backend.admin.find(query("alpha"))).hits


async def test_an_index_is_packed_only_where_there_is_room_for_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    index = EdgeIndex(tmp_path / INDEX_DIR, pack_changes=1)
    async with opened(tmp_path, index=index) as backend:
        await backend.store(AGENT, request("alpha"))
        disk.free = INDEX_ROOM
        with pytest.raises(VectorIndexError, match="nearly full"):
            await index.pack()
        assert [path.name for path in (tmp_path / INDEX_DIR).glob("shard*")] == ["shard"]
        assert (await backend.admin.find(query("alpha"))).hits


async def test_an_index_is_not_emptied_without_room_to_build_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
        disk.free = INDEX_ROOM - 1
        with pytest.raises(VectorIndexError, match="nearly full"):
            await Maintenance(backend, data_dir=tmp_path).reindex()
        assert await (await backend.core.indexed()).index.count() == 1
        disk.free = None
        assert (await backend.admin.find(query("alpha"))).hits


async def test_a_write_that_failed_but_is_stored_all_the_same_is_not_in_the_way_of_the_next(
    tmp_path: Path,
) -> None:
    class Confused(Database):
        """Fails after the commit, as when there is no room for the checkpoint that follows it."""

        fails = False

        async def write(self, work: Any) -> Any:
            result = await super().write(work)
            if self.fails:
                raise DiskFullError("The disk is full.")
            return result

    database = Confused.in_dir(tmp_path)
    core = Core(database=database, index=EdgeIndex(tmp_path / INDEX_DIR), embedder=HashEmbedder())
    backend = LocalMemoryBackend(core)
    await backend.connect()
    await backend.store(AGENT, request("alpha"))
    Confused.fails = True
    with pytest.raises(MemoryStoreError, match="The disk is full"):
        await backend.store(AGENT, request("bravo"))
    Confused.fails = False
    await backend.store(AGENT, request("charlie"))
    for word in ("alpha", "bravo", "charlie"):
        assert (await backend.admin.find(query(word))).hits, word
    await backend.disconnect()


def on_small_disk(seed: int) -> subprocess.CompletedProcess[str]:
    """Use a store on a file system of 400 MB in memory, in a mount namespace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        mount = f"mount -t tmpfs -o size=400m none {folder} && exec "
        use = "from benchmarks.filling import run; run()"
        program = shlex.join([sys.executable, "-c", use, folder, str(seed)])
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", mount + program],
            capture_output=True,
            text=True,
            cwd=REPO,
            timeout=PATIENCE,
            check=False,
        )


def may_mount() -> bool:
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="mounting a file system needs root on Linux")
def test_on_a_disk_that_is_really_full_no_signal_comes_and_all_is_well_once_there_is_room() -> None:
    done = on_small_disk(seed=1)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {act for act, words in told["full"].items() if not words} == {"search", "read"}
    assert all("full" in words for words in told["full"].values() if words), told["full"]
    assert not told["full, opened anew"]["read"]
    assert not any(told["room again"].values()), told["room again"]
    assert (told["lost"], told["unfound"], told["faults"]) == ([], 0, [])
