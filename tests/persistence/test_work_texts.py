"""Operational data keeps nothing of what was purged or forgotten, whatever table it is in."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from synthorg_tui.core.enums import TaskType
from synthorg_tui.executions.forgotten import forget_in
from synthorg_tui.persistence.call_log import erase_from_calls
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.entities import AuditEntry, Checkpoint, CostRecord, Task
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.texts import text_columns
from synthorg_tui.persistence.work_texts import ERASED, ERASED_ELSEWHERE

if TYPE_CHECKING:
    pass

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAID = 'The key "of" the shed\nis under the größte pot'
MEMORY = "0b5f4c1e-8f2b-4a0e-9d52-0d6a4b0b7f11"
LATER = "CREATE TABLE later (n BIGINT, said VARCHAR, list VARCHAR[])"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield database
    await database.close()


def checkpoint(number: int, step: dict[str, Any], run: str = "r1") -> Checkpoint:
    return Checkpoint(
        id=f"{run}:{number:06}",
        execution_id=run,
        agent_id="a",
        task_id=run,
        turn_number=number,
        context_json=json.dumps(step),
        created_at=NOW,
    )


async def steps(database: StoreDatabase, run: str = "r1") -> list[dict[str, object]]:
    found = await DuckDBPersistence(database).checkpoints.query(execution_id=run)
    return [json.loads(each.context_json) for each in found]


async def erase(database: StoreDatabase, contents: list[str], ids: tuple[str, ...] = ()) -> None:
    await database.write(lambda db: erase_from_calls(db, ids, contents))


async def test_words_go_from_every_table_that_is_not_erased_elsewhere(
    database: StoreDatabase,
) -> None:
    await database.write(lambda db: db.execute(LATER))
    reached = {"tasks", "messages", "checkpoints", "parked_contexts", "audit_records", "later"}
    columns = [
        column
        for column in await database.read(text_columns)
        if column.table not in ERASED_ELSEWHERE and not column.is_key
    ]
    kept = {"settings", "users", "api_keys"}
    assert reached <= {column.table for column in columns}
    for table in {column.table for column in columns} - kept:
        await database.write(partial(fill, table=table))
    await erase(database, [SAID])
    for column in columns:
        if column.table not in kept:
            sql = f'SELECT DISTINCT "{column.name}"::VARCHAR FROM {column.table}'
            found = await database.read(partial(rows, sql=sql))
            assert ERASED in str(found), column
            assert "shed" not in str(found), column


def rows(db: "Connection", sql: str) -> list[tuple[object, ...]]:
    return db.execute(sql).fetchall()


def columns_of(db: "Connection", table: str) -> list[tuple[str, str]]:
    """The names and types of a table's columns."""
    found = db.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? "
        "ORDER BY column_index",
        [table],
    ).fetchall()
    return [(name, kind.removesuffix(" WITHOUT TIME ZONE")) for name, kind in found]


def fill(db: "Connection", table: str) -> None:
    """A row whose texts all have the words in them."""
    samples = {"VARCHAR": "?", "VARCHAR[]": "[?]", "BLOB": "'numbers'::BLOB", "UUID": "uuid()"}
    samples |= {"TIMESTAMP": "TIMESTAMP '2026-01-01'", "BOOLEAN": "false"}
    values = [samples.get(kind, "0") for _, kind in columns_of(db, table)]
    marks = sum("?" in value for value in values)
    sql = f"INSERT INTO {table} SELECT {', '.join(values)}"
    db.execute(sql, [f"so: {SAID}!"] * marks)


@pytest.mark.parametrize("others", [0, 50])
async def test_of_a_step_only_the_texts_that_tell_are_blank(
    database: StoreDatabase, others: int
) -> None:
    checkpoints = DuckDBPersistence(database).checkpoints
    inner = json.dumps({"content": SAID})
    step = {"number": 1, "tool": "memory", "text": inner, "arguments": {"a": [SAID, "kept", 1]}}
    await checkpoints.save(checkpoint(1, step))
    await checkpoints.save(checkpoint(2, {"number": 2, "text": "nothing of it"}))
    await erase(database, [SAID, *(f"another text, number {n}" for n in range(others))])
    assert await steps(database) == [
        {"number": 1, "tool": "memory", "text": ERASED, "arguments": {"a": [ERASED, "kept", 1]}},
        {"number": 2, "text": "nothing of it"},
    ]


