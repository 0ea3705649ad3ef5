"""The store of executions: each record, its redacted lines, and how far its file was read.

Memories and lessons refer to these lines as their evidence, so they outlive the transcript. Only
what a reader has redacted may be saved; what is drawn from an execution is stored elsewhere.
"""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from synthorg_tui.core.projects import projects_in_use
from synthorg_tui.executions.erased_lines import remember_in, spans_in, without_erased
from synthorg_tui.executions.events import events_of
from synthorg_tui.executions.facts import FACTS, facts_of, pack_record, unpack_record
from synthorg_tui.executions.forgotten import (
    absorb_in,
    forget_events_in,
    forgotten_events_in,
    forgotten_in,
)
from synthorg_tui.executions.models import Execution, SourceRef
from synthorg_tui.executions.packed import LineBlock, PackedLines
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.project_rows import remember_projects
from synthorg_tui.persistence.values import aware, insert, naive


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The redacted transcript lines that a reference names, as pairs of line number and text.

    ``path`` is where the transcript was read. The lines come from the store, so they are available
    even when that file has been deleted.
    """

    ref: SourceRef
    path: str
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class UnknownKind:
    """A kind of records that a reader doesn't know: how many there are, and in how many files."""

    reader: str
    kind: str
    count: int
    files: int


