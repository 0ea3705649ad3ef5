"""Owning a data directory: its lock file, which says who has it, and its open database.

DuckDB allows one process at a time and doesn't say which; the lock does, and the kernel drops it
when its owner dies.
"""

import asyncio
import fcntl
import json
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from synthorg_tui.core.errors import ConfigError, StoreLockedError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir
from synthorg_tui.persistence import DATABASE_FILE, LOCK_FILE, SERVER_FILE
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.leftovers import remove_leftovers
from synthorg_tui.persistence.port import StoreDatabase

if TYPE_CHECKING:
    from synthorg_tui.persistence.config import PersistenceConfig

LEAVING_PATIENCE: Final = 30.0
"""Seconds to wait for a process that says that it is closing the store."""
_RETRY: Final = 0.03


class DataDirLock:
    """Exclusive ownership of a data directory by this process, through a lock file.

    Usable as a context manager, which waits for an owner that is closing the store. The kernel
    releases the lock when its owner dies, so the lock of a crashed process can be acquired at once.
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
            owner = _owner(descriptor)
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
        end = time.monotonic() + LEAVING_PATIENCE
        while not self._acquired(end):
            time.sleep(_RETRY)
        return self

    async def wait(self) -> None:
        """Acquire the lock as ``with`` does, without blocking the event loop."""
        end = time.monotonic() + LEAVING_PATIENCE
        while True:
            if self._acquired(end):
                return
            await asyncio.sleep(_RETRY)

    def _acquired(self, end: float) -> bool:
        """Try once; false while there is an owner that is leaving, until ``end``."""
        try:
            self.acquire()
        except StoreLockedError as error:
            if not error.is_leaving or time.monotonic() > end:
                raise
            return False
        return True

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


def mark_leaving(data_dir: Path) -> None:
    """Say in the lock file that this process, its owner, is about to close the store."""
    with suppress(OSError, ValueError, KeyError, TypeError):  # who waits then waits less
        path = data_dir / LOCK_FILE
        owner = json.loads(path.read_text("utf-8"))
        if owner["pid"] == os.getpid():
            path.write_text(json.dumps(owner | {"leaving": True}), "utf-8")


def _owner(descriptor: int) -> dict[str, Any]:
    try:
        owner = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}  # the owner is just writing it
    return owner if isinstance(owner, dict) else {}


def _locked(data_dir: Path, owner: dict[str, Any]) -> StoreLockedError:
    pid = owner.get("pid")
    pid = pid if isinstance(pid, int) else None
    who = f"process {pid}" if pid is not None else "another process"
    return StoreLockedError(
        f"{data_dir} is in use by {who}",
        owner_pid=pid,
        remedy="Close it first, or choose another directory with --data-dir.",
        # The file is empty while an owner releases the lock or writes in it, just at this moment.
        is_leaving=owner.get("leaving", not owner) is True,
    )


def store_database(data_dir: Path, settings: "PersistenceConfig | None") -> StoreDatabase:
    """Return the database of a store, not opened yet.

    Raises ``ConfigError`` when the settings name a server, but its address or what is needed to
    talk to it is missing.
    """
    if settings is None or not settings.is_postgres:
        return Database.in_dir(data_dir)
    try:
        from synthorg_tui.persistence.postgres.database import PostgresDatabase
    except ImportError as error:
        raise ConfigError(
            f"persistence.backend postgres needs more than is installed: {error.name}",
            remedy="Install it with: pip install 'synthorg-tui[postgres]'",
        ) from error
    return PostgresDatabase(settings.address(), data_dir, pool_size=settings.pool_size)


def has_store(data_dir: Path) -> bool:
    """Whether there is a store: its database, or a note that this is on a server."""
    return any((data_dir / name).exists() for name in (DATABASE_FILE, SERVER_FILE))


@asynccontextmanager
async def own_database(
    data_dir: Path,
    settings: "PersistenceConfig | None" = None,
    lock: DataDirLock | None = None,
) -> AsyncIterator[StoreDatabase]:
    """Lock a data directory and yield its open database; close and unlock it afterwards.

    It is the DuckDB file in the directory, unless ``settings`` name a server. ``lock`` is the
    directory's, if the caller has it already.

    What killed work left in the directory is removed first. Raises ``StoreLockedError`` when
    another process owns the directory and ``StoreCorruptError`` when the database can't be read.
    """
    lock = lock or DataDirLock(data_dir)
    await lock.wait()
    with lock:
        remove_leftovers(data_dir)
        database = store_database(data_dir, settings)
        try:
            await database.open()
            if not database.is_shared:  # the store is here, whatever it was before
                (data_dir / SERVER_FILE).unlink(missing_ok=True)
            yield database
        finally:
            await database.close()
