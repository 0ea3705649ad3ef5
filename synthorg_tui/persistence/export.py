"""Operational data and memories as files for other programs: Parquet or CSV, one a table.

The rows of one moment are written as they are stored: what was redacted stays so. They are read
from a copy of the database, since its own connection may write no other file; of a server's, only
the tables at hand are copied. A folder is written whole or not at all, and only its owner may read
it. Times are UTC; in CSV a null is an empty field, an empty text ``""``, and a list is JSON.
"""

import asyncio
import json
import re
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.files import PRIVATE_FILE, make_private, write_atomically
from synthorg_tui.core.text import safe_text
from synthorg_tui.persistence.config import POSTGRES
from synthorg_tui.persistence.database_file import connect_file, create_file, explained
from synthorg_tui.persistence.operational import selections
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.stored_tables import stored_tables
from synthorg_tui.persistence.values import number_of

MEMORIES: Final = "memories"
CONTENTS: Final = "export.json"
"""Tells what a folder has, and that an export wrote it."""
_COPY: Final = "copy.duckdb"
_MEMORY: Final = 512
"""Megabytes that DuckDB may use for the copy."""
_QUERIES: Final = {
    MEMORIES: "SELECT * FROM memories WHERE deleted_at IS NULL",
    **selections(),
}
TABLES: Final = tuple(_QUERIES)
"""What can be exported: memories that aren't deleted, and the entities of every repository."""

ExportProgress: TypeAlias = Callable[[int, int], None]
"""Told how many rows are written, of how many."""


class ExportFormat(StrEnum):
    """Format of the files, and the end of their names."""

    PARQUET = "parquet"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class DataExport:
    """What an export wrote: the folder, and how many rows of each table."""

    path: Path
    format: ExportFormat
    rows: Mapping[str, int]


