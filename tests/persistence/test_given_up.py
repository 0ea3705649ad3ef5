"""A database that DuckDB gives up, such as after a checkpoint without room, is opened again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import duckdb
import pytest

from synthorg_tui.core.errors import DiskFullError, DomainError
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.database_file import copy_in_child
from synthorg_tui.persistence.port import Connection, StoreDatabase
from tests.disk_kit import disk_of, no_file_grows_beyond
from tests.postgres_switch import files_only

pytestmark = files_only

ROWS = 20_000


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


def insert(count: int) -> "Callable[[Connection], object]":
    return lambda db: db.execute(
        "INSERT INTO meta SELECT 'n' || (range + (SELECT count(*) FROM meta)), repeat('v', 99) "
        f"FROM range({count})"
    )


def count(db: Connection) -> int:
    row = db.execute("SELECT count(*) FROM meta").fetchone()
    assert row is not None
    return int(row[0])


async def give_up(database: StoreDatabase, target: Path) -> int:
    """Have a checkpoint fail for want of room; returns how many rows are stored."""
    await database.write(insert(ROWS))
    stored = await database.read(count)
    with (
        no_file_grows_beyond(database.path.stat().st_size),
        pytest.raises((duckdb.Error, DomainError)),
    ):
        await database.copy_to(target)
    return stored


async def test_after_a_failed_checkpoint_reads_and_writes_go_on(
    database: StoreDatabase, tmp_path: Path
) -> None:
    stored = await give_up(database, tmp_path / "copy")
    assert await database.read(count) == stored
    await database.write(insert(1))
    assert await database.read(count) == stored + 1


async def test_a_write_is_the_first_to_come_after_a_failed_checkpoint(
    database: StoreDatabase, tmp_path: Path
) -> None:
    stored = await give_up(database, tmp_path / "copy")
    await database.write(insert(1))
    assert await database.read(count) == stored + 1


async def test_all_who_ask_at_once_after_a_failed_checkpoint_are_answered(
    database: StoreDatabase, tmp_path: Path
) -> None:
    stored = await give_up(database, tmp_path / "copy")
    asked = [database.read(count) for _ in range(8)]
    answers, _ = await asyncio.gather(asyncio.gather(*asked), database.write(insert(1)))
    assert set(answers) <= {stored, stored + 1}
    assert await database.read(count) == stored + 1


async def test_a_copy_succeeds_once_there_is_room_again(
    database: StoreDatabase, tmp_path: Path
) -> None:
    stored = await give_up(database, tmp_path / "copy")
    await database.copy_to(tmp_path / "later")
    copied = Database(tmp_path / "later")
    await copied.open()
    assert await copied.read(count) == stored
    await copied.close()


async def test_a_database_that_was_given_up_can_be_closed_and_opened(
    database: StoreDatabase, tmp_path: Path
) -> None:
    stored = await give_up(database, tmp_path / "copy")
    assert database.is_open
    await database.close()
    assert not database.is_open
    with pytest.raises(DomainError, match="not open"):
        await database.read(count)
    await database.open()
    assert await database.read(count) == stored


async def test_a_commit_that_finds_no_room_leaves_nothing_behind(database: StoreDatabase) -> None:
    await database.write(insert(1))
    stored = await database.read(count)
    with no_file_grows_beyond(4096), pytest.raises((duckdb.Error, DomainError)):
        await database.write(insert(ROWS))
    assert await database.read(count) == stored
    await database.write(insert(1))
    assert await database.read(count) == stored + 1


async def test_a_write_without_room_is_refused_before_it_begins(
    database: StoreDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_of(monkeypatch, free_mib=31)
    begun: list[object] = []
    with pytest.raises(DiskFullError, match="31 MB are free, 32 MB are needed"):
        await database.write(begun.append)
    assert begun == []
    await database.read(count)
    disk.free = None
    await database.write(begun.append)
    assert len(begun) == 1


@pytest.mark.parametrize("act", ["copy", "rewrite"])
async def test_a_copy_or_a_rewrite_without_room_is_refused_and_the_database_works_on(
    database: StoreDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    disk = disk_of(monkeypatch, free_mib=31)
    with pytest.raises(DiskFullError):
        await (database.rewrite() if act == "rewrite" else database.copy_to(tmp_path / "copy"))
    assert {path.name for path in database.path.parent.iterdir()} <= {
        "memory.duckdb",
        "memory.duckdb.wal",
    }
    assert not (tmp_path / "copy").exists()
    disk.free = None
    await database.write(insert(1))


def test_a_file_is_copied_only_where_there_is_room_for_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * 1024 * 1024)
    disk_of(monkeypatch, free_mib=32)
    with pytest.raises(DiskFullError, match="33 MB are needed"):
        copy_in_child(source, tmp_path / "target")
    assert not (tmp_path / "target").exists()