@dataclass(frozen=True, slots=True)
class FileMark:
    """The state of a transcript file at its last import.

    A file that still has this size and time isn't read again. ``mtime_ns`` is its modification time
    in nanoseconds, ``digest`` the SHA-256 (hex) of its redacted lines, after the version of what
    was drawn from them and a colon. That of a file which isn't worth reading says why instead.
    """

    path: str
    size: int
    mtime_ns: int
    digest: str

    def refused(self, reason: str) -> "FileMark":
        """Return the mark of this file if it isn't to be read, for this reason."""
        return replace(self, digest=f"{_REFUSED}{reason}")

    @property
    def refusal(self) -> str:
        """The reason why the file isn't read; empty when it was."""
        return self.digest.removeprefix(_REFUSED) if self.digest.startswith(_REFUSED) else ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A file of a stored session that has several: the session's own, forks, and copies.

    ``id`` is that of the execution the file would be alone. ``numbers`` are those of the session's
    lines that it holds, ``title`` says what it has of its own, empty when that is nothing.
    """

    id: str
    path: str
    title: str
    ended_at: datetime | None
    numbers: frozenset[int]

    @property
    def spans(self) -> list[int]:
        """The numbers as first and last of each run, one after the other."""
        spans: list[int] = []
        for number in sorted(self.numbers):
            if spans and spans[-1] == number - 1:
                spans[-1] = number
            else:
                spans += (number, number)
        return spans

    @classmethod
    def stored(cls, row: Sequence[Any]) -> Self:
        """Return the branch of a row."""
        id_, path, title, ended_at, spans = row
        pairs = zip(spans[::2], spans[1::2], strict=True)
        numbers = frozenset(n for first, last in pairs for n in range(first, last + 1))
        return cls(id_, path, title, aware(ended_at), numbers)


_REFUSED: Final = "refused: "
_COUNTED: Final = "events_counted"
_INSERTED_BYTES: Final = 4 * 1024 * 1024
"""Compressed lines are inserted in portions of this size, since each is in memory several times."""


class ExecutionStore:
    """Stores executions in the database, with their lines compressed by zstandard."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def save(
        self, execution: Execution, lines: PackedLines, mark: FileMark, *parts: Sequence[Any]
    ) -> None:
        """Store an execution as ``saving`` has it.

        It is ``unlearnt`` until ``learnt`` is called for as many lines.
        """
        await self._database.write(await self.saving(execution, lines, mark, *parts))

    async def saving(
        self,
        execution: Execution,
        lines: PackedLines,
        mark: FileMark,
        branches: Sequence[Branch] = (),
        moved: Sequence[int] = (),
    ) -> Callable[[Connection], None]:
        """Return what stores an execution with its redacted lines and the mark of its file.

        It replaces one with the same id, and all its ``branches``, in the caller's transaction.
        Lines that were erased from it stay blank; ``moved`` are the present numbers of the lines
        that it had, when they differ.
        """
        spans = await self._database.read(lambda db: spans_in(db, execution.id))
        if moved:
            spans = [(moved[first - 1], moved[last - 1]) for first, last in spans]
        execution, lines = await asyncio.to_thread(without_erased, execution, lines, spans)
        record = await asyncio.to_thread(pack_record, execution)

        def work(db: Connection) -> None:
            paths = {each.id: each.path for each in branches}
            _put(db, execution, paths.get(execution.id, mark.path), record, lines)
            _put_branches(db, execution.id, branches)
            if moved and spans:
                db.execute("DELETE FROM erased_lines WHERE execution_id = ?", [execution.id])
                remember_in(db, [execution.ref(*span) for span in spans])
            _put_mark(db, mark)
            projects = projects_in_use()
            if execution.repository and projects.tell(
                execution.project or "", execution.repository
            ):
                remember_projects(db, projects)
            values = [execution.id, execution.line_count]
            db.execute("INSERT OR REPLACE INTO unlearnt_sessions VALUES (?, ?)", values)

        return work

    async def kin(self, keys: Collection[int]) -> tuple[str, ...]:
        """Return the sessions that have any of these events, the one with most of them first."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT execution_id FROM session_events WHERE key IN "
                "(SELECT unnest(?::BIGINT[])) GROUP BY 1 ORDER BY count(*) DESC, 1",
                [list(keys)],
            ).fetchall()
        )
        return tuple(row[0] for row in rows)

    async def forgotten(self, execution_id: str, keys: Collection[int]) -> set[int]:
        """Return which of a session's events were deleted, or erased as lines of another session.

        Lines erased from this one are known by their numbers.
        """

        def work(db: Connection) -> set[int]:
            return set() if spans_in(db, execution_id) else forgotten_events_in(db, keys)

        return await self._database.read(work)

    async def branches(self, execution_id: str) -> tuple[Branch, ...]:
        """Return the files of a session that has several, in the order of their ids."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT id, path, title, ended_at, spans FROM session_branches "
                "WHERE execution_id = ? ORDER BY id",
                [execution_id],
            ).fetchall()
        )
        return tuple(map(Branch.stored, rows))

    async def put_branches(
        self, execution_id: str, branches: Sequence[Branch], mark: FileMark
    ) -> None:
        """Store the files of a session and the mark of one of them, which adds nothing to it."""

        def work(db: Connection) -> None:
            _put_branches(db, execution_id, branches)
            _put_mark(db, mark)

        await self._database.write(work)

    async def absorb(
        self,
        _: str,
        absorbed: Collection[str],
        __: Collection[str | None],
        put: Callable[[Connection], None],
    ) -> None:
        """Erase sessions that are parts of the one that ``put`` stores; what they gave stays."""

        def work(db: Connection) -> None:
            absorb_in(db, tuple(absorbed))
            put(db)

        await self._database.write(work)

    async def uncounted(self) -> tuple[str, ...]:
        """Return the sessions of which no event is counted, by the paths of their files.

        So are those that a version without identities of events stored, until ``all_counted``.
        """
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT id FROM executions WHERE NOT starts_with(id, 'generic:') AND id NOT IN "
                "(SELECT execution_id FROM session_events) "
                "AND NOT EXISTS (SELECT 1 FROM meta WHERE name = ?) ORDER BY path, id",
                [_COUNTED],
            ).fetchall()
        )
        return tuple(row[0] for row in rows)

    async def all_counted(self) -> None:
        """Have no session be ``uncounted`` any more: what is left has nothing to be known by."""
        await self._database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, 'yes')", [_COUNTED])
        )

    async def lines(self, execution_id: str) -> tuple[str, ...]:
        """Return all redacted lines of a session."""
        blocks = await self._database.read(lambda db: _blocks_in(db, execution_id))
        return await asyncio.to_thread(
            lambda: tuple(line for block in blocks for _, line in block.lines())
        )

    async def is_forgotten(self, execution: Execution) -> bool:
        """Return whether this session was forgotten, or the one that it is part of.

        One that was deleted by age isn't when it went on after that.
        """
        ids = (execution.id, *([execution.parent_id] if execution.parent_id else []))
        return await self._database.read(lambda db: forgotten_in(db, ids, execution.ended_at))

    async def pass_over(self, mark: FileMark) -> None:
        """Store the mark of a file that isn't to be read again until it changes."""
        await self._database.write(lambda db: _put_mark(db, mark))

    async def note_unknown(self, path: str, reader: str, kinds: Mapping[str, int]) -> None:
        """Store which records of a file its reader didn't know, in place of those of before."""
        file = hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()

        def work(db: Connection) -> None:
            db.execute("DELETE FROM unknown_records WHERE file = ?", [file])
            for kind, count in kinds.items():
                values = [file, reader, kind, count]
                db.execute("INSERT OR REPLACE INTO unknown_records VALUES (?, ?, ?, ?)", values)

        await self._database.write(work)

    async def unknown_kinds(self) -> tuple[UnknownKind, ...]:
        """Return the kinds of records that no reader knew, by reader, the most frequent first."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT reader, kind, sum(count)::BIGINT, count(*) FROM unknown_records "
                "GROUP BY ALL ORDER BY 1, 3 DESC, 2"
            ).fetchall()
        )
        return tuple(UnknownKind(*row) for row in rows)

    async def get(self, execution_id: str) -> Execution | None:
        """Return the execution with this id, or ``None``."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT record FROM executions WHERE id = ?", [execution_id]
            ).fetchone()
        )
        return None if row is None else await asyncio.to_thread(unpack_record, row[0])

    async def excerpt(self, ref: SourceRef, *, context: int = 0) -> Excerpt | None:
        """Return the referenced lines with up to ``context`` more before and after them.

        ``None`` when the execution isn't stored or has no such lines.
        """
        first, last = max(1, ref.first_line - context), ref.last_line + context

        def work(db: Connection) -> tuple[str, list[LineBlock]] | None:
            head = db.execute(
                "SELECT path, line_count FROM executions WHERE id = ?", [ref.execution_id]
            ).fetchone()
            if head is None or ref.last_line > head[1]:
                return None
            blocks = db.execute(
                "SELECT first_line, last_line, lines FROM execution_lines WHERE execution_id = ? "
                "AND first_line <= ? AND last_line >= ? ORDER BY first_line",
                [ref.execution_id, last, first],
            ).fetchall()
            return head[0], [LineBlock(*block) for block in blocks]

        stored = await self._database.read(work)
        if stored is None:
            return None
        path, blocks = stored
        lines = await asyncio.to_thread(_lines_between, blocks, first, last)
        return Excerpt(ref=ref, path=path, lines=lines)

    async def marks(self) -> dict[str, FileMark]:
        """Return the marks of all imported files by path."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT path, size, mtime_ns, digest FROM file_marks").fetchall()
        )
        return {row[0]: FileMark(*row) for row in rows}

    async def count(self) -> int:
        """Return the number of stored executions."""
        row = await self._database.read(
            lambda db: db.execute("SELECT count(*) FROM executions").fetchone()
        )
        return int(row[0]) if row else 0

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all stored executions, sorted."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT id FROM executions ORDER BY id").fetchall()
        )
        return tuple(row[0] for row in rows)

    async def unlearnt(self) -> dict[str, int]:
        """Return the executions from which nothing was drawn as they are: id and line count."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT execution_id, line_count FROM unlearnt_sessions ORDER BY execution_id"
            ).fetchall()
        )
        return {row[0]: int(row[1]) for row in rows}

    async def learnt(self, line_counts: Mapping[str, int]) -> None:
        """Record that executions were learnt from, each with the lines that it had then.

        One that was stored with other lines meanwhile stays ``unlearnt``.
        """
        if line_counts:
            await self._database.write(
                lambda db: db.executemany(
                    "DELETE FROM unlearnt_sessions WHERE execution_id = ? AND line_count = ?",
                    list(line_counts.items()),
                )
            )

    async def projects(self) -> tuple[str, ...]:
        """Return the project folders of all stored executions, each once, sorted."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT DISTINCT project FROM executions WHERE project IS NOT NULL ORDER BY project"
            ).fetchall()
        )
        return tuple(row[0] for row in rows)


def erase_lines_in(db: Connection, refs: Sequence[SourceRef]) -> int:
    """Blank these lines in their sessions, now and after each later import of them.

    Returns the number of sessions that had any of them. Runs in the caller's transaction.
    """
    remember_in(db, refs)
    found = 0
    for execution_id in dict.fromkeys(ref.execution_id for ref in refs):
        head = db.execute(
            "SELECT path, record FROM executions WHERE id = ?", [execution_id]
        ).fetchone()
        if head is not None:
            path, record = head
            blocks = _blocks_in(db, execution_id)
            lines = PackedLines(line for block in blocks for _, line in block.lines())
            execution, spans = unpack_record(record), spans_in(db, execution_id)
            forget_events_in(db, events_of(execution).between(spans))
            kept, lines = without_erased(execution, lines, spans)
            _put(db, kept, path, pack_record(kept), lines)
            db.execute("UPDATE file_marks SET digest = '' WHERE path = ?", [path])
            found += 1
    return found


def replace_in(
    db: Connection,
    before: str,
    execution: Execution,
    lines: Sequence[str],
    branches: Sequence[Branch],
    moved: Sequence[int],
) -> None:
    """Store what is left of a session in its place, to be drawn from anew.

    ``moved`` are the present numbers of the lines that it had. Runs in the caller's transaction.
    """
    spans = [(moved[first - 1], moved[last - 1]) for first, last in spans_in(db, before)]
    absorb_in(db, [before])
    remember_in(db, [execution.ref(*span) for span in spans if all(span)])
    path = next(each.path for each in branches)
    _put(db, execution, path, pack_record(execution), PackedLines(lines))
    _put_branches(db, execution.id, branches if len(branches) > 1 else ())
    unlearn_in(db, [execution.id])


def unlearn_in(db: Connection, ids: Collection[str]) -> None:
    """Have sessions be learnt from again; runs in the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO unlearnt_sessions SELECT id, line_count FROM executions "
        "WHERE id IN (SELECT unnest(?::VARCHAR[]))",
        [list(ids)],
    )