async def test_a_digest_that_names_a_memory_is_blank_and_short_words_too(
    database: StoreDatabase,
) -> None:
    checkpoints = DuckDBPersistence(database).checkpoints
    given: dict[str, Any] = {
        "kind": "given",
        "text": "What is known: " + "x" * 80,
        "memory_ids": [MEMORY],
    }
    call: dict[str, Any] = {
        "kind": "call",
        "tool": "recall",
        "text": "tea?",
        "memory_ids": [MEMORY],
    }
    other: dict[str, Any] = {"kind": "call", "text": "tea for two, and " + "y" * 80}
    for number, step in enumerate((given, call, other), 1):
        await checkpoints.save(checkpoint(number, step))
    await erase(database, ["tea", "call", "a"], (MEMORY,))
    assert await steps(database) == [given | {"text": ERASED}, call | {"text": ERASED}, other]


async def test_with_the_record_of_a_run_its_task_and_steps_go(database: StoreDatabase) -> None:
    backend = DuckDBPersistence(database)
    for run in ("gone", "stays"):
        await backend.tasks.save(
            Task(
                id=run,
                title=SAID,
                description=SAID,
                type=TaskType.ADMIN,
                project="p",
                created_by="person",
            )
        )
        await backend.checkpoints.save(checkpoint(1, {"text": SAID}, run))
        await backend.cost_records.save(
            CostRecord(
                agent_id="a",
                task_id=run,
                provider="p",
                model="m",
                input_tokens=1,
                output_tokens=1,
                cost_usd=0.5,
                timestamp=NOW,
            )
        )
        await backend.audit_entries.save(
            AuditEntry(
                id=run,
                timestamp=NOW,
                task_id=run,
                tool_name="shell",
                tool_category="terminal",
                action_type="terminal:run",
                arguments_hash="0" * 64,
                verdict="deny",
                risk_level="high",
                reason=SAID,
                evaluation_duration_ms=1.0,
            )
        )
    await database.write(lambda db: forget_in(db, ["gone"], at=NOW))
    assert [task.id for task in await backend.tasks.list_tasks()] == ["stays"]
    assert await steps(database, "gone") == []
    assert await steps(database, "stays") == [{"text": SAID}]
    assert await backend.cost_records.aggregate() == 1.0
    reasons = {entry.id: entry.reason for entry in await backend.audit_entries.query()}
    assert reasons == {"gone": ERASED, "stays": SAID}


async def test_a_run_is_found_by_the_session_that_its_record_became(
    database: StoreDatabase,
) -> None:
    """Columns beyond those named are filled with anything: the table is the runtime's."""
    named = {"id": "r9", "execution_id": "generic:a.r9", "request": json.dumps({"task": SAID})}
    columns = "id VARCHAR, execution_id VARCHAR, request VARCHAR"

    def add(db: "Connection") -> None:
        db.execute(f"CREATE TABLE IF NOT EXISTS agent_runs ({columns})")
        known = columns_of(db, "agent_runs")
        other = {"VARCHAR": "-", "TIMESTAMP": NOW.replace(tzinfo=None)}
        values = [named.get(name, other.get(kind, 0)) for name, kind in known]
        db.execute(f"INSERT INTO agent_runs VALUES ({', '.join('?' * len(values))})", values)

    await database.write(add)
    checkpoints = DuckDBPersistence(database).checkpoints
    await checkpoints.save(checkpoint(1, {"text": SAID}, "r9"))
    await database.write(lambda db: forget_in(db, ["generic:a.another"], at=NOW))
    assert await steps(database, "r9") == [{"text": SAID}]
    await database.write(lambda db: forget_in(db, ["generic:a.r9"], at=NOW))
    assert await steps(database, "r9") == []
    assert await database.read(partial(rows, sql="SELECT id FROM agent_runs")) == []
