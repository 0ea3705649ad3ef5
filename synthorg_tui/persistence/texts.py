"""Every text in the database, whatever table it is in, and how to put another in its place.

The columns come from the schema itself, so that a new table isn't forgotten. What a text means is
for others to know; a table whose rows belong together with something else is theirs to write.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.persistence.port import Connection

_NO_TEXT: Final = frozenset(
    {("vectors", "vector"), ("fine_tune_pairs", "vector"), ("fine_tune_runs", "state")}
)
"""Columns of bytes that are numbers."""

_IDS: Final = frozenset({"id", "path", "root", "sha256", "mark"})
_TYPES: Final = ("VARCHAR", "VARCHAR[]", "BLOB")
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column that may hold text; ``is_key`` when rows are found or told apart by it."""

    table: str
    name: str
    is_key: bool


@dataclass(frozen=True, slots=True)
class TextChange:
    """New values for some columns of one row; ``row`` is its number in the table."""

    table: str
    row: int
    values: tuple[tuple[str, object], ...]


Clean = Callable[[str], str]
"""Returns a text without what may not stay in it; the same text when there is nothing."""


def text_columns(db: Connection) -> tuple[TextColumn, ...]:
    """Return all columns of all tables that may hold text, in the order of the schema."""
    keys = {
        (table, name)
        for table, names in db.execute(
            "SELECT table_name, constraint_column_names FROM duckdb_constraints() "
            "WHERE constraint_type = 'PRIMARY KEY'"
        ).fetchall()
        for name in names
    }
    columns = db.execute(
        "SELECT c.table_name, c.column_name FROM duckdb_columns() c JOIN duckdb_tables() t "
        "USING (table_oid) WHERE NOT c.internal AND c.data_type IN (SELECT unnest(?::VARCHAR[])) "
        "ORDER BY c.table_name, c.column_index",
        [list(_TYPES)],
    ).fetchall()
    return tuple(
        TextColumn(table, name, (table, name) in keys or name in _IDS or name.endswith("_id"))
        for table, name in columns
        if (table, name) not in _NO_TEXT
    )


def find_changes(
    db: Connection, columns: Sequence[TextColumn], clean: Callable[[TextColumn], Clean]
) -> list[TextChange]:
    """Return a change for each row of which ``clean`` makes another text; writes nothing."""
    found: list[TextChange] = []
    for table in dict.fromkeys(column.table for column in columns):
        own = [column for column in columns if column.table == table]
        cleaners = [clean(column) for column in own]
        names = ", ".join(f'"{column.name}"' for column in own)
        rows = db.execute(f'SELECT rowid, {names} FROM "{table}"')
        while batch := rows.fetchmany(_BATCH):
            for row, *values in batch:
                pairs = zip(own, cleaners, values, strict=True)
                new = [(column.name, value, _cleaned(value, c)) for column, c, value in pairs]
                changed = tuple((name, after) for name, before, after in new if after != before)
                if changed:
                    found.append(TextChange(table, row, changed))
    return found


def write(db: Connection, change: TextChange) -> None:
    """Write a change; to be called in the transaction in which it was found."""
    names = ", ".join(f'"{name}" = ?' for name, _ in change.values)
    values = [value for _, value in change.values]
    db.execute(f'UPDATE "{change.table}" SET {names} WHERE rowid = ?', [*values, change.row])


def _cleaned(value: object, clean: Clean) -> object:
    """The value without what may not stay; the same object when there is nothing."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        after = [clean(item) if isinstance(item, str) else item for item in value]
        return value if after == value else after
    return _cleaned_bytes(value, clean) if isinstance(value, bytes) else value


def _cleaned_bytes(value: bytes, clean: Clean) -> bytes:
    """Bytes are compressed text, text, or none; blocks of lines stay as many lines."""
    import zstandard

    is_packed = value.startswith(_ZSTANDARD)
    try:
        plain = zstandard.ZstdDecompressor().decompress(value) if is_packed else value
        text = plain.decode("utf-8", "surrogatepass")
    except (zstandard.ZstdError, UnicodeDecodeError):
        return value
    lines = text.split("\n") if is_packed else [text]
    after = "\n".join(clean(line) for line in lines)
    if after == text:
        return value
    packed = after.encode("utf-8", "surrogatepass")
    return zstandard.ZstdCompressor().compress(packed) if is_packed else packed
