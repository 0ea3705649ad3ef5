"""Usage of language models, stored in the database and summed up by model."""

from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.persistence.entities import NO_TASK, OWN_AGENT, OWN_PROVIDERS, CostRecord
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.repositories import CostRecordTable
from synthorg_tui.persistence.values import naive_utc, number_of
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

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def add(self, record: UsageRecord) -> None:
        """Add a record, as a cost of the task that the model was asked for."""
        spent = CostRecord(
            agent_id=record.agent_id or OWN_AGENT,
            task_id=record.task_id or NO_TASK,
            provider=record.provider,
            model=record.model,
            input_tokens=record.prompt_tokens,
            output_tokens=record.completion_tokens,
            cost_usd=record.cost,
            timestamp=record.at,
            seconds=record.seconds,
        )
        await CostRecordTable(self._database).save(spent)

    async def tokens_since(self, moment: datetime) -> int:
        """Return the prompt and completion tokens that the configured models used since ``moment``.

        What other agents' programs used doesn't count: a daily limit isn't theirs.
        """
        return await self._database.read(
            lambda db: number_of(
                db,
                "SELECT coalesce(sum(input_tokens + output_tokens), 0)::BIGINT FROM cost_records "
                "WHERE timestamp >= ? AND provider IN (SELECT unnest(?::VARCHAR[]))",
                [naive_utc(moment), list(OWN_PROVIDERS)],
            )
        )

    async def since(self, moment: datetime) -> tuple[UsageTotal, ...]:
        """Return the totals of each model since ``moment``, ordered by model name."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT model, count(*), sum(input_tokens)::BIGINT, "
                "sum(output_tokens)::BIGINT, sum(seconds), sum(cost_usd) "
                "FROM cost_records WHERE timestamp >= ? GROUP BY model ORDER BY model",
                [naive_utc(moment)],
            ).fetchall()
        )
        return tuple(UsageTotal(*row) for row in rows)
