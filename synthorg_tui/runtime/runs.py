"""The store of runs: their tasks, steps, heartbeats and status.

Steps are stored as checkpoints and the task as one of operational data; everything else is in the
table ``agent_runs``, whose SQL is all here. Secrets are redacted before anything is stored. Erasure
is part of the transactions that forget sessions and purge memories, in ``persistence.work_texts``.
"""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import TaskStatus, TaskType, TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.persistence.entities import (
    Checkpoint,
    Heartbeat,
    ParkedContext,
    Task,
)
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, naive
from synthorg_tui.runtime.models import AgentRun, RunRequest, RunStatus, RunStep, StepKind

_COLUMNS: Final = (
    "r.id, r.request, r.status, r.started_at, r.ended_at, r.reason, r.told, r.model, r.item_id, "
    "r.execution_id, t.description, t.assigned_to, t.project"
)
_USED: Final = """
SELECT run_id,
    count(*) FILTER (used[1] = 'answer') AS turns,
    count(*) FILTER (used[1] = 'call') AS calls,
    coalesce(sum(used[2]::BIGINT), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(used[3]::BIGINT), 0)::BIGINT AS completion_tokens,
    coalesce(sum(used[4]::DOUBLE), 0) AS cost
FROM (
    SELECT execution_id AS run_id, json_extract_string(try_cast(context_json AS JSON),
        ['$.kind', '$.prompt_tokens', '$.completion_tokens', '$.cost']) AS used
    FROM checkpoints WHERE execution_id IN (SELECT id FROM chosen)
) GROUP BY run_id
"""
"""What runs used, of their steps; each step's JSON is read once, as runs have thousands of them."""
_CHANGEABLE: Final = frozenset(
    {"status", "ended_at", "reason", "told", "model", "item_id", "execution_id", "doing"}
)
_ENDS: Final = {
    TerminationReason.COMPLETED: TaskStatus.COMPLETED,
    TerminationReason.SHUTDOWN: TaskStatus.CANCELLED,
}
_STANDS: Final = {
    RunStatus.RUNNING: TaskStatus.IN_PROGRESS,
    RunStatus.PARKED: TaskStatus.BLOCKED,
    RunStatus.INTERRUPTED: TaskStatus.INTERRUPTED,
}
_BEAT: Final = 10.0
"""Seconds between two signs of life of a run that works."""
_TITLE: Final = 100
CREATOR: Final = "person"
"""Who a task was created by that no other run delegated."""


