"""The skills that lay in a root when it was seen first, which come up for review on request alone.

They are recorded by a fingerprint that tells neither path nor text. So is a file that stays on disk
though its skill was erased, and one that was written here for another machine.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.skills.document import SkillFile


@dataclass(frozen=True, slots=True)
class SeenRoots:
    """The roots that were read before, and fingerprints of the files that were there already."""

    roots: frozenset[str]
    fingerprints: frozenset[str]

    def is_preexisting(self, file: SkillFile) -> bool:
        """Whether the file was there, as it is now, before anybody could review it."""
        is_new_root = str(file.root.path) not in self.roots
        return is_new_root or _fingerprint(str(file.path), file.sha256) in self.fingerprints


def seen_in(db: Connection) -> SeenRoots:
    """Return the roots and files that were recorded so far."""
    roots = db.execute("SELECT path FROM skill_roots").fetchall()
    fingerprints = db.execute("SELECT mark FROM found_skills").fetchall()
    return SeenRoots(frozenset(row[0] for row in roots), frozenset(row[0] for row in fingerprints))


def record_roots(
    db: Connection, roots: Iterable[Path], files: Iterable[SkillFile], *, at: datetime
) -> None:
    """Record that these roots were read, and that these files were in them."""
    for root in roots:
        db.execute("INSERT OR IGNORE INTO skill_roots VALUES (?, ?)", [str(root), naive_utc(at)])
    for file in files:
        record_in(db, str(file.path), file.sha256)


def record_in(db: Connection, path: str, sha256: str) -> None:
    """Record a file with these bytes as preexisting, within a transaction."""
    db.execute("INSERT OR IGNORE INTO found_skills VALUES (?)", [_fingerprint(path, sha256)])


def forget(db: Connection, file: SkillFile) -> None:
    """Let a file come up for review like any other from now on."""
    fingerprint = _fingerprint(str(file.path), file.sha256)
    db.execute("DELETE FROM found_skills WHERE mark = ?", [fingerprint])


def _fingerprint(path: str, sha256: str) -> str:
    text = f"{path}\n{sha256}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
