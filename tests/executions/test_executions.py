"""Executions as evidence: record, lines, file marks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.persistence.database import Database

LINES = tuple(f'{{"line": {number}, "text": "Grüße\\u2028"}}' for number in range(1, 1201))
MARK = FileMark(path="/logs/a.jsonl", size=10, mtime_ns=123456789012345678, digest="d")
EXECUTION = Execution(id="claude:s1", reader="claude", session_id="s1", agent_id="a", task="t")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ExecutionStore]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield ExecutionStore(database)
    await database.close()


async def test_a_saved_execution_comes_back_whole(store: ExecutionStore) -> None:
    await store.save(EXECUTION, PackedLines(LINES), MARK)
    assert await store.get("claude:s1") == EXECUTION
    assert await store.get("claude:other") is None
    assert await store.count() == 1


async def test_the_ids_are_in_order(store: ExecutionStore) -> None:
    assert await store.ids() == ()
    for name in ("claude:s2", "claude:s1"):
        await store.save(EXECUTION.model_copy(update={"id": name}), PackedLines(LINES), MARK)
    assert await store.ids() == ("claude:s1", "claude:s2")


@pytest.mark.parametrize(
    ("first", "last", "context", "numbers"),
    [
        (1, 1, 0, range(1, 2)),
        (1, 2, 3, range(1, 6)),
        (499, 502, 0, range(499, 503)),
        (500, 501, 2, range(498, 504)),
        (1200, 1200, 5, range(1195, 1201)),
    ],
)
async def test_an_excerpt_has_the_lines_named_and_the_context_that_exists(
    store: ExecutionStore, first: int, last: int, context: int, numbers: range
) -> None:
    await store.save(EXECUTION, PackedLines(LINES), MARK)
    excerpt = await store.excerpt(EXECUTION.ref(first, last), context=context)
    assert excerpt is not None
    assert excerpt.path == MARK.path
    assert excerpt.lines == tuple((number, LINES[number - 1]) for number in numbers)


async def test_lines_that_are_not_there_give_no_excerpt(store: ExecutionStore) -> None:
    await store.save(EXECUTION, PackedLines(LINES), MARK)
    assert await store.excerpt(EXECUTION.ref(1200, 1201)) is None
    other = EXECUTION.model_copy(update={"id": "claude:other"})
    assert await store.excerpt(other.ref(1, 1)) is None


async def test_saving_again_replaces_record_lines_and_mark(store: ExecutionStore) -> None:
    await store.save(EXECUTION, PackedLines(LINES), MARK)
    grown = EXECUTION.model_copy(update={"task": "other"})
    mark = FileMark(path=MARK.path, size=20, mtime_ns=2, digest="e")
    await store.save(grown, PackedLines(["only"]), mark)
    assert await store.get(grown.id) == grown
    assert await store.excerpt(grown.ref(2, 2)) is None
    assert (await store.marks()) == {MARK.path: mark}
    assert await store.count() == 1


async def test_an_execution_without_lines_is_kept(store: ExecutionStore) -> None:
    await store.save(EXECUTION, PackedLines(), MARK)
    assert await store.get(EXECUTION.id) == EXECUTION
    assert await store.excerpt(EXECUTION.ref(1, 1)) is None
