"""Exports to Parquet and CSV, read back by DuckDB."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.export import TABLES, DataExporter, ExportFormat
from synthorg_tui.persistence.moving import NamedStore, StoreMove
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from tests.persistence.test_repositories import ADDED, KEPT, checkpoint_of, cost_of

READERS = {
    ExportFormat.PARQUET: "read_parquet('{}')",
    ExportFormat.CSV: "read_csv('{}', header=true, all_varchar=true, allow_quoted_nulls=false)",
}
MEMORIES = 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two rows of each entity and many memories."""
    folder = tmp_path_factory.mktemp("store")
    asyncio.run(fill(folder))
    return folder


async def fill(folder: Path) -> None:
    database = Database.in_dir(folder)
    await database.open()
    backend: Any = DuckDBPersistence(database)
    kinds: list[Any] = [*KEPT, *ADDED]
    for kind in kinds:
        for name in ("one", 'two "quoted",\n=1+1'):
            await getattr(backend, kind.name).save(kind.make(name))
    await backend.cost_records.save(cost_of("a", 0.5))
    await backend.checkpoints.save(checkpoint_of("c", 1))
    await database.write(lambda db: db.execute(_REMEMBER, [MEMORIES]))
    await database.close()


_REMEMBER = """
INSERT INTO memories (id, revision, agent_id, shared, namespace, category, content, confidence,
    tags, level, content_hash, edited, created_at, deleted_at)
SELECT uuid(), n, 'a', false, 'default', 'semantic', 'größe ' || n || chr(10) || '"x"', 0.5,
    ['git', 'a,"b"'], 'persistent', '', false, TIMESTAMP '2026-01-01 00:00:00.123456',
    if(n = 0, TIMESTAMP '2026-01-02', NULL)
FROM range(?) t(n)
"""


