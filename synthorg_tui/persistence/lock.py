"""Owning a data directory: its lock file, which says who has it, and its open database.

DuckDB allows one process at a time and doesn't say which; the lock does, and the kernel drops it
when its owner dies.
"""

import fcntl
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir
from synthorg_tui.persistence import LOCK_FILE
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.leftovers import remove_leftovers


class DataDirLock:
    """Exclusive ownership of a data directory by this process, through a lock file.

    Usable as a context manager. The kernel releases the lock when its owner dies, so the lock of a
    crashed process can be acquired at once.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / LOCK_FILE
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self) -> Self:
        """Acquire the lock, creating the directory if needed, and return this object.

        Does nothing when it is held already. Never waits: raises ``StoreLockedError`` when another
        process holds the lock.
        """
        if self._descriptor is not None:
            return self
        ensure_private_dir(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = _owner_pid(descriptor)
            os.close(descriptor)
            raise _locked(self._path.parent, owner) from error
        except OSError:
            os.close(descriptor)
            raise
        _write_owner(descriptor)
        self._descriptor = descriptor
        return self

    def release(self) -> None:
        """Release the lock; do nothing when it is not held."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _write_owner(descriptor: int) -> None:
    owner = {
        "pid": os.getpid(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:2]]),
        "terminal": _terminal(),
    }
    os.ftruncate(descriptor, 0)
    with suppress(OSError):  # on a full disk the lock holds, it only doesn't say whose it is
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)


def _terminal() -> str:
    """The terminal of this process, such as ``pts/3``; empty when it has none."""
    with suppress(OSError):
        return os.ttyname(0).removeprefix("/dev/")
    return ""


def holder(data_dir: Path) -> str:
    """Return who owns a data directory, in words: ``pts/3, since 14:02``, or the process.

    The time is local, with the date if that isn't today's.
    """
    try:
        owner = json.loads((data_dir / LOCK_FILE).read_text("utf-8")[:4096])
        since = datetime.fromisoformat(owner["started"]).astimezone()
        where = str(owner.get("terminal") or f"process {int(owner['pid'])}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "its process is just starting"
    is_today = since.date() == datetime.now().astimezone().date()
    return f"{where}, since {since:{'%H:%M' if is_today else '%Y-%m-%d %H:%M'}}"


def _owner_pid(descriptor: int) -> int | None:
    try:
        return int(json.loads(os.pread(descriptor, 4096, 0))["pid"])
    except (ValueError, KeyError, TypeError):
        return None  # the owner is just writing it


def _locked(data_dir: Path, owner: int | None) -> StoreLockedError:
    who = f"process {owner}" if owner is not None else "another process"
    return StoreLockedError(
        f"{data_dir} is in use by {who}",
        owner_pid=owner,
        remedy="Close it first, or choose another directory with --data-dir.",
    )


@asynccontextmanager
async def own_database(data_dir: Path) -> AsyncIterator[Database]:
    """Lock a data directory and yield its open database; close and unlock it afterwards.

    What killed work left in the directory is removed first. Raises ``StoreLockedError`` when
    another process owns the directory and ``StoreCorruptError`` when the database can't be read.
    """
    with DataDirLock(data_dir):
        remove_leftovers(data_dir)
        database = Database.in_dir(data_dir)
        try:
            await database.open()
            yield database
        finally:
            await database.close()
