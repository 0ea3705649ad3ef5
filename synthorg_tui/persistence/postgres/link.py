"""Getting a connection to the server, what it means when one is lost, and hearing of changes."""

import asyncio
import logging
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.port import StoreChange
from synthorg_tui.persistence.postgres.connection import Raw, connect_options, in_a_line, set_up

_log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

PATIENCE: Final = 20.0
"""Seconds that a call waits for a server that is away, before it fails."""
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_LOOK: Final = 30.0
"""Seconds without a notification after which it is asked whether the connection still stands."""
_AGAIN: Final = ("40001", "40P01", "57P01", "57P02", "57P03")
"""SQLSTATEs after which the same transaction can be run again: it was chosen to give way to another
one, or the server was stopping or starting."""


def place_of(url: str) -> str:
    """Return the server and database of a URL in words, without user and password."""
    parts = conninfo_to_dict(url)
    host = str(parts.get("host") or parts.get("hostaddr") or "localhost")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


class Link:
    """Connections to one database, opened as needed and opened again when the server was away.

    ``trouble`` says in words why it can't be reached at the moment, and is empty while it can.
    """

    def __init__(self, url: str, size: int) -> None:
        self.place = place_of(url)
        self.trouble = ""
        self._url = url
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Raw] = ConnectionPool(
            url,
            min_size=1,
            max_size=size,
            open=False,
            kwargs=connect_options(),
            configure=set_up,
            reconnect_timeout=PATIENCE,
            num_workers=1,
        )

    def open(self) -> None:
        """Open the first connection; raises ``PersistenceConnectionError`` with what is wrong."""
        try:
            self.connect().close()
            self._pool.open(wait=True, timeout=PATIENCE)
        except (psycopg.Error, PoolTimeout) as error:
            raise PersistenceConnectionError(
                f"{self.place} can't be opened: {in_a_line(error)}",
                remedy="Check that the server runs, and persistence.url or persistence.url_env.",
            ) from error

    def connect(self) -> psycopg.Connection[TupleRow]:
        """Return a connection of its own, which the caller closes."""
        raw: Raw = psycopg.Connection.connect(self._url, **connect_options())
        set_up(raw)
        return raw

    async def listen(self) -> psycopg.AsyncConnection[TupleRow]:
        """Return a connection for notifications, which the caller closes."""
        options = connect_options() | {"cursor_factory": psycopg.AsyncRawCursor}
        return await psycopg.AsyncConnection.connect(self._url, **options)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def taken(self, patience: "Patience") -> Iterator[Raw]:
        """Lend a connection; one that was lost meanwhile isn't lent again."""
        try:
            raw = self._pool.getconn(timeout=patience.left())
        except (PoolTimeout, PoolClosed) as error:
            raise self.away(error) from error
        try:
            yield raw
        finally:
            self._pool.putconn(raw)

    def away(self, error: Exception) -> PersistenceConnectionError:
        """Return what a call fails with once its patience is at an end."""
        self.trouble = self.trouble or in_a_line(error)
        return PersistenceConnectionError(
            f"the database {self.place} doesn't answer: {self.trouble}",
            remedy="What was acknowledged is kept; try again when the server is back.",
        )

    def lost(self, raw: Raw, error: psycopg.Error) -> bool:
        """Whether an error says that the same transaction is worth another try."""
        if not (raw.closed or error.sqlstate in _AGAIN):
            return False
        if raw.closed:
            self._note(in_a_line(error))
        return True

    def found(self) -> None:
        """Say that the server has answered."""
        if self.trouble:
            self._note("")

    def _note(self, trouble: str) -> None:
        with self._lock:
            if trouble and not self.trouble:
                _log.warning("the database %s is away: %s", self.place, trouble)
                self._pool.check()
            elif self.trouble and not trouble:
                _log.warning("the database %s is back", self.place)
            self.trouble = trouble


class Patience:
    """How long one call goes on trying, with pauses that grow and aren't the same for all."""

    def __init__(self) -> None:
        self._end = time.monotonic() + PATIENCE
        self._pause = _FIRST_PAUSE

    def left(self) -> float:
        """Seconds that are left, at least a moment."""
        return max(self._end - time.monotonic(), _FIRST_PAUSE)

    def pause(self) -> bool:
        """Wait before the next try; false when there is no time for another one."""
        if time.monotonic() >= self._end:
            return False
        time.sleep(min(self._pause * random.uniform(0.5, 1.0), self.left()))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return True


async def told_changes(link: Link, channel: str, own: str) -> AsyncIterator[StoreChange]:
    """Yield what others wrote, for as long as somebody asks.

    After a connection was lost, what was written meanwhile is told as one change without a writer.
    """
    pause, was_lost = _FIRST_PAUSE, False
    while True:
        try:
            async with await link.listen() as raw:
                await raw.execute(f'LISTEN "{channel}"')
                if was_lost:
                    yield StoreChange(writer="", revision=0)
                pause, was_lost = _FIRST_PAUSE, False
                while True:
                    async for note in raw.notifies(timeout=_LOOK):
                        writer, _, revision = note.payload.partition(" ")
                        if writer != own:
                            yield StoreChange(writer=writer, revision=int(revision))
                    await raw.execute("SELECT 1")
        except psycopg.OperationalError as error:
            _log.info("not told of changes for now: %s", error)
            was_lost = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
