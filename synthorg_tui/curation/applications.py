"""How often agents were given what a skill says.

Every digest passes here on its way to an agent: no skill is read for it.
"""

import json
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import naive_utc

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class Applications:
    """Counts the applications of the skills in the ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def applied(self, memory_ids: Collection[str], at: datetime) -> int:
        """Count that an agent was given these memories; returns how many skills that were."""
        if not memory_ids:
            return 0
        given = frozenset(memory_ids)
        if not await self._database.read(lambda db: _using(db, given)):
            return 0

        def work(db: "Connection") -> int:
            served = _using(db, given)
            for path in served:
                db.execute(
                    "UPDATE skills SET application_count = application_count + 1, "
                    "last_applied_at = ? WHERE path = ?",
                    [naive_utc(at), path],
                )
            return len(served)

        return await self._database.write(work)


def _using(db: "Connection", memory_ids: frozenset[str]) -> list[str]:
    """Paths of the skills that count and that any of these memories is of."""
    rows = db.execute("SELECT path, memory_ids FROM skills WHERE status = 'active'").fetchall()
    return [path for path, listed in rows if not memory_ids.isdisjoint(json.loads(listed))]
