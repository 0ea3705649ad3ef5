"""The store's database on a real PostgreSQL server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from synthorg_tui.core.errors import DomainError, StoreCorruptError
from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.port import StoreChange
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from synthorg_tui.persistence.stored_tables import StoredTable, stored_tables
from tests.patience import PATIENCE
from tests.persistence.postgres.listening import listening
from tests.postgres_server import PostgresServer


@pytest.fixture
async def database(postgres_url: str, tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url, tmp_path)
    await database.open()
    yield database
    await database.close()


async def put(database: PostgresDatabase, name: str, value: str) -> None:
    sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
    await database.write(lambda db: db.execute(sql, [name, value]))


async def get(database: PostgresDatabase, name: str) -> str | None:
    sql = "SELECT value FROM meta WHERE name = ?"
    row = await database.read(lambda db: db.execute(sql, [name]).fetchone())
    return row[0] if row else None


async def test_what_is_written_is_read_and_replaced(database: PostgresDatabase) -> None:
    await put(database, "colour", "red")
    await put(database, "colour", "blue")
    assert await get(database, "colour") == "blue"


async def test_an_empty_database_gets_all_tables_of_the_schema(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.new_database()
    database = PostgresDatabase(url, tmp_path)
    await database.open()
    tables = await database.read(
        lambda db: {
            name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        }
    )
    await database.close()
    postgres_server.drop(url)
    assert {"memories", "history", "approvals", "tasks", "skill_evaluations"} <= tables


async def test_an_exception_rolls_everything_back(database: PostgresDatabase) -> None:
    def half(db: object) -> None:
        db.execute("INSERT INTO meta VALUES ('half', '1')")  # type: ignore[attr-defined]
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.write(half)
    assert await get(database, "half") is None


async def test_another_program_is_told_of_a_write_and_its_writer_not(
    database: PostgresDatabase, postgres_url: str, tmp_path: Path
) -> None:
    other = PostgresDatabase(postgres_url, tmp_path / "other")
    await other.open()
    told: asyncio.Queue[StoreChange] = asyncio.Queue()

    async def listen(listener: PostgresDatabase) -> None:
        async for change in listener.changes():
            told.put_nowait(change)

    listeners = [asyncio.create_task(listen(each)) for each in (database, other)]
    await listening(postgres_url, len(listeners))
    await put(database, "a", "1")
    change = await asyncio.wait_for(told.get(), PATIENCE)
    for task in listeners:
        task.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    await other.close()
    assert change == StoreChange(str(database.writer), 0)
    assert told.empty()


async def test_a_write_that_changed_nothing_is_told_to_nobody(database: PostgresDatabase) -> None:
    await database.write(lambda db: db.execute("UPDATE meta SET value = '' WHERE name = 'none'"))
    rows = await database.read(lambda db: db.execute("SELECT * FROM store_writers").fetchall())
    assert rows == []


async def test_a_lost_connection_is_opened_again_by_the_next_calls(
    database: PostgresDatabase, postgres_server: PostgresServer
) -> None:
    await put(database, "a", "1")
    postgres_server.cut_all()
    assert await get(database, "a") == "1"
    postgres_server.cut_all()
    await put(database, "a", "2")
    assert await get(database, "a") == "2"


async def test_a_server_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    database = PostgresDatabase(f"postgresql://me:secret@/none?host={tmp_path}", tmp_path)
    with pytest.raises(PersistenceConnectionError) as caught:
        await database.open()
    assert "can't be opened" in caught.value.message
    assert "secret" not in caught.value.message


async def test_a_database_of_somebody_else_is_left_alone(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.new_database()
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("CREATE TABLE invoices (id INT)")
    database = PostgresDatabase(url, tmp_path)
    with pytest.raises(StoreCorruptError, match="aren't those of a store"):
        await database.open()
    postgres_server.drop(url)


async def test_what_only_files_can_do_is_refused_with_what_to_use(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    with pytest.raises(DomainError) as caught:
        await database.copy_to(tmp_path / "copy")
    assert "pg_dump" in caught.value.remedy


async def test_rows_of_a_large_table_are_had_in_parts(database: PostgresDatabase) -> None:
    sql = "INSERT INTO settings SELECT 'n', n::VARCHAR, 'v', now()::TIMESTAMP FROM range(2500) t(n)"
    await database.write(lambda db: db.execute(sql))
    (table,) = [each for each in stored_tables() if each.name == "settings"]
    parts = await database.read(lambda db: list(table.rows_of(db, after=100)))
    assert [len(part) for part in parts] == [1000, 1000, 400]
    assert len({row[1] for part in parts for row in part}) == 2400
    missing = StoredTable("nowhere", ("a",), ("VARCHAR",), ("a",))
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        await database.read(lambda db: list(missing.rows_of(db)))


async def test_the_size_is_that_of_the_tables_on_the_server(database: PostgresDatabase) -> None:
    before = await database.size()
    sql = "INSERT INTO meta SELECT n::VARCHAR, repeat(md5(n::VARCHAR), 20) FROM range(2000) t(n)"
    await database.write(lambda db: db.execute(sql))
    assert before + 1_000_000 < await database.size() < before + 4_000_000
