"""The port of the store's database: what all SQL of the program is run through.

Rooms that keep something write functions of a ``Connection`` and hand them to a ``StoreDatabase``;
which database runs them is nothing they know. The SQL is DuckDB's dialect; a database that speaks
another one translates it. What belongs to one database alone, such as its files, is not here.
"""

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Connection(Protocol):
    """A connection inside one transaction, as functions that run SQL get it.

    Rows are tuples of Python values: moments without a zone (UTC), lists for arrays, ``bytes`` for
    blobs, ``UUID`` for ids. Placeholders are ``?``, in the order of the parameters.
    """

    def execute(self, query: Any, parameters: Any = None, /) -> "Connection":
        """Run one statement; its rows are fetched from what is returned."""

    def executemany(self, query: Any, parameters: Any = None, /) -> "Connection":
        """Run one statement once for each sequence of parameters."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or ``None`` after the last one."""

    def fetchmany(self, size: int = 1, /) -> list[Any]:
        """Return up to ``size`` more rows."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""

    def cursor(self) -> Any:
        """Return another one in the same database, which the caller closes."""

    @property
    def description(self) -> Sequence[Any]:
        """The columns of the result; each begins with its name."""


class StoreChange(NamedTuple):
    """Something was written by another program on the same store.

    ``writer`` is what that program is called, empty when writes may have been missed: whoever keeps
    something of the store looks again then. ``revision`` is the last one after it.
    """

    writer: str
    revision: int


class StoreDatabase(Protocol):
    """A database of the store: writes one after another, reads that never wait for a write."""

    @property
    def path(self) -> Path:
        """The file in the data directory that stands for this database."""

    @property
    def kind(self) -> str:
        """The database system's name, as ``persistence.backend`` has it."""

    @property
    def is_open(self) -> bool:
        """Whether it is open for reading and writing."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write to it meanwhile."""

    async def open(self) -> None:
        """Open it, creating or updating its tables; do nothing when it is open already."""

    async def close(self) -> None:
        """Finish pending reads and writes, then close; do nothing when it is closed."""

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction, alone among all writers, and return its result.

        An exception from ``work`` rolls everything back and is raised here.
        """

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a consistent snapshot, in another thread, and return its result."""

    def changes(self) -> AsyncIterator[StoreChange]:
        """Yield what other programs write from now on; where there can't be any, nothing."""

    @property
    def trouble(self) -> str:
        """Why the database can't be reached at the moment, in words; empty while it can."""

    async def size(self) -> int:
        """Return how many bytes the store takes where it is kept, with what was set aside of it."""

    async def give_back_memory(self) -> None:
        """Free the memory that is held for reads to come."""

    async def rewrite(self, progress: Callable[[float], None] | None = None) -> None:
        """Write the stored data anew, so that deleted data is in no free block any more."""

    async def copy_to(self, target: Path, *, cancel: threading.Event | None = None) -> None:
        """Write a consistent copy to a file; raises ``CancelledByUserError`` once cancelled."""

    async def damaged_blocks(self) -> int | None:
        """Count the blocks that are damaged on disk; ``None`` where only a server knows them."""
