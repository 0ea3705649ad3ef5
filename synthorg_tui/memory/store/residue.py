"""Purged content that is still in files, and rewriting these files without it.

A purge takes rows and points out of reach at once, but DuckDB and the vector index leave the bytes
in free space of their files. What is still to be erased follows from what the purge itself
committed, so no crash loses it: ``meta`` says so of the database, and the tombstones, compared with
the revision up to which the index was made anew, say so of the index.
"""

import hashlib
import logging
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.store import queries
from synthorg_tui.persistence.port import Connection, StoreDatabase

_log = logging.getLogger(__name__)

ERASED_ON_CLOSE = 1024**3
"""Bytes of a database up to which closing writes it anew after a purge, in at most a minute.

A larger one is left to the next owner that stays open.
"""
ERASED_AFTER = 5.0
"""Seconds after a purge until files are written anew, so that several purges share one writing."""
_INDEX_ERASED: Final = "index_erased"
"""Name of the revision up to which the index's files hold no purged vector."""

Share: TypeAlias = Callable[[float], None]
"""Told the share of the database that is written anew, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What of purged memories is still to be erased from the files of a store.

    ``reason`` says why the last attempt failed, empty when there was none or it succeeded.
    """

    database: bool = False
    index: bool = False
    reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the files hold nothing that was purged."""
        return not (self.database or self.index)

    @property
    def told(self) -> str:
        """The remains as a phrase for a person."""
        places = {"text in the database file": self.database, "vectors in the index": self.index}
        held = " and ".join(place for place, holds in places.items() if holds)
        why = f": {self.reason}" if self.reason else ""
        return f"still to be erased: {held}{why}" if held else "nothing is left of what was purged"


class Residue:
    """Tracks the purged content in a store's files, and erases it from the database file.

    No memory may be changed during ``erase_database`` and ``note_index_erased``.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._in_database = False
        self._purged = 0
        self._index_erased = 0
        self._reasons: dict[str, str] = {}
        self._erased_name = _erased_name(database)

    def load(self, db: Connection, meta: dict[str, str]) -> None:
        """Read what an earlier process left to be erased."""
        self._in_database = bool(meta.get(queries.HAS_PURGED))
        self._index_erased = int(meta.get(self._erased_name) or 0)
        self._purged = queries.last_purge(db)

    def look(self, db: Connection) -> None:
        """Read what others have purged since; the files of their database are theirs to rewrite."""
        self._purged = max(self._purged, queries.last_purge(db))

    def note_purge(self, revision: int | None) -> None:
        """Take note of a committed purge, of memories at ``revision`` or of other texts alone."""
        self._reasons.clear()
        self._in_database = True
        self._purged = max(self._purged, revision or 0)

    @property
    def remains(self) -> Remains:
        """Purged content that is still in the files."""
        reason = "; ".join(self._reasons.values())
        return Remains(self._in_database, self._purged > self._index_erased, reason)

    async def erase_database(self, progress: Share | None = None) -> None:
        """Write the database file anew; a failure is logged and stands in ``remains``."""
        if not self._in_database:
            return
        try:
            await self._database.rewrite(progress)
            await self._database.write(
                lambda db: db.execute("DELETE FROM meta WHERE name = ?", [queries.HAS_PURGED])
            )
        except (DomainError, duckdb_error(), OSError) as error:
            self.note_failure("database", error)
            return
        self._in_database = False
        self._reasons.pop("database", None)

    async def note_index_erased(self, revision: int) -> None:
        """Record that the index's files hold nothing that was purged up to ``revision``."""
        if self._purged <= self._index_erased:
            return
        values = [self._erased_name, str(revision)]
        try:
            await self._database.write(
                lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
            )
        except (DomainError, duckdb_error(), OSError) as error:
            self.note_failure("index", error)
            return
        self._index_erased = revision
        self._reasons.pop("index", None)

    def note_failure(self, part: str, error: Exception) -> None:
        """Take note, for ``remains``, of why the ``index`` or the ``database`` stays as it is."""
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        self._reasons[part] = reason
        _log.warning("purged content may still be in the %s: %s", part, reason)


def _erased_name(database: StoreDatabase) -> str:
    """The name in ``meta`` for the index of this data directory: each app has its own."""
    if not database.is_shared:
        return _INDEX_ERASED
    place = f"{platform.node()}:{database.path.parent.resolve()}"
    return f"{_INDEX_ERASED}:{hashlib.sha256(place.encode()).hexdigest()[:16]}"