class RunStore:
    """Stores runs and their steps.

    Args:
        database: Where the table of runs is.
        operations: Where tasks, checkpoints, heartbeats and what is parked are, in that database.
        clock: What "now" is.
    """

    def __init__(
        self, database: StoreDatabase, operations: DuckDBPersistence, clock: Clock
    ) -> None:
        self._database = database
        self.operations = operations
        self._clock = clock
        self._beats: dict[str, float] = {}

    async def create(self, run: AgentRun) -> AgentRun:
        """Store a new run and return it as stored, without secrets in what was asked for."""
        request = RunRequest.model_validate(_clean(run.request.model_dump(mode="json")))
        stored = run.model_copy(update={"request": request})
        values = [
            run.id,
            request.model_dump_json(exclude={"task"}),
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
        await self.operations.tasks.save(_task(stored))
        await self._database.write(
            lambda db: db.execute(f"INSERT INTO agent_runs VALUES ({marks})", values)
        )
        return stored

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
        if "status" in values:
            await self._stands(run_id)

    async def interrupt(self, run_id: str, told: str) -> None:
        """Mark a run whose work ended for no reason of its own, if it isn't marked otherwise yet.

        Whoever stops it may come just after it was stored as parked or ended, which then holds.
        """
        values = [RunStatus.INTERRUPTED.value, told, run_id, RunStatus.RUNNING.value]
        await self._database.write(
            lambda db: db.execute(
                "UPDATE agent_runs SET status = ?, told = ? WHERE id = ? AND status = ?", values
            )
        )
        await self._stands(run_id)

    async def _stands(self, run_id: str) -> None:
        """Have the task, the sign of life and what is parked say how the run stands now."""
        run = await self.find(run_id)
        await self.operations.tasks.save(_task(run))
        parked = self.operations.parked_contexts
        if run.status is RunStatus.PARKED:
            await parked.save(
                ParkedContext(
                    id=run.id,
                    execution_id=run.id,
                    agent_id=run.request.agent_id,
                    task_id=run.id,
                    approval_id=run.item_id,
                    parked_at=self._clock.now(),
                    context_json="{}",  # the checkpoints are its state
                )
            )
        else:
            await parked.delete(run.id)
        if run.status is not RunStatus.RUNNING:
            self._beats.pop(run.id, None)
            await self.operations.heartbeats.delete(run.id)

    async def add(self, run_id: str, agent_id: str, step: RunStep) -> RunStep:
        """Store a complete step and return it as stored, without secrets.

        Storing a step of the same number again replaces it.
        """
        clean = RunStep.model_validate(_clean(step.model_dump(mode="json", exclude_defaults=True)))
        await self.operations.checkpoints.save(
            Checkpoint(
                id=f"{run_id}-{step.number:06d}",
                execution_id=run_id,
                agent_id=agent_id,
                task_id=run_id,
                turn_number=step.turn,
                context_json=clean.model_dump_json(exclude_defaults=True),
                created_at=step.at,
            )
        )
        await self._beat(run_id, agent_id)
        return clean

    async def _beat(self, run_id: str, agent_id: str) -> None:
        if monotonic() - self._beats.get(run_id, -_BEAT) < _BEAT:
            return
        self._beats[run_id] = monotonic()
        alive = Heartbeat(
            execution_id=run_id,
            agent_id=agent_id,
            task_id=run_id,
            last_heartbeat_at=self._clock.now(),
        )
        await self.operations.heartbeats.save(alive)

    async def doing(self, run_id: str) -> str:
        """Return the last call of a tool that writes or executes which was begun, if any."""
        row = await self._database.read(
            lambda db: db.execute("SELECT doing FROM agent_runs WHERE id = ?", [run_id]).fetchone()
        )
        return str(row[0]) if row else ""

    async def steps(self, run_id: str) -> tuple[RunStep, ...]:
        """Return the stored steps of a run, in their order."""
        stored = await self.operations.checkpoints.query(execution_id=run_id)
        steps = (
            _step(each.id, each.turn_number, each.created_at, each.context_json) for each in stored
        )
        return tuple(sorted(steps, key=lambda step: step.number))

    async def page(self, run_id: str, *, after: int, limit: int) -> tuple[tuple[RunStep, ...], int]:
        """Return at most ``limit`` steps behind the one numbered ``after``, and the last number."""

        def read(db: Connection) -> tuple[list[Any], int]:
            rows = db.execute(
                "SELECT id, turn_number, created_at, context_json FROM checkpoints "
                "WHERE execution_id = ? AND id > ? ORDER BY id LIMIT ?",
                [run_id, f"{run_id}-{after:06d}", limit],
            ).fetchall()
            newest = "SELECT max(id) FROM checkpoints WHERE execution_id = ?"
            last = db.execute(newest, [run_id]).fetchone()
            return rows, int(last[0].rpartition("-")[2]) if last and last[0] else 0

        found, last = await self._database.read(read)
        return tuple(
            _step(key, turn, at.replace(tzinfo=UTC), text) for key, turn, at, text in found
        ), last

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all runs that weren't erased."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT id FROM agent_runs").fetchall()
        )
        return tuple(run_id for (run_id,) in rows)

    async def find(self, start: str) -> AgentRun:
        """Return the run whose id begins so; raises ``DomainError`` for none or several."""
        found = await self._database.read(
            lambda db: _read(db, "WHERE starts_with(r.id, ?)", [start], limit=2, offset=0)
        )
        exact = [run for run in found if run.id == start]
        if not start.strip() or not found:
            raise DomainError(
                f"there is no run {safe_text(start)[:64]!r}",
                remedy="`synthorg-tui runs list` names them.",
            )
        if len(found) > 1 and not exact:
            raise DomainError(
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
    db: Connection, where: str, values: Sequence[object], *, limit: int, offset: int
) -> tuple[AgentRun, ...]:
    rows = db.execute(
        f"WITH chosen AS (SELECT * FROM agent_runs r {where} "
        f"ORDER BY r.started_at DESC, r.id LIMIT ? OFFSET ?), used AS ({_USED}) "
        f"SELECT {_COLUMNS}, coalesce(u.turns, 0), coalesce(u.calls, 0), "
        "coalesce(u.prompt_tokens, 0), coalesce(u.completion_tokens, 0), coalesce(u.cost, 0) "
        "FROM chosen r JOIN tasks t ON t.id = r.id LEFT JOIN used u ON u.run_id = r.id "
        "ORDER BY r.started_at DESC, r.id",
        [*values, limit, offset],
    ).fetchall()
    return tuple(map(_run, rows))


def _run(row: Sequence[Any]) -> AgentRun:
    return AgentRun(
        id=row[0],
        request=_request(row[1], task=row[10], agent_id=row[11], workspace=row[12]),
        status=RunStatus(row[2]),
        started_at=aware(row[3]),
        ended_at=aware(row[4]),
        reason=TerminationReason(row[5]) if row[5] else None,
        told=row[6],
        model=row[7],
        item_id=row[8],
        execution_id=row[9],
        turns=row[13],
        calls=row[14],
        prompt_tokens=row[15],
        completion_tokens=row[16],
        cost=row[17],
    )


def _request(stored: str, **of_task: str) -> RunRequest:
    """What was asked for; of one whose text was erased what its task says."""
    try:
        return RunRequest.model_validate({**json.loads(stored), "task": of_task["task"]})
    except ValueError:
        return RunRequest.model_validate(of_task)


def _step(checkpoint_id: str, turn: int, at: datetime, stored: str) -> RunStep:
    """Read a stored step; one that was erased as a whole becomes a note in its place."""
    try:
        return RunStep.model_validate_json(stored)
    except ValueError:
        number = int(checkpoint_id.rpartition("-")[2])
        return RunStep(number=number, turn=turn, at=at, kind=StepKind.NOTE, text=stored)


def _task(run: AgentRun) -> Task:
    """The task of a run, as it stands."""
    request = run.request
    status = _STANDS.get(run.status)
    if status is None:
        status = _ENDS.get(run.reason or TerminationReason.ERROR, TaskStatus.FAILED)
    return Task(
        id=run.id,
        title=one_line(request.task, _TITLE) or run.id,
        description=request.task,
        type=TaskType.DEVELOPMENT,
        project=str(request.workspace),
        created_by=request.parent or CREATOR,
        assigned_to=request.agent_id,
        status=status,
        parent_task_id=request.parent,
        max_retries=request.limits.retries,
        budget_limit=request.limits.cost or 0.0,
    )


def _clean(value: object) -> object:
    return redact_value(value, RedactionTally(), raw=json.dumps(value))
