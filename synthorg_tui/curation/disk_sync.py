"""Skills that were here before us: taken note of at first sight of their root, not put up.

Skill files that are not as the memory has them come up for review; our own writes don't.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    RiskLevel,
)
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import FileChangeKind, FileChangePayload
from synthorg_tui.curation.preview import SkillFiles, SkillStore
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus, VersionEvent
from synthorg_tui.curation.rendering import stored_text
from synthorg_tui.curation.review import FILE_CHANGE_ACTION, entry_of
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.document import SkillFile
from synthorg_tui.skills.library import Survey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True, slots=True)
class SeenRoots:
    """The roots that were looked at, and marks of the files that are only taken note of."""

    roots: frozenset[str]
    marks: frozenset[str]

    def is_found(self, file: SkillFile) -> bool:
        """Whether the file was here, as it is now, before anybody could review it."""
        return str(file.root.path) not in self.roots or _mark_of(file) in self.marks


class PreexistingSkills:
    """What lay in the roots of skills when they were seen first."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sightings(self) -> SeenRoots:
        """What was seen so far."""
        return await self._database.read(_sightings)

    async def note(self, roots: Iterable[Path], files: Iterable[SkillFile]) -> None:
        """The roots have been seen, and in them these files."""
        seen = [(str(root), naive_utc(self._clock.now())) for root in roots]
        marks = [_mark_of(file) for file in files]

        def work(db: "Connection") -> None:
            for root in seen:
                db.execute("INSERT OR IGNORE INTO skill_roots VALUES (?, ?)", root)
            for mark in marks:
                put_in(db, mark)

        await self._database.write(work)

    async def forget(self, file: SkillFile) -> None:
        """The file is no longer only taken note of."""
        mark = _mark_of(file)
        await self._database.write(
            lambda db: db.execute("DELETE FROM found_skills WHERE mark = ?", [mark])
        )


def mark(path: str, sha256: str) -> str:
    """What stands for a file with these bytes; it tells neither."""
    said = f"{path}\n{sha256}"
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()


def put_in(db: "Connection", mark: str) -> None:
    """Keep a mark within a transaction."""
    db.execute("INSERT OR IGNORE INTO found_skills VALUES (?)", [mark])


def _mark_of(file: SkillFile) -> str:
    return mark(str(file.path), file.sha256)


def _sightings(db: "Connection") -> SeenRoots:
    roots = db.execute("SELECT path FROM skill_roots").fetchall()
    marks = db.execute("SELECT mark FROM found_skills").fetchall()
    return SeenRoots(frozenset(row[0] for row in roots), frozenset(row[0] for row in marks))


REQUESTED_BY: Final = "skills on disk"

