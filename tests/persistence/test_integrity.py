"""Damage: wherever a byte of a database is flipped, reading it whole finds it."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from synthorg_tui.core.errors import CancelledByUserError, DomainError, StoreCorruptError
from synthorg_tui.persistence.backups import verify_copy
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.database_file import connect_file
from synthorg_tui.persistence.integrity import RowsRead, damaged_blocks, read_tables
from synthorg_tui.persistence.migrations import SCHEMA_VERSION, create_schema
from synthorg_tui.persistence.port import Connection
from tests.persistence.damage_kit import BLOCK, FIRST_BLOCK, fill_every_table, flip, table_blocks
from tests.postgres_switch import files_only
from tests.soak import points

ROWS = 400


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with rows in every table, some deleted since, and no log."""
    path = tmp_path_factory.mktemp("whole") / "memory.duckdb"
    connection = connect_file(path)
    create_schema(connection)
    fill_every_table(connection, ROWS)
    connection.execute("CHECKPOINT")
    connection.execute("DELETE FROM execution_lines WHERE first_line % 2 = 0")
    connection.close()
    return path.read_bytes()


@pytest.fixture
def copy(whole: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(whole)
    return path


@pytest.fixture
def connection(copy: Path) -> Iterator[Connection]:
    connection = connect_file(copy)
    yield connection
    connection.close()


def refusal(path: Path) -> str:
    with pytest.raises(StoreCorruptError) as caught:
        verify_copy(path, called="the copy")
    return caught.value.message


def test_a_whole_file_passes_and_nothing_is_left_beside_it(copy: Path) -> None:
    read = verify_copy(copy, called="the copy")
    assert read.version == SCHEMA_VERSION
    assert read.rows > ROWS * 15
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


def test_every_table_of_the_catalogue_is_read_also_one_that_is_not_in_the_schema(
    connection: Connection,
) -> None:
    before = read_tables(connection).rows
    connection.execute("CREATE TABLE of_tomorrow AS SELECT i FROM range(7) r(i)")
    assert read_tables(connection).rows == before + 7


def test_values_that_do_not_fit_into_memory_at_once_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "large.duckdb"
    connection = duckdb.connect(str(path))
    create_schema(connection)
    connection.execute(
        "INSERT INTO skill_bytes SELECT i::VARCHAR, repeat(i::VARCHAR, 1_500_000)::BLOB "
        "FROM range(10, 25) r(i)"
    )
    connection.close()
    reading = connect_file(path, read_only=True, memory=24)
    with pytest.raises(duckdb.OutOfMemoryException):
        reading.execute("SELECT sum(hash(t)::HUGEINT) FROM skill_bytes t").fetchall()
    read = read_tables(reading)
    reading.close()
    assert (read.rows, read.damaged) == (15 + 5, ())


def test_progress_ends_with_all_rows(connection: Connection) -> None:
    seen: list[RowsRead] = []
    read = read_tables(connection, progress=seen.append)
    assert seen[-1] == RowsRead(read.rows, read.rows)
    assert [step.done for step in seen] == sorted(step.done for step in seen)


def test_reading_stops_when_it_is_asked_to(copy: Path) -> None:
    cancel = threading.Event()
    with pytest.raises(CancelledByUserError):
        verify_copy(copy, called="the copy", progress=lambda _: cancel.set(), cancel=cancel)


@pytest.mark.soak
def test_a_damaged_table_is_named_whichever_it_is(copy: Path, whole: bytes) -> None:
    blocks = table_blocks(copy)
    assert len(blocks) > 15
    for number, (table, block) in enumerate(list(blocks.items())[:: points(8, 1)]):
        flip(copy, whole, FIRST_BLOCK + block * BLOCK + 4321)
        assert table in refusal(copy)  # which reads the tables
        if number % 8 == 0:
            damaged = connect_file(copy)
            assert table in [name for name, _ in read_tables(damaged).damaged], table
            damaged.close()


@pytest.mark.soak
def test_a_flipped_bit_anywhere_in_use_is_found(copy: Path, whole: bytes) -> None:
    rng = random.Random(7)
    blocks = (len(whole) - FIRST_BLOCK) // BLOCK
    for block in range(0, blocks, points(16, 1)):
        flip(copy, whole, FIRST_BLOCK + block * BLOCK + rng.randrange(BLOCK), 1 << rng.randrange(8))
        try:
            verify_copy(copy, called="the copy")
        except StoreCorruptError:
            continue
        # Only what is in no use may be damaged: all can be read, and looked up by its key.
        connection = connect_file(copy)
        assert not read_tables(connection).damaged
        keys = connection.execute("SELECT id FROM memories").fetchall()
        for key in keys[::40]:
            found = connection.execute("SELECT count(*) FROM memories WHERE id = ?", key)
            assert found.fetchone() == (1,)
        connection.close()


def test_damage_to_an_index_alone_is_found_though_all_tables_read_well(
    copy: Path, whole: bytes
) -> None:
    in_tables = set(table_blocks(copy, every=True).values())
    blocks = set(range((len(whole) - FIRST_BLOCK) // BLOCK)) - in_tables
    found = 0
    tried = sorted(blocks)[: points(4, 16)]
    for block in tried:
        flip(copy, whole, FIRST_BLOCK + block * BLOCK + 999)
        connection = connect_file(copy)
        is_read = not read_tables(connection).damaged
        connection.close()
        found += is_read and damaged_blocks(copy) == 1
    assert found >= len(tried) // 2


def test_a_file_cut_short_is_refused(copy: Path, whole: bytes) -> None:
    for kept in (0, 100, 4096, FIRST_BLOCK, FIRST_BLOCK + BLOCK, -BLOCK, -1):
        copy.write_bytes(whole[:kept])
        refusal(copy)


def test_a_file_of_a_newer_version_is_refused_and_one_of_this_version_is_not(copy: Path) -> None:
    for version, is_newer in ((SCHEMA_VERSION, False), (SCHEMA_VERSION + 1, True)):
        connection = connect_file(copy)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", [version])
        connection.close()
        if is_newer:
            with pytest.raises(DomainError, match=f"version {version}; this program reads"):
                verify_copy(copy, called="the copy")
        else:
            verify_copy(copy, called="the copy")


@files_only
async def test_the_file_of_an_open_database_is_looked_through_and_stays_locked(
    tmp_path: Path,
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.write(lambda db: fill_every_table(db, 10))
    assert await database.damaged_blocks() == 0
    await database.close()
    content = database.path.read_bytes()
    await database.open()
    flip(database.path, content, len(content) - 50)
    assert await database.damaged_blocks() == 1
    await database.close()
