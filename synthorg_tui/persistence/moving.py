"""Copies a whole store from one database into another, and proves that both say the same.

The source is only read, in one snapshot. The target notes in its ``meta`` how far the copy got,
with each batch, so that a move that was killed goes on where it was; at the end every table is
compared, by a hash of its rows on both sides, and one that differs is copied anew. Which database
the program then uses is for the settings to say: nothing is switched here.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.persistence.errors import MoveRefusedError
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.stored_tables import (
    META,
    MOVE_FACT,
    StoredTable,
    TableMark,
    row_counts,
    stored_tables,
)

T = TypeVar("T")

Marks: TypeAlias = dict[str, TableMark]

_ALL: Final = "*"
"""In place of a table, in a note that isn't stored: all were copied, some may have changed."""
_ATTEMPTS: Final = 2
"""How often a table is copied before it is said to come out different."""


@dataclass(frozen=True, slots=True)
class MoveStep:
    """How far a move is: rows copied or compared of all, and the table at hand."""

    table: str
    done: int
    total: int
    is_comparing: bool


@dataclass(frozen=True, slots=True)
class MoveNote:
    """What a target notes of the move that makes it.

    ``source`` names the store it comes from. ``table`` and ``rows`` say how far the copy got;
    ``digest`` is of all rows once they were compared, and empty before.
    """

    source: str
    table: str = ""
    rows: int = 0
    digest: str = ""

    def put(self, db: Connection) -> None:
        """Store the note, within the caller's transaction."""
        text = json.dumps([self.source, self.table, self.rows, self.digest])
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [MOVE_FACT, text])


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What a move would copy: the rows of each table, and how many are in the target already.

    ``is_continued`` says that the target is of the same move, begun before.
    """

    rows: Mapping[str, int]
    present: int
    is_continued: bool

    @property
    def total(self) -> int:
        """The number of rows to copy."""
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move came to: the rows of each table, equal on both sides.

    ``copied`` is how many of them this run wrote; ``redone`` are tables that had changed meanwhile.
    """

    rows: Mapping[str, int]
    copied: int
    redone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedStore:
    """A database with the name by which moves know it, which holds no password."""

    name: str
    database: StoreDatabase


