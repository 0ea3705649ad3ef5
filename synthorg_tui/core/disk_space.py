"""How much room a file system has, asked before something is written that must not fail halfway.

Two libraries take a full disk badly: the vector index writes through sparse memory maps, where no
space left is a signal that ends the process, and the database refuses every call after a failed
checkpoint. So what writes through them asks here first, and is refused in words.
"""

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from synthorg_tui.core.errors import DiskFullError

MIB = 1024 * 1024
LOW_SPACE = 200 * MIB
"""Free bytes under which a person is warned, while everything still works."""
INDEX_ROOM = 64 * MIB
"""Free bytes that a change of the index needs: its log and a page of vectors may each grow by a
file of 32 MiB at once."""
WRITE_ROOM = 32 * MIB
"""Free bytes that a change of the database needs: up to 16 MiB of log and, once that is full, as
much again for the checkpoint that follows."""

FREE_SOME = "Free some space; what is stored is safe."
_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")
_BLOCK = 512


def free_bytes(path: Path) -> int | None:
    """Return the bytes that may still be written to the file system of ``path``.

    A path that doesn't exist yet is looked for in the folders above it. ``None`` when the system
    doesn't say. Takes about two microseconds.
    """
    place = path.absolute()
    while True:
        try:
            status = os.statvfs(place)
        except FileNotFoundError:
            place = place.parent
        except OSError:
            return None
        else:
            return status.f_bavail * status.f_frsize if status.f_blocks else None


def taken_bytes(path: Path) -> int:
    """Return what a file takes, or all in a folder; links aren't followed, what isn't there is 0.

    Not its length: the index makes files longer than what is in them.
    """
    try:
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_blocks * _BLOCK
        return sum(taken_bytes(each) for each in path.iterdir())
    except OSError:  # it went meanwhile
        return 0


def need_room(path: Path, needed: int) -> None:
    """Raise ``DiskFullError`` unless the file system of ``path`` has ``needed`` bytes free."""
    free = free_bytes(path)
    if free is not None and free < needed:
        has, needs = f"{free // MIB:,} MB are free", f"{needed // MIB:,} MB are needed"
        raise DiskFullError(f"The disk is nearly full: {has}, {needs}.", remedy=FREE_SOME)


def low_space(path: Path) -> str:
    """Return a warning in words when less than ``LOW_SPACE`` is free, else an empty string."""
    free = free_bytes(path)
    if free is None or free >= LOW_SPACE:
        return ""
    return f"disk nearly full · {free // MIB:,} MB free"


def is_in_memory(path: Path) -> bool:
    """Return whether ``path`` lies on a file system in memory, where reading a hole takes room.

    Only Linux says so; elsewhere the answer is no.
    """
    return _is_memory(path.stat().st_dev)


@lru_cache(maxsize=8)
def _is_memory(device: int) -> bool:
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError, IndexError):
        for mount in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            head, _, tail = mount.partition(" - ")
            if head.split()[2] == wanted:
                return tail.split()[0] in _MEMORY_FILE_SYSTEMS
    return False


def fill_holes(folder: Path, *, up_to: int | None = None) -> None:
    """Give every file below ``folder`` the blocks that its size promises; raises ``OSError``.

    With ``up_to``, only those of so many bytes at its start. The files keep their content and size.
    Afterwards no access to these parts can run out of space. Does nothing on a system without such
    a call.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # whoever packs it has replaced it meanwhile
                _fill(os.open(Path(place, name), os.O_RDWR | os.O_CLOEXEC), up_to)


def _fill(descriptor: int, up_to: int | None) -> None:
    try:
        status = os.fstat(descriptor)
        wanted = status.st_size if up_to is None else min(up_to, status.st_size)
        if status.st_blocks * _BLOCK < wanted:
            os.posix_fallocate(descriptor, 0, wanted)
    finally:
        os.close(descriptor)
