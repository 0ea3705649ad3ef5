"""The store's database on PostgreSQL: all programs write one after another, reads see a snapshot.

Every write begins with the store's advisory lock, so that what the rooms take for granted of the
one writer of a file holds for all programs on a server. How connections are got is in ``link``;
what a connection makes of SQL in ``connection`` and ``dialect``.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID, uuid4

import psycopg

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.persistence import SERVER_FILE
from synthorg_tui.persistence.config import POOL_SIZE, POSTGRES
from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.port import Connection, StoreChange
from synthorg_tui.persistence.postgres.connection import PostgresConnection, Raw, cause_of, told
from synthorg_tui.persistence.postgres.link import Link, Patience, told_changes
from synthorg_tui.persistence.postgres.schema import channel_of, lock_key, prepare_schema
from synthorg_tui.persistence.values import number_of

T = TypeVar("T")

MAX_READERS: Final = 6
"""Reads at once of one program; more only compete for its processor."""
_LOCK_WAIT: Final = 60
"""Seconds that a write waits for those of other programs."""
_LOCKED_OUT: Final = "55P03"
_SIZE: Final = "SELECT coalesce(sum(pg_total_relation_size(table_oid)), 0) FROM duckdb_tables()"
_TABLES: Final = "SELECT table_name FROM duckdb_tables() ORDER BY table_name"


class PostgresDatabase:
    """A store on a PostgreSQL server, which other programs may have open, too.

    ``write`` runs one function at a time in a transaction, alone among the writes of all programs;
    ``read`` sees a snapshot and waits for nobody. Both try again when the connection is lost; a
    write whose commit nobody answered is looked up by its token first, and never done twice. Both
    raise ``PersistenceConnectionError`` when the server stays away for longer than
    ``link.PATIENCE``, and pass on other errors after rolling back.
    """

    def __init__(self, url: str, data_dir: Path, *, pool_size: int = POOL_SIZE) -> None:
        self.path = data_dir / SERVER_FILE
        self._url = url
        self._pool_size = pool_size
        self.writer = uuid4()
        self._lock_key = 0
        self._channel = ""
        self._link: Link | None = None
        readers = max(1, min(pool_size - 1, MAX_READERS))
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._read_threads = ThreadPoolExecutor(readers, thread_name_prefix="store-read")
        self._readers = readers

    @property
    def kind(self) -> str:
        return POSTGRES

    @property
    def is_open(self) -> bool:
        """Whether the database is open for reading and writing."""
        return self._link is not None

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def trouble(self) -> str:
        """Why the server can't be reached at the moment, in words; empty while it can."""
        return self._link.trouble if self._link is not None else ""

    async def open(self) -> None:
        """Connect, creating or updating the tables; do nothing when it is open already.

        Raises ``PersistenceConnectionError`` with what is wrong with the server,
        ``StoreCorruptError`` for a database of somebody else, and ``MigrationError`` when a newer
        version of this program made the tables.
        """
        if not self.is_open:
            await asyncio.get_running_loop().run_in_executor(self._write_thread, self._open)

    async def close(self) -> None:
        """Finish pending reads and writes, then disconnect; do nothing when it is closed."""
        if self.is_open:
            loop = asyncio.get_running_loop()
            barrier = threading.Barrier(self._readers + 1)
            waits = [
                loop.run_in_executor(self._read_threads, barrier.wait) for _ in range(self._readers)
            ]
            await loop.run_in_executor(None, barrier.wait)
            await asyncio.gather(*waits)
            await loop.run_in_executor(self._write_thread, self._close)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction on the writer thread and return its result.

        An exception from ``work`` rolls everything back and is raised here. ``work`` is called
        again when the connection was lost before its changes were kept.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._write_thread, self._transact, work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a consistent snapshot, on a reader thread, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._read_threads, self._snapshot, work)

    def changes(self) -> AsyncIterator[StoreChange]:
        """Yield each change that another program made from now on, until it is closed."""
        return told_changes(self._standing(), self._channel, str(self.writer))

    async def size(self) -> int:
        """Return the bytes of the store's tables and indices on the server."""
        return await self.read(lambda db: number_of(db, _SIZE))

    async def give_back_memory(self) -> None:
        """Do nothing: the memory is the server's."""

    async def rewrite(self, progress: Callable[[float], None] | None = None) -> None:
        """Have the server free what was deleted, so that later rows are written over it.

        Takes seconds and keeps nobody from reading or writing. What the server's log and its
        backups still have of it is for whoever administers them, as is ``VACUUM FULL``, which gives
        the room back to the disk. ``progress`` is told the share of the tables that are done.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._write_thread, self._free, progress)

    async def copy_to(self, target: Path, *, cancel: threading.Event | None = None) -> None:
        raise DomainError(
            "a store on PostgreSQL can't be copied to a file",
            remedy="Back it up with pg_dump, and restore it with pg_restore.",
        )

    async def damaged_blocks(self) -> None:
        """Return nothing: the files are the server's, where pg_amcheck and checksums look."""

    def _free(self, progress: Callable[[float], None] | None) -> None:
        link = self._standing()
        try:
            with link.connect() as raw:
                names = PostgresConnection(raw).execute(_TABLES).fetchall()
                for done, (name,) in enumerate(names, 1):
                    raw.execute(f'VACUUM "{name}"'.encode(), prepare=False)
                    if progress is not None:
                        progress(done / len(names))
        except psycopg.Error as error:
            raise link.away(error) from error

    def _open(self) -> None:
        link = Link(self._url, self._pool_size)
        link.open()
        try:
            with link.connect() as raw:
                prepare_schema(raw, link.place)
                self._lock_key, self._channel = lock_key(raw), channel_of(raw)
        except psycopg.Error as error:
            link.close()
            raise PersistenceConnectionError(
                f"{link.place} can't hold a store: {' '.join(str(error).split())}",
                remedy="Its user needs CREATE on the database's schema.",
            ) from error
        except BaseException:
            link.close()
            raise
        ensure_private_dir(self.path.parent)
        write_atomically(self.path, f"{link.place}\n".encode(), mode=PRIVATE_FILE)
        self._link = link

    def _close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _standing(self) -> Link:
        if self._link is None:
            raise DomainError("the database is not open")
        return self._link

    def _snapshot(self, work: Callable[[Connection], T]) -> T:
        link, patience = self._standing(), Patience()
        while True:
            with link.taken(patience) as raw:
                try:
                    with told():
                        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    result = work(PostgresConnection(raw))
                    with told():
                        raw.execute("COMMIT")
                    link.found()
                    return result
                except BaseException as error:
                    _roll_back(raw)
                    lost = cause_of(error)
                    if lost is None or not link.lost(raw, lost):
                        raise
            if not patience.pause():
                raise link.away(lost) from lost

    def _transact(self, work: Callable[[Connection], T]) -> T:
        """Write, again where the connection is lost; first see whether the last try was kept."""
        link, patience = self._standing(), Patience()
        unknown: tuple[UUID, T] | None = None
        while True:
            with link.taken(patience) as raw:
                token, is_committing = uuid4(), False
                try:
                    self._begin(raw)
                    if unknown is not None and self._was_kept(raw, unknown[0]):
                        _roll_back(raw)
                        link.found()
                        return unknown[1]
                    unknown = None
                    result = work(PostgresConnection(raw))
                    unknown, is_committing = (token, result), True
                    self._commit(raw, token)
                    link.found()
                    return result
                except BaseException as error:
                    _roll_back(raw)
                    lost = cause_of(error)
                    if lost is not None and lost.sqlstate == _LOCKED_OUT:
                        raise PersistenceConnectionError(
                            f"other programs have been writing to the database for {_LOCK_WAIT} "
                            "seconds",
                            remedy="Try again; nothing was changed.",
                        ) from error
                    if lost is None or not link.lost(raw, lost):
                        raise
                    if is_committing and not raw.closed:
                        unknown = None  # the server answered: it was rolled back
            if not patience.pause():
                raise link.away(lost) from lost

    def _begin(self, raw: Raw) -> None:
        """Begin a transaction and wait until no other program writes.

        What the transaction then sees is what they have committed: each statement has a snapshot of
        its own.
        """
        with told():
            raw.execute(
                f"BEGIN; SET LOCAL lock_timeout = '{_LOCK_WAIT}s'; "
                f"SELECT pg_advisory_xact_lock({self._lock_key})",
                prepare=False,
            )

    def _was_kept(self, raw: Raw, token: UUID) -> bool:
        """Whether a write took effect; under the lock, so that none can be under way still."""
        known = "SELECT token FROM store_writers WHERE writer = $1"
        return raw.execute(known, [self.writer]).fetchone() == (token,)

    def _commit(self, raw: Raw, token: UUID) -> None:
        with told():
            raw.execute(
                f"SELECT finish_write('{self.writer}', '{token}', '{self._channel}'); COMMIT",
                prepare=False,
            )


def read_once(url: str, work: Callable[[Connection], T]) -> T:
    """Run ``work`` on a snapshot of a store that isn't opened; nothing is made or changed.

    Raises ``duckdb.Error``, and ``psycopg.Error`` when the server can't be reached.
    """
    with Link(url, 1).connect() as raw, told():
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return work(PostgresConnection(raw))


def _roll_back(raw: Raw) -> None:
    try:
        if not raw.closed:
            raw.execute("ROLLBACK")
    except psycopg.Error:
        raw.close()
