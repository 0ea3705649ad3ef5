"""The list of jobs: what runs by itself, in which order, and what each says of its result.

``jobs_of`` is the list: a job is added there, with the function that makes it beside its work. What
a job does belongs to the part that does it; here is only how that is called and told.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

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


JOB_SERVICES: Final = (
    "following",
    "imports",
    "executions",
    "org_imports",
    "approvals",
    "maintenance",
    "sessions",
    "evolution",
    "pruning",
    "consolidation",
    "knowledge",
    "desk",
)
"""Those of ``JobParts`` that are asked for late, by their names in the engine."""


def jobs_of(parts: JobParts) -> tuple[Job, ...]:
    """Return all jobs in the order in which they run when several are due.

    The backup comes first: what the others change is in the next one. Another backend than the
    local one has nothing to run.
    """
    if parts.settings.memory.backend != "local":
        return ()
    return (
        _imports(parts),
        _learning(parts),
        _rules(parts),
        _backup(parts),
        _sessions(parts),
        _reembedding(parts),
        _knowledge(parts),
        _consolidation(parts),
        _evolver(parts),
        _pruning(parts),
        _compaction(parts),
        _packing(parts),
    )


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


def _imports(parts: JobParts) -> Job:
    follows = None if parts.settings.ingest.follow else _NEVER
    watch = Watch(partial(_import, parts), partial(_why_idle, parts))
    return Job("imports", "Import what agents write", "ingest.follow", follows, watch)


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


async def _why_idle(parts: JobParts) -> str:
    return (await parts.following().status()).reason


def _learning(parts: JobParts) -> Job:
    """Once after each start; imports learn by themselves from what they store."""
    title = "Learn from sessions that an interrupted import left"
    watch = Watch(partial(_catch_up, parts), partial(_why_nothing_left, parts))
    return Job("learning", title, "memory.procedural.enabled", None, watch)


async def _catch_up(parts: JobParts, note: Note) -> None:
    sessions, lessons = await parts.imports().catch_up()
    if sessions:
        told = f"{counted(sessions, 'session')}, {counted(lessons, 'lesson')} proposed"
        note(RunState.DONE, told)


async def _why_nothing_left(parts: JobParts) -> str:
    left = len(await parts.executions().unlearnt())
    return "" if left else "every session was learnt from"


def _rules(parts: JobParts) -> Job:
    watched = None if parts.settings.org_memory.watch_files else _NEVER
    watch = Watch(partial(_watch_rules, parts), partial(_why_no_rules, parts))
    title = "Put changed rule files up for review"
    return Job("rules", title, "org_memory.watch_files", watched, watch)


async def _watch_rules(parts: JobParts, note: Note) -> None:
    def told(words: str, failed: bool) -> None:
        note(RunState.FAILED if failed else RunState.DONE, words)

    await _rule_watch(parts).run(told, asyncio.Event())


async def _why_no_rules(parts: JobParts) -> str:
    return await _rule_watch(parts).idle()


def _rule_watch(parts: JobParts) -> "RuleWatch":
    from synthorg_tui.organisation.rule_watch import RuleWatch

    return RuleWatch(parts.org_imports(), parts.approvals(), parts.clock)


def _backup(parts: JobParts) -> Job:
    """Looks every hour whether the newest copy is a day old."""
    kept = parts.settings.memory.storage.daily_backups
    return Job(
        "backup",
        "Copy the database once a day, if it changed",
        "memory.storage.daily_backups",
        _HOURLY if kept else _NEVER,
        partial(_back_up, parts),
    )


async def _back_up(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
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


def _sessions(parts: JobParts) -> Job:
    """Looks every hour whether it is a day since any were deleted."""
    days = parts.settings.memory.storage.max_session_days
    return Job(
        "sessions",
        "Delete imported sessions beyond their age",
        "memory.storage.max_session_days",
        _NEVER if days is None else _HOURLY,
        partial(_delete_aged, parts),
    )


async def _delete_aged(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    days = parts.settings.memory.storage.max_session_days
    if days is None:
        return ""
    deleted = await parts.sessions().delete_aged(days, parts.clock.now())
    if not deleted:
        return ""
    left = len(await parts.sessions().list())
    return f"{counted(deleted, 'session')} older than {counted(days, 'day')} deleted; {left:,} left"


def _reembedding(parts: JobParts) -> Job:
    title = "Embed memories that have no vector of the present model"
    interval = parts.settings.jobs.reembedding
    return Job("reembedding", title, "jobs.reembedding", interval, partial(_reembed, parts))


async def _reembed(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    done = await parts.maintenance().reembed(progress=progress, cancel=cancel)
    return f"{counted(done, 'memory', 'memories')} embedded; none lacks a vector" if done else ""


def _knowledge(parts: JobParts) -> Job:
    title = "Bring up to date what is known of projects"
    interval = parts.settings.jobs.knowledge
    return Job("knowledge", title, "jobs.knowledge", interval, partial(_refresh, parts))


async def _refresh(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    report = await parts.knowledge().refresh(progress, cancel)
    return str(report) if report.sessions else ""


def _consolidation(parts: JobParts) -> Job:
    config = parts.settings.memory.consolidation
    return Job(
        "consolidation",
        "Archive copies and what has expired, make room, and find what contradicts",
        "memory.consolidation.interval",
        config.interval if config.enabled else _NEVER,
        partial(_consolidate, parts),
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


def _evolver(parts: JobParts) -> Job:
    memory = parts.settings.memory
    evolves = memory.consolidation.interval if memory.procedural.evolver.enabled else _NEVER
    return Job(
        "evolver",
        "Propose for all agents what several have learnt",
        "memory.consolidation.interval",
        evolves,
        partial(_evolve, parts),
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


def _pruning(parts: JobParts) -> Job:
    title = "Propose to remove skills that are no longer of use"
    prunes = parts.settings.jobs.pruning if parts.settings.memory.procedural.enabled else _NEVER
    return Job("pruning", title, "jobs.pruning", prunes, partial(_prune, parts))


async def _prune(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    report = await parts.pruning().propose(progress)
    if not report.skills:
        return ""
    waiting = f"{len(report.proposed):,} proposals to remove some, {len(report.revised):,} changed"
    return f"{counted(report.skills, 'skill')} looked at: {waiting}"


def _compaction(parts: JobParts) -> Job:
    title = "Write the files anew that hold what was purged"
    interval = parts.settings.jobs.compaction
    return Job("compaction", title, "jobs.compaction", interval, partial(_compact, parts))


async def _compact(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    maintenance = parts.maintenance()
    if maintenance.remains.is_empty:
        return ""
    remains = await maintenance.compact(progress=progress)
    if not remains.is_empty:
        raise DomainError(remains.told)
    return remains.told


def _packing(parts: JobParts) -> Job:
    title = "Pack the search index for a quicker start"
    interval = parts.settings.jobs.packing
    return Job("packing", title, "jobs.packing", interval, partial(_pack, parts))


async def _pack(parts: JobParts, progress: Steps, cancel: threading.Event) -> str:
    return "the index is packed" if await parts.maintenance().pack() else ""
