"""The list of sessions: columns beside the records, in stores of every version."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.erased_lines import ERASED_TEXT
from synthorg_tui.executions.forgotten import forget_in
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.sessions import SessionList
from synthorg_tui.executions.store import ExecutionStore, FileMark, erase_lines_in
from synthorg_tui.executions.titles import session_title
from synthorg_tui.persistence import DATABASE_FILE
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.database_file import connect_file
from synthorg_tui.persistence.port import StoreDatabase

SCHEMA_2 = Path(__file__).parent.parent / "persistence" / "data" / "schema_v2.sql"
START = datetime(2026, 1, 2, 3, tzinfo=UTC)
MARK = FileMark(path="/logs/a.jsonl", size=10, mtime_ns=1, digest="d")
LINES = ('{"text": "one"}', '{"text": "two"}', '{"text": "three"}')


def session(number: int, **fields: object) -> Execution:
    name = f"s{number:03}"
    start = START + timedelta(hours=number)
    calls = tuple(
        ToolCall(id=outcome, tool="Bash", intent="ls", arguments="ls", outcome=outcome, call_line=2)
        for outcome in (CallOutcome.OK, CallOutcome.FAILED)
    )
    return Execution(
        id=f"claude:{name}",
        reader="claude",
        session_id=name,
        agent_id="ada",
        project="/p",
        task=f"Repair gate {number}",
        model="m",
        outcome=ExecutionOutcome.COMPLETED,
        started_at=start,
        ended_at=start + timedelta(minutes=5),
        turns=(Turn(role="user", text=f"Repair gate {number}", first_line=1, last_line=1),),
        calls=calls,
        files_touched=("/p/a.py", "/p/b.py"),
        line_count=len(LINES),
    ).model_copy(update=fields)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(folder)
    await database.open()
    yield database
    await database.close()


def make_store_of_version_2(folder: Path, *executions: Execution) -> int:
    """As version 2 wrote it; returns what record and lines of the first session take."""
    connection = connect_file(folder / DATABASE_FILE)
    connection.execute(SCHEMA_2.read_text(encoding="utf-8"))
    facts = {"schema_version": "2", "epoch": "aa", "salt": "00" * 16, "revision": "0"}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(f) for f in facts.items()])
    (block,) = PackedLines(LINES).blocks()
    sizes = []
    for each in executions:
        record = zstandard.ZstdCompressor(level=3).compress(each.model_dump_json().encode())
        row = [each.id, each.agent_id, each.project, MARK.path, len(LINES), record]
        connection.execute("INSERT INTO executions VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO execution_lines VALUES (?, ?, ?, ?)", [each.id, *block])
        sizes.append(len(record) + len(block.data))
    connection.execute("INSERT INTO forgotten_sessions VALUES ('mark', ?)", [datetime(2026, 1, 1)])
    connection.close()
    return sizes[0]


async def test_a_list_shows_what_the_records_hold(tmp_path: Path) -> None:
    part = session(2, id="claude:s001/part", parent_id="claude:s001", started_at=None)
    async with opened(tmp_path) as database:
        store = ExecutionStore(database)
        for each in (session(1), part, session(3, started_at=None, ended_at=None)):
            await store.save(each, PackedLines(LINES), MARK)
        second, first, undated = await SessionList(database).all()
    assert (first.id, first.agent_id, first.project, first.path) == (
        "claude:s001",
        "ada",
        "/p",
        MARK.path,
    )
    assert (first.title, first.outcome) == ("Repair gate 1 → ran ls", ExecutionOutcome.COMPLETED)
    assert (first.lines, first.calls, first.failures, first.files) == (3, 2, 1, 2)
    assert (first.model, first.parent_id, second.parent_id) == ("m", None, "claude:s001")
    assert first.started_at == START + timedelta(hours=1)
    assert second.latest == START + timedelta(hours=2, minutes=5)
    assert (undated.id, undated.latest) == ("claude:s003", None)
    assert first.size > 0


async def test_a_store_of_version_2_lists_its_sessions(tmp_path: Path) -> None:
    size = make_store_of_version_2(tmp_path, session(1), session(2))
    async with opened(tmp_path) as database:
        second, first = await SessionList(database).all()
        assert (first.title, first.size, first.files) == ("Repair gate 1 → ran ls", size, 2)
        assert second.started_at == START + timedelta(hours=2)
        store = ExecutionStore(database)
        assert await store.get(first.id) == session(1)
        excerpt = await store.excerpt(session(1).ref(1, 3))
        assert excerpt is not None
        assert [text for _, text in excerpt.lines] == list(LINES)
        assert not await store.is_forgotten(session(1))


async def test_filling_the_list_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    make_store_of_version_2(tmp_path, *(session(number) for number in range(100)))

    def filled() -> int:
        connection = connect_file(tmp_path / DATABASE_FILE)
        row = connection.execute("SELECT count(title) FROM executions").fetchone()
        connection.close()
        return int(row[0]) if row else 0

    async with opened(tmp_path) as database:
        count = "SELECT count(title) FROM executions"
        listing = asyncio.create_task(SessionList(database).all())
        while not (await database.read(lambda db: db.execute(count).fetchone()) or (0,))[0]:
            pass
        listing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listing
    assert 0 < filled() < 100
    async with opened(tmp_path) as database:
        assert len(await SessionList(database).all()) == 100
    assert filled() == 100


async def test_a_record_that_is_unreadable_does_not_hide_the_others(tmp_path: Path) -> None:
    make_store_of_version_2(tmp_path, session(1), session(2))
    async with opened(tmp_path) as database:
        await database.write(
            lambda db: db.execute("UPDATE executions SET record = 'x' WHERE id = 'claude:s001'")
        )
        known, unreadable = await SessionList(database).all()
    assert known.title == "Repair gate 2 → ran ls"
    assert (unreadable.id, unreadable.outcome) == ("claude:s001", ExecutionOutcome.UNKNOWN)


async def test_an_erased_line_is_in_no_column(tmp_path: Path) -> None:
    summed = session(1, summary='Wrote "two"', turns=())
    lines = (LINES[0], '{"summary": "Wrote \\"two\\""}', LINES[2])
    assert "two" in session_title(summed)
    async with opened(tmp_path) as database:
        store = ExecutionStore(database)
        await store.save(session(2), PackedLines(LINES), MARK)
        await store.save(summed, PackedLines(lines), MARK)
        refs = [session(2).ref(1, 1), summed.ref(2, 2)]
        await database.write(lambda db: erase_lines_in(db, refs))
        for again in (False, True):
            if again:
                await store.save(session(2), PackedLines(LINES), MARK)
                await store.save(summed, PackedLines(lines), MARK)
            second, first = await SessionList(database).all()
            assert "task 2" not in second.title
            assert "two" not in first.title
            stored = await store.get(summed.id)
            assert stored is not None
            assert stored.summary == ERASED_TEXT


async def test_a_forgotten_session_leaves_no_column(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        store = ExecutionStore(database)
        await store.save(session(1), PackedLines(LINES), MARK)
        await database.write(lambda db: forget_in(db, ["claude:s001"], at=START))
        assert await SessionList(database).all() == ()
        assert await store.is_forgotten(session(1))


async def test_a_session_deleted_by_age_comes_back_when_it_goes_on(tmp_path: Path) -> None:
    at = START + timedelta(days=90)
    async with opened(tmp_path) as database:
        store = ExecutionStore(database)
        await store.save(session(1), PackedLines(LINES), MARK)
        await database.write(lambda db: forget_in(db, ["claude:s001"], at=at, by_age=True))
        for ended_at, is_forgotten in (
            (None, True),
            (at, True),
            (at + timedelta(seconds=1), False),
        ):
            again = session(1, ended_at=ended_at)
            assert await store.is_forgotten(again) is is_forgotten
        await database.write(lambda db: forget_in(db, ["claude:s001"], at=at))
        assert await store.is_forgotten(session(1, ended_at=at + timedelta(days=9)))


async def test_lines_erased_from_a_session_stay_so_when_it_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        store = ExecutionStore(database)
        await store.save(session(1), PackedLines(LINES), MARK)
        await database.write(lambda db: erase_lines_in(db, [session(1).ref(2, 2)]))
        await database.write(lambda db: forget_in(db, ["claude:s001"], at=START, by_age=True))
        await store.save(session(1), PackedLines(LINES), MARK)
        excerpt = await store.excerpt(session(1).ref(1, 3))
    assert excerpt is not None
    assert [text for _, text in excerpt.lines] == [LINES[0], "{}", LINES[2]]
