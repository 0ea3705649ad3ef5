"""Whether a database file is whole: every column of every table, every block, nothing cut off.

DuckDB notices damage in the part that it reads, when it reads it. So whoever vouches for a file
reads all of it: the tables through DuckDB, which can name the damaged one, and the blocks of the
file by their checksums, which covers the indexes that no query reads whole. Nothing here changes
anything, and what to do about damage is for the caller.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from struct import unpack_from
from typing import Final, NamedTuple, TypeAlias

from synthorg_tui.core.errors import CancelledByUserError, DomainError, StoreCorruptError
from synthorg_tui.persistence.migrations import RESTORE_REMEDY, schema_version
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import number_of


class RowsRead(NamedTuple):
    """How far reading is: rows done, of how many as estimated."""

    done: int
    total: int


ReadProgress: TypeAlias = Callable[[RowsRead], None]

_ROWS_AT_ONCE: Final = 50_000

# The file of DuckDB's storage version 999, as far as checksums need it: three headers, of which
# the later of the last two is in force, then blocks that begin with their checksum.
_STORAGE_VERSION: Final = 999
_HEADER: Final = 4096
_FIRST_BLOCK: Final = 3 * _HEADER
_CHECKSUM: Final = 8
_NOWHERE: Final = 2**64 - 1
_BLOCKS_AT_ONCE: Final = 16

# Its log begins with an object that ends with FFFF and is shorter than this.
_LOG_HEADER: Final = 128
_LOG_START: Final = b"\x64\x00\x62\x65\x00\x02\x66\x00\x10"
LOG_ENTRY: Final = 16
"""Bytes of length and checksum before an entry of the log."""


@dataclass(frozen=True, slots=True)
class TablesRead:
    """What reading all tables found: rows read, and the damaged tables with DuckDB's reason."""

    version: int
    rows: int
    damaged: tuple[tuple[str, str], ...]

    @property
    def problem(self) -> str:
        """What is wrong in one line, the damaged tables named; empty when all are whole."""
        if not self.damaged:
            return ""
        names = ", ".join(name for name, _ in self.damaged)
        what = "table" if len(self.damaged) == 1 else "tables"
        return f"{what} {names} can't be read whole ({self.damaged[0][1]})"


def read_tables(
    connection: Connection,
    *,
    progress: ReadProgress | None = None,
    cancel: threading.Event | None = None,
) -> TablesRead:
    """Read every column of every table in the catalogue, on a cursor of its own.

    Raises ``CancelledByUserError`` between two parts of a table once ``cancel`` is set, and
    ``StoreCorruptError`` when it isn't a store's. The version is 0 where it can't be read.
    """
    import duckdb

    damaged: list[tuple[str, str]] = []
    done = 0
    with closing(connection.cursor()) as cursor:
        version = _version(cursor)
        tables = cursor.execute(
            "SELECT table_name, estimated_size FROM duckdb_tables() "
            "WHERE NOT internal AND database_name = current_database() ORDER BY table_name"
        ).fetchall()
        total = sum(int(size) for _, size in tables)
        for name, _ in tables:
            try:
                for rows in _read_table(cursor, name):
                    done += rows
                    if progress is not None:
                        progress(RowsRead(done, max(done, total)))
                    if cancel is not None and cancel.is_set():
                        raise CancelledByUserError(f"stopped after reading {done:,} rows")
            except duckdb.Error as error:
                damaged.append((name, str(error).splitlines()[0]))
                if isinstance(error, duckdb.FatalException):
                    break  # it answers nothing from now on
    if progress is not None:
        progress(RowsRead(done, done))
    return TablesRead(version, done, tuple(damaged))


def _version(cursor: Connection) -> int:
    import duckdb

    try:
        return schema_version(cursor)
    except duckdb.CatalogException as error:
        raise StoreCorruptError("it is not a store of this program") from error
    except duckdb.Error:  # its table, or its index, is what is damaged
        return 0


def _read_table(cursor: Connection, name: str) -> Iterator[int]:
    """Read a table part by part; yields how many rows each part had."""
    import duckdb

    last = cursor.execute(f'SELECT max(rowid) FROM "{name}"').fetchone()
    if last is not None and isinstance(last[0], str):  # a server's rows have no numbers
        yield number_of(cursor, f'SELECT count(*), bit_xor(hash(t)) FROM "{name}" t')
        return
    end = -1 if last is None or last[0] is None else int(last[0])
    for start in range(0, end + 1, _ROWS_AT_ONCE):
        part = f'FROM "{name}" t WHERE rowid BETWEEN {start} AND {start + _ROWS_AT_ONCE - 1}'
        try:
            # The hash of a whole row needs each value of it, and so each block.
            rows = number_of(cursor, f"SELECT count(*), sum(hash(t)::HUGEINT) {part}")
        except duckdb.OutOfMemoryException:
            # Values too large to be had at once are no damage; their blocks have checksums.
            rows = number_of(cursor, f"SELECT count(*) {part}")
        yield rows


