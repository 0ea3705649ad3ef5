"""Owning a data directory: its lock and its open database, for as long as both are needed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.lock import DataDirLock


@asynccontextmanager
async def own_database(data_dir: Path) -> AsyncIterator[Database]:
    """The open database of a directory that no other process may open meanwhile.

    Raises ``StoreLockedError`` when another process owns it, ``StoreCorruptError`` when the
    database can't be read.
    """
    with DataDirLock(data_dir):
        database = Database.in_dir(data_dir)
        try:
            await database.open()
            yield database
        finally:
            await database.close()
