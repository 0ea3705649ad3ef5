"""Secrets in what was stored before their kind was known: found everywhere, redacted everywhere."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import FileMark
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store import writer
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.texts import text_columns
from synthorg_tui.settings.loader import shipped_settings
from tests.core.secret_kit import planted
from tests.postgres_switch import files_only

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

TOKEN = planted("«gsk_{A52}»", 1).secret
PASSWORD = planted("«{w1}{D3}»", 2).secret
NOW = "TIMESTAMP '2026-01-01'"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    """The store's database, to put rows of an older version into it."""
    opened = Database.in_dir(tmp_path)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def engine(database: StoreDatabase, tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(shipped_settings(), data_dir=tmp_path, database=database) as opened:
        yield opened


async def remember(engine: Engine, content: str) -> str:
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content=content, metadata=MemoryMetadata(tags=("core",))
    )
    """Store a memory as an older version did, which redacted less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "redact_text", lambda text, _tally: text)
        return await engine.memory.store("ada", request)


def _plant(db: "Connection") -> None:
    """Put the secret into a text, a JSON, a list and a compressed column of several tables."""
    packed = zstandard.ZstdCompressor().compress
    line = json.dumps({"text": f"run with {TOKEN}"}, separators=(",", ":")).encode()
    db.execute("INSERT INTO execution_lines VALUES ('e', 1, 3, ?)", [packed(b"\n" + line + b"\n")])
    db.execute(
        f"INSERT INTO operations VALUES (7, 'k', NULL, 't', 'a', {NOW}, 'done', NULL, ?)",
        [json.dumps({"password": PASSWORD})],
    )
    db.execute(
        "INSERT INTO agent_calls VALUES "
        f"(1, {NOW}, 'ada', 'c', NULL, 'tool', 'n', ?, false, 1, 1.0, [], false, ?)",
        [json.dumps({"content": TOKEN}), packed(json.dumps([TOKEN, ""]).encode())],
    )
    db.execute("INSERT INTO scenarios VALUES ('s', ?, [])", [json.dumps({"query": TOKEN})])
    db.execute(
        "INSERT INTO approvals VALUES ('i', 'x', 't', 'd', 'ada', 'low', 'pending', "
        f"{NOW}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{{}}', ?)",
        [json.dumps({"text": TOKEN})],
    )
    db.execute("INSERT INTO skill_bytes VALUES ('ab', ?)", [f"# Skill\n{TOKEN}\n".encode()])
    db.execute(f"INSERT INTO skill_versions VALUES (1, '/s/SKILL.md', 1, {NOW}, 'a', 'e', 'ab')")


async def all_bytes(database: StoreDatabase) -> str:
    def work(db: "Connection") -> str:
        texts = []
        for table in sorted({column.table for column in text_columns(db)}):
            for row in db.execute(f"SELECT * FROM {table}").fetchall():
                texts += [_text(value) for value in row]
        return "\n".join(texts)

    return await database.read(work)


def _text(value: object) -> str:
    if isinstance(value, bytes) and value.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().decompress(value).decode()
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


async def test_secrets_are_counted_by_table_and_kind_without_being_told(
    engine: Engine, database: StoreDatabase
) -> None:
    await remember(engine, f"The key of the build is {TOKEN}.")
    await database.write(_plant)
    report = await engine.secrets.search()
    found = {table.table: dict(table.kinds) for table in report.tables}
    assert found["memories"] == {"groq-key": 1}
    assert found["history"] == {"groq-key": 1}
    assert found["execution_lines"] == {"groq-key": 1}
    assert found["operations"] == {"password": 1}
    assert found["agent_calls"] == {"groq-key": 2}
    assert {"scenarios", "approvals", "skill_bytes"} <= found.keys()
    assert TOKEN not in repr(report)
    assert TOKEN in await all_bytes(database)


async def test_a_redaction_leaves_no_secret_in_any_table_but_in_approved_files(
    engine: Engine,
    database: StoreDatabase,
) -> None:
    memory_id = await remember(engine, f"The key of the build is {TOKEN}.")
    await database.write(_plant)
    report = await engine.secrets.redact(actor="person")
    assert report.redacted
    assert [what for what, _ in report.left] == ["/s/SKILL.md"]
    assert not report.pending
    await database.write(lambda db: db.execute("DELETE FROM skill_bytes"))
    stored = await all_bytes(database)
    assert TOKEN not in stored
    assert PASSWORD not in stored
    memory = await engine.memory.get("ada", memory_id)
    assert memory is not None
    assert memory.content == "The key of the build is [REDACTED:groq-key]."
    assert (await engine.maintenance.doctor()).ok  # embedded anew, index and history agree
    assert (await engine.secrets.search()).tables == ()


async def test_lines_of_a_session_stay_as_many_as_they_were(
    engine: Engine, database: StoreDatabase
) -> None:
    await database.write(_plant)
    await engine.secrets.redact(actor="person")
    rows = await database.read(
        lambda db: db.execute("SELECT lines FROM execution_lines").fetchall()
    )
    lines = zstandard.ZstdDecompressor().decompress(rows[0][0]).decode().split("\n")
    assert lines == ["", '{"text":"run with [REDACTED:groq-key]"}', ""]


async def test_a_title_that_cuts_a_secret_short_is_made_anew_of_the_record(
    engine: Engine, database: StoreDatabase
) -> None:
    task = f"Look at the deployment that failed, and at why it did, {'again ' * 6}{TOKEN}"
    execution = Execution(id="c:s", reader="c", session_id="s", agent_id="ada", task=task)
    mark = FileMark("/logs/a.jsonl", 1, 1, "d")
    await engine.executions.save(execution, PackedLines(["x"]), mark)
    cut = f"{task[:96]}…"
    await database.write(lambda db: db.execute("UPDATE executions SET title = ?", [cut]))
    await engine.secrets.redact(actor="cli")
    (session,) = await engine.sessions.list()
    assert TOKEN[:4] in cut
    assert TOKEN[:4] not in session.title
    assert session.title.startswith("Look at the deployment")


async def test_the_trail_of_a_redacted_proposal_ends_with_its_present_hash(
    engine: Engine, database: StoreDatabase
) -> None:
    from synthorg_tui.approvals.queue import payload_hash

    await database.write(_plant)
    await engine.secrets.redact(actor="person")
    (item,) = [item for item in await engine.approvals.list() if item.id == "i"]
    last = (await engine.approvals.events("i"))[-1]
    assert last.payload_hash == payload_hash(item)
    assert last.reason == "secrets redacted"


async def test_a_table_that_comes_later_is_searched_and_redacted_too(
    engine: Engine, database: StoreDatabase
) -> None:
    await database.write(lambda db: db.execute("CREATE TABLE newer (n BIGINT, said VARCHAR[])"))
    await database.write(lambda db: db.execute("INSERT INTO newer VALUES (1, [?])", [TOKEN]))
    assert [table.table for table in (await engine.secrets.search()).tables] == ["newer"]
    await engine.secrets.redact(actor="person")
    rows = await database.read(lambda db: db.execute("SELECT said FROM newer").fetchall())
    assert rows == [(["[REDACTED:groq-key]"],)]


async def test_every_column_of_text_and_bytes_is_searched_but_numbers(
    engine: Engine, database: StoreDatabase
) -> None:
    columns = await database.read(text_columns)
    schema = await database.read(
        lambda db: db.execute(
            "SELECT table_name, column_name FROM duckdb_columns() "
            "WHERE NOT internal AND (data_type LIKE 'VARCHAR%' OR data_type = 'BLOB')"
        ).fetchall()
    )
    searched = {(column.table, column.name) for column in columns}
    numbers = {("vectors", "vector"), ("fine_tune_pairs", "vector"), ("fine_tune_runs", "state")}
    assert set(schema) - searched == numbers


async def test_a_store_without_secrets_is_left_as_it_is(
    engine: Engine, database: StoreDatabase
) -> None:
    await remember(engine, "Storks return in March.")
    before = await all_bytes(database)
    report = await engine.secrets.redact(actor="person")
    assert report.tables == ()
    assert await all_bytes(database) == before


@files_only
async def test_copies_of_the_database_are_named(engine: Engine) -> None:
    await remember(engine, f"The key of the build is {TOKEN}.")
    copy = await engine.maintenance.backup()
    report = await engine.secrets.redact(actor="person")
    assert str(copy) in [what for what, _ in report.left]


async def test_the_database_file_holds_nothing_of_a_redacted_secret(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with Engine.open(shipped_settings(), data_dir=store) as engine:
        await remember(engine, f"The key of the build is {TOKEN}.")
        await engine.secrets.redact(actor="person")
    for path in store.glob("memory.duckdb*"):
        assert TOKEN.encode() not in path.read_bytes()