class StoreMove:
    """A move from one open database into another one.

    Args:
        source: What is copied; it is only read.
        target: Empty, or of the same move.
        progress: Told how far it is, from another thread.
        cancel: Ends it after the batch at hand once it is set; the next run goes on from there.
    """

    def __init__(
        self,
        source: NamedStore,
        target: NamedStore,
        *,
        progress: Callable[[MoveStep], None] = lambda _: None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._cancel = cancel or threading.Event()

    async def plan(self) -> MovePlan:
        """Return what ``run`` would copy; raises ``MoveRefusedError`` as it does."""
        rows = await self._source.database.read(row_counts)
        note = await self._require_ours()
        present = await self._target.database.read(row_counts) if note is not None else {}
        return MovePlan(rows, sum(present.values()), note is not None)

    async def run(self) -> MoveReport:
        """Copy what isn't there yet, compare all, and note in the target that it is whole.

        Raises ``MoveRefusedError`` when the target has something else in it, ``DomainError`` when
        a table comes out different, and ``CancelledByUserError`` once cancelled.
        """
        note = await self._require_ours() or MoveNote(self._source.name)
        loop = asyncio.get_running_loop()
        copying = _Copying(
            self._source.name, self._target.database, loop, note, self._progress, self._cancel
        )
        return await self._source.database.read(copying.run)

    async def _require_ours(self) -> MoveNote | None:
        """The note of a target that may be written: ``None`` for one without any rows."""
        note = await self._target.database.read(note_of)
        if note is not None and note.source == self._source.name and not note.digest:
            return note
        counts = await self._target.database.read(row_counts)
        if not any(rows for name, rows in counts.items() if name != META):
            return None
        if await self._is_untouched(note):
            return MoveNote(self._source.name, _ALL)
        raise _refused(self._target.name, counts)

    async def _is_untouched(self, note: MoveNote | None) -> bool:
        """Whether the target is as a move left it: made from the source, or what that came from."""
        known = [note.digest] if note is not None and note.source == self._source.name else []
        made = await self._source.database.read(note_of)
        if made is not None and made.source == self._target.name and made.digest:
            known.append(made.digest)
        if not known:
            return False
        return _digest(await self._target.database.read(_marks)) in known


@dataclass(slots=True)
class _Copying:
    """One run, in the thread that reads the source's snapshot."""

    name: str
    target: StoreDatabase
    loop: asyncio.AbstractEventLoop
    note: MoveNote
    tell: Callable[[MoveStep], None]
    cancel: threading.Event
    copied: int = 0
    done: int = 0
    total: int = 0
    marks: Marks = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    there: Mapping[str, int] = field(default_factory=dict)
    """How many rows the target had before."""

    def run(self, db: Connection) -> MoveReport:
        """Copy, compare, and note the end; begun anew where the source's connection was lost."""
        found = self._await(self.target.read(note_of))
        if found is not None and found.source == self.name and not found.digest:
            self.note = found
        self.copied = self.done = 0
        self.marks.clear()
        self.rows, self.there = row_counts(db), self._await(self.target.read(row_counts))
        self.total = sum(self.rows.values())
        redone: list[str] = []
        for table in self._left():
            start = self.note.rows if table.name == self.note.table else 0
            if not start and self.there[table.name]:
                self._await(self.target.write(partial(self._begin, table=table)))
            self._copy(db, table, start)
        self.done = 0
        for table in stored_tables():
            if not self._is_equal(db, table):
                redone.append(table.name)
                self._redo(db, table)
            self.done += self.marks[table.name].rows
            self._step(table, is_comparing=True)
        end = MoveNote(self.name, digest=_digest(self.marks))
        self._await(self.target.write(end.put))
        rows = {name: mark.rows for name, mark in self.marks.items()}
        return MoveReport(rows, self.copied, tuple(redone))

    def _left(self) -> tuple[StoredTable, ...]:
        """The tables that aren't copied yet: those before the noted one are."""
        tables = stored_tables()
        names = [table.name for table in tables]
        if self.note.table == _ALL:
            return ()
        if self.note.table not in names:
            return tables
        return tables[names.index(self.note.table) :]

    def _copy(self, db: Connection, table: StoredTable, start: int) -> None:
        """Copy a table from a row on; its mark is known when it was copied from the first."""
        mark, at = TableMark(), start
        for rows in table.rows_of(db, after=start):
            self._require_going_on()
            at += len(rows)
            note = MoveNote(self.name, table.name, at)
            self._await(self.target.write(partial(_add, table=table, rows=rows, note=note)))
            mark = mark.with_rows(rows)
            self.copied, self.done = self.copied + len(rows), self.done + len(rows)
            self._step(table, is_comparing=False)
        if not start:
            self.marks[table.name] = mark

    def _begin(self, to: Connection, table: StoredTable) -> None:
        table.clear(to)
        MoveNote(self.name, table.name).put(to)

    def _is_equal(self, db: Connection, table: StoredTable) -> bool:
        self._require_going_on()
        if table.name not in self.marks:
            self.marks[table.name] = table.mark(db)
        if not self.rows[table.name] and not self.there[table.name]:
            return True
        return self._await(self.target.read(table.mark)) == self.marks[table.name]

    def _redo(self, db: Connection, table: StoredTable) -> None:
        for _ in range(_ATTEMPTS):
            self._await(self.target.write(partial(self._begin, table=table)))
            self._copy(db, table, 0)
            if self._is_equal(db, table):
                return
        raise DomainError(
            f"the rows of {table.name} are not the same in the copy",
            remedy="The source is as it was; nothing uses the copy.",
        )

    def _require_going_on(self) -> None:
        if self.cancel.is_set():
            raise CancelledByUserError("stopped; the same command goes on from here")

    def _step(self, table: StoredTable, *, is_comparing: bool) -> None:
        self.tell(MoveStep(table.name, min(self.done, self.total), self.total, is_comparing))

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


def note_of(db: Connection) -> MoveNote | None:
    """Return what a store notes of the move that made it; ``None`` where none did."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", [MOVE_FACT]).fetchone()
    try:
        return MoveNote(*json.loads(row[0])) if row else None
    except (ValueError, TypeError):
        return None


def _add(to: Connection, table: StoredTable, rows: list[tuple[Any, ...]], note: MoveNote) -> None:
    table.add(to, rows)
    note.put(to)


def _marks(db: Connection) -> Marks:
    counts = row_counts(db)
    return {table.name: table.mark(db) for table in stored_tables() if counts[table.name]}


def _digest(marks: Marks) -> str:
    """A hash of all rows; tables without any don't count, so that later ones change nothing."""
    told = "\n".join(f"{name} {mark}" for name, mark in sorted(marks.items()) if mark.rows)
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _refused(name: str, counts: Mapping[str, int]) -> MoveRefusedError:
    filled = [(table, rows) for table, rows in counts.items() if rows and table != META]
    rows = sum(count for _, count in filled)
    filled.sort(key=lambda each: -each[1])
    most = ", ".join(f"{table} {count:,}" for table, count in filled[:3])
    return MoveRefusedError(
        f"{name} has {counted(rows, 'row')} of another store: {most}",
        remedy="Name an empty database; a move that was begun goes on by itself.",
    )
