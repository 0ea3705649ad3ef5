"""The store's database: one writer thread with explicit transactions, and threads that read.

What DuckDB does to its file, and what its errors mean, is in ``database_file``; what the tables are
is in ``migrations``. No query belongs here.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room, taken_bytes
from synthorg_tui.core.errors import (
    DiskFullError,
    DomainError,
    StoreCorruptError,
)
from synthorg_tui.core.files import ensure_private_dir, make_private
from synthorg_tui.persistence import DATABASE_FILE
from synthorg_tui.persistence.database_file import (
    MIN_MEMORY,
    NeedsMemoryError,
    connect_file,
    copy_in_child,
    copy_live,
    create_file,
    damaged_log,
    explained,
    fresh_edition,
    log_of,
    remove_file,
    require_new,
)
from synthorg_tui.persistence.integrity import check_complete, damaged_blocks_in_child, log_cut_at
from synthorg_tui.persistence.migrations import update_schema
from synthorg_tui.persistence.port import StoreChange
from synthorg_tui.persistence.values import parsed

if TYPE_CHECKING:
    import duckdb


T = TypeVar("T")

_log = logging.getLogger(__name__)

MAX_MEMORY = 1024
CHECKPOINT_AFTER = 16 * 1024 * 1024
"""Bytes of log after which it is moved into the file. Not by DuckDB itself: a commit whose
checkpoint fails raises, although it may be durable."""
_PROGRESS_EVERY = 0.25
_LEAST_MEMORY = 8
"""Megabytes that DuckDB is left with for a moment, for it to give back the rest."""
READERS = 2
"""Reads at once: an agent's search doesn't wait until a list of the app is read."""
_GIVEN_UP = "database has been invalidated"
"""What DuckDB says to every call after an error that it couldn't recover from."""


