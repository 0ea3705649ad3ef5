"""The skills of all roots next to what the memory has of them: one list for screen and console."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.disk_sync import FileChanges, PreexistingSkills, SeenRoots, SyncReport
from synthorg_tui.curation.models import Evidence
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus, SkillVersion
from synthorg_tui.curation.review import FILE_CHANGE_ACTION
from synthorg_tui.skills.document import Finding, RootScope, SkillFile, SkillRoot
from synthorg_tui.skills.library import RootState, SkillLibrary
from synthorg_tui.skills.watcher import SkillWatcher


@dataclass(frozen=True, slots=True)
class SkillOverviewRow:
    """A skill as a list shows it, known by the path of its file.

    ``scope`` is ``None`` when its root is no longer looked at. ``shadowed_by`` is the path of the
    one that wins, ``waiting`` the id of the item that would take the file's text into memory.
    ``applied`` counts how often an agent was given it.
    """

    path: str
    name: str
    root: str
    scope: RootScope | None
    state: SkillState
    description: str = ""
    findings: tuple[Finding, ...] = ()
    shadowed_by: str = ""
    waiting: str = ""
    version: int = 0
    applied: int = 0
    applied_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SkillOverviewState:
    """All roots in order of precedence, and all skills in the same order, by name."""

    roots: tuple[RootState, ...]
    rows: tuple[SkillOverviewRow, ...]


@dataclass(frozen=True, slots=True)
class SkillDetail:
    """A skill in full; ``text`` of one without a file is the last that counted."""

    row: SkillOverviewRow
    text: str
    memory_ids: tuple[str, ...] = ()
    versions: tuple[SkillVersion, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class NoSkillAtPathError(DomainError):
    """No such skill, on disk or in memory."""


class ProjectSource(Protocol):
    """Knows the projects that memories come from."""

    async def projects(self) -> tuple[str, ...]:
        """Their folders."""
        ...


class SkillOverview:
    """Reads skills, and puts what changed on disk up for review; decides nothing.

    Args:
        library: The skills on disk.
        roots: The roots to look in, given the folders of all projects.
        projects: The projects that memories come from.
        ledger: The skills in memory.
        queue: What waits for a decision.
        changes: Compares the two.
        found: The skills that were here before us.
        watches: Off, changes are only seen when somebody looks.
    """

    def __init__(
        self,
        *,
        library: SkillLibrary,
        roots: Callable[[Sequence[Path]], Sequence[SkillRoot]],
        projects: ProjectSource,
        ledger: SkillRegistry,
        queue: ApprovalQueue,
        changes: FileChanges,
        found: PreexistingSkills,
        watches: bool,
    ) -> None:
        self._library = library
        self._roots = roots
        self._projects = projects
        self._ledger = ledger
        self._queue = queue
        self._changes = changes
        self._found = found
        self._watches = watches

    async def overview(self) -> SkillOverviewState:
        """Every skill on disk and in memory, as of now."""
        await self._find_roots()
        survey = await asyncio.to_thread(self._library.survey)
        records = {record.path: record for record in await self._ledger.all()}
        waiting = await self._waiting()
        sightings = await self._found.sightings()
        rows = [
            _row(file, records.pop(str(file.path), None), waiting, sightings)
            for file in survey.files
        ]
        rows += [_row_without_file(record, waiting) for record in records.values()]
        return SkillOverviewState(survey.roots, tuple(rows))

    async def skill(self, path: str) -> SkillDetail:
        """One skill in full; raises ``NoSkillAtPathError``."""
        state = await self.overview()
        row = next((row for row in state.rows if row.path == path), None)
        if row is None:
            raise NoSkillAtPathError(f"there is no skill at {path}")
        record = await self._ledger.get(path)
        on_disk = {str(file.path): file for file in await asyncio.to_thread(self._library.scan)}
        if path in on_disk:
            text = on_disk[path].text
        else:
            kept = await self._ledger.content(record.sha256) if record else b""
            text = kept.decode("utf-8", "replace")
        return SkillDetail(
            row=row,
            text=text,
            memory_ids=record.memory_ids if record else (),
            versions=await self._ledger.versions(path),
            evidence=record.evidence if record else (),
        )

    async def sync(self) -> SyncReport:
        """Put every difference between disk and memory up for review that isn't yet."""
        await self._find_roots()
        return await self._changes.sync()

    async def offer(self, path: str) -> str:
        """Put a skill that was here before us up for review.

        Returns the id of the item about its file, empty when there is nothing to decide.
        """
        await self._find_roots()
        return await self._changes.offer(path)

    async def watch(self, stop: asyncio.Event) -> AsyncGenerator[SyncReport, None]:
        """Compare now, and whenever something changed on disk, until ``stop`` is set.

        Yields a report for each comparison; ends at once where the settings say not to watch.
        """
        if not self._watches:
            return
        await self._find_roots()
        known = await asyncio.to_thread(self._library.scan)
        yield await self._changes.sync()
        watcher = SkillWatcher(self._library)
        async with aclosing(watcher.changes(stop, since=known)) as changes:
            async for _ in changes:
                yield await self._changes.sync()

    async def _find_roots(self) -> None:
        """Look in the roots of projects that came since, too."""
        known = map(Path, await self._projects.projects())
        folders = [project for project in known if project.is_absolute()]
        self._library.look_in(await asyncio.to_thread(self._roots, folders))

    async def _waiting(self) -> dict[str, str]:
        """The pending item about each file."""
        items: Sequence[ApprovalItem] = await self._queue.list(
            status=ApprovalStatus.PENDING, action_type=FILE_CHANGE_ACTION, snoozed=True
        )
        return {item.metadata.get("path", ""): item.id for item in items}


def _row(
    file: SkillFile, record: RegisteredSkill | None, waiting: dict[str, str], sightings: SeenRoots
) -> SkillOverviewRow:
    path = str(file.path)
    return SkillOverviewRow(
        path=path,
        name=file.name,
        root=str(file.root.path),
        scope=file.root.scope,
        state=_state(file, record, is_found=sightings.is_found(file)),
        description=file.document.description if file.document else "",
        findings=file.findings,
        shadowed_by=str(file.shadowed_by or ""),
        waiting=waiting.get(path, ""),
        version=record.version if record else 0,
        applied=record.application_count if record else 0,
        applied_at=record.last_applied_at if record else None,
    )


def _row_without_file(record: RegisteredSkill, waiting: dict[str, str]) -> SkillOverviewRow:
    is_active = record.status is SkillStatus.ACTIVE
    return SkillOverviewRow(
        path=record.path,
        name=record.name,
        root=record.root,
        scope=None,
        state=SkillState.GONE if is_active else SkillState.RETIRED,
        description=record.proposal.discovery,
        waiting=waiting.get(record.path, ""),
        version=record.version,
        applied=record.application_count,
        applied_at=record.last_applied_at,
    )


def _state(file: SkillFile, record: RegisteredSkill | None, *, is_found: bool) -> SkillState:
    in_memory = record is not None and record.status is SkillStatus.ACTIVE
    if file.document is None:
        return SkillState.INVALID
    if record is not None and in_memory and record.sha256 != file.sha256:
        return SkillState.CHANGED
    if file.shadowed_by is not None:
        return SkillState.SHADOWED
    if not in_memory:
        return SkillState.FOUND if record is None and is_found else SkillState.NEW
    return SkillState.WARNINGS if file.findings else SkillState.VALID
