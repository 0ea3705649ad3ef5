"""The skills of all roots next to what the registry has of them: one list for screen and console.

It reads disk, registry and queue together, so that both show the same states. It asks
``FileChanges`` to put what differs up for review; it decides nothing and writes no file.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.disk_sync import FileChanges, SyncReport
from synthorg_tui.curation.models import Evidence, FileChangePayload
from synthorg_tui.curation.preexisting import SeenRoots
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus, SkillVersion
from synthorg_tui.curation.review import FILE_CHANGE_ACTION, entry_of
from synthorg_tui.skills.document import Finding, RootScope, SkillFile, SkillRoot
from synthorg_tui.skills.library import RootState
from synthorg_tui.skills.watcher import SkillWatcher


@dataclass(frozen=True, slots=True)
class SkillOverviewRow:
    """A skill as a list shows it, identified by the path of its file.

    ``scope`` is ``None`` when its root is no longer read. ``shadowed_by`` is the path of the
    one that wins, ``waiting`` the id of the item that would make the file's text active.
    ``was_rejected`` says that a person refused this text. ``applied`` counts how often an agent was
    given it. ``reworded`` is true if a memory of it isn't the approved text, which makes its state
    ``CHANGED``.
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
    was_rejected: bool = False
    version: int = 0
    applied: int = 0
    applied_at: datetime | None = None
    reworded: bool = False

    @property
    def comes_up_on_request(self) -> bool:
        """Whether ``offer`` alone puts it up for review, and it isn't up yet."""
        is_newer = self.state is SkillState.CHANGED and self.scope is RootScope.SHIPPED
        is_newer = is_newer and not self.reworded
        return not (self.waiting or self.was_rejected) and (
            is_newer or self.state in (SkillState.FOUND, SkillState.SHIPPED)
        )


@dataclass(frozen=True, slots=True)
class SkillOverviewState:
    """All roots in order of precedence, and all skills in the same order, by name."""

    roots: tuple[RootState, ...]
    rows: tuple[SkillOverviewRow, ...]


