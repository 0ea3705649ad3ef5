"""When something was done last, in the store's database."""

from datetime import datetime

from synthorg_tui.persistence.database import Database

_PREFIX = "moment:"


class DuckDBMoments:
    """Keeps one moment under each name."""

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
        """Keep a moment (timezone-aware) in the place of the former one."""
        values = [_PREFIX + name, moment.isoformat()]
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        )
