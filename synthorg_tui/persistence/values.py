"""Conversion of values for DuckDB: datetimes in UTC without a zone, inserts, parsed statements."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import Statement

    from synthorg_tui.persistence.port import Connection

NUL = "\x00"
SHOWN_NUL = "\u2400"
"""What stands for a NUL where texts can't hold one, as PostgreSQL's: the sign that shows one."""
_MAX_PARSED = 256
_statements: "dict[str, Statement]" = {}


def naive(moment: datetime | None) -> datetime | None:
    """Convert a datetime to naive UTC, the form stored in the database; pass ``None`` through."""
    return None if moment is None else naive_utc(moment)


def naive_utc(moment: datetime) -> datetime:
    """Convert a timezone-aware datetime to UTC and drop its time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def aware(moment: datetime | None) -> datetime | None:
    """Mark a naive datetime read from the database as UTC; pass ``None`` through."""
    return None if moment is None else moment.replace(tzinfo=UTC)


def number_of(db: "Connection", sql: str, values: Sequence[object] = ()) -> int:
    """Return the whole number that a query returns, 0 where it returns no row."""
    row = db.execute(sql, list(values)).fetchone()
    return int(row[0]) if row else 0


def parsed(db: "Connection", sql: str) -> "Statement | str":
    """Return one statement ready to be executed, by any connection; each text is parsed once.

    For what every change runs: parsing is a seventh of a small insert. Only texts that the program
    makes belong here, with values as parameters. A database that parses by itself gets the text.
    """
    if not hasattr(db, "extract_statements"):
        return sql
    known = _statements.get(sql)
    if known is None:
        (known,) = db.extract_statements(sql)
        if len(_statements) >= _MAX_PARSED:
            _statements.clear()
        _statements[sql] = known
    return known


def insert(
    db: "Connection",
    table: str,
    types: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows of values in column order; ``types`` are the SQL types of the columns.

    Several rows are inserted by one statement with a list for each column, 40 times as fast as
    ``executemany``. That takes 7 ms to plan, so a single row uses a plain ``INSERT``: 1 ms where
    what is null is no parameter and the others aren't cast, 3 ms else.
    """
    if not rows:
        return
    if len(rows) == 1:
        values = ", ".join("NULL" if value is None else "?" for value in rows[0])
        known = [value for value in rows[0] if value is not None]
        db.execute(parsed(db, f"INSERT INTO {table} VALUES ({values})"), known)
        return
    if any(kind.endswith("[]") for kind in types) and not hasattr(db, "extract_statements"):
        # PostgreSQL takes lists of lists apart to the last value, and sends many rows in one go.
        values = ", ".join("?" for _ in types)
        db.executemany(f"INSERT INTO {table} VALUES ({values})", rows)
        return
    lists = ", ".join(f"unnest(?::{kind}[])" for kind in types)
    db.execute(f"INSERT INTO {table} SELECT {lists}", [list(c) for c in zip(*rows, strict=True)])
