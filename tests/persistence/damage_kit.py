"""Fills every table of a database, finds their blocks in the file, and damages it."""

from pathlib import Path

import duckdb

from synthorg_tui.persistence.port import Connection

FIRST_BLOCK = 3 * 4096
BLOCK = 262_144

_VALUES = {
    "UUID": "uuid()",
    "VARCHAR": "'{name}' || i || hash(i * 7)::VARCHAR",
    "BIGINT": "i",
    "DOUBLE": "i * 0.37",
    "BOOLEAN": "i % 3 = 0",
    "VARCHAR[]": "['a' || i]",
    "BIGINT[]": "[i]",
    "TIMESTAMP": "TIMESTAMP '2026-01-01' + i * INTERVAL 1 SECOND",
    "BLOB": "repeat(hash(i)::VARCHAR, 90)::BLOB",
}


def fill_every_table(connection: Connection, rows: int) -> None:
    """Put so many rows into each table but ``meta``."""
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        if table != "meta":
            fill(connection, table, rows)


def fill(connection: Connection, table: str, rows: int) -> None:
    """Put so many rows into a table."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? "
        "ORDER BY column_index",
        [table],
    ).fetchall()
    values = ", ".join(_VALUES[kind].format(name=name) for name, kind in columns)
    connection.execute(f"INSERT INTO {table} SELECT {values} FROM range({rows}) r(i)")


def table_blocks(path: Path, *, every: bool = False) -> dict[str, int]:
    """A block of each table that no other table uses; with ``every``, all blocks of all tables."""
    connection = duckdb.connect(str(path), read_only=True)
    users: dict[int, set[str]] = {}
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        rows = connection.execute(
            "SELECT block_id, additional_block_ids FROM pragma_storage_info(?) "
            "WHERE block_id IS NOT NULL AND persistent",
            [table],
        ).fetchall()
        for block, more in rows:
            for one in (block, *(more or ())):
                users.setdefault(one, set()).add(table)
    metadata = connection.execute("SELECT block_id FROM pragma_metadata_info()").fetchall()
    connection.close()
    if every:
        blocks = {block for block in users if block >= 0} | {row[0] for row in metadata}
        return {str(block): block for block in blocks}
    return {next(iter(tables)): block for block, tables in users.items() if len(tables) == 1}


def flip(path: Path, content: bytes, offset: int, bits: int = 1) -> None:
    """Write ``content`` to ``path`` with some bits of one byte flipped."""
    damaged = bytearray(content)
    damaged[offset] ^= bits
    path.write_bytes(damaged)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
