"""A store of an earlier schema version survives being opened."""

import json
import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.extensions import BrowseFilter, MemoryEdit
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.persistence import DATABASE_FILE, migrations
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.database_file import connect_file
from synthorg_tui.persistence.migrations import schema_version
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.usage import UsageStore, UsageTotal
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, draft, opened, query
from tests.postgres_switch import files_only

pytestmark = files_only

SCHEMA_1 = Path(__file__).parent / "data" / "schema_v1.sql"
CREATED = datetime(2025, 12, 1)
TAGS: dict[str, tuple[str, ...]] = {
    "plain words": (),
    "the editor is vim": ("fact:editor", "git"),
    "keyed twice": ("fact: ", "fact: b ", "fact:c"),
    "for everybody": ("sensitivity:public",),
    "said to be private": ("sensitivity:private", "sensitivity:public"),
    "a secret": ("sensitivity:private", "sensitivity:sensitive"),
    "a misspelt secret": ("sensitivity:Secret",),
}
IMPORTED, BY_AGENT = "plain words", "a secret"


def make_store_of_version_1(data_dir: Path) -> dict[str, str]:
    """As version 1 wrote it: the schema of then, rows with their history; ids by content."""
    connection = connect_file(data_dir / DATABASE_FILE)
    connection.execute(SCHEMA_1.read_text(encoding="utf-8"))
    facts = {"schema_version": "1", "epoch": "aa", "salt": "00" * 16, "revision": "0"}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(f) for f in facts.items()])
    ids = {content: str(uuid.uuid4()) for content in TAGS}
    for revision, (content, tags) in enumerate(TAGS.items(), 1):
        key = "key" if content == IMPORTED else None
        memory = [ids[content], revision, AGENT, False, "default", "semantic", content, None, 0.5]
        memory += [list(tags), "persistent", None, None, key, key, f"hash {content}", False]
        memory += [CREATED, None, None, None]
        marks = ", ".join("?" for _ in memory)
        connection.execute(f"INSERT INTO memories VALUES ({marks})", memory)
        actor = AGENT if content == BY_AGENT else "cli"
        changed = [revision, ids[content], CREATED, actor, "added", "{}", json.dumps({})]
        connection.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)", changed)
    connection.close()
    return ids


async def column(database: StoreDatabase, name: str) -> dict[str, object]:
    rows = await database.read(
        lambda db: db.execute(f"SELECT content, {name} FROM memories").fetchall()
    )
    return dict(rows)


async def test_memories_of_version_1_are_kept(tmp_path: Path) -> None:
    ids = make_store_of_version_1(tmp_path)
    async with opened(tmp_path) as backend:
        page = await backend.admin.browse(BrowseFilter())
        assert {e.content: (e.id, e.tags) for e in page.entries} == {
            content: (ids[content], tags) for content, tags in TAGS.items()
        }
        (found,) = await backend.retrieve_sparse(AGENT, query("editor vim"))
        assert found.id == ids["the editor is vim"]
        assert await backend.core.read(schema_version) == migrations.SCHEMA_VERSION


async def test_tags_of_version_1_become_typed_columns(tmp_path: Path) -> None:
    make_store_of_version_1(tmp_path)
    database = Database.in_dir(tmp_path)
    await database.open()
    expected = {content: parse_tags(tags) for content, tags in TAGS.items()}
    assert await column(database, "fact_key") == {c: t.fact_key for c, t in expected.items()}
    assert await column(database, "sensitivity") == {
        c: t.sensitivity.value for c, t in expected.items()
    }
    kinds = await column(database, "source_kind")
    assert kinds == dict.fromkeys(TAGS, "operator") | {
        IMPORTED: "import",
        BY_AGENT: "tool",
    }
    await database.close()


async def test_a_migrated_store_can_be_written_edited_and_opened_again(tmp_path: Path) -> None:
    ids = make_store_of_version_1(tmp_path)
    async with opened(tmp_path) as backend:
        outcome = await backend.store_many(AGENT, [draft("one"), draft("two")], actor="me")
        assert len(outcome.added) == 2
        change = MemoryEdit(sensitivity=Sensitivity.PUBLIC)
        await backend.admin.edit(ids["a secret"], change, actor="me")
        await backend.admin.purge(
            [ids["for everybody"]], actor="me"
        )  # writes the file anew on closing
    async with opened(tmp_path, embedder=HashEmbedder()) as backend:
        assert (await backend.admin.browse(BrowseFilter())).total == len(TAGS) + 1
        levels = await column(backend.core.database, "sensitivity")
        assert levels["a secret"] == "public"
        assert levels["one"] == "private"


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store_of_version_1(tmp_path)
    broken = migrations._TO_2 + "SELECT error('no more room');"
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "_TO_2", broken)
        with pytest.raises(Exception, match="no more room"):
            await Database.in_dir(tmp_path).open()
    database = Database.in_dir(tmp_path)
    await database.open()
    assert await database.read(schema_version) == migrations.SCHEMA_VERSION
    assert len(await column(database, "fact_key")) == len(TAGS)
    await database.close()