@pytest.fixture
async def database(folder: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(folder)
    await database.open()
    yield database
    await database.close()


def read_back(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    made = ExportFormat(json.loads((path / "export.json").read_text())["format"])
    found = {}
    for file in path.glob(f"*.{made}"):
        sql = f"SELECT * FROM {READERS[made].format(file)}"
        found[file.stem] = duckdb.execute(sql).fetchall()
    return found


def modes(path: Path) -> set[str]:
    return {oct(each.stat().st_mode & 0o777) for each in path.iterdir()}


async def test_parquet_has_what_the_repositories_have(
    database: StoreDatabase, tmp_path: Path
) -> None:
    done = await DataExporter(database).write(tmp_path / "out")
    found = read_back(tmp_path / "out")
    assert tuple(done.rows) == TABLES
    assert {name: len(rows) for name, rows in found.items()} == done.rows
    assert done.rows["memories"] == MEMORIES - 1, "all but the deleted one"
    assert min(done.rows.values()) > 0
    backend = DuckDBPersistence(database)
    for task in await backend.tasks.list_tasks():
        stored = {**dict(task), "deadline": datetime(2026, 1, 1, 5)}
        assert tuple(stored.values()) in found["tasks"]
    expected = await database.read(
        lambda db: db.execute("SELECT * FROM memories WHERE deleted_at IS NULL").fetchall()
    )
    assert sorted(found["memories"], key=lambda row: row[1]) == sorted(
        expected, key=lambda row: row[1]
    )
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert modes(tmp_path / "out") == {"0o600"}


async def test_what_is_on_a_server_is_exported_as_from_a_file(
    database: StoreDatabase, postgres_url: str, tmp_path: Path
) -> None:
    server, stored = (
        PostgresDatabase(postgres_url, tmp_path / "data"),
        ("memories", "audit_entries"),
    )
    await server.open()
    await StoreMove(NamedStore("file", database), NamedStore("server", server)).run()
    for format in ExportFormat:
        for source, name in ((database, f"file-{format}"), (server, f"server-{format}")):
            await DataExporter(source).write(tmp_path / name, format=format, tables=stored)
        rows = [read_back(tmp_path / f"{name}-{format}") for name in ("file", "server")]
        assert {name: sorted(map(repr, found)) for name, found in rows[0].items()} == {
            name: sorted(map(repr, found)) for name, found in rows[1].items()
        }
    done = await DataExporter(server).write(tmp_path / "all")
    assert tuple(done.rows) == TABLES
    assert min(done.rows.values()) > 0
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledByUserError):
        await DataExporter(server).write(tmp_path / "none", cancel=cancel)
    assert not (tmp_path / "none").exists()
    await server.close()


async def test_csv_has_the_same_with_lists_as_json(database: StoreDatabase, tmp_path: Path) -> None:
    exporter, out = DataExporter(database), tmp_path / "out"
    await exporter.write(out, format=ExportFormat.CSV)
    found = read_back(out)
    assert found.keys() == set(TABLES)
    (project, _) = sorted(found["projects"])
    assert json.loads(project[3]) == ["a", "b"]
    tasks = await DuckDBPersistence(database).tasks.list_tasks()
    assert {(t.id, t.title, t.description, t.assigned_to) for t in tasks} == {
        (row[0], row[1], row[2], row[8]) for row in found["tasks"]
    }
    (setting, _) = sorted(found["settings"])
    assert setting[2] == "", "an empty text isn't nothing"
    times = {row[17] for row in found["memories"]}
    assert times == {"2026-01-01 00:00:00.123456"}
    assert modes(out) == {"0o600"}


async def test_only_the_named_tables_are_written_in_place_of_an_earlier_export(
    database: StoreDatabase, tmp_path: Path
) -> None:
    exporter, out = DataExporter(database), tmp_path / "deep" / "out"
    await exporter.write(out)
    seen: list[tuple[int, int]] = []
    done = await exporter.write(
        out,
        format=ExportFormat.CSV,
        tables=("users", "tasks"),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert done.rows == {"tasks": 2, "users": 2}
    assert seen == [(2, 4), (4, 4)]
    assert {each.name for each in out.iterdir()} == {"export.json", "tasks.csv", "users.csv"}
    assert [each.name for each in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["notes.txt", "tasks.parquet"])
async def test_a_folder_with_something_else_is_left_alone(
    database: StoreDatabase, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(DomainError, match="something else"):
        await DataExporter(database).write(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [name]


async def test_a_link_and_a_file_are_no_folder(database: StoreDatabase, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("mine")
    for name in ("link", "file"):
        with pytest.raises(DomainError, match="no folder"):
            await DataExporter(database).write(tmp_path / name)
    with pytest.raises(DomainError, match="can't be written"):
        await DataExporter(database).write(tmp_path / "file" / "out")
    assert list((tmp_path / "real").iterdir()) == []


async def test_a_cancelled_export_leaves_nothing_and_the_earlier_one(
    database: StoreDatabase, tmp_path: Path
) -> None:
    exporter, out, cancel = DataExporter(database), tmp_path / "out", threading.Event()
    await exporter.write(out, tables=("tasks",))
    with pytest.raises(CancelledByUserError):
        await exporter.write(out, progress=lambda *_: cancel.set(), cancel=cancel)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert read_back(out).keys() == {"tasks"}
    assert database.is_open
    assert await DuckDBPersistence(database).health_check()


async def test_what_a_killed_export_left_is_removed_by_the_next(
    database: StoreDatabase, tmp_path: Path
) -> None:
    left = tmp_path / ".out.export-draft"
    left.mkdir()
    (left / "copy.duckdb").write_text("half")
    await DataExporter(database).write(tmp_path / "out", tables=("tasks",))
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


async def test_an_unknown_table_is_refused_with_those_there_are(
    database: StoreDatabase, tmp_path: Path
) -> None:
    with pytest.raises(DomainError, match="no table 'vectors'") as refused:
        await DataExporter(database).write(tmp_path / "out", tables=("vectors",))
    assert "cost_records" in refused.value.remedy
    assert list(tmp_path.iterdir()) == []
