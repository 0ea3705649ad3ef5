"""The list of jobs: what runs by itself, in which order, and what each says of its result.

A job is declared at the function that does it. What that does belongs to another part; here is only
how it is called, and how its result is told.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.text import counted, size
from synthorg_tui.ingest.following import FOLLOWED, FOLLOWING_FAILED, Following
from synthorg_tui.jobs.models import Job, Note, RunState, Steps, Watch
from synthorg_tui.jobs.runs import JobRuns
from synthorg_tui.jobs.scheduler import JobScheduler
from synthorg_tui.persistence.backups import backups_in
from synthorg_tui.persistence.port import StoreDatabase

if TYPE_CHECKING:
    from synthorg_tui.approvals.proposals import ProposalBox
    from synthorg_tui.curation.consolidating import ConsolidationRuns
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportReport, ImportService
    from synthorg_tui.knowledge.service import KnowledgeService
    from synthorg_tui.learning.models import LearnProgress
    from synthorg_tui.learning.promotion import EvolutionService
    from synthorg_tui.memory.extensions import MemoryAdmin
    from synthorg_tui.memory.store.maintenance import Maintenance
    from synthorg_tui.organisation.importing import OrgImports
    from synthorg_tui.organisation.rule_watch import RuleWatch
    from synthorg_tui.settings.root import RootConfig

_Work = TypeVar("_Work", bound=Callable[..., Awaitable[Any]])
_NEVER = ConsolidationInterval.NEVER
_HOURLY = ConsolidationInterval.HOURLY


@dataclass(frozen=True, slots=True)
class JobParts:
    """What jobs work with; each service is asked for when a job first runs."""

    settings: "RootConfig"
    data_dir: Path
    clock: Clock
    events: Events
    following: "Callable[[], Following]"
    imports: "Callable[[], ImportService]"
    executions: "Callable[[], ExecutionStore]"
    org_imports: "Callable[[], OrgImports]"
    approvals: "Callable[[], ProposalBox]"
    maintenance: "Callable[[], Maintenance]"
    sessions: "Callable[[], SessionErasure]"
    evolution: "Callable[[], EvolutionService]"
    pruning: "Callable[[], PruneService]"
    consolidation: "Callable[[], ConsolidationRuns]"
    knowledge: "Callable[[], KnowledgeService]"
    desk: "Callable[[], MemoryAdmin]"


JOB_SERVICES: Final = tuple(
    part.name for part in fields(JobParts) if str(part.type).startswith("Callable")
)
"""Those of ``JobParts`` that are asked for late, by their names in the engine."""

_MAKERS: Final[list[Callable[[JobParts], Job]]] = []


def jobs_of(parts: JobParts) -> tuple[Job, ...]:
    """Return all jobs in the order in which they run when several are due.

    Another backend than the local one has nothing to run.
    """
    is_local = parts.settings.memory.backend == "local"
    return tuple(make(parts) for make in _MAKERS) if is_local else ()


def _job(
    name: str,
    title: str,
    setting: str,
    interval: "Callable[[RootConfig], ConsolidationInterval | None]",
    idle: Callable[[JobParts], Awaitable[str]] | None = None,
) -> Callable[[_Work], _Work]:
    """Declare the work of a job, and with ``idle`` work that goes on all the time.

    Jobs run in the order of their declarations.
    """

    def declare(work: _Work) -> _Work:
        def make(parts: JobParts) -> Job:
            does = partial(work, parts)
            goes_on = Watch(does, partial(idle, parts)) if idle is not None else does
            return Job(name, title, setting, interval(parts.settings), goes_on)

        _MAKERS.append(make)
        return work

    return declare


def build_jobs(
    database: StoreDatabase,
    parts: JobParts,
    *,
    agent_waits: Callable[[], bool],
    tokens_since: Callable[[datetime], Awaitable[int]],
) -> JobScheduler:
    """Build the scheduler of all jobs; only the owner of the store may."""
    return JobScheduler(
        jobs_of(parts),
        JobRuns(database),
        clock=parts.clock,
        events=parts.events,
        agent_waits=agent_waits,
        tokens_since=tokens_since,
    )


async def _why_idle(parts: JobParts) -> str:
    return (await parts.following().status()).reason


@_job(
    "imports",
    "Import what agents write",
    "ingest.follow",
    lambda settings: None if settings.ingest.follow else _NEVER,
    idle=_why_idle,
)
async def _import(parts: JobParts, note: Note) -> None:
    def hear(topic: str, data: object) -> None:
        if topic == FOLLOWED:
            note(RunState.DONE, _imported(data))  # type: ignore[arg-type]
        elif topic == FOLLOWING_FAILED and isinstance(data, DomainError):
            note(RunState.FAILED, data.message)

    unsubscribe = parts.events.subscribe(hear)
    try:
        await parts.following().run()
    finally:
        unsubscribe()


def _imported(report: "ImportReport") -> str:
    lessons = report.lessons_proposed
    return ", ".join(
        [
            counted(report.executions, "session"),
            f"{counted(report.memories_added, 'new memory', 'new memories')}",
            *([counted(report.memories_updated, "changed one")] if report.memories_updated else []),
            *([counted(lessons, "lesson proposed", "lessons proposed")] if lessons else []),
        ]
    )


async def _why_nothing_left(parts: JobParts) -> str:
    left = len(await parts.executions().unlearnt())
    return "" if left else "every session was learnt from"


@_job(
    "learning",
    "Learn from sessions that an interrupted import left",
    "memory.procedural.enabled",
    lambda _: None,
    idle=_why_nothing_left,
)
async def _catch_up(parts: JobParts, note: Note) -> None:
    """Once after each start; imports learn by themselves from what they store."""
    sessions, lessons = await parts.imports().catch_up()
    if sessions:
        told = f"{counted(sessions, 'session')}, {counted(lessons, 'lesson')} proposed"
        note(RunState.DONE, told)


def _rule_watch(parts: JobParts) -> "RuleWatch":
    from synthorg_tui.organisation.rule_watch import RuleWatch

    return RuleWatch(parts.org_imports(), parts.approvals(), parts.clock)


@_job(
    "rules",
    "Put changed rule files up for review",
    "org_memory.watch_files",
    lambda settings: None if settings.org_memory.watch_files else _NEVER,
    idle=lambda parts: _rule_watch(parts).idle(),
)
async def _watch_rules(parts: JobParts, note: Note) -> None:
    def told(words: str, failed: bool) -> None:
        note(RunState.FAILED if failed else RunState.DONE, words)

    await _rule_watch(parts).run(told, asyncio.Event())


@_job(
    "backup",
    "Copy the database once a day, if it changed",
    "memory.storage.daily_backups",
    lambda settings: _HOURLY if settings.memory.storage.daily_backups else _NEVER,
)
async def _back_up(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    """Looks every hour whether the newest copy is a day old.

    It comes before all that change the store: what they change is in the next copy.
    """
    made = await parts.maintenance().back_up_daily(
        keep=parts.settings.memory.storage.daily_backups,
        progress=lambda read: progress(read.done, read.total),
        cancel=cancel,
    )
    if made is None:
        return ""
    kept = await asyncio.to_thread(backups_in, parts.data_dir)
    copies = counted(sum(backup.is_daily for backup in kept), "daily copy", "daily copies")
    bytes_ = next((backup.size for backup in kept if backup.path == made), 0)
    return f"{made.name}, {size(bytes_)}; {copies} kept"


@_job(
    "sessions",
    "Delete imported sessions beyond their age",
    "memory.storage.max_session_days",
    lambda settings: _NEVER if settings.memory.storage.max_session_days is None else _HOURLY,
)
async def _delete_aged(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    """Looks every hour whether it is a day since any were deleted."""
    days = parts.settings.memory.storage.max_session_days
    if days is None:
        return ""
    deleted = await parts.sessions().delete_aged(days, parts.clock.now())
    if not deleted:
        return ""
    left = len(await parts.sessions().list())
    return f"{counted(deleted, 'session')} older than {counted(days, 'day')} deleted; {left:,} left"


@_job(
    "reembedding",
    "Embed memories that have no vector of the present model",
    "jobs.reembedding",
    lambda settings: settings.jobs.reembedding,
)
async def _reembed(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    done = await parts.maintenance().reembed(progress=progress, cancel=cancel)
    return f"{counted(done, 'memory', 'memories')} embedded; none lacks a vector" if done else ""


@_job(
    "knowledge",
    "Bring up to date what is known of projects",
    "jobs.knowledge",
    lambda settings: settings.jobs.knowledge,
)
async def _refresh(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    """Counts what an earlier version stored first: copies among sessions become one session."""
    counts = await parts.imports().recount(progress, cancel)
    report = await parts.knowledge().refresh(progress, cancel)
    told = [str(report)] if report.sessions else []
    return "; ".join([*([f"{counted(counts, 'session')} counted anew"] if counts else []), *told])


@_job(
    "consolidation",
    "Archive copies and what has expired, make room, and find what contradicts",
    "memory.consolidation.interval",
    lambda settings: (
        settings.memory.consolidation.interval if settings.memory.consolidation.enabled else _NEVER
    ),
)
async def _consolidate(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    from synthorg_tui.memory.consolidation.wiki_export import export_after_consolidation

    async def pages() -> dict[str, str]:
        return dict(await parts.knowledge().pages())

    runs = parts.consolidation()
    told = await runs.run_due(progress, cancel)
    wiki = parts.settings.memory.consolidation.wiki_export
    browse = parts.desk().browse
    done = await export_after_consolidation(
        wiki, parts.data_dir, browse, runs.merged_since, pages=pages
    )
    exported = f"{counted(done.raw + done.wiki, 'memory', 'memories')} exported" if done else ""
    return "; ".join(filter(None, (told, exported)))


@_job(
    "evolver",
    "Propose for all agents what several have learnt",
    "memory.consolidation.interval",
    lambda settings: (
        settings.memory.consolidation.interval
        if settings.memory.procedural.evolver.enabled
        else _NEVER
    ),
)
async def _evolve(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    def step(read: "LearnProgress") -> None:
        progress(read.done, read.total)

    evolution = await parts.evolution().run(progress=step)
    new, changed = len(evolution.proposed), len(evolution.revised)
    if not evolution.report.trajectories:
        return ""
    compared = f"{counted(evolution.report.trajectories, 'lesson')} compared"
    return f"{compared}: {new:,} proposed for all agents, {changed:,} proposals changed"


@_job(
    "pruning",
    "Propose to remove skills that are no longer of use",
    "jobs.pruning",
    lambda settings: settings.jobs.pruning if settings.memory.procedural.enabled else _NEVER,
)
async def _prune(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    report = await parts.pruning().propose(progress)
    if not report.skills:
        return ""
    waiting = f"{len(report.proposed):,} proposals to remove some, {len(report.revised):,} changed"
    return f"{counted(report.skills, 'skill')} looked at: {waiting}"


@_job(
    "compaction",
    "Write the files anew that hold what was purged",
    "jobs.compaction",
    lambda settings: settings.jobs.compaction,
)
async def _compact(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    maintenance = parts.maintenance()
    if maintenance.remains.is_empty:
        return ""
    remains = await maintenance.compact(progress=progress)
    if not remains.is_empty:
        raise DomainError(remains.told)
    return remains.told


@_job(
    "packing",
    "Pack the search index for a quicker start",
    "jobs.packing",
    lambda settings: settings.jobs.packing,
)
async def _pack(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    return "the index is packed" if await parts.maintenance().pack() else ""
