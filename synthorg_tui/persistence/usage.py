"""Usage of language models, stored in the database and summed up by model."""

from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.providers.completion.usage import UsageRecord


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Totals of one model's answers in a time span; units are as in ``UsageRecord``."""

    model: str
    answers: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float


class UsageStore:
    """Adds records and sums them up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, record: UsageRecord) -> None:
        values = [
            naive_utc(record.at),
            record.model,
            record.prompt_tokens,
            record.completion_tokens,
            record.seconds,
            record.cost,
        ]
        await self._database.write(
            lambda db: db.execute("INSERT INTO model_usage VALUES (?, ?, ?, ?, ?, ?)", values)
        )

    async def tokens_since(self, moment: datetime) -> int:
        """Return the prompt and completion tokens used since ``moment``, summed over all models."""
        return sum(used.prompt_tokens + used.completion_tokens for used in await self.since(moment))

    async def since(self, moment: datetime) -> tuple[UsageTotal, ...]:
        """Return the totals of each model since ``moment``, ordered by model name."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT model, count(*), sum(prompt_tokens)::BIGINT, "
                "sum(completion_tokens)::BIGINT, sum(seconds), sum(cost) "
                "FROM model_usage WHERE used_at >= ? GROUP BY model ORDER BY model",
                [naive_utc(moment)],
            ).fetchall()
        )
        return tuple(UsageTotal(*row) for row in rows)
