"""The store's DuckDB file: one writer thread with explicit transactions, and threads that read.

The only place that opens the file, and the one that turns what DuckDB says of a locked or damaged
file into an error with a remedy. What the tables are is in ``migrations``; no query belongs here.
"""

import asyncio
import errno
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import (
    CancelledByUserError,
    DamagedLogError,
    DiskFullError,
    DomainError,
    StoreCorruptError,
    StoreLockedError,
)
from synthorg_tui.core.files import ensure_private_dir, make_private
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE, INDEX_DIR
from synthorg_tui.persistence.integrity import check_complete, damaged_blocks_in_child, log_cut_at
from synthorg_tui.persistence.migrations import RESTORE_REMEDY, create_schema, update_schema

if TYPE_CHECKING:
    import duckdb


T = TypeVar("T")

_log = logging.getLogger(__name__)

MIN_MEMORY = 128
"""Megabytes that DuckDB may use for its buffers. A checkpoint needs about twice 2,048 rows of each
table, so a file with large rows gets more: half of its size, and twice as much after a failure."""
MAX_MEMORY = 1024
CHECKPOINT_AFTER = 16 * 1024 * 1024
"""Bytes of log after which it is moved into the file. Not by DuckDB itself: a commit whose
checkpoint fails raises, although it may be durable."""
_LOOK_EVERY = 0.1
"""Seconds after which a copy under way looks whether it is still wanted."""
_PROGRESS_EVERY = 0.25
READERS = 2
"""Reads at once: an agent's search doesn't wait until a list of the app is read."""
_SUFFIXES = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
_CORRUPT_SIGNS = (
    "corrupt",
    "checksum",
    "not a valid duckdb",
    "failed to deserialize",
    "could not read",
)
_LOG_SIGN = "replaying wal"
_CORRUPT_KINDS = ("FatalException", "InternalException", "SerializationException")
_FULL_SIGNS = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
_MEMORY_SIGNS = ("could not allocate block", "failed to pin block", "Out of Memory")
_GIVEN_UP = "database has been invalidated"
"""What DuckDB says to every call after an error that it couldn't recover from."""


def connect_file(
    path: Path, *, read_only: bool = False, memory: int = MIN_MEMORY
) -> "duckdb.DuckDBPyConnection":
    """Connect to a DuckDB file with access to all other files disabled.

    ``memory`` is in megabytes. Errors of DuckDB are raised unchanged.
    """
    import duckdb

    connection = duckdb.connect(
        str(path),
        read_only=read_only,
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "checkpoint_threshold": "1TB",
            "memory_limit": f"{memory}MB",
            "preserve_insertion_order": "false",
            "threads": "2",
        },
    )
    # The one other file it may touch is its own next edition; see ``Database.rewrite``.
    fresh = str(_fresh(path)).replace("'", "''")
    allowed = ", ".join(f"'{fresh}{suffix}'" for suffix in _SUFFIXES)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    make_private(path)
    return connection


def _fresh(path: Path) -> Path:
    return path.with_name(path.name + ".fresh")


