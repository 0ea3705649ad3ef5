"""A skill's file as it is on disk at this moment, read without following links."""

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import opened_folder, read_plain

IRREGULAR: Final = "irregular"
"""Stands for the hash of what is no readable file of at most ``MAX_FILE_BYTES`` bytes."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Bytes with their SHA-256 (hex); both empty when there is no file."""

    sha256: str = ""
    content: bytes = b""

    @property
    def text(self) -> str:
        """The bytes as text."""
        return self.content.decode("utf-8", "replace")


def sha256_of(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def state_of(path: Path) -> FileState:
    """What is at ``path``; links, folders and too large files are ``IRREGULAR``."""
    try:
        if stat.S_ISLNK(path.parent.lstat().st_mode):
            return FileState(IRREGULAR)
        with opened_folder(path.parent) as folder:
            content, _ = read_plain(path.name, folder=folder)
    except (FileNotFoundError, NotADirectoryError):
        return FileState()
    except OSError:
        return FileState(IRREGULAR)
    return FileState(sha256_of(content), content)
