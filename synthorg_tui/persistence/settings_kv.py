"""Small facts in the database: moments, when jobs are due, what has to be finished at a start.

Every start asks for these, so each must be one quick query, and nothing of the engine may be
imported for it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.persistence.port import Connection, StoreDatabase

_PREFIX = "moment:"


class LastRuns:
    """Stores when each periodic job last ran, by the job's name."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def get(self, name: str) -> datetime | None:
        """Return when the job last ran, timezone-aware, or ``None`` if it never did."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT value FROM meta WHERE name = ?", [_PREFIX + name]
            ).fetchone()
        )
        return datetime.fromisoformat(row[0]) if row else None

    async def put(self, name: str, moment: datetime) -> None:
        """Record that the job ran at ``moment`` (timezone-aware), replacing the earlier time."""
        values = [_PREFIX + name, moment.isoformat()]
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        )


def get_facts(db: Connection, prefix: str) -> dict[str, str]:
    """Return the facts whose names start with ``prefix``, by name."""
    rows = db.execute("SELECT name, value FROM meta WHERE starts_with(name, ?)", [prefix])
    return dict(rows.fetchall())


def put_facts(db: Connection, facts: Mapping[str, str]) -> None:
    """Store facts by name, in place of earlier values, within the caller's transaction."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(facts.items()))


def kept_settings(db: Connection) -> list[tuple[str, str, str]]:
    """Return namespace, key and value of each setting that was changed in the app.

    Every start asks; whoever changes one uses the documented repository.
    """
    return db.execute("SELECT namespace, key, value FROM settings").fetchall()


def has_open(db: Connection) -> bool:
    """Return whether a committed decision may still have unwritten file changes.

    That is so after a crash between the commit and the file writes; the next start then finishes
    them.
    """
    found = db.execute("SELECT 1 FROM operations WHERE state = 'open' LIMIT 1").fetchone()
    return found is not None


def has_due(db: Connection) -> bool:
    """Return whether a plan of consolidation was being applied when the program stopped."""
    found = db.execute("SELECT 1 FROM consolidation_groups WHERE state = 'due' LIMIT 1").fetchone()
    return found is not None


def former_roots(db: Connection, own_root: str) -> frozenset[str]:
    """Return the folders other than ``own_root`` that learned skills were written to before."""
    found = db.execute(
        "SELECT DISTINCT root FROM skills WHERE kind IS NOT NULL AND root <> ?", [own_root]
    ).fetchall()
    return frozenset(row[0] for row in found)


_LENGTHS: Final = {
    ConsolidationInterval.HOURLY: timedelta(hours=1),
    ConsolidationInterval.DAILY: timedelta(days=1),
    ConsolidationInterval.WEEKLY: timedelta(weeks=1),
}


def due_at(
    interval: ConsolidationInterval, last: datetime | None, now: datetime
) -> datetime | None:
    """Return when a periodic job is due: an interval after its last run, at first ``now``.

    A ``last`` in the future (the clock was set back) is treated as if the job never ran. With an
    interval without a length, such as "never", it is ``None``.
    """
    length = _LENGTHS.get(interval)
    if length is None:
        return None
    return now if last is None or last > now else last + length
