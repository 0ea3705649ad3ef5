"""A skill's file as it is on disk at this moment, read without following links."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1 << 20
IRREGULAR: Final = "irregular"
"""Stands for the hash of what is no readable file of at most ``MOST_BYTES`` bytes."""


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
        content = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return FileState()
    except OSError:
        content = None
    return FileState(IRREGULAR) if content is None else FileState(sha256_of(content), content)


def _read(path: Path) -> bytes | None:
    """The bytes of a plain file, ``None`` for what is none."""
    if stat.S_ISLNK(path.parent.lstat().st_mode):
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(MOST_BYTES + 1)
    return content if len(content) <= MOST_BYTES else None
