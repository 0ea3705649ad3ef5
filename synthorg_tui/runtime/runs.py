"""The table of runs and their steps, all of its SQL; secrets are redacted before anything is kept.

How a run is carried out is for the loop, who may start one for the service. Erasure is part of the
transactions that forget sessions and purge memories, and stands below, in ``persistence.run_log``.
"""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.core.text import safe_text
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import aware, naive, parsed
from synthorg_tui.runtime.models import AgentRun, RunRequest, RunStatus, RunStep

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_COLUMNS: Final = (
    "r.id, r.request, r.status, r.started_at, r.ended_at, r.reason, r.told, r.model, r.item_id, "
    "r.execution_id"
)
_USED: Final = """
SELECT run_id,
    count(*) FILTER (step->>'kind' = 'answer') AS turns,
    count(*) FILTER (step->>'kind' = 'call') AS calls,
    coalesce(sum((step->>'prompt_tokens')::BIGINT), 0)::BIGINT AS prompt_tokens,
    coalesce(sum((step->>'completion_tokens')::BIGINT), 0)::BIGINT AS completion_tokens,
    coalesce(sum((step->>'cost')::DOUBLE), 0) AS cost
FROM agent_run_steps WHERE run_id IN (SELECT id FROM chosen) GROUP BY run_id
"""
_CHANGEABLE: Final = frozenset(
    {"status", "ended_at", "reason", "told", "model", "item_id", "execution_id", "doing"}
)


class UnknownRunError(DomainError):
    """No run has this id, or several begin with it."""


class RunStore:
    """Stores runs and their steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, run: AgentRun) -> AgentRun:
        """Store a new run and return it as stored, without secrets in what was asked for."""
        request = RunRequest.model_validate(_clean(run.request.model_dump(mode="json")))
        values = [
            run.id,
            request.agent_id,
            request.model_dump_json(),
            run.status.value,
            naive(run.started_at),
            None,
            "",
            run.told,
            run.model,
            "",
            "",
            "",
        ]
        marks = ", ".join("?" * len(values))
        await self._database.write(
            lambda db: db.execute(f"INSERT INTO agent_runs VALUES ({marks})", values)
        )
        return run.model_copy(update={"request": request})

    async def change(self, run_id: str, **values: Any) -> None:
        """Change columns of a run: how it stands, how it ended, what it is doing."""
        assert values.keys() <= _CHANGEABLE
        if "told" in values:
            values["told"] = redact_text(values["told"], RedactionTally())
        if "ended_at" in values:
            values["ended_at"] = naive(values["ended_at"])
        names = ", ".join(f"{name} = ?" for name in values)
        await self._database.write(
            lambda db: db.execute(
                f"UPDATE agent_runs SET {names} WHERE id = ?", [*values.values(), run_id]
            )
        )

    async def add(self, run_id: str, step: RunStep) -> RunStep:
        """Store a complete step, and that nothing is being done any more; return it as stored.

        Storing a step of the same number again replaces it.
        """
        clean = RunStep.model_validate(_clean(step.model_dump(mode="json", exclude_defaults=True)))
        text = clean.model_dump_json(exclude_defaults=True)

        def work(db: "Connection") -> None:
            sql = "INSERT OR REPLACE INTO agent_run_steps VALUES (?, ?, ?)"
            db.execute(parsed(db, sql), [run_id, step.number, text])
            idle = "UPDATE agent_runs SET doing = '' WHERE id = ? AND doing <> ''"
            db.execute(parsed(db, idle), [run_id])

        await self._database.write(work)
        return clean

    async def doing(self, run_id: str) -> str:
        """Return the use of a tool that was being done when the run was last stored."""
        row = await self._database.read(
            lambda db: db.execute("SELECT doing FROM agent_runs WHERE id = ?", [run_id]).fetchone()
        )
        return str(row[0]) if row else ""

    async def steps(self, run_id: str) -> tuple[RunStep, ...]:
        """Return the stored steps of a run, in their order."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT step FROM agent_run_steps WHERE run_id = ? ORDER BY number", [run_id]
            ).fetchall()
        )
        return tuple(RunStep.model_validate_json(text) for (text,) in rows)

    async def find(self, start: str) -> AgentRun:
        """Return the run whose id begins so; raises ``UnknownRunError`` for none or several."""
        found = await self._database.read(
            lambda db: _read(db, "WHERE starts_with(r.id, ?)", [start], limit=2, offset=0)
        )
        exact = [run for run in found if run.id == start]
        if not start.strip() or not found:
            raise UnknownRunError(
                f"there is no run {safe_text(start)[:64]!r}",
                remedy="`synthorg-tui runs list` names them.",
            )
        if len(found) > 1 and not exact:
            raise UnknownRunError(
                f"several runs begin with {safe_text(start)[:64]!r}", remedy="Give more of the id."
            )
        return (exact or list(found))[0]

    async def list(
        self, *, limit: int, offset: int = 0, status: Collection[RunStatus] = ()
    ) -> tuple[AgentRun, ...]:
        """Return runs, the newest first; all when no ``status`` is named."""
        where, values = "", list[object]()
        if status:
            where = "WHERE r.status IN (SELECT unnest(?::VARCHAR[]))"
            values = [[each.value for each in status]]
        return await self._database.read(
            lambda db: _read(db, where, values, limit=limit, offset=offset)
        )


def _read(
    db: "Connection", where: str, values: Sequence[object], *, limit: int, offset: int
) -> tuple[AgentRun, ...]:
    rows = db.execute(
        f"WITH chosen AS (SELECT * FROM agent_runs r {where} "
        f"ORDER BY r.started_at DESC, r.id LIMIT ? OFFSET ?), used AS ({_USED}) "
        f"SELECT {_COLUMNS}, coalesce(u.turns, 0), coalesce(u.calls, 0), "
        "coalesce(u.prompt_tokens, 0), coalesce(u.completion_tokens, 0), coalesce(u.cost, 0) "
        "FROM chosen r LEFT JOIN used u ON u.run_id = r.id ORDER BY r.started_at DESC, r.id",
        [*values, limit, offset],
    ).fetchall()
    return tuple(map(_run, rows))


def _run(row: Sequence[Any]) -> AgentRun:
    return AgentRun(
        id=row[0],
        request=RunRequest.model_validate_json(row[1]),
        status=RunStatus(row[2]),
        started_at=aware(row[3]),
        ended_at=aware(row[4]),
        reason=TerminationReason(row[5]) if row[5] else None,
        told=row[6],
        model=row[7],
        item_id=row[8],
        execution_id=row[9],
        turns=row[10],
        calls=row[11],
        prompt_tokens=row[12],
        completion_tokens=row[13],
        cost=row[14],
    )


def _clean(value: object) -> object:
    return redact_value(value, RedactionTally(), raw=json.dumps(value))
