"""Disks with as much room as a test wants, and files that can't grow: what a full disk does."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synthorg_tui.core.disk_space import MIB

_statvfs = os.statvfs


class Disk:
    """What every file system says of its free space; the real one's until ``free`` is set."""

    def __init__(self) -> None:
        self.free: int | None = None
        self.blocks = 1_000_000

    def __call__(self, path: object) -> os.statvfs_result:
        found = list(_statvfs(path))  # type: ignore[arg-type]
        if self.free is not None:
            found[1], found[2], found[4] = 1, self.blocks, self.free  # size of a block, all, free
        return os.statvfs_result(found)


def disk_of(patch: pytest.MonkeyPatch, *, free_mib: int | None = None) -> Disk:
    """Have the system report the returned disk's free space for every path."""
    disk = Disk()
    disk.free = None if free_mib is None else free_mib * MIB
    patch.setattr(os, "statvfs", disk)
    return disk


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """Writes beyond ``size`` fail in this process, those of libraries too, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def written(path: Path) -> bytes:
    """Return what a file holds but for its holes, which are most of an index's."""
    parts, end = list[bytes](), 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while True:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            parts.append(os.pread(descriptor, end - start, start))
    except OSError as error:
        if error.errno != errno.ENXIO:  # nothing follows but a hole
            raise
    finally:
        os.close(descriptor)
    return b"\0".join(parts)