def _put(
    db: Connection,
    execution: Execution,
    path: str,
    record: bytes,
    lines: PackedLines,
) -> None:
    packed = lines.blocks()
    facts = facts_of(execution, len(record) + sum(len(block.data) for block in packed))
    head = [execution.id, execution.agent_id, execution.project, path, len(lines), record]
    db.execute(
        f"INSERT OR REPLACE INTO executions (id, agent_id, project, path, line_count, record, "
        f"{', '.join(FACTS)}) VALUES ({', '.join('?' * (len(head) + len(facts)))})",
        [*head, *facts],
    )
    for table in ("execution_lines", "session_facts", "session_events"):
        db.execute(f"DELETE FROM {table} WHERE execution_id = ?", [execution.id])
    db.execute(
        "INSERT INTO session_events SELECT ?, unnest(?::BIGINT[])",
        [execution.id, sorted(events_of(execution).keys)],
    )
    for blocks in _portions(packed):
        db.execute(
            "INSERT INTO execution_lines SELECT ?, unnest(?::BIGINT[]), "
            "unnest(?::BIGINT[]), unnest(?::BLOB[])",
            [execution.id, *map(list, zip(*blocks, strict=True))],
        )


def _put_branches(db: Connection, execution_id: str, branches: Sequence[Branch]) -> None:
    db.execute("DELETE FROM session_branches WHERE execution_id = ?", [execution_id])
    types = ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "TIMESTAMP", "BIGINT[]")
    insert(
        db,
        "session_branches",
        types,
        [(b.id, execution_id, b.path, b.title, naive(b.ended_at), b.spans) for b in branches],
    )


def _blocks_in(db: Connection, execution_id: str) -> list[LineBlock]:
    rows = db.execute(
        "SELECT first_line, last_line, lines FROM execution_lines WHERE execution_id = ? "
        "ORDER BY first_line",
        [execution_id],
    ).fetchall()
    return [LineBlock(*row) for row in rows]


def _put_mark(db: Connection, mark: FileMark) -> None:
    db.execute(
        "INSERT OR REPLACE INTO file_marks VALUES (?, ?, ?, ?)",
        [mark.path, mark.size, mark.mtime_ns, mark.digest],
    )


def _portions(blocks: Sequence[LineBlock]) -> Iterator[list[LineBlock]]:
    """The blocks in lists of about ``_INSERTED_BYTES``."""
    portion: list[LineBlock] = []
    size = 0
    for block in blocks:
        portion.append(block)
        size += len(block.data)
        if size >= _INSERTED_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _lines_between(
    blocks: Sequence[LineBlock], first: int, last: int
) -> tuple[tuple[int, str], ...]:
    return tuple(
        (number, line)
        for block in blocks
        for number, line in block.lines()
        if first <= number <= last
    )
