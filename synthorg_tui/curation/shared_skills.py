"""Approved skills of a shared store as files on this machine, whoever approved them.

An approval writes its SKILL.md on the machine of who approves; the registry names that path. Every
other program on the same store writes the approved text into its own folder of skills, under the
skill's name, and removes it once the skill is out of force. It notes what it wrote there, in a file
of this data directory, so that what a person edits or deletes is never written over: that comes up
for review like any change on disk.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, write_atomically
from synthorg_tui.curation.preexisting import record_in
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus, VersionEvent
from synthorg_tui.persistence import COPIES_FILE
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.skills.disk import FILE_NAME, remove_skill, state_of, write_skill

_log = logging.getLogger(__name__)

_PLACE: Final = "place"
_WRITTEN: Final = "written"


class WrittenCopies:
    """What this program wrote into its folder: the hash of each skill's file, by name.

    ``place`` is a random name for this data directory, by which others know it.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / COPIES_FILE
        kept = self._read()
        self.place = str(kept.get(_PLACE) or uuid4().hex)
        written = kept.get(_WRITTEN)
        self.written: dict[str, str] = dict(written) if isinstance(written, dict) else {}
        if _PLACE not in kept:
            self.save()

    def save(self) -> None:
        """Store it, whole or not at all."""
        text = json.dumps({_PLACE: self.place, _WRITTEN: self.written}, indent=2, sort_keys=True)
        write_atomically(self._path, f"{text}\n".encode(), mode=PRIVATE_FILE)

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}


class SkillFollower:
    """Keeps the files in this program's folder as the registry of a shared store has them.

    Args:
        database: The shared store's.
        registry: Its approved skills; it learns which path here stands for which there.
        own_root: This program's folder of skills.
        copies: What was written there.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        database: StoreDatabase,
        registry: SkillRegistry,
        *,
        own_root: Path,
        copies: WrittenCopies,
        clock: Clock,
    ) -> None:
        self._database = database
        self._registry = registry
        self._own_root = own_root
        self._copies = copies
        self._clock = clock
        self._is_known = False

    async def follow(self) -> tuple[str, ...]:
        """Write, replace and remove what others decided; return the names of those skills."""
        async with self._registry.deciding:
            return await self.follow_in_turn(await self._registry.all())

    async def follow_in_turn(self, records: tuple[RegisteredSkill, ...]) -> tuple[str, ...]:
        """Do what ``follow`` does for a caller that holds the registry's lock and has read it."""
        if not self._is_known:
            await self._introduce()
        homes = await self._database.read(
            lambda db: frozenset(
                path for (path,) in db.execute("SELECT path FROM skill_homes").fetchall()
            )
        )
        wanted = _wanted(records, homes, str(self._own_root))
        self._registry.copies = {
            str(self._file(name)): record.path
            for name, record in wanted.items()
            if record.path != str(self._file(name))
        }
        before = dict(self._copies.written)
        await self._know_retired(records, wanted)
        changed = [name for name, record in wanted.items() if await self._place(name, record)]
        gone = [
            name
            for name in tuple(self._copies.written)
            if name not in wanted and await self._take_away(name)
        ]
        if self._copies.written != before:
            await asyncio.to_thread(self._copies.save)
        return (*changed, *gone)

    async def _know_retired(
        self, records: Sequence[RegisteredSkill], wanted: Mapping[str, RegisteredSkill]
    ) -> None:
        """Count what was approved here as written, though it was retired before a look at it."""
        for record in records:
            file = self._file(record.name)
            if record.path == str(file) and record.name not in wanted and file.exists():
                sha256 = record.sha256 or await self._left_in_place(record.path)
                if sha256:
                    self._copies.written.setdefault(record.name, sha256)

    async def _left_in_place(self, path: str) -> str:
        """Return the hash of the last text of a file that nobody removed; empty without one."""
        for last in (await self._registry.versions(path))[:1]:
            if last.event in (VersionEvent.WRITTEN, VersionEvent.ACCEPTED):
                return last.sha256
        return ""

    async def _introduce(self) -> None:
        """Let the others know where this program's folder is, and that it is another one."""
        values = [self._copies.place, str(self._own_root), naive_utc(self._clock.now())]
        await asyncio.to_thread(self._copies.save)
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO skill_homes VALUES (?, ?, ?)", values)
        )
        self._is_known = True

    def _file(self, name: str) -> Path:
        return self._own_root / name / FILE_NAME

    async def _place(self, name: str, record: RegisteredSkill) -> bool:
        """Have the approved text here unless a person has another one; whether it was written."""
        written, path = self._copies.written, self._file(name)
        present = (await asyncio.to_thread(state_of, path)).sha256
        if present == record.sha256:
            written[name] = present
            return False
        was_deleted = not present and written.get(name) == record.sha256
        was_edited = bool(present) and written.get(name) != present
        content = await self._registry.content(record.sha256)
        if was_deleted or was_edited or not content:
            return False
        await self._database.write(lambda db: record_in(db, str(path), record.sha256))
        try:
            await asyncio.to_thread(write_skill, self._own_root, name, content)
        except DomainError as error:
            _log.warning("%s isn't written here yet: %s", name, error)
            return False
        written[name] = record.sha256
        return True

    async def _take_away(self, name: str) -> bool:
        """Remove what was written for a skill that is out of force; an edited file stays."""
        wrote = self._copies.written.pop(name)
        if (await asyncio.to_thread(state_of, self._file(name))).sha256 != wrote:
            return False
        try:
            return await asyncio.to_thread(remove_skill, self._own_root, name)
        except DomainError as error:
            _log.warning("%s isn't removed here yet: %s", name, error)
            self._copies.written[name] = wrote
            return False


def _wanted(
    records: tuple[RegisteredSkill, ...], homes: frozenset[str], own_root: str
) -> dict[str, RegisteredSkill]:
    """The skills in force of all programs' own folders, by name: ours first, then the latest."""
    found: dict[str, RegisteredSkill] = {}
    for record in sorted(records, key=lambda each: (each.root == own_root, each.updated_at)):
        if record.status is SkillStatus.ACTIVE and record.sha256 and record.root in homes:
            found[record.name] = record
    return found
