"""The record of configuration files changed for clients, and backups of them.

``disconnect`` works from it. The backups hold all that the files held, perhaps tokens, so only
this user can read them.
"""

import dataclasses
import hashlib
import json
import os
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
    """The record of a changed file.

    ``written`` is the SHA-256 (hex) of the bytes written, ``backup`` the name of the backup of the
    earlier file, empty if there was none; ``made`` are the folders created for it, outermost first.
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
    """The record of a client's folder, ``root``, with links to the skills in ``source``.

    ``made`` are the folders created for it, outermost first.
    """

    client: str
    scope: str
    agent_id: str
    root: str
    source: str
    made: tuple[str, ...]


class Records:
    """The records of one data directory, read at construction and written only by ``save``.

    Raises ``ClientConfigError`` when the stored records are damaged.
    """

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
        """Return the record of a file, or ``None`` when it was not changed."""
        return next((record for record in self.files if record.path == str(path)), None)

    def files_of(self, client: str, scope: str) -> list[FileRecord]:
        """Return the records of a client's files in a scope."""
        return [one for one in self.files if (one.client, one.scope) == (client, scope)]

    def backup_path(self, record: FileRecord) -> Path:
        """Return the path of the backup; the record must have one."""
        return self._folder / record.backup

    def backup(self, record: FileRecord) -> bytes | None:
        """Return the bytes of the file before it was changed; ``None`` if there was no file.

        Raises ``ClientConfigError`` when the backup is missing.
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
        """Record a change before it is made, with ``content`` as backup; then call ``save``."""
        name = ""
        if content is not None:
            name = f"{hashlib.sha256(os.fsencode(record.path)).hexdigest()[:16]}.backup"
            write_atomically(self._private_folder() / name, content, mode=PRIVATE_FILE)
        others = (other for other in self.files if other.path != record.path)
        self.files = (*others, dataclasses.replace(record, backup=name))

    def remove(self, path: Path) -> None:
        """Remove the record of a file; then call ``save``, which deletes the backup."""
        self.files = tuple(record for record in self.files if record.path != str(path))

    def add_skills(self, records: Sequence[SkillsRecord]) -> None:
        """Record folders for links, instead of what is known of each for that client."""
        about = {(record.client, record.root) for record in records}
        others = (other for other in self.skills if (other.client, other.root) not in about)
        self.skills = (*others, *records)

    def remove_skills(self, client: str, scope: str | None) -> tuple[SkillsRecord, ...]:
        """Remove and return a client's records of skill folders; ``None`` means all scopes."""
        removed = tuple(
            record
            for record in self.skills
            if record.client == client and scope in (None, record.scope)
        )
        self.skills = tuple(record for record in self.skills if record not in removed)
        return removed

    def save(self) -> None:
        """Write the records, and delete backups without a record; an empty folder is removed."""
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
