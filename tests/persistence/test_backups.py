"""Backups: listed, read whole before they replace anything, and the log that a store can lose."""

import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DamagedLogError, DiskFullError, DomainError, StoreCorruptError
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE, INDEX_DIR
from synthorg_tui.persistence.backups import (
    backups_in,
    newest_backup,
    restore_backup,
    set_log_aside,
)
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.database_file import connect_file
from synthorg_tui.persistence.migrations import SCHEMA_VERSION
from synthorg_tui.persistence.port import StoreDatabase
from tests.disk_kit import disk_of
from tests.odd_files import put_odd_kinds, put_odd_names
from tests.persistence.damage_kit import BLOCK, FIRST_BLOCK, fill_every_table, flip
from tests.postgres_switch import files_only
from tests.soak import points
from tests.tables import rows

pytestmark = files_only


_FILES: dict[int, bytes] = {}
"""The file of a closed store for each number of rows: filling all tables is done once."""
_LOGS: dict[bytes, bytes] = {}
"""The log of a killed process for each file that it was written beside."""


async def made(data_dir: Path, rows: int = 20) -> Path:
    """The file of a closed store with some rows in every table."""
    database = Database.in_dir(data_dir)
    if rows not in _FILES:
        await database.open()
        await database.write(lambda db: fill_every_table(db, rows))
        await database.close()
        _FILES[rows] = database.path.read_bytes()
    data_dir.mkdir(mode=0o700, exist_ok=True)
    database.path.write_bytes(_FILES[rows])
    return database.path


def with_log(path: Path) -> Path:
    """Leave a log beside the file, as a killed process does; its path."""
    script = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1])\n"
        "for i in range(20): c.execute('INSERT INTO meta VALUES (?, ?)', [f'late{i}', 'x' * 50])\n"
        "os._exit(0)"
    )
    log, content = path.with_name(path.name + ".wal"), path.read_bytes()
    if content not in _LOGS:
        subprocess.run([sys.executable, "-c", script, str(path)], check=True)
        assert path.read_bytes() == content, "the file is as it was before the log"
        _LOGS[content] = log.read_bytes()
    log.write_bytes(_LOGS[content])
    return log


def listing(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "owner.lock"
    }


# -- what is a backup


def test_backups_are_listed_newest_first_by_the_time_in_their_name(tmp_path: Path) -> None:
    folder = tmp_path / BACKUP_DIR
    folder.mkdir()
    for name in ("20260102T030405-000", "20260102T030405-daily", "20251231T000000-daily"):
        (folder / f"{name}.duckdb").write_bytes(b"1234")
    found = backups_in(tmp_path)
    assert [(backup.path.stem, backup.is_daily, backup.size) for backup in found] == [
        ("20260102T030405-daily", True, 4),
        ("20260102T030405-000", False, 4),
        ("20251231T000000-daily", True, 4),
    ]
    assert found[0].made_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert newest_backup(tmp_path) == found[0]


def test_odd_names_and_kinds_of_files_hide_no_backup(tmp_path: Path) -> None:
    folder = tmp_path / BACKUP_DIR
    odd = put_odd_names(folder, ".duckdb", b"1")
    put_odd_kinds(folder, ".duckdb")
    good = folder / "20990102T030405-000.duckdb"
    good.write_bytes(b"1")
    (folder / "99999999T999999-daily.duckdb").write_bytes(b"1")
    (folder / f".{good.name}.part").write_bytes(b"1")
    found = backups_in(tmp_path)
    assert found[0].path == good
    named = {path.name for path in odd if "\udcff" not in path.name and path.name[0] != "."}
    assert {backup.path.name for backup in found} == {
        good.name,
        "99999999T999999-daily.duckdb",
        *named,
    }
    assert not any(backup.is_daily for backup in found)


# -- restoring what can't be vouched for


async def refused(data_dir: Path, backup: Path, error: type[DomainError], match: str) -> None:
    before = listing(data_dir)
    with pytest.raises(error, match=match):
        await restore_backup(data_dir, backup)
    assert listing(data_dir) == before