SCHEMA_4 = Path(__file__).parent / "data" / "schema_v4.sql"
SAMPLES = {
    "VARCHAR": "'text of ' || ? || ' — \"quoted\"'",
    "VARCHAR[]": "['one', ?]",
    "BIGINT": "7 + length(?)",
    "DOUBLE": "0.25 * length(?)",
    "BOOLEAN": "length(?) > 0",
    "TIMESTAMP": "TIMESTAMP '2026-01-02 03:04:05.678901' + to_days(length(?)::INT)",
    "BLOB": "encode(?)",
    "UUID": "md5(?)::UUID",
}
ANSWERS = [
    (datetime(2026, 1, day), model, 100 * day, day, 0.5 * day, 0.125 * day)
    for day, model in ((3, "big"), (1, "small"), (2, "small"))
]


def make_store_of_version_4(data_dir: Path) -> dict[str, list[tuple[object, ...]]]:
    """As version 4 wrote it, with a row in each table and the answers of models; rows by table."""
    connection = connect_file(data_dir / DATABASE_FILE)
    connection.execute(SCHEMA_4.read_text(encoding="utf-8"))
    facts = {"schema_version": "4", "epoch": "aa", "salt": "00" * 16, "revision": "0"}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(f) for f in facts.items()])
    tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
    for table in set(tables) - {"meta", "model_usage"}:
        columns = connection.execute(f"DESCRIBE {table}").fetchall()
        values = ", ".join(SAMPLES[kind] for _, kind, *_ in columns)
        names = [name for name, *_ in columns]
        connection.execute(f"INSERT INTO {table} SELECT {values}", names)
    connection.executemany("INSERT INTO model_usage VALUES (?, ?, ?, ?, ?, ?)", ANSWERS)
    rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    connection.close()
    return rows


async def rows_of(database: StoreDatabase, table: str) -> list[tuple[object, ...]]:
    return await database.read(lambda db: db.execute(f"SELECT * FROM {table}").fetchall())


async def test_a_store_of_version_4_keeps_every_row(tmp_path: Path) -> None:
    before = make_store_of_version_4(tmp_path)
    del before["meta"], before["model_usage"]
    assert len(before) == 36
    database = Database.in_dir(tmp_path)
    await database.open()
    assert {name: await rows_of(database, name) for name in before} == before
    assert await database.read(schema_version) == migrations.SCHEMA_VERSION
    await database.close()


async def test_what_models_used_by_version_4_are_costs_in_their_order(tmp_path: Path) -> None:
    make_store_of_version_4(tmp_path)
    database = Database.in_dir(tmp_path)
    await database.open()
    expected = [
        ("synthorg", "none", "unknown", model, read, written, cost, at, seconds)
        for at, model, read, written, seconds, cost in ANSWERS
    ]
    assert await rows_of(database, "cost_records") == expected
    names = {
        str(name) for (name,) in await database.read(lambda db: db.sql("SHOW TABLES").fetchall())
    }
    assert "model_usage" not in names
    assert (await UsageStore(database).since(datetime(2026, 1, 2, tzinfo=UTC))) == (
        UsageTotal("big", 1, 300, 3, 1.5, 0.375),
        UsageTotal("small", 1, 200, 2, 1.0, 0.25),
    )
    await database.close()


async def test_a_store_killed_right_after_its_upgrade_is_whole(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    make_store_of_version_4(tmp_path / "store")
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    killed = tmp_path / "killed"
    shutil.copytree(tmp_path / "store", killed)
    expected = await rows_of(database, "cost_records")
    await database.close()
    again = Database.in_dir(killed)
    await again.open()
    assert await rows_of(again, "cost_records") == expected
    await again.rewrite()
    assert await rows_of(again, "cost_records") == expected
    await again.close()
