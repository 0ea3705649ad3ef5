"""Records when and how agents were given what a skill says.

Every digest and every hint passes here on its way to an agent, so it needs two columns of the
registry and must not load the rest: no import of ``registry`` or of the models of skills may come
in here. What came of it is for ``learning.effects``.
"""

import json
from collections.abc import Collection
from datetime import datetime

from synthorg_tui.memory.strategies.service import Use
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc


class Applications:
    """Counts how often agents were given each approved skill, and records each time."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def applied(
        self, memory_ids: Collection[str], at: datetime, use: Use | None = None
    ) -> int:
        """Count one use, at the time ``at``, of every active skill that has one of these memories.

        ``use`` says how it was given, and is recorded with it. Returns the number of those skills.
        Call it once for each digest or hint that an agent is given, and each skill that it reads.
        """
        if not memory_ids:
            return 0
        served = frozenset(memory_ids)
        if not await self._database.read(lambda db: _skills_of(db, served)):
            return 0

        def work(db: Connection) -> int:
            paths = _skills_of(db, served)
            for path in paths:
                db.execute(
                    "UPDATE skills SET application_count = application_count + 1, "
                    "last_applied_at = ? WHERE path = ?",
                    [naive_utc(at), path],
                )
                if use is not None:
                    db.execute(
                        "INSERT INTO lesson_uses VALUES (?, ?, ?, ?, ?, ?)",
                        [
                            path,
                            naive_utc(at),
                            use.how.value,
                            use.agent_id,
                            use.project,
                            use.session_id,
                        ],
                    )
            return len(paths)

        return await self._database.write(work)


def _skills_of(db: Connection, memory_ids: frozenset[str]) -> list[str]:
    """Paths of the active skills that any of these is a memory of."""
    rows = db.execute("SELECT path, memory_ids FROM skills WHERE status = 'active'").fetchall()
    return [path for path, listed in rows if not memory_ids.isdisjoint(json.loads(listed))]