@pytest.mark.soak
async def test_a_backup_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    path = await made(tmp_path / "store")
    bad = tmp_path / "bad.duckdb"
    content = path.read_bytes()
    for block in range(0, (len(content) - FIRST_BLOCK) // BLOCK, points(24, 1)):
        flip(bad, content, FIRST_BLOCK + block * BLOCK + 50_000)
        await refused(tmp_path / "store", bad, StoreCorruptError, "bad.duckdb")


async def test_a_backup_cut_short_is_refused(tmp_path: Path) -> None:
    path = await made(tmp_path / "store")
    bad = tmp_path / "bad.duckdb"
    for lost in (1, BLOCK, 3 * BLOCK):
        bad.write_bytes(path.read_bytes()[:-lost])
        await refused(tmp_path / "store", bad, StoreCorruptError, "bad.duckdb")


async def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = await made(tmp_path / "store")
    newer = tmp_path / "newer.duckdb"
    shutil.copy(path, newer)
    connection = connect_file(newer)
    connection.execute(
        "UPDATE meta SET value = ? WHERE name = 'schema_version'", [SCHEMA_VERSION + 1]
    )
    connection.close()
    await refused(tmp_path / "store", newer, DomainError, "newer.duckdb has schema version")


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    await made(tmp_path / "store")
    other = tmp_path / "other.duckdb"
    connection = connect_file(other)
    connection.execute("CREATE TABLE recipes (name VARCHAR)")
    connection.close()
    await refused(tmp_path / "store", other, StoreCorruptError, "not a store")


async def test_without_room_nothing_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await made(tmp_path / "store")
    backup = tmp_path / "backup.duckdb"
    shutil.copy(path, backup)
    disk_of(monkeypatch, free_mib=1)
    await refused(tmp_path / "store", backup, DiskFullError, "MB are free")


async def test_a_store_that_was_copied_with_its_log_is_restored_with_it(tmp_path: Path) -> None:
    backup = await made(tmp_path / "other")
    with_log(backup)
    await made(tmp_path / "store")
    await restore_backup(tmp_path / "store", backup)
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    late = "SELECT count(*) FROM meta WHERE name LIKE 'late%'"
    assert await database.read(lambda db: db.execute(late).fetchone()) == (20,)
    await database.close()


# -- a damaged log


async def test_a_store_with_a_damaged_log_opens_once_the_log_is_set_aside(tmp_path: Path) -> None:
    path = await made(tmp_path)
    log = with_log(path)
    flip(log, log.read_bytes(), 200)
    damaged = log.read_bytes()
    database = Database.in_dir(tmp_path)
    with pytest.raises(DamagedLogError) as caught:
        await database.open()
    assert "doctor --fix" in caught.value.remedy
    aside = set_log_aside(tmp_path)
    assert aside.read_bytes() == damaged
    assert not log.exists()
    await database.open()
    names = await database.read(lambda db: db.execute("SELECT name FROM meta").fetchall())
    assert ("salt",) in names
    assert ("late19",) not in names
    await database.close()


async def late_rows(database: StoreDatabase) -> int:
    query = "SELECT count(*) FROM meta WHERE name LIKE 'late%'"
    row = await database.read(lambda db: db.execute(query).fetchone())
    return int(row[0]) if row else -1


@pytest.mark.soak
async def test_no_flipped_bit_of_a_log_loses_a_change_without_a_word(tmp_path: Path) -> None:
    path = await made(tmp_path, 5)
    log = with_log(path)
    whole, written = path.read_bytes(), log.read_bytes()
    rng, kept, database = random.Random(5), [], Database.in_dir(tmp_path)
    for _ in range(points(4, 60)):
        path.write_bytes(whole)
        flip(log, written, rng.randrange(len(written) - 200), 1 << rng.randrange(8))
        with pytest.raises(DamagedLogError):
            await database.open()
        set_log_aside(tmp_path).unlink()
        await database.open()
        kept.append(await late_rows(database))
        await database.close()
    assert set(kept) <= set(range(20))
    assert max(kept) > 10, "what is before the damage stays"


@pytest.mark.soak
async def test_a_log_that_a_killed_process_did_not_finish_is_no_damage(tmp_path: Path) -> None:
    path = await made(tmp_path, 5)
    log = with_log(path)
    whole, written = path.read_bytes(), log.read_bytes()
    database = Database.in_dir(tmp_path)
    for length in random.Random(6).sample(range(len(written)), points(4, 60)):
        path.write_bytes(whole)
        log.write_bytes(written[:length])
        await database.open()
        assert 0 <= await late_rows(database) <= 20
        await database.close()


async def test_an_index_made_with_the_lost_changes_is_not_used(tmp_path: Path) -> None:
    def epoch(path: Path) -> object:
        connection = connect_file(path)
        row = connection.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()
        connection.close()
        return row

    path = await made(tmp_path)
    before = epoch(path)
    log = with_log(path)
    flip(log, log.read_bytes(), 200)
    set_log_aside(tmp_path)
    assert epoch(path) != before


async def test_the_log_stays_where_the_file_is_damaged_too(tmp_path: Path) -> None:
    path = await made(tmp_path)
    log = with_log(path)
    content = log.read_bytes()
    flip(path, path.read_bytes(), FIRST_BLOCK + 3 * BLOCK + 100)
    log.write_bytes(content)
    before = listing(tmp_path)
    with pytest.raises(StoreCorruptError) as caught:
        set_log_aside(tmp_path)
    assert "restore" in caught.value.remedy
    assert listing(tmp_path) == before


async def test_without_a_log_there_is_nothing_to_set_aside(tmp_path: Path) -> None:
    await made(tmp_path)
    with pytest.raises(DomainError, match="has no log"):
        set_log_aside(tmp_path)


# -- a database that is missing


@rows(
    "trace",
    [
        f"{INDEX_DIR}/config.json",
        f"{BACKUP_DIR}/20260102T030405-000.duckdb",
        f"{DATABASE_FILE}.wal",
        f"{DATABASE_FILE}.replaced-20260102T030405000000",
    ],
)
async def test_no_new_store_is_made_where_the_database_is_missing(
    tmp_path: Path, trace: str
) -> None:
    (tmp_path / trace).parent.mkdir(exist_ok=True)
    (tmp_path / trace).write_bytes(b"x")
    with pytest.raises(StoreCorruptError, match="is missing") as caught:
        await Database.in_dir(tmp_path).open()
    assert trace in caught.value.message
    assert "restore" in caught.value.remedy
    assert not (tmp_path / DATABASE_FILE).exists()


async def test_a_new_store_is_made_beside_what_a_person_or_a_client_left(tmp_path: Path) -> None:
    for name in ("notes.txt", "owner.log", "ui.json"):
        (tmp_path / name).write_text("x")
    for name in (INDEX_DIR, BACKUP_DIR, "connections"):
        (tmp_path / name).mkdir()
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.close()
    assert database.path.is_file()


async def test_restoring_ends_a_missing_database(tmp_path: Path) -> None:
    path = await made(tmp_path)
    folder = tmp_path / BACKUP_DIR
    folder.mkdir()
    path.rename(folder / "20260102T030405-000.duckdb")
    await restore_backup(tmp_path, newest_backup(tmp_path).path)
    database = Database.in_dir(tmp_path)
    await database.open()
    rows = await database.read(lambda db: db.execute("SELECT count(*) FROM scenarios").fetchone())
    assert rows == (20,)
    await database.close()
