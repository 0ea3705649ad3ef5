"""An import that is killed anywhere leaves nothing out for good: what comes next takes it up."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.curation.service import ReviewService
from synthorg_tui.engine import Engine
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.jobs.models import JobRun, RunState
from synthorg_tui.jobs.scheduler import JOBS
from synthorg_tui.knowledge.memories import KnownMemories
from synthorg_tui.knowledge.service import KnowledgeService
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.store.doctor import with_sessions
from synthorg_tui.persistence.database import Database
from synthorg_tui.settings.root import RootConfig
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.memory.store.hash_embedder import HashEmbedder
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.soak import points

pytestmark = files_only

SAMPLE = Path(str(files("synthorg_tui.ingest").joinpath("sample")))
ADOPTS = RootConfig.model_validate({"memory": {"procedural": {"require_approval": False}}})
"""Settings by which harmless lessons are adopted, so that learning has its last step."""

Drawn = tuple[list[tuple[str, str]], dict[str, tuple[str, str]]]

STORED = "all files are stored"
STAGES = {
    "one session is stored": (ExecutionStore, "save", 2),
    STORED: (KnowledgeService, "refresh", 1),
    "facts are counted": (KnownMemories, "write", 1),
    "one project's lines are made": (KnownMemories, "write", 2),
    "knowledge is drawn": (LearnService, "learn_from", 1),
    "one lesson is proposed": (LessonProposals, "submit", 2),
    "all lessons are proposed": (ReviewService, "adopt_by_policy", 1),
    "all is done but the mark": (ExecutionStore, "learnt", 1),
}
"""Stages of an import: the function whose call comes next, and which of its calls."""
BETWEEN = frozenset({"facts are counted", "knowledge is drawn", "all lessons are proposed"})
"""Stages that `make soak` tries alone: the suite tries one before and one after each of them."""


class KilledError(BaseException):
    """Ends an import as a signal would: nothing catches it and goes on."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """What an import of the sample leaves that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")

    async def imported() -> Drawn:
        async with opened(folder) as engine:
            await engine.imports.run([SAMPLE])
            return await drawn(engine)

    return asyncio.run(imported())


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncIterator[Engine]:
    async with Engine.open(
        ADOPTS, data_dir=data_dir, clock=SystemClock(), embedder=HashEmbedder()
    ) as engine:
        yield engine


