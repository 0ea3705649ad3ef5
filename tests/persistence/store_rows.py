"""Rows of every table of the schema, with values that databases might keep differently."""

from datetime import datetime
from typing import Any
from uuid import UUID

from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.stored_tables import StoredTable, row_counts, stored_tables

TEXTS = ("", "plain", "O'Brien; DROP TABLE memories; --", 'Zoë "ß" 漢字 🦆', "a\\b\n\tc %s ? $1")


def value_of(kind: str, n: int) -> Any:
    """A value of a type that differs with each ``n``."""
    values: dict[str, Any] = {
        "UUID": UUID(int=n + 1),
        "BIGINT": (n + 1) * (2**40 + 1),
        "DOUBLE": n + 0.1,
        "BOOLEAN": n % 2 == 0,
        "TIMESTAMP": datetime(2026, 3, 29, 1, 59, 59, 999_000 + n % 1000),
        "BLOB": bytes(range(n % 7)) + b"\x00\xff",
        "VARCHAR[]": [TEXTS[n % len(TEXTS)], "{,}", "NULL"][: n % 4],
        "BIGINT[]": [n, -(2**62) + n][: n % 3],
        "VARCHAR": f"{TEXTS[n % len(TEXTS)]}{n}",
    }
    return values[kind]


def rows_for(table: StoredTable, count: int) -> list[tuple[Any, ...]]:
    """Rows with distinct keys; columns that aren't in the key are null now and then."""
    never_null = {"content", *table.key}
    return [
        tuple(
            None
            if n % 3 == 2 and column not in never_null and (table.name, column) in _NULLABLE
            else value_of(kind, n)
            for column, kind in zip(table.columns, table.types, strict=True)
        )
        for n in range(count)
    ]


_NULLABLE = {
    ("memories", "source"),
    ("memories", "project"),
    ("memories", "expires_at"),
    ("memories", "valid_from"),
    ("executions", "project"),
    ("executions", "files"),
    ("executions", "started_at"),
    ("executions", "calls"),
    ("approvals", "decided_by"),
    ("approvals", "expires_at"),
    ("session_facts", "certainty"),
    ("cost_records", "none"),
}


async def fill(database: StoreDatabase, count: int, *tables: str) -> None:
    """Add rows to every table, or to those that are named."""

    def work(db: Connection) -> None:
        for table in stored_tables():
            if not tables or table.name in tables:
                table.add(db, rows_for(table, count))

    await database.write(work)


async def all_rows(database: StoreDatabase) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, sorted, as the port returns them."""

    def work(db: Connection) -> dict[str, list[tuple[Any, ...]]]:
        return {
            table.name: sorted((row for rows in table.rows_of(db) for row in rows), key=repr)
            for table in stored_tables()
        }

    return await database.read(work)


async def forget_all(database: StoreDatabase) -> None:
    """Delete every row that a move would copy."""

    def work(db: Connection) -> None:
        counts = row_counts(db)
        for table in stored_tables():
            if counts[table.name]:
                table.clear(db)

    await database.write(work)


async def change(database: StoreDatabase, sql: str) -> None:
    """Run one statement."""
    await database.write(lambda db: db.execute(sql))