class Database:
    """The DuckDB file of a store, with one writer thread and several reader threads.

    ``write`` runs one function at a time in a transaction; ``read`` sees a snapshot and never waits
    for a write. Both raise ``StoreCorruptError`` when the file turns out to be damaged,
    ``DiskFullError`` when there is no room, and pass on every other DuckDB error after rolling
    back. After an error that DuckDB can't recover from, such as a checkpoint on a full disk, the
    next call closes the file and opens it again; the others wait meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._wal = log_of(path)
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
    def kind(self) -> str:
        return "duckdb"

    @property
    def is_open(self) -> bool:
        """Whether the database is open for reading and writing."""
        return self._writer is not None or self._given_up

    @property
    def is_shared(self) -> bool:
        return False

    async def open(self) -> None:
        """Open the file, creating it if missing; do nothing when it is open already.

        Raises ``StoreCorruptError`` for a damaged file, ``StoreLockedError`` when another program
        has it open, and ``DomainError`` when a newer version of this program wrote it.
        """
        if not self.is_open:
            await self._written(self._open)

    async def close(self) -> None:
        """Finish pending reads and writes, then close the file; do nothing when it is closed."""
        if self.is_open:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._read_threads, lambda: None)
            await self._written(self._close)

    async def write(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Run ``work`` in a transaction on the writer thread and return its result.

        An exception from ``work`` rolls everything back and is raised here.
        """
        return await self._written(self._transact, work)

    async def read(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Run ``work`` on a consistent snapshot, on a reader thread, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._read_threads, self._snapshot, work)

    async def changes(self) -> AsyncIterator[StoreChange]:
        """Yield nothing: while this program has the file, no other one writes to it."""
        return
        yield  # what makes it an iterator

    @property
    def trouble(self) -> str:
        """Empty always: a file is there or damaged, but not away."""
        return ""

    async def copy_to(self, target: Path, *, cancel: threading.Event | None = None) -> None:
        """Write a consistent copy of the database to ``target``; only writes wait meanwhile.

        Raises ``CancelledByUserError`` once ``cancel`` is set.
        """
        await self._written(self._copy, target, cancel)

    async def size(self) -> int:
        """Return the bytes on disk of the file, its log, and earlier ones that were set aside."""
        names = f"{self.path.name}*"
        return await asyncio.to_thread(lambda: sum(map(taken_bytes, self.path.parent.glob(names))))

    async def give_back_memory(self) -> None:
        """Have DuckDB drop the blocks that it holds in memory; it reads them again when needed."""
        await self._written(self._drop_blocks)

    async def damaged_blocks(self) -> int:
        """Count the blocks of the file that are damaged on disk; only writes wait meanwhile."""
        return await self._written(damaged_blocks_in_child, self.path)

    async def rewrite(self, progress: Callable[[float], None] | None = None) -> None:
        """Rewrite the database file, so that deleted data is no longer present in its free blocks.

        Takes about 20 seconds at 100,000 memories. Writes wait for all of it, reads only while the
        new file replaces the old one. ``progress`` is told the share that is written, as far as it
        can be seen from the size of the file. Raises ``DomainError`` when there is too little room
        for another file of this size; nothing has changed then.
        """
        rewriting = self._written(self._rewrite)
        while not rewriting.done():
            await asyncio.wait([rewriting], timeout=_PROGRESS_EVERY)
            if progress is not None:
                progress(_share(fresh_edition(self.path), self.path))
        await rewriting

    def _written(self, work: Callable[..., T], *given: object) -> "asyncio.Future[T]":
        """Run something on the writer thread, after what is under way there."""
        return asyncio.get_running_loop().run_in_executor(self._write_thread, work, *given)

    def _rewrite(self) -> None:
        writer = self._standing()
        fresh = fresh_edition(self.path)
        remove_file(fresh)
        need_room(self.path, self.path.stat().st_size + WRITE_ROOM)
        try:
            with self._explained():
                copy_live(writer, fresh)
            with self._nobody_reading():
                self._given_up = True
                self._close_writer()
                try:
                    # What is still in a log would be lost: a log belongs to one edition.
                    if any(log_of(path).exists() for path in (fresh, self.path)):
                        raise DomainError("the database has a log after closing; nothing changed")
                    fresh.replace(self.path)
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
        ensure_private_dir(self.path.parent)
        if not self.path.exists():
            require_new(self.path)
            create_file(self.path)
        # Replaying a log leaves blocks in memory that the file doesn't have yet.
        is_clean = not self._wal.exists()
        if not is_clean and log_cut_at(self._wal) is not None:
            raise damaged_log(self.path, "the length of an entry is wrong")
        half = self.path.stat().st_size // 2 // 1024**2
        self._memory = min(max(self._memory, half), MAX_MEMORY)
        try:
            writer = connect_file(self.path, memory=self._memory)
        except Exception as error:
            raise explained(error, self.path) from error
        try:
            if is_clean:
                check_complete(writer, self.path)
            update_schema(writer, self.path)
        except Exception as error:
            writer.close()
            raise explained(error, self.path) from error
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
        need_room(self.path, WRITE_ROOM)
        result = self._run(writer, work)
        make_private(self._wal)
        if self._log_size() > CHECKPOINT_AFTER:
            self._move_log(writer)
        return result

    def _move_log(self, writer: "duckdb.DuckDBPyConnection") -> None:
        """Checkpoint after a commit; where that fails the log stays until a later one."""
        import duckdb

        try:
            need_room(self.path, self._log_size() + WRITE_ROOM)
            with self._explained():
                writer.execute("CHECKPOINT")
        except (DomainError, duckdb.Error) as error:
            _log.warning("the log stays for now: %s", error)

    def _log_size(self) -> int:
        try:
            return self._wal.stat().st_size
        except FileNotFoundError:
            return 0

    def _snapshot(self, work: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Read, again if DuckDB gave the file up meanwhile or needs more memory for it."""
        while True:
            allowed = self._memory
            try:
                return self._look(work)
            except NeedsMemoryError:
                if allowed == MAX_MEMORY:
                    raise
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
            connection.execute(parsed(connection, "BEGIN"))
            try:
                result = work(connection)
                connection.execute(parsed(connection, "COMMIT"))
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
            told = explained(error, self.path)
            if isinstance(told, NeedsMemoryError):
                self._allow_more()
            if told is error:
                raise
            raise told from error

    def _drop_blocks(self) -> None:
        """Lower the limit to what is in use, which makes DuckDB drop the rest, and raise it again.

        What is read meanwhile may need more than that: then all stays as it is.
        """
        import duckdb

        if self._writer is None or self._given_up:
            return
        with self._writer.cursor() as cursor:
            try:
                cursor.execute(f"SET memory_limit = '{_LEAST_MEMORY}MB'")
            except duckdb.Error as error:
                _log.info("DuckDB gives no memory back now: %s", error)
            finally:
                cursor.execute(f"SET memory_limit = '{self._memory}MB'")

    def _allow_more(self) -> None:
        """Allow twice the memory, at once or, where DuckDB gave up, from the next opening on."""
        self._memory = min(2 * self._memory, MAX_MEMORY)
        writer = self._writer
        if writer is not None and not self._given_up:
            writer.cursor().execute(f"SET memory_limit = '{self._memory}MB'")

    def _copy(self, target: Path, cancel: threading.Event | None) -> None:
        writer = self._standing()
        need_room(self.path, self._log_size() + WRITE_ROOM)
        with self._explained():
            writer.execute("CHECKPOINT")
        # In a child: closing a second descriptor of the file here would drop DuckDB's lock on it.
        copy_in_child(self.path, target, cancel=cancel)


def _share(fresh: Path, present: Path) -> float:
    """How much of the file is written anew; all once the fresh one has taken its place."""
    try:
        return min(fresh.stat().st_size / max(present.stat().st_size, 1), 1.0)
    except FileNotFoundError:
        return 1.0


def _roll_back(connection: "duckdb.DuckDBPyConnection") -> None:
    import duckdb

    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        return  # the failed statement has ended the transaction already