async def drawn(engine: Engine) -> Drawn:
    """All memories, and all lessons with what became of them."""
    page = await engine.desk.browse(BrowseFilter(), limit=1_000)
    lessons = {item.id: (item.title, item.status.value) for item in await engine.approvals.list()}
    return sorted((row.agent_id, row.content) for row in page.entries), lessons


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose import was killed when all files were stored, to be copied."""
    folder = tmp_path_factory.mktemp("stored")
    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(killed_at(STORED, folder, patch))
    return folder


@pytest.fixture
def killed(stored: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stored, tmp_path / "killed")


async def killed_at(stage: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import the sample, and end the import when this stage is reached."""
    owner, name, which = STAGES[stage]
    function, calls = getattr(owner, name), 0

    async def fails(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == which:
            raise KilledError
        return await function(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        with pytest.raises(KilledError):
            async with opened(data_dir) as engine:
                await engine.imports.run([SAMPLE])


@pytest.mark.soak
@pytest.mark.parametrize("stage", sorted(points(STAGES.keys() - BETWEEN, STAGES.keys())))
async def test_the_same_import_again_draws_what_the_killed_one_did_not(
    stage: str, tmp_path: Path, undisturbed: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    await killed_at(stage, tmp_path, monkeypatch)
    async with opened(tmp_path) as engine:
        await engine.imports.run([SAMPLE])
        assert await drawn(engine) == undisturbed
        assert await engine.executions.unlearnt() == {}


async def test_an_import_of_something_else_takes_it_up(
    killed: Path, undisturbed: Drawn, tmp_path: Path
) -> None:
    other = ClaudeTranscript().user("hello").write(tmp_path / "other.jsonl")
    async with opened(killed) as engine:
        await engine.imports.run([other])
        memories, lessons = await drawn(engine)
    assert set(undisturbed[0]) <= set(memories)
    assert lessons == undisturbed[1]


async def test_the_next_owner_takes_it_up_when_it_starts(killed: Path, undisturbed: Drawn) -> None:
    async with opened(killed) as engine:
        recorded = asyncio.Event()
        engine.events.subscribe(lambda topic, run: recorded.set() if is_end(topic, run) else None)
        keeping = asyncio.create_task(engine.jobs.keep())
        await asyncio.wait_for(recorded.wait(), PATIENCE)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        (run,) = await engine.jobs.runs("learning")
        assert (run.state, run.told) == (RunState.DONE, "3 sessions, 4 lessons proposed")
        assert await drawn(engine) == undisturbed
        (job,) = [job for job in await engine.jobs.list() if job.name == "learning"]
        assert job.idle == "every session was learnt from"


def is_end(topic: str, run: object) -> bool:
    """Whether the event says that the job of these tests has ended."""
    return topic == JOBS and isinstance(run, JobRun) and run.job == "learning"


async def test_doctor_names_how_many_sessions_were_not_learnt_from_and_what_to_do(
    killed: Path,
) -> None:
    async with opened(killed) as engine:
        report = await with_sessions(await engine.maintenance.doctor(), engine.executions)
        told = {check.name: check.detail for check in report.checks}
        assert told["learning"].startswith("3 sessions not yet learnt from; `synthorg-tui learn`")
        await engine.imports.catch_up()
        report = await with_sessions(await engine.maintenance.doctor(), engine.executions)
        told = {check.name: check.detail for check in report.checks}
        assert told["learning"] == "every session was learnt from"


async def test_what_failed_to_be_learnt_from_is_tried_again(
    tmp_path: Path, undisturbed: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault")

    async with opened(tmp_path) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(KnownMemories, "write", fails)
            assert (await engine.imports.run([SAMPLE])).lessons_proposed == 0
        assert len(await engine.executions.unlearnt()) == 3
        assert (await engine.imports.run([SAMPLE])).lessons_proposed == 4
        assert await drawn(engine) == undisturbed


async def test_a_session_that_grew_while_it_was_learnt_from_is_learnt_from_again(
    tmp_path: Path,
) -> None:
    transcript = ClaudeTranscript().user("Do it.")
    path = transcript.write(tmp_path / "a.jsonl")
    async with opened(tmp_path / "data") as engine:
        await engine.imports.run([path])
        (session,) = await engine.executions.ids()
        before = await engine.executions.get(session)
        assert before is not None
        transcript.bash("make", "ok").write(path)
        learning, engine.imports._learner = engine.imports._learner, None
        await engine.imports.run([path])
        await engine.executions.learnt({session: before.line_count})
        assert list(await engine.executions.unlearnt()) == [session]
        engine.imports._learner = learning
        await engine.imports.catch_up()
        assert await engine.executions.unlearnt() == {}


async def test_where_nothing_is_to_be_learnt_nothing_waits_for_it(tmp_path: Path) -> None:
    off = RootConfig.model_validate({"memory": {"procedural": {"enabled": False}}})
    async with Engine.open(off, data_dir=tmp_path, embedder=HashEmbedder()) as engine:
        await engine.imports.run([SAMPLE])
        assert await engine.executions.unlearnt() == {}
        assert await engine.approvals.list() == ()


async def test_a_forgotten_session_leaves_no_mark(
    killed: Path,
) -> None:
    async with opened(killed) as engine:
        first, *others = await engine.executions.unlearnt()
        await engine.sessions.purge([first], actor="person (tui)")
        assert list(await engine.executions.unlearnt()) == others


async def test_a_store_of_before_the_marks_opens_and_gets_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await engine.imports.run([SAMPLE])
    database = Database.in_dir(tmp_path)
    await database.open()
    await database.write(lambda db: db.execute("DROP TABLE unlearnt_sessions"))
    await database.write(lambda db: db.execute("DELETE FROM meta WHERE name = 'schema_digest'"))
    await database.close()
    async with opened(tmp_path) as engine:
        assert await engine.executions.unlearnt() == {}
        path = ClaudeTranscript().user("hello").write(tmp_path / "a.jsonl")
        assert (await engine.imports.run([path])).executions == 1


def killed_after(writes: int, data_dir: Path) -> int:
    """Import the sample in a process that is killed after so many transactions; its exit code."""
    command = [sys.executable, "-m", "tests.ingest.test_killed_import", str(data_dir), str(writes)]
    return subprocess.run(command, timeout=PATIENCE, capture_output=True).returncode


def _import_with_fuse(data_dir: Path, writes: int) -> None:
    """The process: each transaction counts once it is committed, whoever makes it."""
    write, left = Database.write, writes

    async def counted(self: Database, *args: Any, **kwargs: Any) -> Any:
        nonlocal left
        result = await write(self, *args, **kwargs)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    async def run() -> None:
        async with opened(data_dir) as engine:
            Database.write = counted  # type: ignore[method-assign]
            await engine.imports.run([SAMPLE])

    asyncio.run(run())


@pytest.mark.soak
@pytest.mark.long
async def test_a_process_killed_after_any_transaction_leaves_nothing_out(
    tmp_path: Path, undisturbed: Drawn
) -> None:
    for writes in random.Random(0).sample(range(1, 60), points(1, 40)):
        folder = tmp_path / str(writes)
        code = killed_after(writes, folder)
        assert code in (0, -signal.SIGKILL)
        async with opened(folder) as engine:
            await engine.imports.run([SAMPLE])
            assert await drawn(engine) == undisturbed, f"killed after transaction {writes}"
        shutil.rmtree(folder)


if __name__ == "__main__":
    _import_with_fuse(Path(sys.argv[1]), int(sys.argv[2]))
