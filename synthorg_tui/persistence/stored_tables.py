"""The tables of a store as its schema names them, read and compared in any database of ours.

What copies or compares whole stores asks here, so that no list of tables has to be kept beside the
schema. Rows are compared by the values that the port returns, not by how a database keeps them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from synthorg_tui.persistence.migrations import schema_text
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import NUL, SHOWN_NUL, insert

META: Final = "meta"
MOVE_FACT: Final = "move"
"""What a store notes of a move that made it; see ``moving``."""
OWN_FACTS: Final = frozenset({"schema_version", "schema_digest", "epoch", MOVE_FACT})
"""Facts in ``meta`` about one database rather than about what is stored in it."""
_BATCH: Final = 1000
_BATCH_OF_BYTES: Final = 100
_TABLE: Final = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+) \(\n(.*?)\n\);", re.DOTALL)
_KEY: Final = re.compile(r"PRIMARY KEY \((.*)\)")
_COLUMN: Final = re.compile(r'"?(\w+)"? ([A-Z]+(?:\[\])?)(.*)')
_MARK_BYTES: Final = 16
_MODULUS: Final = 1 << (8 * _MARK_BYTES)


@dataclass(frozen=True, slots=True)
class TableMark:
    """How many rows there are, and a hash of all of them that their order doesn't change."""

    rows: int = 0
    total: int = 0

    def with_rows(self, rows: Iterable[Sequence[Any]]) -> "TableMark":
        """Return the mark of these rows as well."""
        count, total = self.rows, self.total
        for row in rows:
            count, total = count + 1, (total + row_hash(row)) % _MODULUS
        return TableMark(count, total)

    def __str__(self) -> str:
        return f"{self.rows}:{self.total:x}"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table with its columns in order; ``key`` are the columns that rows are ordered by.

    That is the primary key. Where a table has none, it is every column that is never null and has
    an order: rows that are alike in those are taken in any order.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def batch(self) -> int:
        """How many rows are read and written at once: fewer where one may be large."""
        return _BATCH_OF_BYTES if "BLOB" in self.types else _BATCH

    def rows_of(self, db: Connection, *, after: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Yield batches of rows in the order of the key, without the first ``after`` of them."""
        order = f" ORDER BY {_named(self.key)}" + (f" OFFSET {after}" if after else "")
        return self._batches(db, order)

    def _batches(self, db: Connection, order: str = "") -> Iterator[list[tuple[Any, ...]]]:
        sql = f"SELECT {_named(self.columns)} FROM {self.name}{self._only()}{order}"
        if hasattr(db, "batches"):  # a server sends all that isn't asked for bit by bit
            yield from db.batches(sql, self.batch)
            return
        found = db.execute(sql)
        while rows := found.fetchmany(self.batch):
            yield [tuple(row) for row in rows]

    @property
    def counting(self) -> str:
        """The SQL that returns the table's name and its number of rows."""
        return f"SELECT '{self.name}', count(*) FROM {self.name}{self._only()}"

    def mark(self, db: Connection) -> TableMark:
        """Return the mark of all rows."""
        mark = TableMark()
        for rows in self._batches(db):
            mark = mark.with_rows(rows)
        return mark

    def clear(self, db: Connection) -> None:
        """Delete all rows, within the caller's transaction."""
        db.execute(f"DELETE FROM {self.name}{self._only()}")

    def add(self, db: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, within the caller's transaction."""
        insert(db, f"{self.name} ({_named(self.columns)})", self.types, rows)

    def _only(self) -> str:
        """The condition that leaves out what isn't of the stored things."""
        if self.name != META:
            return ""
        names = ", ".join(f"'{name}'" for name in sorted(OWN_FACTS))
        return f" WHERE name NOT IN ({names})"


def row_counts(db: Connection) -> dict[str, int]:
    """Return the number of rows of each table, by its name."""
    counting = " UNION ALL ".join(table.counting for table in stored_tables())
    found = {str(name): int(rows) for name, rows in db.execute(counting).fetchall()}
    return {table.name: found[table.name] for table in stored_tables()}


def _named(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


@cache
def stored_tables() -> tuple[StoredTable, ...]:
    """Return every table of the schema, in its order."""
    return tuple(_parsed(name, body) for name, body in _TABLE.findall(schema_text()))


def _parsed(name: str, body: str) -> StoredTable:
    columns, types, key, ordered = [], [], [], []
    for line in body.splitlines():
        line = line.strip().rstrip(",")
        if found := _KEY.fullmatch(line):
            key = [column.strip() for column in found[1].split(",")]
        elif found := _COLUMN.fullmatch(line):
            column, kind, rest = found.groups()
            columns.append(column)
            types.append(kind)
            if "PRIMARY KEY" in rest:
                key = [column]
            if "NOT NULL" in rest and kind != "BLOB" and not kind.endswith("[]"):
                ordered.append(column)
    return StoredTable(name, tuple(columns), tuple(types), tuple(key or ordered))


def row_hash(row: Sequence[Any]) -> int:
    """Return a hash of a row's values, the same whichever database returned them.

    A NUL is hashed as the sign that stands for it where a database's texts can't hold one.
    """
    digest = hashlib.blake2b(digest_size=_MARK_BYTES)
    for value in row:
        if isinstance(value, bytes | bytearray | memoryview):
            kind, data = b"b", bytes(value)
        else:
            kind, data = b"v", repr(_plain(value)).encode("utf-8", "surrogatepass")
        digest.update(kind + len(data).to_bytes(8, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(NUL, SHOWN_NUL)
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
