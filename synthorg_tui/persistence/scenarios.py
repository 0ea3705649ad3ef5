"""Saved questions in the store's database, so that a backup holds them too."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synthorg_tui.persistence.database import Database

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class ScenarioRecord:
    """A question (as JSON) under a name, and the memory ids it included when it was saved."""

    name: str
    question: str
    expected: tuple[str, ...]


class DuckDBScenarioStore:
    """Keeps scenarios by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[ScenarioRecord, ...]:
        """Every scenario, by name."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT name, question, expected FROM scenarios ORDER BY name"
            ).fetchall()
        )
        return tuple(ScenarioRecord(name, asked, tuple(ids)) for name, asked, ids in rows)

    async def save(self, record: ScenarioRecord) -> None:
        """Keep a scenario; one of the same name is replaced."""
        values = [record.name, record.question, list(record.expected)]
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?)", values)
        )

    async def delete(self, name: str) -> bool:
        """Forget a scenario; ``False`` when there is none."""

        def work(db: "duckdb.DuckDBPyConnection") -> bool:
            found = db.execute(
                "DELETE FROM scenarios WHERE name = ? RETURNING name", [name]
            ).fetchall()
            return bool(found)

        return await self._database.write(work)
