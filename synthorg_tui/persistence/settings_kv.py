"""What the database remembers besides its rows: when a job last ran, and what a start must finish.

Every start asks these questions, so each must be one quick query, and nothing of the engine may be
imported for it.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.persistence.database import Database

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_PREFIX = "moment:"


class LastRuns:
    """Stores one moment under each name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> datetime | None:
        """The moment, or ``None``."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT value FROM meta WHERE name = ?", [_PREFIX + name]
            ).fetchone()
        )
        return datetime.fromisoformat(row[0]) if row else None

    async def put(self, name: str, moment: datetime) -> None:
        """Store a moment (timezone-aware) in the place of the former one."""
        values = [_PREFIX + name, moment.isoformat()]
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        )


def has_open(db: "DuckDBPyConnection") -> bool:
    """Whether a decision is committed whose files may not be written yet."""
    found = db.execute("SELECT 1 FROM operations WHERE state = 'open' LIMIT 1").fetchone()
    return found is not None


def former_roots(db: "DuckDBPyConnection", own_root: str) -> frozenset[str]:
    """The folders besides ``own_root`` that skills drawn from lessons were written to."""
    found = db.execute(
        "SELECT DISTINCT root FROM skills WHERE kind IS NOT NULL AND root <> ?", [own_root]
    ).fetchall()
    return frozenset(row[0] for row in found)


_LENGTHS: Final = {
    ConsolidationInterval.HOURLY: timedelta(hours=1),
    ConsolidationInterval.DAILY: timedelta(days=1),
    ConsolidationInterval.WEEKLY: timedelta(weeks=1),
}


def is_due(interval: ConsolidationInterval, last: datetime | None, now: datetime) -> bool:
    """Whether an interval has passed since ``last``; what was never done is due.

    A ``last`` in the future (the clock was set back) doesn't count.
    """
    length = _LENGTHS.get(interval)
    if length is None:
        return False
    return last is None or last > now or now - last >= length