_TITLES: Final = {
    FileChangeKind.NEW: "New skill on disk: {}",
    FileChangeKind.EDITED: "Skill edited on disk: {}",
    FileChangeKind.DELETED: "Skill deleted from disk: {}",
    FileChangeKind.CONFLICT: "Skill changed on disk and here: {}",
}
_TOLD: Final = {
    FileChangeKind.NEW: "Approving takes it into memory.",
    FileChangeKind.EDITED: "Approving takes the new text into memory; rejecting leaves both be.",
    FileChangeKind.DELETED: "Approving retires it; rejecting keeps it in memory.",
    FileChangeKind.CONFLICT: (
        "Approving lets the text on disk count; rejecting keeps ours, which can then be written "
        "back."
    ),
}
_RISKS: Final = {
    FileChangeKind.DELETED: RiskLevel.LOW,
    FileChangeKind.CONFLICT: RiskLevel.HIGH,
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a comparison did: ids of new items, and of items about what is no longer so.

    ``found`` is how many skills lay in roots that were seen for the first time: they don't come
    up before somebody asks for it.
    """

    added: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    found: int = 0


class FileChanges:
    """Compares the skills on disk with the ledger.

    Args:
        queue: Where differences go.
        ledger: The skills in force.
        store: The memories.
        shelf: The skills on disk.
        found: Those that were there before us.
        deciding: Held while a decision is taken, when the disk may be behind the ledger.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        *,
        queue: ApprovalQueue,
        ledger: SkillRegistry,
        store: SkillStore,
        shelf: SkillFiles,
        found: PreexistingSkills,
        deciding: asyncio.Lock,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._store = store
        self._shelf = shelf
        self._found = found
        self._deciding = deciding
        self._clock = clock

    async def sync(self) -> SyncReport:
        """Put every difference up for review that isn't yet; withdraw what is none any more.

        A difference that was rejected doesn't come up again while it stays the same. What lies
        in a root at first sight is only taken note of.
        """
        async with self._deciding:
            survey = await asyncio.to_thread(self._shelf.survey)
            records = {record.path: record for record in await self._ledger.all()}
            found = await self._take_note(survey, records)
            changes = {_item_id(each): each for each in await self._changes(survey, records)}
            withdrawn = await self._withdraw(changes)
            added = [item_id for item_id, each in changes.items() if await self._add(item_id, each)]
        return SyncReport(tuple(added), tuple(withdrawn), found)

    async def offer(self, path: str) -> str:
        """Put a skill up for review that was there before us.

        Returns the id of the item about its file, empty when there is nothing to decide.
        """
        async with self._deciding:
            files = await asyncio.to_thread(self._shelf.scan)
            file = next((each for each in files if str(each.path) == path), None)
            change = await self._difference(file, await self._ledger.get(path)) if file else None
            if file is None or change is None:
                return ""
            item_id = _item_id(change)
            await self._found.forget(file)
            await self._add(item_id, change)
            item = await self._queue.get(item_id)
            return item_id if item and item.status is ApprovalStatus.PENDING else ""

    async def _take_note(self, survey: Survey, records: Mapping[str, RegisteredSkill]) -> int:
        """Remember what lies in roots not seen before; of how many skills that was all."""
        known = (await self._found.sightings()).roots
        roots = [
            state.root.path
            for state in survey.roots
            if state.is_read and str(state.root.path) not in known
        ]
        if not roots:
            return 0
        files = [
            file
            for file in survey.files
            if file.root.path in roots
            and str(file.path) not in records
            and await self._queue.get(_item_id(_change(FileChangeKind.NEW, file, None))) is None
        ]
        await self._found.note(roots, files)
        return sum(file.document is not None for file in files)

    async def _changes(
        self, survey: Survey, records: Mapping[str, RegisteredSkill]
    ) -> list[FileChangePayload]:
        sightings = await self._found.sightings()
        by_path = {str(file.path): file for file in survey.files}
        found = [
            await self._difference(file, records.get(path))
            for path, file in by_path.items()
            if path in records or not sightings.is_found(file)
        ]
        for path, record in records.items():
            if path not in by_path and record.status is SkillStatus.ACTIVE:
                found.append(await self._missing(record))
        return [each for each in found if each is not None]

    async def _difference(
        self, file: SkillFile, record: RegisteredSkill | None
    ) -> FileChangePayload | None:
        if record is not None and record.sha256 == file.sha256:
            return None
        if file.document is None or file.path.name != FILE_NAME:
            return None  # what is wrong with it is listed with the skills
        if record is None or record.status is not SkillStatus.ACTIVE:
            return None if file.shadowed_by else _change(FileChangeKind.NEW, file, record)
        change = FileChangeKind.EDITED
        if await self._is_changed_here(record):
            change = FileChangeKind.CONFLICT
        ours = (await self._ledger.content(record.sha256)).decode("utf-8", "replace")
        return _change(change, file, record, ours=ours)

    async def _missing(self, record: RegisteredSkill) -> FileChangePayload | None:
        """The payload for a skill that the scan didn't find, unless its file can't be read."""
        if not await asyncio.to_thread(_is_gone, Path(record.path)):
            return None
        ours = (await self._ledger.content(record.sha256)).decode("utf-8", "replace")
        return FileChangePayload(
            change=FileChangeKind.DELETED,
            name=record.name,
            path=record.path,
            ours=_redacted(ours),
            version=record.version,
        )

    async def _is_changed_here(self, record: RegisteredSkill) -> bool:
        """Whether our text never got to the disk, or somebody edited the memory."""
        versions = await self._ledger.versions(record.path)
        if versions and versions[0].event is VersionEvent.NOT_WRITTEN:
            return True
        entries = await self._store.entries(record.memory_ids[:1])
        return any(entry.content != stored_text(record.proposal) for entry in entries)

    async def _add(self, item_id: str, change: FileChangePayload) -> bool:
        item = ApprovalItem(
            id=item_id,
            action_type=FILE_CHANGE_ACTION,
            title=_TITLES[change.change].format(change.name),
            description=_TOLD[change.change],
            requested_by=REQUESTED_BY,
            risk_level=_RISKS.get(change.change, RiskLevel.MEDIUM),
            created_at=self._clock.now(),
            metadata={"path": change.path, "change": change.change.value},
            payload=change.model_dump_json(),
        )
        known = await self._queue.get(item_id)
        if known is not None and known.status is ApprovalStatus.EXPIRED:
            # Withdrawn, or nobody looked in time; it is so again.
            revived = {"status": ApprovalStatus.PENDING, "expires_at": None}
            await self._queue.save(known.model_copy(update=revived))
            return True
        if known is not None:
            return False
        try:
            await self._queue.add(item)
        except ApprovalConflictError:
            return False
        return True

    async def _withdraw(self, changes: Mapping[str, FileChangePayload]) -> list[str]:
        withdrawn = []
        for item in await self._queue.list(
            status=ApprovalStatus.PENDING, action_type=FILE_CHANGE_ACTION, snoozed=True
        ):
            if item.id not in changes and isinstance(entry_of(item).subject, FileChangePayload):
                expired = item.model_copy(
                    update={"status": ApprovalStatus.EXPIRED, "snoozed_until": None}
                )
                if await self._queue.save_if_pending(expired):
                    withdrawn.append(item.id)
        return withdrawn


def _change(
    kind: FileChangeKind, file: SkillFile, record: RegisteredSkill | None, *, ours: str = ""
) -> FileChangePayload:
    return FileChangePayload(
        change=kind,
        name=file.name,
        path=str(file.path),
        text=_redacted(file.text),
        sha256=file.sha256,
        ours=_redacted(ours),
        version=record.version if record else 0,
    )


def _item_id(change: FileChangePayload) -> str:
    """The same for the same difference: the file's bytes against the version in force."""
    said = f"{change.path}\n{change.sha256}\n{change.version}"
    return f"file-{hashlib.sha256(said.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def _redacted(text: str) -> str:
    return redact_text(text, RedactionTally())


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
