"""How much room there is: asked of the file system, compared, and said in words."""

import os
from pathlib import Path

import pytest

from synthorg_tui.core.disk_space import (
    INDEX_ROOM,
    LOW_SPACE,
    MIB,
    fill_holes,
    free_bytes,
    is_in_memory,
    low_space,
    need_room,
)
from synthorg_tui.core.errors import DiskFullError
from tests.disk_kit import disk_of


def test_the_room_of_a_path_that_does_not_exist_yet_is_that_of_its_folder(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "there") is not None


def test_exactly_enough_room_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = disk_of(monkeypatch)
    disk.free = INDEX_ROOM
    need_room(tmp_path, INDEX_ROOM)
    disk.free = INDEX_ROOM - 1
    with pytest.raises(DiskFullError, match="63 MB are free, 64 MB are needed"):
        need_room(tmp_path, INDEX_ROOM)


def test_a_disk_is_called_nearly_full_only_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch)
    disk.free = LOW_SPACE
    assert not low_space(tmp_path)
    disk.free = LOW_SPACE - MIB
    assert low_space(tmp_path) == "disk nearly full · 199 MB free"


def test_a_file_system_that_does_not_tell_its_room_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch, free_mib=0)
    disk.blocks = 0
    need_room(tmp_path, INDEX_ROOM)
    assert not low_space(tmp_path)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no such file system here")
def test_a_file_system_in_memory_is_known_as_such() -> None:
    assert is_in_memory(Path("/dev/shm"))
    assert not is_in_memory(Path("/proc"))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system can't do it")
def test_a_sparse_file_gets_its_blocks_and_keeps_its_content(tmp_path: Path) -> None:
    sparse = tmp_path / "folder" / "sparse"
    sparse.parent.mkdir()
    with sparse.open("wb") as file:
        file.write(b"start")
        file.truncate(MIB)
    fill_holes(tmp_path)
    assert sparse.stat().st_blocks * 512 >= MIB
    assert sparse.read_bytes() == b"start".ljust(MIB, b"\0")


def test_a_file_that_is_replaced_meanwhile_is_none_to_fill(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", MIB)
    fill_holes(tmp_path)
    assert (tmp_path / "sparse").stat().st_blocks * 512 >= MIB
