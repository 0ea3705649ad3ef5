"""Stores of an earlier version, in which each copy of a session was a session of its own."""

import random
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.engine import Engine
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.ingest.copies_kit import START, Story, Written
from tests.ingest.test_copies import told
from tests.soak import points

NOW = datetime(2026, 12, 31, tzinfo=UTC)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Engine]:
    settings = RootConfig.model_validate({"memory": {"level": "persistent"}})
    async with Engine.open(settings, data_dir=folder, clock=FixedClock(NOW)) as engine:
        yield engine


def history() -> list[Written]:
    """A session with three forks, one of which goes on by itself, and a session apart."""
    story = Story(random.Random(5)).user("Fire the kiln.").bash("make fire", "no clay", failed=True)
    story.bash("make clay").bash("make fire").say("It burns.")
    story.user("Never fire above 1200 degrees.").say("I won't.")
    forks = [Written(f"{number:016x}", list(story.rows)) for number in range(3)]
    later = Story(random.Random(6), at=START + timedelta(days=1))
    later.user("Now the lid.").bash("make lid", "no handle", failed=True).bash("make handle")
    forks.append(Written("f" * 16, [*story.rows, *later.bash("make lid").rows]))
    apart = Story(random.Random(7), at=START + timedelta(days=2)).take_turns(3)
    return [*forks, apart.written()]


async def store_as_before(engine: Engine, paths: Sequence[Path]) -> None:
    """Store each file as a session by itself, of which no event is known."""
    for path in paths:
        stat = path.stat()
        reading = read_file(TranscriptFile(path, stat.st_size, stat.st_mtime_ns))
        for each in reading.executions:
            agent = each.execution.agent_id
            await engine._base.local().store_many(agent, each.drafts, actor="import")
            await engine.executions.save(each.execution, each.lines, reading.mark)
    await engine._database.write(lambda db: db.execute("DELETE FROM session_events"))
    await engine.learning.learn()


async def counted_in(engine: Engine) -> tuple[Any, ...]:
    """What sessions, memories and waiting lessons say, with how certain they are."""
    found = [await engine.executions.get(id_) for id_ in await engine.executions.ids()]
    page = await engine.desk.browse(BrowseFilter(), limit=500)
    items = await engine.approvals.list(status=ApprovalStatus.PENDING)
    lessons = [lesson for item in items if (lesson := lesson_of(item))]
    return (
        told([each for each in found if each]),
        Counter((row.content, row.confidence) for row in page.entries),
        Counter((x.key, x.proposal.confidence, x.recurrence, len(x.evidence)) for x in lessons),
    )


async def recounted(engine: Engine, stop_after: int = 99) -> int:
    cancel = threading.Event()

    def progress(done: int, _: int) -> None:
        if done >= stop_after:
            cancel.set()

    return await engine.imports.recount(progress, cancel)


@pytest.mark.parametrize("stops", [(), (1,), (2, 1), (1, 1, 1, 1)])
async def test_a_store_of_before_is_counted_as_a_new_import_would(
    tmp_path: Path, stops: tuple[int, ...]
) -> None:
    paths = [file.save(tmp_path / "t") for file in history()]
    async with opened(tmp_path / "new") as engine:
        await engine.imports.run(paths)
        expected = await counted_in(engine)
    async with opened(tmp_path / "old") as engine:
        await store_as_before(engine, paths)
        assert await counted_in(engine) != expected
        for path in paths:
            path.unlink()
        for stop in stops:
            await recounted(engine, stop)
        await recounted(engine)
        assert await counted_in(engine) == expected
        assert await recounted(engine) == 0


class _KilledError(BaseException):
    pass


@pytest.mark.parametrize("point", points((2, 5, 9, 14), tuple(range(1, 30))))
async def test_a_recount_that_was_killed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    paths = [file.save(tmp_path / "t") for file in history()]
    async with opened(tmp_path / "new") as engine:
        await engine.imports.run(paths)
        expected = await counted_in(engine)
    async with opened(tmp_path / "old") as engine:
        await store_as_before(engine, paths)
        database, left = engine._database, point
        write = database.write

        async def dying(work: Any) -> Any:
            nonlocal left
            left -= 1
            if left <= 0:
                raise _KilledError
            return await write(work)

        with monkeypatch.context() as patched:
            patched.setattr(database, "write", dying)
            with suppress(_KilledError):
                await recounted(engine)
    async with opened(tmp_path / "old") as engine:
        await engine.imports.catch_up()
        await recounted(engine)
        assert await counted_in(engine) == expected
