"""What was changed for which client, and copies of the files as they were, in the data directory.

This is what ``disconnect`` goes by. The copies hold whatever the files held, tokens too, so they
are for this user alone.
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.connect.errors import ClientConfigError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically

FOLDER: Final = "connections"
_RECORDS: Final = "records.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was changed.

    ``written`` is the SHA-256 of what was written (hex), ``backup`` the name of the copy of what
    was there, empty when nothing was; ``made`` are the folders created for it, outermost first.
    """

    client: str
    scope: str
    path: str
    is_hooks: bool
    written: str
    backup: str
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillsRecord:
    """A folder of a client in which links to the skills in ``source`` are placed."""

    client: str
    scope: str
    agent_id: str
    root: str
    source: str
    made: tuple[str, ...]


class Records:
    """The records of one data directory; read once, written by ``save``."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self.files: tuple[FileRecord, ...] = ()
        self.skills: tuple[SkillsRecord, ...] = ()
        path = self._folder / _RECORDS
        if not path.exists():
            return
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            files = [
                FileRecord(**{**record, "made": tuple(record["made"])}) for record in data["files"]
            ]
            skills = [
                SkillsRecord(**{**record, "made": tuple(record["made"])})
                for record in data["skills"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise ClientConfigError(
                f"{path} is damaged: {error}", remedy="Move it away; backups stand next to it."
            ) from None
        self.files, self.skills = tuple(files), tuple(skills)

    def file(self, path: Path) -> FileRecord | None:
        """The record of a file."""
        return next((record for record in self.files if record.path == str(path)), None)

    def files_of(self, client: str, scope: str) -> list[FileRecord]:
        """The records of a client's files in a scope."""
        return [one for one in self.files if (one.client, one.scope) == (client, scope)]

    def backup_path(self, record: FileRecord) -> Path:
        """Where the copy of the file as it was is."""
        return self._folder / record.backup

    def backup(self, record: FileRecord) -> bytes | None:
        """The file as it was; ``None`` when there was none.

        Raises ``ClientConfigError`` when the copy is missing.
        """
        if not record.backup:
            return None
        try:
            return self.backup_path(record).read_bytes()
        except FileNotFoundError:
            raise ClientConfigError(
                f"the backup of {record.path} is gone", remedy="Take our entry out by hand."
            ) from None

    def add(self, record: FileRecord, content: bytes | None) -> None:
        """Record a change that is about to be made, and copy ``content``; ``save`` comes next."""
        name = ""
        if content is not None:
            name = f"{hashlib.sha256(record.path.encode()).hexdigest()[:16]}.backup"
            write_atomically(self._private_folder() / name, content, mode=PRIVATE_FILE)
        others = (other for other in self.files if other.path != record.path)
        self.files = (*others, dataclasses.replace(record, backup=name))

    def remove(self, path: Path) -> None:
        """Remove the record of a file; ``save`` comes next, and removes the copy."""
        self.files = tuple(record for record in self.files if record.path != str(path))

    def add_skills(self, records: Sequence[SkillsRecord]) -> None:
        """Record folders for links, instead of what is known of each for that client."""
        about = {(record.client, record.root) for record in records}
        others = (other for other in self.skills if (other.client, other.root) not in about)
        self.skills = (*others, *records)

    def remove_skills(self, client: str, scope: str | None) -> tuple[SkillsRecord, ...]:
        """Remove and return a client's records, of all scopes when none is named."""
        removed = tuple(
            record
            for record in self.skills
            if record.client == client and scope in (None, record.scope)
        )
        self.skills = tuple(record for record in self.skills if record not in removed)
        return removed

    def save(self) -> None:
        """Write the records and remove copies that none of them names; without any, the folder."""
        path = self._folder / _RECORDS
        if self.files or self.skills:
            data = {
                "files": [dataclasses.asdict(record) for record in self.files],
                "skills": [dataclasses.asdict(record) for record in self.skills],
            }
            content = json.dumps(data, indent=1).encode()
            write_atomically(self._private_folder() / path.name, content, mode=PRIVATE_FILE)
        else:
            path.unlink(missing_ok=True)
        used = {record.backup for record in self.files}
        for backup in self._folder.glob("*.backup"):
            if backup.name not in used:
                backup.unlink(missing_ok=True)
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _private_folder(self) -> Path:
        ensure_private_dir(self._folder.parent)
        return ensure_private_dir(self._folder)