class DataExporter:
    """Writes tables of a store to folders."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def write(
        self,
        target: Path,
        *,
        format: ExportFormat = ExportFormat.PARQUET,
        tables: Sequence[str] = (),
        progress: ExportProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> DataExport:
        """Write ``tables`` (all, if none is named) to the folder ``target``.

        The folder is new, empty, or that of an earlier export, whose files are replaced. Raises
        ``DomainError`` when it is anything else or there is no such table, ``DiskFullError``, and
        ``CancelledByUserError`` once ``cancel`` is set; then nothing is written.
        """
        unknown = sorted(set(tables) - set(TABLES))
        if unknown:
            remedy = f"There are: {', '.join(TABLES)}."
            raise DomainError(f"there is no table {safe_text(unknown[0])!r}", remedy=remedy)
        names = tuple(name for name in TABLES if not tables or name in tables)
        cancel = cancel or threading.Event()
        target = await asyncio.to_thread(_ours, target)
        async with _drafted(target) as draft:
            await self._copy_to(draft / _COPY, names, cancel)
            tell = progress or (lambda _, __: None)
            rows = await asyncio.to_thread(_write_tables, draft, names, format, tell, cancel)
        return DataExport(target, format, rows)

    async def _copy_to(self, path: Path, names: Sequence[str], cancel: threading.Event) -> None:
        """Make a file with what is stored at one moment, at least for these tables."""
        if self._database.kind == POSTGRES:
            copy = partial(_copy_rows, path=path, names=names, cancel=cancel)
            await self._database.read(copy)
        else:
            await self._database.copy_to(path, cancel=cancel)


def _write_tables(
    draft: Path,
    names: Sequence[str],
    format: ExportFormat,
    progress: ExportProgress,
    cancel: threading.Event,
) -> dict[str, int]:
    """Write tables of the copy in ``draft`` to files beside it; returns the rows of each."""
    with _connected(draft / _COPY) as db:
        counting = {name: f"SELECT count(*) FROM ({_QUERIES[name]})" for name in names}
        rows = {name: number_of(db, sql) for name, sql in counting.items()}
        done, total = 0, sum(rows.values())
        for name in names:
            _require_wanted(cancel)
            _write_table(db, name, draft / f"{name}.{format}", format)
            done += rows[name]
            progress(done, total)
    text = json.dumps({"format": format.value, "tables": rows}, indent=2) + "\n"
    write_atomically(draft / CONTENTS, text.encode(), mode=PRIVATE_FILE)
    return rows


def _write_table(db: Connection, name: str, path: Path, format: ExportFormat) -> None:
    quoted = str(path).replace("'", "''")
    query, options = _QUERIES[name], "FORMAT parquet, COMPRESSION zstd"
    if format is ExportFormat.CSV:
        query, options = _with_lists_as_json(db, query), "FORMAT csv, HEADER, FORCE_QUOTE *"
    db.execute(f"COPY ({query}) TO '{quoted}' ({options})")
    make_private(path)


def _copy_rows(
    source: Connection, path: Path, names: Sequence[str], cancel: threading.Event
) -> None:
    """Copy the rows that these tables are made of into a new file, in place of half of one."""
    path.unlink(missing_ok=True)
    create_file(path)
    queries = " ".join(_QUERIES[name] for name in names)
    needed = [each for each in stored_tables() if re.search(rf"\b{each.name}\b", queries)]
    connection = connect_file(path, memory=_MEMORY)
    try:
        for table in needed:
            for rows in table.rows_of(source):
                _require_wanted(cancel)
                table.add(connection, rows)
    finally:
        connection.close()


def _require_wanted(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise CancelledByUserError("the export was cancelled; nothing was written")


def _with_lists_as_json(db: Connection, query: str) -> str:
    columns = db.execute(f"DESCRIBE {query}").fetchall()
    lists = [name for name, kind, *_ in columns if kind.endswith("[]")]
    told = ", ".join(f'to_json("{name}")::VARCHAR AS "{name}"' for name in lists)
    return f"SELECT * REPLACE ({told}) FROM ({query})" if lists else query


@contextmanager
def _connected(path: Path) -> Iterator[Connection]:
    """Connect to the copy, whose name is gone from then on: a kill leaves no part of it."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": f"{_MEMORY}MB",
        "threads": "1",
    }
    try:
        with duckdb.connect(str(path), read_only=True, config=config) as connection:
            path.unlink()
            yield connection
    except duckdb.Error as error:
        raise explained(error, path) from error


def _ours(target: Path) -> Path:
    """The absolute path of a folder; one that has anything but an earlier export is refused."""
    target = target.absolute()
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise DomainError(f"{target} is no folder", remedy="Name a new one.")
    present = [entry.name for entry in target.iterdir()] if target.exists() else []
    known = {CONTENTS, *(f"{table}.{end}" for table in TABLES for end in ExportFormat)}
    others = sorted(set(present) - known)
    if others or (present and CONTENTS not in present):
        found = safe_text((others or sorted(present))[0])
        remedy = "Name a new folder, or that of an earlier export."
        raise DomainError(f"{target} has something else in it: {found}", remedy=remedy)
    return target


@asynccontextmanager
async def _drafted(target: Path) -> AsyncIterator[Path]:
    """A private folder beside the target that takes its place at the end, or goes."""
    draft = target.with_name(f".{target.name}.export-draft")
    former = target.with_name(f".{target.name}.export-former")
    try:
        await asyncio.to_thread(_make, draft, former)
        yield draft
        await asyncio.to_thread(_replace, target, draft, former)
    except OSError as error:
        raise DomainError(f"{target} can't be written: {error.strerror}") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)


def _make(draft: Path, former: Path) -> None:
    draft.parent.mkdir(parents=True, exist_ok=True)
    need_room(draft.parent, WRITE_ROOM)
    for left in (draft, former):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)  # of an export that was killed
    draft.mkdir(mode=0o700)


def _replace(target: Path, draft: Path, former: Path) -> None:
    if target.exists():
        target.rename(former)
    draft.rename(target)
    shutil.rmtree(former, ignore_errors=True)
