"""The record of runs: all SQL of ``job_runs``.

Bounded in rows by job and in characters by run. What is written here are our own words and numbers:
nothing that a memory or a transcript says belongs into it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from synthorg_tui.core.text import truncate
from synthorg_tui.jobs.models import JobRun, RunState
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc, number_of

MAX_RUNS: Final = 50
"""Runs of one job that stay on record."""
MAX_TOLD: Final = 300
"""Characters of a result that are kept."""
MAX_LOG_LINES: Final = 40
"""Lines of a run's log that are kept, the last ones."""

_COLUMNS: Final = "number, job, started_at, ended_at, state, progress, total, told, tokens, log"
_MAX_RUN: Final = timedelta(days=1)
_ALL: Final = datetime.max.replace(tzinfo=UTC)
_KILLED: Final = "the program ended while it ran"


class JobRuns:
    """Stores the runs of jobs."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def begin(self, job: str, at: datetime) -> JobRun:
        """Record that a run begins, and return it with its number."""
        number: int = await self._database.write(partial(_begin, job=job, at=at))
        return JobRun(number, job, at, None, RunState.RUNNING)

    async def reached(self, number: int, progress: int, total: int) -> None:
        """Record how far a run is."""
        await self._database.write(
            lambda db: db.execute(
                "UPDATE job_runs SET progress = ?, total = ? WHERE number = ?",
                [progress, total, number],
            )
        )

    async def end(self, run: JobRun, log: Sequence[str] = ()) -> JobRun:
        """Record how a run ended and return it as it is kept; forget the oldest of its job.

        Of several in a row that had nothing to do only the last stays.
        """
        lines = [truncate(line, MAX_TOLD, "…") for line in log[-MAX_LOG_LINES:]]
        kept = replace(run, told=truncate(run.told, MAX_TOLD, "…"), log="\n".join(lines))
        await self._database.write(partial(_end, run=kept))
        return kept

    async def interrupt_open(self, at: datetime) -> tuple[str, ...]:
        """Mark the runs that no process runs any more as interrupted; return their jobs.

        Only the owner of the store may call it, before it runs a job. Where several have the store,
        another one may be at a run that isn't a day old.
        """
        since = at - _MAX_RUN if self._database.is_shared else _ALL
        open_ = await self._database.read(
            lambda db: db.execute(
                "SELECT 1 FROM job_runs WHERE state = ? LIMIT 1", [RunState.RUNNING]
            ).fetchone()
        )
        if open_ is None:
            return ()
        jobs: tuple[str, ...] = await self._database.write(
            partial(_interrupt_open, at=at, since=since)
        )
        return jobs

    async def list(self, job: str | None = None, *, limit: int = MAX_RUNS) -> tuple[JobRun, ...]:
        """Return the latest runs, of one job or of all, newest first."""
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM job_runs WHERE job = coalesce(?, job) "
                "ORDER BY number DESC LIMIT ?",
                [job, limit],
            ).fetchall()
        )
        return tuple(map(_run, rows))

    async def ended(self, each: int) -> dict[str, tuple[JobRun, ...]]:
        """Return up to ``each`` ended runs of every job by its name, newest first."""
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM job_runs WHERE state <> ? "
                "QUALIFY row_number() OVER (PARTITION BY job ORDER BY number DESC) <= ? "
                "ORDER BY number DESC",
                [RunState.RUNNING, each],
            ).fetchall()
        )
        found: dict[str, tuple[JobRun, ...]] = {}
        for run in map(_run, rows):
            found[run.job] = (*found.get(run.job, ()), run)
        return found


def _begin(db: Connection, *, job: str, at: datetime) -> int:
    number = number_of(db, "SELECT coalesce(max(number), 0) + 1 FROM job_runs")
    db.execute(
        "INSERT INTO job_runs VALUES (?, ?, ?, NULL, ?, 0, 0, '', 0, '')",
        [number, job, naive_utc(at), RunState.RUNNING],
    )
    return number


def _end(db: Connection, *, run: JobRun) -> None:
    ended = naive_utc(run.ended_at) if run.ended_at else None
    db.execute(
        "UPDATE job_runs SET ended_at = ?, state = ?, progress = ?, total = ?, told = ?, "
        "tokens = ?, log = ? WHERE number = ?",
        [ended, run.state, run.progress, run.total, run.told, run.tokens, run.log, run.number],
    )
    if run.state is RunState.NOTHING:
        db.execute(
            "DELETE FROM job_runs WHERE job = $job AND state = $state AND number = "
            "(SELECT max(number) FROM job_runs WHERE job = $job AND number < $number)",
            {"job": run.job, "state": run.state, "number": run.number},
        )
    db.execute(
        "DELETE FROM job_runs WHERE job = $job AND number NOT IN "
        "(SELECT number FROM job_runs WHERE job = $job ORDER BY number DESC LIMIT $kept)",
        {"job": run.job, "kept": MAX_RUNS},
    )


def _interrupt_open(db: Connection, *, at: datetime, since: datetime) -> tuple[str, ...]:
    rows = db.execute(
        "UPDATE job_runs SET state = ?, told = ?, ended_at = greatest(started_at, ?) "
        "WHERE state = ? AND started_at <= ? RETURNING job",
        [RunState.INTERRUPTED, _KILLED, naive_utc(at), RunState.RUNNING, naive_utc(since)],
    ).fetchall()
    return tuple(row[0] for row in rows)


def _run(row: tuple[Any, ...]) -> JobRun:
    number, job, started_at, ended_at, state, *rest = row
    started = started_at.replace(tzinfo=UTC)
    return JobRun(number, job, started, aware(ended_at), RunState(state), *rest)