def check_complete(connection: Connection, path: Path) -> None:
    """Raise ``StoreCorruptError`` for a file cut short, which opens all the same.

    Its damage would only show when the lost part is read. Free blocks at the end are counted in the
    total but not always on disk, so only those in use say how long the file must be at least.
    """
    row = connection.execute(
        "SELECT block_size, used_blocks FROM pragma_database_size() LIMIT 1"
    ).fetchone()
    if row is not None and path.stat().st_size < row[0] * row[1] + _FIRST_BLOCK:
        raise StoreCorruptError(f"{path} is damaged: it ends too early", remedy=RESTORE_REMEDY)


def damaged_blocks(path: Path, *, cancel: threading.Event | None = None) -> int:
    """Count the blocks in use whose checksum is wrong, in a file that no DuckDB has open here.

    For one that is open call ``damaged_blocks_in_child``. A file in a format that isn't known here
    has none. Raises ``OSError`` and ``CancelledByUserError``.
    """
    import numpy as np

    with path.open("rb") as file:
        head = file.read(_FIRST_BLOCK)
        if len(head) < _FIRST_BLOCK or head[8:12] != b"DUCK":
            return 1
        if unpack_from("<Q", head, 12)[0] != _STORAGE_VERSION:
            return 0
        _, _, _, free_list, count, size = max(
            (unpack_from("<6Q", head, place * _HEADER) for place in (1, 2)),
            key=lambda header: int(header[1]),
        )
        free = _free_blocks(path, free_list, size)
        damaged = 0
        for first in range(0, count, _BLOCKS_AT_ONCE):
            if cancel is not None and cancel.is_set():
                raise CancelledByUserError("stopped while reading the file")
            part = file.read(size * min(_BLOCKS_AT_ONCE, count - first))
            for place in range(0, len(part) - size + 1, size):
                words = np.frombuffer(part, "<u8", size // 8, place)
                mixed = int(np.bitwise_xor.reduce(words[1:] * np.uint64(0xBF58476D1CE4E5B9)))
                is_damaged = mixed ^ 5381 != int(words[0])
                damaged += is_damaged and first + place // size not in free
    return damaged


def _free_blocks(path: Path, pointer: int, size: int) -> frozenset[int]:
    """The blocks that hold nothing, and may be torn: a chain of parts, a count, their numbers."""
    part_size = (size - _CHECKSUM) // 64 // 8 * 8
    found = bytearray()
    with path.open("rb") as file:
        seen = 0
        while pointer != _NOWHERE and seen < 1 << 16:
            block, part = pointer & (1 << 56) - 1, pointer >> 56
            file.seek(_FIRST_BLOCK + block * size + _CHECKSUM + part * part_size)
            content = file.read(part_size)
            if len(content) < part_size:
                return frozenset()
            pointer = unpack_from("<Q", content)[0]
            found += content[8:]
            seen += 1
    count = unpack_from("<Q", found)[0] if found else 0
    if count * 8 + 8 > len(found):
        return frozenset()
    return frozenset(unpack_from(f"<{count}q", found, 8))


def log_cut_at(log: Path) -> int | None:
    """Return where a log's entries stop making sense although others follow; ``None`` if nowhere.

    An entry is its length, a checksum and so many bytes. A damaged checksum DuckDB reports; but by
    a damaged length an entry reaches beyond the end, which DuckDB takes for one that a killed
    process didn't finish: it would drop all that follows without a word. Such a length is known by
    this: with one bit turned back, entries follow each other up to the end of the log.
    """
    content = log.read_bytes()
    head = content[:_LOG_HEADER]
    starts = [place + 2 for place in range(len(head) - 1) if head[place : place + 2] == b"\xff\xff"]
    ends = [_end_of_entries(content, start) for start in starts]
    if not ends:
        return None
    end = max(ends)
    if end == len(content):
        return None if head.startswith(_LOG_START) else 0
    if end + LOG_ENTRY > len(content):
        return None
    length = int(unpack_from("<Q", content, end)[0])
    for bit in range(64):
        following = end + LOG_ENTRY + (length ^ 1 << bit)
        if following < len(content) and _end_of_entries(content, following) == len(content):
            return end
    return None


def _end_of_entries(content: bytes, start: int) -> int:
    """Go from entry to entry; returns the end of the last one that is there whole."""
    while start + LOG_ENTRY <= len(content):
        length = int(unpack_from("<Q", content, start)[0])
        if not 0 < length <= len(content) - start - LOG_ENTRY:
            break
        start += LOG_ENTRY + length
    return start


def damaged_blocks_in_child(path: Path) -> int:
    """Count the damaged blocks of a file that is open in this process and isn't written meanwhile.

    Closing the file here would release the locks that DuckDB holds on it. Raises ``DomainError``.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["unknown reason"])[-1]
        raise DomainError(f"could not read {path}: {reason}")
    return int(done.stdout)


if __name__ == "__main__":
    print(damaged_blocks(Path(sys.argv[1])))
