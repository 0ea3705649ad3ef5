"""Skills that were here before us: taken note of at first sight of their root, not put up."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.clock import Clock
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.times import naive_utc
from synthorg_tui.skills.models import SkillFile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True, slots=True)
class Sightings:
    """The roots that were looked at, and marks of the files that are only taken note of."""

    roots: frozenset[str]
    marks: frozenset[str]

    def is_found(self, file: SkillFile) -> bool:
        """Whether the file was here, as it is now, before anybody could review it."""
        return str(file.root.path) not in self.roots or _mark_of(file) in self.marks


class FoundSkills:
    """What lay in the roots of skills when they were seen first."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sightings(self) -> Sightings:
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


def _sightings(db: "Connection") -> Sightings:
    roots = db.execute("SELECT path FROM skill_roots").fetchall()
    marks = db.execute("SELECT mark FROM found_skills").fetchall()
    return Sightings(frozenset(row[0] for row in roots), frozenset(row[0] for row in marks))