class Database:
    """The DuckDB file of a store, with one writer thread and several reader threads.

    ``write`` runs one function at a time in a transaction; ``read`` sees a snapshot and never waits
    for a write. Both raise ``StoreCorruptError`` when the file turns out to be damaged,
    ``DiskFullError`` when there is no room, and pass on every other DuckDB error after rolling
    back. After an error that DuckDB can't recover from, such as a checkpoint on a full disk, the
    next call closes the file and opens it again; the others wait meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: duckdb.DuckDBPyConnection | None = None
        self._given_up = False
        self._memory = MIN_MEMORY
        # Those that nobody reads with at the moment; ``None`` stands for each while it is closed.
        self._readers: SimpleQueue[duckdb.DuckDBPyConnection | None] = SimpleQueue()
        for _ in range(READERS):
            self._readers.put(None)
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._read_threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")

    @classmethod
    def in_dir(cls, data_dir: Path) -> "Database":
        """Return a ``Database`` for the file in a data directory; it is not opened yet."""
        return cls(data_dir / DATABASE_FILE)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def is_open(self) -> bool:
        """Whether the database is open for reading and writing."""
        return self._writer is not None or self._given_up

    async def open(self) -> None:
        """Open the file, creating it if missing; do nothing when it is open already.

        Raises ``StoreCorruptError`` for a damaged file, ``StoreLockedError`` when another program
        has it open, and ``DomainError`` when a newer version of this program wrote it.
        """
        if not self.is_open:
            await asyncio.get_running_loop().run_in_executor(self._write_thread, self._open)

    async def close(self) -> None:
        """Finish pending reads and writes, then close the file; do nothing when it is closed."""
        if self.is_open:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._read_threads, lambda: None)
            await loop.run_in_executor(self._write_thread, self._close)

    async def write(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Run ``work`` in a transaction on the writer thread and return its result.

        An exception from ``work`` rolls everything back and is raised here.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._write_thread, self._transact, work)

    async def read(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Run ``work`` on a consistent snapshot, on a reader thread, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._read_threads, self._snapshot, work)

    async def copy_to(self, target: Path, *, cancel: threading.Event | None = None) -> None:
        """Write a consistent copy of the database to ``target``; only writes wait meanwhile.

        Raises ``CancelledByUserError`` once ``cancel`` is set.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._write_thread, self._copy, target, cancel)

    async def damaged_blocks(self) -> int:
        """Count the blocks of the file that are damaged on disk; only writes wait meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._write_thread, damaged_blocks_in_child, self._path)

    async def rewrite(self, progress: Callable[[float], None] | None = None) -> None:
        """Rewrite the database file, so that deleted data is no longer present in its free blocks.

        Takes about 20 seconds at 100,000 memories. Writes wait for all of it, reads only while the
        new file replaces the old one. ``progress`` is told the share that is written, as far as it
        can be seen from the size of the file. Raises ``DomainError`` when there is too little room
        for another file of this size; nothing has changed then.
        """
        loop = asyncio.get_running_loop()
        rewriting = loop.run_in_executor(self._write_thread, self._rewrite)
        while not rewriting.done():
            await asyncio.wait([rewriting], timeout=_PROGRESS_EVERY)
            if progress is not None:
                progress(_share(_fresh(self._path), self._path))
        await rewriting

    def _rewrite(self) -> None:
        writer = self._standing()
        fresh = _fresh(self._path)
        for suffix in _SUFFIXES:
            fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
        need_room(self._path, self._path.stat().st_size + WRITE_ROOM)
        try:
            with self._explained():
                _copy_live(writer, fresh)
            with self._nobody_reading():
                self._given_up = True
                self._close_writer()
                try:
                    # What is still in a log would be lost: a log belongs to one edition.
                    if any(_log_of(path).exists() for path in (fresh, self._path)):
                        raise DomainError("the database has a log after closing; nothing changed")
                    fresh.replace(self._path)
                finally:
                    self._open_again()
        finally:
            fresh.unlink(missing_ok=True)

    @contextmanager
    def _nobody_reading(self) -> Iterator[None]:
        """Waits for reads under way; later ones wait, and go by the writer that is open then."""
        for _ in range(READERS):
            reader = self._readers.get()
            if reader is not None:
                reader.close()
        try:
            yield
        finally:
            for _ in range(READERS):
                self._readers.put(self._writer.cursor() if self._writer is not None else None)

    def _open(self) -> None:
        with self._nobody_reading():
            self._open_writer()

    def _close(self) -> None:
        with self._nobody_reading():
            self._close_writer()
            self._given_up = False

    def _open_writer(self) -> None:
        ensure_private_dir(self._path.parent)
        if not self._path.exists():
            _require_new(self._path)
            _create(self._path)
        # Replaying a log leaves blocks in memory that the file doesn't have yet.
        is_clean = not self._wal.exists()
        if not is_clean and log_cut_at(self._wal) is not None:
            raise _damaged_log(self._path, "the length of an entry is wrong")
        half = self._path.stat().st_size // 2 // 1024**2
        self._memory = min(max(self._memory, half), MAX_MEMORY)
        try:
            writer = connect_file(self._path, memory=self._memory)
        except Exception as error:
            raise _explain(error, self._path) from error
        try:
            if is_clean:
                check_complete(writer, self._path)
            update_schema(writer, self._path)
        except Exception as error:
            writer.close()
            raise _explain(error, self._path) from error
        self._writer = writer
        make_private(self._wal)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _standing(self) -> "duckdb.DuckDBPyConnection":
        """The writer, opened again if DuckDB has given the file up; on the writer thread only.

        Until the file can be opened, each call tries again, and raises what stands against it.
        """
        if self._given_up:
            with self._nobody_reading():
                self._close_writer()
                self._open_again()
        if self._writer is None:
            raise DomainError("the database is not open")
        return self._writer

    def _open_again(self) -> None:
        """Open what is marked as given up: where that fails, the mark has the next call try."""
        self._open_writer()
        self._given_up = False

    def _transact(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        writer = self._standing()
        need_room(self._path, WRITE_ROOM)
        result = self._run(writer, work)
        make_private(self._wal)
        if self._log_size() > CHECKPOINT_AFTER:
            self._move_log(writer)
        return result

    def _move_log(self, writer: "duckdb.DuckDBPyConnection") -> None:
        """Checkpoint after a commit; where that fails the log stays until a later one."""
        import duckdb

        try:
            need_room(self._path, self._log_size() + WRITE_ROOM)
            with self._explained():
                writer.execute("CHECKPOINT")
        except (DomainError, duckdb.Error) as error:
            _log.warning("the log stays for now: %s", error)

    def _log_size(self) -> int:
        return self._wal.stat().st_size if self._wal.exists() else 0

    def _snapshot(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Read, once more if DuckDB gave the file up meanwhile."""
        try:
            return self._look(work)
        except (DiskFullError, StoreCorruptError):
            if not self._given_up:
                raise
        return self._look(work)

    def _look(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        if self._given_up:
            self._write_thread.submit(self._standing).result()
        reader = self._readers.get()
        try:
            if reader is None:
                raise DomainError("the database is not open")
            return self._run(reader, work)
        finally:
            self._readers.put(reader)

    def _run(
        self,
        connection: "duckdb.DuckDBPyConnection",
        work: "Callable[[duckdb.DuckDBPyConnection], T]",
    ) -> T:
        with self._explained():
            connection.execute("BEGIN")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
        return result

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises errors as a person should read them, and notes that DuckDB has given up."""
        try:
            yield
        except BaseException as error:
            if type(error).__name__ == "FatalException" or _GIVEN_UP in str(error):
                self._given_up = True
            if any(sign in str(error) for sign in _MEMORY_SIGNS):
                self._memory = min(2 * self._memory, MAX_MEMORY)
            explained = _explain(error, self._path)
            if explained is error:
                raise
            raise explained from error

    def _copy(self, target: Path, cancel: threading.Event | None) -> None:
        writer = self._standing()
        need_room(self._path, self._log_size() + WRITE_ROOM)
        with self._explained():
            writer.execute("CHECKPOINT")
        # In a child: closing a second descriptor of the file here would drop DuckDB's lock on it.
        copy_in_child(self._path, target, cancel=cancel)

    @property
    def _wal(self) -> Path:
        return _log_of(self._path)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _require_new(path: Path) -> None:
    """Where a store has left traces, its database is missing: a new one would hide that."""
    folder = path.parent
    traces = [
        *folder.glob(f"{INDEX_DIR}/*"),
        *folder.glob(f"{BACKUP_DIR}/*.duckdb"),
        *folder.glob(f"{path.name}.wal"),
        *folder.glob(f"{path.name}.replaced-*"),
    ]
    if not traces:
        return
    raise StoreCorruptError(
        f"{path} is missing, but {traces[0].relative_to(folder)} beside it is of a store",
        remedy="Put it back, or bring back a backup with `synthorg-tui restore`. To start with an "
        f"empty store, move what else is in {folder} away.",
    )


def _share(fresh: Path, present: Path) -> float:
    """How much of the file is written anew; all once the fresh one has taken its place."""
    try:
        return min(fresh.stat().st_size / max(present.stat().st_size, 1), 1.0)
    except FileNotFoundError:
        return 1.0


def _create(path: Path) -> None:
    """Make an empty database under another name first: a crash leaves no half-made one."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    draft.with_name(draft.name + ".wal").unlink(missing_ok=True)
    connection = connect_file(draft)
    try:
        create_schema(connection)
    finally:
        connection.close()
    draft.rename(path)


def _copy_live(connection: "duckdb.DuckDBPyConnection", fresh: Path) -> None:
    """Copy all tables into a new database file; raises when a table isn't whole."""
    quoted = str(fresh).replace("'", "''")
    connection.execute("CHECKPOINT")
    present = connection.execute("SELECT current_database()").fetchone()
    connection.execute(f"ATTACH '{quoted}' AS fresh")
    try:
        connection.execute(f'COPY FROM DATABASE "{present[0] if present else ""}" TO fresh')
        for (table,) in connection.execute("SHOW TABLES").fetchall():
            counts = [
                connection.execute(f"SELECT count(*) FROM {name}").fetchone()
                for name in (table, f"fresh.{table}")
            ]
            if counts[0] != counts[1]:
                raise DomainError(f"copying {table} failed; nothing was changed")
    finally:
        connection.execute("DETACH fresh")


def _roll_back(connection: "duckdb.DuckDBPyConnection") -> None:
    import duckdb

    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        return  # the failed statement has ended the transaction already


def _explain(error: BaseException, path: Path) -> BaseException:
    """The error as a person should read it; the same one when there is nothing to add."""
    import duckdb

    if not isinstance(error, duckdb.Error):
        return error
    text = str(error)
    if any(sign in text for sign in _FULL_SIGNS):
        return DiskFullError("The disk is full.", remedy="Free some space.")
    if "lock on file" in text.lower():
        owner = re.search(r"PID (\d+)", text)
        return StoreLockedError(
            f"{path} is open in another program" + (f" (process {owner[1]})" if owner else ""),
            owner_pid=int(owner[1]) if owner else None,
            remedy="Close it and try again.",
        )
    if any(sign in text for sign in _MEMORY_SIGNS):
        return DomainError(f"{path} needs more memory than allowed", remedy="Try again.")
    return _damage(error, path) or error


def _damage(error: "duckdb.Error", path: Path) -> StoreCorruptError | None:
    """What an error says of damage to the file or its log; ``None`` when it says nothing of it."""
    text = str(error)
    if _LOG_SIGN in text.lower():
        return _damaged_log(path, text.splitlines()[0])
    if type(error).__name__ in _CORRUPT_KINDS or any(s in text.lower() for s in _CORRUPT_SIGNS):
        return StoreCorruptError(
            f"{path} is damaged: {text.splitlines()[0]}", remedy=RESTORE_REMEDY
        )
    return None


def _damaged_log(path: Path, reason: str) -> DamagedLogError:
    return DamagedLogError(
        f"the log of {path} is damaged: {reason}",
        remedy="`synthorg-tui doctor --fix` opens the store without it, after asking.",
    )


_COPY = """
import os, shutil, sys
with open(sys.argv[1], "rb") as source:
    with open(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
        target.flush()
        os.fsync(target.fileno())
"""


def copy_in_child(source: Path, target: Path, *, cancel: threading.Event | None = None) -> None:
    """Copy a file in a child process and wait for it.

    Closing the source in this process would release the file locks that this process holds on it.
    Raises ``DiskFullError`` when there is no room for it, ``DomainError`` when the target exists or
    can't be written, and ``CancelledByUserError`` once ``cancel`` is set, with a part of the target
    left.
    """
    need_room(target, source.stat().st_size + WRITE_ROOM)
    command = [sys.executable, "-I", "-S", "-c", _COPY, str(source), str(target)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as copying:
        try:
            told = _told(copying, cancel)
        except BaseException:
            copying.kill()
            raise
    if copying.returncode and cancel is not None and cancel.is_set():
        raise CancelledByUserError(f"stopped copying to {target}")
    if copying.returncode:
        reason = (told.strip().splitlines() or ["unknown reason"])[-1]
        raise DomainError(f"could not write {target}: {reason}")


def _told(copying: "subprocess.Popen[str]", cancel: threading.Event | None) -> str:
    """What a copying child says at its end; it is ended once ``cancel`` is set."""
    while True:
        try:
            return copying.communicate(timeout=_LOOK_EVERY)[1]
        except subprocess.TimeoutExpired:
            if cancel is not None and cancel.is_set():
                copying.kill()