@dataclass(frozen=True, slots=True)
class SkillDetail:
    """A skill in full; ``text`` of one without a file is the last that was approved."""

    row: SkillOverviewRow
    text: str
    memory_ids: tuple[str, ...] = ()
    versions: tuple[SkillVersion, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class SkillOverview:
    """Reads skills, and puts what changed on disk up for review; decides nothing.

    Args:
        base: The skills on disk, those that were approved, and what waits for a decision.
        changes: Compares disk and registry.
        roots: The roots to read by now: projects come to be known over time.
        watches: Off, changes are only seen when somebody looks.
    """

    def __init__(
        self,
        base: CurationBase,
        changes: FileChanges,
        *,
        roots: Callable[[], Awaitable[Sequence[SkillRoot]]],
        watches: bool,
    ) -> None:
        self._base = base
        self._changes = changes
        self._roots = roots
        self._watches = watches

    async def overview(self) -> SkillOverviewState:
        """Every skill on disk and in the registry, as of now."""
        await self._update_roots()
        await self._changes.arrive()
        survey = await asyncio.to_thread(self._base.library.survey)
        known = {record.path: record for record in await self._base.registry.all()}
        records = self._changes.placed(known)
        reworded = await self._changes.reworded(records.values())
        waiting = await self._waiting()
        seen, rejected = await self._changes.seen(), await self._rejected()
        rows = [
            _row(file, records.pop(str(file.path), None), waiting, seen, rejected)
            for file in survey.files
        ]
        rows += [_row_without_file(record, waiting) for record in records.values()]
        return SkillOverviewState(survey.roots, tuple(_marked(row, reworded) for row in rows))

    async def skill(self, path: str) -> SkillDetail:
        """One skill in full; raises ``DomainError``."""
        state = await self.overview()
        row = next((row for row in state.rows if row.path == path), None)
        if row is None:
            raise DomainError(f"there is no skill at {path}")
        record = await self._base.registry.get(self._base.registry.copies.get(path, path))
        files = await asyncio.to_thread(self._base.library.scan)
        text = next((file.text for file in files if str(file.path) == path), None)
        if text is None:
            text = await self._base.registry.text(record) if record else ""
        return SkillDetail(
            row=row,
            text=text,
            memory_ids=record.memory_ids if record else (),
            versions=await self._base.registry.versions(record.path if record else path),
            evidence=record.evidence if record else (),
        )

    async def sync(self) -> SyncReport:
        """Put every difference between disk and registry up for review that isn't yet."""
        await self._update_roots()
        return await self._changes.sync()

    async def offer(self, path: str) -> str:
        """Put a skill up for review that was here before us, or that is shipped.

        Returns the id of the item about its file, empty when there is nothing to decide.
        """
        await self._update_roots()
        return await self._changes.offer(path)

    async def watch(self, stop: asyncio.Event) -> AsyncGenerator[SyncReport, None]:
        """Compare now, and whenever something changed on disk, until ``stop`` is set.

        Yields a report for each comparison; ends at once where the settings say not to watch.
        """
        if not self._watches:
            return
        await self._update_roots()
        known = await asyncio.to_thread(self._base.library.scan)
        yield await self._changes.sync()
        watcher = SkillWatcher(self._base.library)
        async with aclosing(watcher.changes(stop, since=known)) as changes:
            async for _ in changes:
                yield await self._changes.sync()

    async def _update_roots(self) -> None:
        self._base.library.look_in(await self._roots())

    async def _waiting(self) -> dict[str, str]:
        """The id of the pending item about each file."""
        items = await self._base.queue.list(
            status=ApprovalStatus.PENDING, action_type=FILE_CHANGE_ACTION, snoozed=True
        )
        return {item.metadata.get("path", ""): item.id for item in items}

    async def _rejected(self) -> frozenset[tuple[str, str]]:
        """Path and hash of the texts that a person refused."""
        items = await self._base.queue.list(
            status=ApprovalStatus.REJECTED, action_type=FILE_CHANGE_ACTION, snoozed=True
        )
        subjects = [entry_of(item).subject for item in items]
        return frozenset(
            (subject.path, subject.sha256)
            for subject in subjects
            if isinstance(subject, FileChangePayload)
        )


def _row(
    file: SkillFile,
    record: RegisteredSkill | None,
    waiting: Mapping[str, str],
    seen: SeenRoots,
    rejected: frozenset[tuple[str, str]],
) -> SkillOverviewRow:
    path = str(file.path)
    return SkillOverviewRow(
        path=path,
        name=file.name,
        root=str(file.root.path),
        scope=file.root.scope,
        state=_state(file, record, is_preexisting=seen.is_preexisting(file)),
        description=file.document.description if file.document else "",
        findings=file.findings,
        shadowed_by=str(file.shadowed_by or ""),
        waiting=waiting.get(path, ""),
        was_rejected=(path, file.sha256) in rejected,
        version=record.version if record else 0,
        applied=record.application_count if record else 0,
        applied_at=record.last_applied_at if record else None,
    )


def _marked(row: SkillOverviewRow, reworded: frozenset[str]) -> SkillOverviewRow:
    """The row of a skill, changed if one of its memories was."""
    if row.path not in reworded:
        return row
    is_otherwise_fine = row.state in (SkillState.VALID, SkillState.WARNINGS)
    state = SkillState.CHANGED if is_otherwise_fine else row.state
    return replace(row, state=state, reworded=True)


def _row_without_file(record: RegisteredSkill, waiting: Mapping[str, str]) -> SkillOverviewRow:
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


def _state(file: SkillFile, record: RegisteredSkill | None, *, is_preexisting: bool) -> SkillState:
    is_active = record is not None and record.status is SkillStatus.ACTIVE
    if file.document is None:
        return SkillState.INVALID
    if record is not None and is_active and record.sha256 != file.sha256:
        return SkillState.CHANGED
    if file.shadowed_by is not None:
        return SkillState.SHADOWED
    if not is_active and file.root.scope is RootScope.SHIPPED:
        return SkillState.SHIPPED
    if not is_active:
        return SkillState.FOUND if record is None and is_preexisting else SkillState.NEW
    return SkillState.WARNINGS if file.findings else SkillState.VALID
