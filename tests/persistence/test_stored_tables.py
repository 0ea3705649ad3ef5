"""The tables as the schema names them, and what tells rows apart."""

from pathlib import Path

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.stored_tables import TableMark, row_hash, stored_tables


async def test_every_table_and_column_of_a_database_is_known(tmp_path: Path) -> None:
    def columns(db: Connection) -> dict[str, list[str]]:
        sql = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        found: dict[str, list[str]] = {}
        for table, column in db.execute(f"{sql} ORDER BY table_name, column_index").fetchall():
            found.setdefault(table, []).append(column)
        return found

    database = Database.in_dir(tmp_path)
    await database.open()
    known = {table.name: list(table.columns) for table in stored_tables()}
    assert known == await database.read(columns)
    await database.close()


def test_a_hash_tells_values_apart_that_look_alike() -> None:
    rows = [("1",), (1,), (b"1",), (None,), ("None",), (["a", "b"],), (["a, b"],), ("a", "b")]
    assert len({row_hash(row) for row in rows}) == len(rows)
    assert row_hash((memoryview(b"x"), ("a",))) == row_hash((b"x", ["a"]))


def test_a_mark_is_of_the_rows_whatever_their_order() -> None:
    rows = [("a",), ("b",), ("b",)]
    assert TableMark().with_rows(rows) == TableMark().with_rows(reversed(rows))
    assert TableMark().with_rows(rows) != TableMark().with_rows([("a",), ("a",), ("b",)])
