"""Putting rows into a table, whether one or thousands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def insert(
    db: "DuckDBPyConnection",
    table: str,
    types: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows of values in column order; ``types`` are the columns' SQL types.

    Many go in one statement with a list a column, 40 times as fast as ``executemany``; that takes
    7 ms to plan, so a single row goes in plainly, in under 2 ms.
    """
    if not rows:
        return
    if len(rows) == 1:
        values = ", ".join(f"?::{kind}" for kind in types)
        db.execute(f"INSERT INTO {table} VALUES ({values})", list(rows[0]))
        return
    lists = ", ".join(f"unnest(?::{kind}[])" for kind in types)
    db.execute(f"INSERT INTO {table} SELECT {lists}", [list(c) for c in zip(*rows, strict=True)])
