"""The record of what was published where: what a block must be to be ours, and how it goes back.

A file in a project is somebody else's. What we wrote into it is told from what a person changed in
it by this record alone, and so is a file that wasn't there before. All SQL of its table is here.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc, number_of

ERASED_BLOCK: Final = "(erased)"
"""Stands for the text of a block that said what was erased for good."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What one act did to one file; ``act`` is 0 until it is recorded.

    ``written`` is the mark of the block (``mark_of``), empty when it was taken out, ``before`` the
    block that was replaced, empty for none. ``entries`` are the ids of what it says, ``parts`` the
    parts that were asked for, ``made`` the file and folders that weren't there before.
    """

    path: str
    project: str
    written: str
    before: str = ""
    entries: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    act: int = 0
    made_at: datetime | None = None
    actor: str = ""

    @property
    def name(self) -> str:
        """The file as it is named in its project."""
        return Path(self.path).relative_to(self.project).as_posix()


def mark_of(block: str) -> str:
    """Return what tells a block from another one; empty for none."""
    return hashlib.sha256(block.encode("utf-8", "replace")).hexdigest() if block else ""


_COLUMNS = "path, project, written, before, entries, parts, made, act, made_at, actor"


class PublicationStore:
    """Stores the acts by which blocks came into files, went, and were taken back."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def standing(self) -> tuple[Publication, ...]:
        """Return the newest act on each file that has a block of ours by it, by path."""
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM org_publications WHERE undone_by = '' "
                "QUALIFY row_number() OVER (PARTITION BY path ORDER BY act DESC) = 1 ORDER BY path"
            ).fetchall()
        )
        return tuple(one for one in map(_publication, rows) if one.written)

    async def last_act(self) -> tuple[Publication, ...]:
        """Return the files of the newest act that wasn't taken back; empty for none."""
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM org_publications WHERE undone_by = '' "
                "QUALIFY act = max(act) OVER () ORDER BY path"
            ).fetchall()
        )
        return tuple(map(_publication, rows))

    async def new_act(self) -> int:
        """Return the number of the next act."""
        sql = "SELECT coalesce(max(act), 0) + 1 FROM org_publications"
        return await self._database.read(lambda db: number_of(db, sql))

    async def add(self, act: int, publication: Publication, *, actor: str) -> None:
        """Record what an act did to a file."""
        values = [
            act,
            publication.path,
            publication.project,
            naive_utc(self._clock.now()),
            actor,
            publication.written,
            publication.before,
            list(publication.entries),
            list(publication.parts),
            list(publication.made),
        ]
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO org_publications VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')", values
            )
        )

    async def take_back(self, publications: Sequence[Publication], *, actor: str) -> None:
        """Record that these were taken back: what was before them stands again."""
        keys = [[actor, one.act, one.path] for one in publications]

        def work(db: Connection) -> None:
            for key in keys:
                db.execute(
                    "UPDATE org_publications SET undone_by = ? WHERE act = ? AND path = ?", key
                )

        await self._database.write(work)

    async def forget(self, entry_id: str) -> None:
        """Erase the texts of earlier blocks of each file that ever said this entry."""
        await self._database.write(
            lambda db: db.execute(
                "UPDATE org_publications SET before = ? WHERE before <> '' AND path IN "
                "(SELECT path FROM org_publications WHERE list_contains(entries, ?))",
                [ERASED_BLOCK, entry_id],
            )
        )


def _publication(row: tuple[Any, ...]) -> Publication:
    path, project, written, before, entries, parts, made, act, made_at, actor = row
    return Publication(
        path=path,
        project=project,
        written=written,
        before=before,
        entries=tuple(entries),
        parts=tuple(parts),
        made=tuple(made),
        act=act,
        made_at=made_at.replace(tzinfo=UTC),
        actor=actor,
    )
