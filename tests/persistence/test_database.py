"""The database file: transactions, snapshots, damage, permissions."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import duckdb
import pytest

from synthorg_tui.core.errors import DomainError, StoreCorruptError, StoreLockedError
from synthorg_tui.persistence import database as database_module
from synthorg_tui.persistence import migrations
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.migrations import SCHEMA_VERSION, schema_version
from synthorg_tui.persistence.port import Connection, StoreDatabase
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.tables import rows

pytestmark = files_only


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


def names(db: Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM meta").fetchall()}


class Insert:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, db: Connection) -> None:
        db.execute("INSERT INTO meta VALUES (?, 'v')", [self.name])


async def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    first = Database.in_dir(tmp_path)
    await first.open()
    await first.write(Insert("a"))
    await first.close()
    second = Database.in_dir(tmp_path)
    await second.open()
    assert "a" in await second.read(names)
    await second.close()


async def test_a_failing_unit_of_work_leaves_nothing_behind(database: StoreDatabase) -> None:
    def half(db: Connection) -> None:
        Insert("half")(db)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.write(half)
    assert "half" not in await database.read(names)
    await database.write(Insert("next"))
    assert "next" in await database.read(names)


async def test_a_read_does_not_wait_for_a_long_write_and_sees_the_state_before_it(
    database: StoreDatabase,
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(db: Connection) -> None:
        Insert("slow")(db)
        started.set()
        go_on.wait(PATIENCE)

    write = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(started.wait, PATIENCE)
    assert "slow" not in await asyncio.wait_for(database.read(names), PATIENCE)
    go_on.set()
    await write
    assert "slow" in await database.read(names)


async def test_a_read_does_not_wait_for_another(database: StoreDatabase) -> None:
    both = threading.Barrier(2, timeout=PATIENCE)
    found = await asyncio.gather(
        *(database.read(lambda db: (both.wait(), names(db))) for _ in range(2))
    )
    assert found[0][1] == found[1][1]


async def test_reads_wait_while_the_file_is_exchanged_and_see_the_new_one(
    database: StoreDatabase,
) -> None:
    await database.write(Insert("a"))
    under_way, go_on = threading.Event(), threading.Event()

    def slow(db: Connection) -> set[str]:
        under_way.set()
        go_on.wait(PATIENCE)
        return names(db)

    before = asyncio.create_task(database.read(slow))
    await asyncio.to_thread(under_way.wait, PATIENCE)
    rewriting = asyncio.create_task(database.rewrite())
    after = [asyncio.create_task(database.read(names)) for _ in range(4)]
    go_on.set()
    await rewriting
    assert all("a" in each for each in await asyncio.gather(before, *after))


async def test_a_closed_database_is_not_read(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    for _ in range(3):  # more often than there are readers
        with pytest.raises(DomainError, match="not open"):
            await database.read(names)
    await database.open()
    await database.close()
    with pytest.raises(DomainError, match="not open"):
        await database.read(names)


async def test_a_list_column_can_be_updated_twice_in_one_transaction(
    database: StoreDatabase,
) -> None:
    def twice(db: Connection) -> object:
        db.execute("CREATE TABLE t (id UUID PRIMARY KEY, tags VARCHAR[])")
        db.execute("INSERT INTO t VALUES ('00000000-0000-0000-0000-000000000001', ['a'])")
        for tags in (["b"], ["c", "d"]):
            db.execute("UPDATE t SET tags = ?", [tags])
        return db.execute("SELECT tags FROM t").fetchone()

    assert await database.write(twice) == (["c", "d"],)


async def test_sql_cannot_reach_other_files(database: StoreDatabase, tmp_path: Path) -> None:
    with pytest.raises(duckdb.PermissionException):
        await database.read(lambda db: db.execute(f"ATTACH '{tmp_path}/other.duckdb'"))


async def test_directory_and_files_are_for_their_owner_only(database: StoreDatabase) -> None:
    await database.write(Insert("a"))
    assert database.path.parent.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in database.path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes


@rows(
    "damage",
    [
        lambda data: b"",
        lambda data: b"this is no database" * 400,
        lambda data: b"\xff" * 12288 + data[12288:],
        lambda data: data[: len(data) // 2],
    ],
    ids=["empty", "other content", "header overwritten", "cut in half"],
)
async def test_a_damaged_file_is_reported_with_the_remedy(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.write(Insert("a"))
    await database.close()
    before = damage(database.path.read_bytes())
    database.path.write_bytes(before)
    with pytest.raises(StoreCorruptError) as caught:
        await Database.in_dir(tmp_path).open()
    assert "synthorg-tui restore" in caught.value.remedy
    assert "\n" not in caught.value.message
    assert database.path.read_bytes() == before


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    assert await database.read(schema_version) == SCHEMA_VERSION
    await database.write(
        lambda db: db.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    )
    await database.close()
    with pytest.raises(DomainError, match="schema version 99"):
        await Database.in_dir(tmp_path).open()


async def test_a_table_that_is_new_to_the_schema_is_made_on_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.write(Insert("a"))
    await database.close()
    grown = f"{migrations.schema_text()} CREATE TABLE IF NOT EXISTS grown (name VARCHAR);"
    monkeypatch.setattr(migrations, "schema_text", lambda: grown)
    await database.open()
    assert await database.read(lambda db: db.execute("FROM grown").fetchall()) == []
    assert "a" in await database.read(names)
    await database.close()


async def test_the_schema_runs_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.write(lambda db: db.execute("DROP TABLE file_marks"))
    await database.close()
    await database.open()
    with pytest.raises(duckdb.CatalogException):
        await database.read(lambda db: db.execute("FROM file_marks").fetchall())
    await database.close()
    changed = migrations.schema_text() + " "
    monkeypatch.setattr(migrations, "schema_text", lambda: changed)
    await database.open()
    assert await database.read(lambda db: db.execute("FROM file_marks").fetchall()) == []
    await database.close()


async def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "memory.duckdb")) as other:
        other.execute("CREATE TABLE theirs (id INTEGER)")
    with pytest.raises(StoreCorruptError, match="not a store of this program"):
        await Database.in_dir(tmp_path).open()


async def test_a_creation_cut_short_is_started_over(tmp_path: Path) -> None:
    (tmp_path / "memory.duckdb.new").write_bytes(b"half")
    database = Database.in_dir(tmp_path)
    await database.open()
    assert await database.read(schema_version) == SCHEMA_VERSION
    await database.close()


async def test_opening_and_closing_twice_does_nothing(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.open()
    await database.close()
    await database.close()
    with pytest.raises(DomainError, match="not open"):
        await database.read(names)


async def test_a_copy_is_a_database_and_the_file_stays_locked(
    database: StoreDatabase, tmp_path: Path
) -> None:
    await database.write(Insert("a"))
    await database.copy_to(tmp_path / "copy.duckdb")
    with duckdb.connect(str(tmp_path / "copy.duckdb")) as copy:
        assert "a" in names(copy)
    probe = await asyncio.create_subprocess_exec(
        *_python("import duckdb, sys; duckdb.connect(sys.argv[1])"),
        str(database.path),
        stderr=asyncio.subprocess.PIPE,
    )
    _, stderr = await probe.communicate()
    assert b"lock" in stderr


async def test_a_copy_never_overwrites(database: StoreDatabase, tmp_path: Path) -> None:
    target = tmp_path / "copy.duckdb"
    target.write_text("mine")
    with pytest.raises(DomainError, match="could not write"):
        await database.copy_to(target)
    assert target.read_text() == "mine"


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_a_file_open_in_another_program_is_reported_with_its_pid(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.close()
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    holder = await asyncio.create_subprocess_exec(
        *_python(code),
        str(database.path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    try:
        with pytest.raises(StoreLockedError) as caught:
            await database.open()
        assert caught.value.owner_pid == holder.pid
    finally:
        holder.kill()
        await holder.wait()


async def test_rows_that_are_larger_together_than_the_memory_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint needs all of thousands of rows at once: with too little it is tried anew."""
    monkeypatch.setattr(database_module, "MIN_MEMORY", 32)
    database = Database.in_dir(tmp_path)
    await database.open()
    for number in range(60):
        row = [f"e{number}", "ada", None, "p", 1, os.urandom(750_000)]

        def insert(db: Connection, row: Sequence[object] = row) -> None:
            columns = "id, agent_id, project, path, line_count, record"
            db.execute(f"INSERT INTO executions ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)

        await database.write(insert)
    await database.close()
    await database.open()
    stored = await database.read(
        lambda db: db.execute(
            "SELECT count(*), min(octet_length(record)) FROM executions"
        ).fetchone()
    )
    await database.close()
    assert stored == (60, 750_000)
