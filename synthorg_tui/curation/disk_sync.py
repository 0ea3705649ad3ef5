"""Skill files that are not as the registry has them, put up for review.

People and other programs write into the same folders. A file that differs from the approved text
becomes an item of the queue; it is never read by agents, overwritten or accepted without a
decision. What lay in a root when it was seen first is only recorded, by a fingerprint that tells
neither path nor text, and comes up when somebody asks for it. So does what the program ships, each
version of it. Nothing here decides or writes files.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    RiskLevel,
)
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation import preexisting
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.models import FileChangeKind, FileChangePayload
from synthorg_tui.curation.preexisting import SeenRoots
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus, VersionEvent
from synthorg_tui.curation.rendering import stored_text
from synthorg_tui.curation.review import FILE_CHANGE_ACTION, entry_of
from synthorg_tui.curation.shared_skills import SkillFollower
from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.document import RootScope, SkillFile
from synthorg_tui.skills.library import Survey


def _approved_texts(record: RegisteredSkill) -> frozenset[str]:
    """What the memories of a skill may say: a secret in it may have been redacted since."""
    text = stored_text(record.proposal)
    return frozenset((text, redact_text(text, RedactionTally())))


REQUESTED_BY: Final = "skills on disk"

_TITLES: Final = {
    FileChangeKind.NEW: "New skill on disk: {}",
    FileChangeKind.EDITED: "Skill edited on disk: {}",
    FileChangeKind.DELETED: "Skill deleted from disk: {}",
    FileChangeKind.CONFLICT: "Skill changed on disk and here: {}",
}
_DESCRIPTIONS: Final = {
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
    """Compares the skills on disk with the registry.

    It holds the registry's lock while it does: during a decision the disk may be behind.

    Args:
        base: The proposals, the approved skills, the memories and the skills on disk.
        follower: Has on disk what other programs on the same store approved; ``None`` where nobody
            else decides.
    """

    def __init__(self, base: CurationBase, follower: SkillFollower | None = None) -> None:
        self._base = base
        self._follower = follower

    async def seen(self) -> SeenRoots:
        """Return the roots that were read before, and what was there already."""
        return await self._base.database.read(preexisting.seen_in)

    async def sync(self) -> SyncReport:
        """Put every difference up for review that isn't yet; withdraw what is none any more.

        A difference that was rejected doesn't come up again while it stays the same. What lies
        in a root at first sight is only recorded, and what is shipped comes up by ``offer`` alone.
        """
        async with self._base.registry.deciding:
            # Read once: another machine may decide between laying files out and comparing them.
            approved = await self._base.registry.all()
            if self._follower is not None:
                await self._follower.follow_in_turn(approved)
            survey = await asyncio.to_thread(self._base.library.survey)
            records = {record.path: record for record in approved}
            found = await self._record_new_roots(survey, records)
            changes = {_item_id(change): change for change in await self._changes(survey, records)}
            withdrawn = await self._withdraw(changes)
            added = [item_id for item_id, change in changes.items() if await self._add(change)]
        return SyncReport(tuple(added), tuple(withdrawn), found)

    async def offer(self, path: str) -> str:
        """Put a skill up for review that was there before us, or that is shipped.

        Returns the id of the item about its file, empty when there is nothing to decide.
        """
        async with self._base.registry.deciding:
            files = await asyncio.to_thread(self._base.library.scan)
            file = next((file for file in files if str(file.path) == path), None)
            if file is None:
                return ""
            change = await self._difference(file, await self._base.registry.get(path))
            if change is None:
                return ""
            await self._base.database.write(lambda db: preexisting.forget(db, file))
            await self._add(change)
            return _item_id(change) if await self._is_pending(change) else ""

    async def reworded(self, records: Iterable[RegisteredSkill]) -> frozenset[str]:
        """Return the paths of the skills in use of which a memory isn't the approved text."""
        active = [record for record in records if record.status is SkillStatus.ACTIVE]
        ids = [memory_id for record in active for memory_id in record.memory_ids]
        stored = {entry.id: entry.content for entry in await self._base.store.entries(ids)}
        return frozenset(
            record.path
            for record in active
            if not {stored[key] for key in record.memory_ids if key in stored}
            <= _approved_texts(record)
        )

    async def arrive(self) -> None:
        """Have on disk what others on the same store approved."""
        if self._follower is not None:
            await self._follower.follow()

    def placed(self, records: Mapping[str, RegisteredSkill]) -> dict[str, RegisteredSkill]:
        """Return the records by the paths of their files on this machine, where they have one."""
        here = {there: path for path, there in self._base.registry.copies.items()}
        return {here.get(path, path): record for path, record in records.items()}

    def _is_here(self, path: str) -> bool:
        """Whether a file that isn't there is missing, rather than on another machine."""
        root = Path(path).parent.parent
        return self._follower is None or any(
            known.path == root for known in self._base.library.roots
        )

    async def _record_new_roots(
        self, survey: Survey, records: Mapping[str, RegisteredSkill]
    ) -> int:
        """Record what lies in roots not seen before; returns how many skills that were."""
        known = (await self.seen()).roots
        roots = [
            state.root.path
            for state in survey.roots
            if state.is_read
            and state.root.scope is not RootScope.SHIPPED
            and str(state.root.path) not in known
        ]
        if not roots:
            return 0
        files = [
            file
            for file in survey.files
            if file.root.path in roots
            and str(file.path) not in records
            and await self._known(_change(FileChangeKind.NEW, file, None)) is None
        ]
        at = self._base.clock.now()
        await self._base.database.write(
            lambda db: preexisting.record_roots(db, roots, files, at=at)
        )
        return sum(file.document is not None for file in files)

    async def _changes(
        self, survey: Survey, records: Mapping[str, RegisteredSkill]
    ) -> list[FileChangePayload]:
        seen = await self.seen()
        by_path = {str(file.path): file for file in survey.files}
        changes = [
            await self._difference(file, records.get(path))
            for path, file in by_path.items()
            if file.root.scope is not RootScope.SHIPPED
            and (path in records or not seen.is_preexisting(file))
        ]
        changes += await self._offered(survey, records)
        for path, record in records.items():
            is_away = path not in by_path and self._is_here(path)
            if is_away and record.status is SkillStatus.ACTIVE:
                changes.append(await self._missing(record))
        return [change for change in changes if change is not None]

    async def _offered(
        self, survey: Survey, records: Mapping[str, RegisteredSkill]
    ) -> list[FileChangePayload]:
        """Differences of shipped files that wait for a decision, since somebody asked for it."""
        changes = [
            await self._difference(file, records.get(str(file.path)))
            for file in survey.files
            if file.root.scope is RootScope.SHIPPED
        ]
        return [change for change in changes if change and await self._is_pending(change)]

    async def _known(self, change: FileChangePayload) -> ApprovalItem | None:
        return await self._base.queue.get(_item_id(change))

    async def _is_pending(self, change: FileChangePayload) -> bool:
        item = await self._known(change)
        return item is not None and item.status is ApprovalStatus.PENDING

    async def _difference(
        self, file: SkillFile, record: RegisteredSkill | None
    ) -> FileChangePayload | None:
        there = self._base.registry.copies.get(str(file.path))
        if record is None and there is not None:
            record = await self._base.registry.get(there)
        is_active = record is not None and record.status is SkillStatus.ACTIVE
        is_shipped = file.root.scope is RootScope.SHIPPED
        if record is not None and record.sha256 == file.sha256 and (is_active or not is_shipped):
            return None
        if file.document is None or file.path.name != FILE_NAME:
            return None  # what is wrong with it is listed with the skills
        if record is None or not is_active:
            return None if file.shadowed_by else _change(FileChangeKind.NEW, file, record)
        change = FileChangeKind.EDITED
        if await self._is_changed_here(record):
            change = FileChangeKind.CONFLICT
        return _change(change, file, record, ours=await self._base.registry.text(record))

    async def _missing(self, record: RegisteredSkill) -> FileChangePayload | None:
        """The payload for a skill that the scan didn't find, unless its file can't be read."""
        if not await asyncio.to_thread(_is_missing, Path(record.path)):
            return None
        return FileChangePayload(
            change=FileChangeKind.DELETED,
            name=record.name,
            path=record.path,
            ours=_redacted(await self._base.registry.text(record)),
            version=record.version,
        )

    async def _is_changed_here(self, record: RegisteredSkill) -> bool:
        """Whether the approved text was never written, or somebody edited the memory."""
        versions = await self._base.registry.versions(record.path)
        if versions and versions[0].event is VersionEvent.NOT_WRITTEN:
            return True
        return record.path in await self.reworded([record])

    async def _add(self, change: FileChangePayload) -> bool:
        """Whether the change waits for a decision now and didn't before."""
        item = _item(change, self._base.clock.now())
        known = await self._base.queue.get(item.id)
        if known is not None and known.status is ApprovalStatus.EXPIRED:
            # Withdrawn, or nobody looked in time; it is so again.
            revived = {"status": ApprovalStatus.PENDING, "expires_at": None}
            await self._base.queue.save(known.model_copy(update=revived))
            return True
        if known is not None:
            return False
        try:
            await self._base.queue.add(item)
        except ApprovalConflictError:
            return False
        return True

    async def _withdraw(self, changes: Mapping[str, FileChangePayload]) -> list[str]:
        withdrawn = []
        for item in await self._base.queue.list(
            status=ApprovalStatus.PENDING, action_type=FILE_CHANGE_ACTION, snoozed=True
        ):
            subject = entry_of(item).subject
            is_over = item.id not in changes and isinstance(subject, FileChangePayload)
            if is_over and self._is_here(item.metadata.get("path", "")):
                expired = item.model_copy(
                    update={"status": ApprovalStatus.EXPIRED, "snoozed_until": None}
                )
                if await self._base.queue.save_if_pending(expired):
                    withdrawn.append(item.id)
        return withdrawn


def _item(change: FileChangePayload, now: datetime) -> ApprovalItem:
    return ApprovalItem(
        id=_item_id(change),
        action_type=FILE_CHANGE_ACTION,
        title=_TITLES[change.change].format(change.name),
        description=_DESCRIPTIONS[change.change],
        requested_by=REQUESTED_BY,
        risk_level=_RISKS.get(change.change, RiskLevel.MEDIUM),
        created_at=now,
        metadata={"path": change.path, "change": change.change.value},
        payload=change.model_dump_json(),
    )


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
    text = f"{change.path}\n{change.sha256}\n{change.version}"
    return f"file-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def _redacted(text: str) -> str:
    return redact_text(text, RedactionTally())


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
