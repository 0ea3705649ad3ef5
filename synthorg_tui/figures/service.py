"""Reads the figures of a store: all of one moment, and only those sections again that changed.

The database counts, on a reader's thread; nothing here holds the event loop. What was counted is
kept by section and span with a mark of its rows: as long as the mark is the same, so is the answer.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from synthorg_tui.core.disk_space import free_bytes, low_space, taken_bytes
from synthorg_tui.core.text import counted, size
from synthorg_tui.executions.facts import fill_missing
from synthorg_tui.figures import queries
from synthorg_tui.figures.models import (
    FigureSpan,
    HealthMark,
    HintFigures,
    JobFigures,
    SizeFigures,
    StoreFigures,
)
from synthorg_tui.jobs.models import JobStatus, RunState
from synthorg_tui.jobs.runs import JobRuns
from synthorg_tui.jobs.scheduler import JobScheduler
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.persistence import BACKUP_DIR, INDEX_DIR
from synthorg_tui.persistence.backups import backups_in
from synthorg_tui.persistence.port import Connection, StoreDatabase

MAX_STATES: Final = 12
"""Latest runs of a job whose ends are told."""
STALE_BACKUP: Final = timedelta(days=8)
"""Age of the newest backup from which on it is told as a fault: a weekly one may be a day late."""


_Count: TypeAlias = Callable[[Connection, queries.Asked], Any]
_SECTIONS: Final[dict[str, tuple[str, _Count]]] = {
    "memories": (queries.MEMORY_MARK, queries.memory_figures),
    "digests": (queries.CALL_MARK, queries.digest_figures),
    "hint calls": (queries.CALL_MARK, queries.hint_series),
    "hint outcomes": (queries.LESSON_MARK, queries.hint_outcomes),
    "lessons": (queries.LESSON_MARK, queries.lesson_figures),
    "models": (queries.MODEL_MARK, queries.model_figures),
    "approvals": (queries.APPROVAL_MARK, queries.approval_figures),
    "days": (queries.ACTIVITY_MARK, queries.activity_days),
}
"""How each part is counted, after the SQL of what differs once that would differ."""


class FigureService:
    """Counts what the overview shows.

    Args:
        database: The open store.
        data_dir: The folder whose sizes are told.
        live: Returns which memories are live now.
        waiting: Returns how many memories wait for their vector.
        jobs: Returns what runs by itself.
        uncounted: Says which memories aren't in the store; empty when all are.
    """

    def __init__(
        self,
        database: StoreDatabase,
        data_dir: Path,
        live: Callable[[], WhereClause],
        waiting: Callable[[Connection], int],
        jobs: Callable[[], JobScheduler],
        *,
        uncounted: str = "",
    ) -> None:
        self._database = database
        self._uncounted = (HealthMark("memories", False, uncounted),) if uncounted else ()
        self._data_dir = data_dir
        self._live = live
        self._waiting = waiting
        self._jobs = jobs
        self._kept: dict[tuple[str, FigureSpan], tuple[tuple[Any, ...], Any]] = {}

    async def read(self, span: FigureSpan, now: datetime) -> StoreFigures:
        """Return the figures of a span that ends ``now``, whose zone decides what a day is.

        Raises ``DomainError`` when the store can't be read.
        """
        await fill_missing(self._database)
        counting = self._database.read(partial(self._count, span=span, now=now))
        found, listed, database = await asyncio.gather(
            counting, self._jobs().list(), self._database.size()
        )
        sizes = await asyncio.to_thread(sizes_of, self._data_dir, database)
        before, after = found["hint calls"]
        ended = await JobRuns(self._database).ended(MAX_STATES)
        states = {job: tuple(run.state.value for run in runs[::-1]) for job, runs in ended.items()}
        return StoreFigures(
            scale=found["scale"],
            made_at=now,
            memories=found["memories"],
            digests=found["digests"],
            hints=HintFigures(before, after, found["hint outcomes"]),
            lessons=found["lessons"],
            models=found["models"],
            approvals=found["approvals"],
            days=found["days"],
            jobs=tuple(_job(job, states.get(job.name, ())) for job in listed),
            sizes=sizes,
            health=(
                *self._uncounted,
                *_health(found["waiting"], listed, sizes, self._data_dir, now),
            ),
        )

    def _count(self, db: Connection, *, span: FigureSpan, now: datetime) -> dict[str, Any]:
        """Count in one snapshot; a section whose rows are as before isn't counted again.

        A minute makes a difference by itself: memories expire and items come back meanwhile.
        """
        asked = queries.asked_for(db, span, now, self._live())
        found: dict[str, Any] = {"scale": asked.scale}
        moment = (asked.scale, repr(now.tzinfo), now.strftime("%Y-%m-%d %H:%M %z"))
        marks: dict[str, tuple[Any, ...]] = {}
        waiting = {"waiting": (queries.VECTOR_MARK, lambda reading, _: self._waiting(reading))}
        for name, (sql, count) in (_SECTIONS | waiting).items():
            if sql not in marks:
                marks[sql] = (*moment, *(db.execute(sql).fetchone() or ()))
            mark = marks[sql]
            kept = self._kept.get((name, span))
            if kept is None or kept[0] != mark:
                kept = self._kept[name, span] = (mark, count(db, asked))
            found[name] = kept[1]
        return found


def sizes_of(data_dir: Path, database: int) -> SizeFigures:
    """Return what database, index and backups take; for a thread. That of the database is given."""
    backups = backups_in(data_dir)
    return SizeFigures(
        database=database,
        index=taken_bytes(data_dir / INDEX_DIR),
        backups=taken_bytes(data_dir / BACKUP_DIR),
        backup_count=len(backups),
        newest_backup=backups[0].made_at if backups else None,
        free=free_bytes(data_dir),
    )


def _job(job: JobStatus, states: tuple[str, ...]) -> JobFigures:
    last = job.last
    return JobFigures(
        name=job.name,
        states=states,
        ended_at=last.ended_at if last is not None else None,
        told=last.told if last is not None else "",
        idle=job.idle,
        is_off=job.is_off,
        is_running=job.running is not None,
    )


def _health(
    waiting: int,
    jobs: tuple[JobStatus, ...],
    sizes: SizeFigures,
    data_dir: Path,
    now: datetime,
) -> tuple[HealthMark, ...]:
    """What can be told without reading the store: the rest is the doctor's."""
    failed = [job.name for job in jobs if job.last and job.last.state is RunState.FAILED]
    idle = [f"{job.name} idle: {job.idle}" for job in jobs if job.idle and not job.is_off]
    low = low_space(data_dir)
    newest = sizes.newest_backup
    is_stale = newest is not None and now - newest > STALE_BACKUP
    age = f"the newest is {(now - newest).days} days old" if newest and is_stale else ""
    return (
        HealthMark(
            "vectors",
            not waiting,
            f"{counted(waiting, 'memory', 'memories')} without one"
            if waiting
            else "every memory has one",
        ),
        HealthMark(
            "jobs", not failed, f"{', '.join(failed)} failed" if failed else "none failed", "jobs"
        ),
        HealthMark("watches", True, "; ".join(idle) if idle else "all at work", "jobs"),
        HealthMark("disk", not low, low or f"{size(sizes.free or 0)} free"),
        HealthMark(
            "backups",
            not is_stale,
            age or (f"{sizes.backup_count:,}" if newest else "none yet"),
            "backups",
        ),
    )
