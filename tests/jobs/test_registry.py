"""The jobs there are, each run over a real store: what it does, and what it says of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.core.enums import ConsolidationInterval, MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.jobs.models import JobRun, RunState
from synthorg_tui.jobs.scheduler import JOBS
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.store import core as store_core
from synthorg_tui.providers.embedding.onnx import MiniLMEmbedder
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.disk_kit import disk_of
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only

FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)


def settings(**given: dict[str, object]) -> RootConfig:
    memory = {"level": "persistent"} | given.pop("memory", {})
    return RootConfig.model_validate({"memory": memory, **given})


@asynccontextmanager
async def opened(
    home: Path, configured: RootConfig | None = None, clock: FixedClock | None = None
) -> AsyncIterator[Engine]:
    async with Engine.open(configured or settings(), data_dir=home / "data", clock=clock) as engine:
        yield engine


async def intervals(engine: Engine) -> dict[str, ConsolidationInterval | None]:
    return {job.name: job.interval for job in await engine.jobs.list()}


async def test_how_often_each_runs_comes_from_the_settings(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        assert await intervals(engine) == {
            "imports": None,
            "learning": None,
            "rules": None,
            "backup": ConsolidationInterval.HOURLY,
            "sessions": ConsolidationInterval.NEVER,
            "reembedding": ConsolidationInterval.HOURLY,
            "knowledge": ConsolidationInterval.HOURLY,
            "consolidation": ConsolidationInterval.DAILY,
            "evolver": ConsolidationInterval.NEVER,
            "pruning": ConsolidationInterval.WEEKLY,
            "compaction": ConsolidationInterval.HOURLY,
            "packing": ConsolidationInterval.DAILY,
        }
    chosen = settings(
        memory={
            "storage": {"daily_backups": 0, "max_session_days": 90},
            "consolidation": {"interval": "weekly"},
            "procedural": {"evolver": {"enabled": True}},
        },
        ingest={"follow": False},
        org_memory={"watch_files": False},
        jobs={"packing": "never"},
    )
    async with opened(tmp_path, chosen) as engine:
        found = await intervals(engine)
    named = ("imports", "rules", "backup", "sessions", "evolver", "packing")
    assert [found[name] for name in named] == [
        ConsolidationInterval.NEVER,
        ConsolidationInterval.NEVER,
        ConsolidationInterval.NEVER,
        ConsolidationInterval.HOURLY,
        ConsolidationInterval.WEEKLY,
        ConsolidationInterval.NEVER,
    ]


def test_an_impossible_interval_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'hourly', 'daily', 'weekly' or 'never'") as refused:
        settings(jobs={"packing": "sometimes"})
    assert "jobs.packing" in str(refused.value)


async def test_another_backend_has_no_jobs(tmp_path: Path) -> None:
    async with opened(tmp_path, settings(memory={"backend": "inmemory"})) as engine:
        assert await engine.jobs.list() == ()


async def test_a_new_store_has_nothing_to_do_and_all_jobs_run(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        runs = await engine.jobs.run_due()
    looked = ("backup", "reembedding", "knowledge", "consolidation", "pruning", "compaction")
    assert {run.job: run.state for run in runs} == dict.fromkeys(
        (*looked, "packing"), RunState.NOTHING
    )


@files_only
async def test_the_backup_of_the_day_is_made_and_told(tmp_path: Path) -> None:
    clock = FixedClock(datetime.now(UTC))
    async with opened(tmp_path, clock=clock) as engine:
        await engine.memory.store("builder", FACT)
        run = await engine.jobs.run("backup")
        (copy,) = (tmp_path / "data").glob("backups/*-daily.duckdb")
        assert run.state is RunState.DONE
        assert run.told.startswith(f"{copy.name}, ")
        assert run.told.endswith("1 daily copy kept")
        assert run.progress == run.total > 0
        clock.advance(hours=1)
        await engine.memory.store("builder", FACT.model_copy(update={"content": "Ports move."}))
        assert (await engine.jobs.run("backup")).state is RunState.NOTHING


@files_only
async def test_that_no_backup_could_be_made_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        with monkeypatch.context() as patched:
            disk_of(patched, free_mib=1)
            run = await engine.jobs.run("backup")
        assert run.state is RunState.FAILED
        assert "MB are free" in run.told
        assert not list((tmp_path / "data").glob("backups/*"))


async def test_sessions_beyond_their_age_are_deleted_and_counted(tmp_path: Path) -> None:
    said = ClaudeTranscript().user("Never push on a Friday.").say("Yes")
    configured = settings(memory={"storage": {"max_session_days": 1}})
    clock = FixedClock(datetime(2027, 1, 1, tzinfo=UTC))
    async with opened(tmp_path, configured, clock) as engine:
        await engine.imports.run([said.write(tmp_path / "logs" / "session.jsonl")])
        run = await engine.jobs.run("sessions")
        assert run.told == "1 session older than 1 day deleted; 0 left"
        assert await engine.executions.count() == 0
        checks = {check.name: check.detail for check in (await engine.maintenance.doctor()).checks}
        assert "1 deleted by age, the last on 2027-01-01" in checks["sessions"]


async def test_memories_without_a_vector_are_embedded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as engine:
        with monkeypatch.context() as patched:

            async def broken(_: object, __: object) -> list[list[float]]:
                from synthorg_tui.providers.embedding.errors import EmbeddingError

                raise EmbeddingError("the model is gone")

            patched.setattr(MiniLMEmbedder, "embed", broken)
            await engine.memory.store("builder", FACT)
            failed = await engine.jobs.run("reembedding")
            assert (failed.state, failed.told) == (RunState.FAILED, "the model is gone")
        run = await engine.jobs.run("reembedding")
        assert (run.progress, run.total) == (1, 1)
        assert run.told == "1 memory embedded; none lacks a vector"


async def test_what_was_purged_is_written_out_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_core, "ERASED_AFTER", PATIENCE)
    async with opened(tmp_path) as engine:
        stored = await engine.memory.store("builder", FACT)
        await engine.erasure.purge([stored], actor="me")
        assert not engine.maintenance.remains.is_empty
        run = await engine.jobs.run("compaction")
        assert (run.state, run.told) == (RunState.DONE, "nothing is left of what was purged")
    for path in (tmp_path / "data").glob("memory.duckdb*"):
        assert b"port 6543" not in path.read_bytes()


async def test_what_could_not_be_written_out_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_core, "ERASED_AFTER", PATIENCE)
    async with opened(tmp_path) as engine:
        stored = await engine.memory.store("builder", FACT)
        await engine.erasure.purge([stored], actor="me")
        with monkeypatch.context() as patched:
            disk_of(patched, free_mib=35)  # a record fits, another file does not
            run = await engine.jobs.run("compaction")
    assert run.state is RunState.FAILED
    assert "still to be erased" in run.told


async def test_what_is_followed_is_among_the_runs(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    configured = settings(ingest={"places": [str(folder)]})
    async with opened(tmp_path, configured) as engine:
        (shown,) = [job for job in await engine.jobs.list() if job.name == "imports"]
        assert shown.idle == "no sessions were imported from these places yet"
        first = ClaudeTranscript().user("Never push on a Friday.").say("Yes")
        await engine.imports.run([first.write(folder / "first.jsonl")])
        keeping = asyncio.create_task(engine.jobs.keep())
        second = ClaudeTranscript("2").user("Never merge on a Monday.").say("Yes")
        second.write(folder / "second.jsonl")
        ended: asyncio.Queue[JobRun] = asyncio.Queue()
        engine.events.subscribe(
            lambda topic, run: ended.put_nowait(run) if topic == JOBS and run else None
        )
        async with asyncio.timeout(PATIENCE):
            run = await ended.get()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert (run.job, run.state) == ("imports", RunState.DONE)
        assert run.told.startswith("1 session, ")


async def test_a_job_does_not_begin_while_an_agent_waits_for_its_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        assert not engine.gateway.is_waited_for
        session = engine.gateway.connect(AgentIdentity("builder"))
        with engine.gateway.answering():
            running = asyncio.create_task(engine.jobs.run("packing"))
            await session.digest("which port?")
            assert engine.gateway.is_waited_for
            assert engine.jobs.running is None
        assert engine.gateway.is_waited_for, "it probably asks again in a moment"
        assert (await running).state is RunState.NOTHING
        assert not engine.gateway.is_waited_for


@files_only
async def test_a_stopped_backup_leaves_no_copy(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        running = asyncio.create_task(engine.jobs.run("backup"))
        await until(lambda: engine.jobs.running)
        await engine.jobs.cancel("backup")
        run = await running
    if run.state is RunState.CANCELLED:
        assert not list((tmp_path / "data").glob("backups/*daily*"))
    assert run.ended_at is not None


async def test_the_folder_of_memories_is_written_once_some_were_merged(tmp_path: Path) -> None:
    wiki = {"enabled": True, "trigger": "on_consolidation"}
    chosen = settings(memory={"consolidation": {"wiki_export": wiki}})
    index = tmp_path / "data" / "wiki" / "index.md"
    async with opened(tmp_path, chosen) as engine:
        await engine.memory.store("builder", FACT)
        assert (await engine.jobs.run("consolidation")).state is RunState.NOTHING
        assert not index.exists()
        await engine.memory.store("builder", FACT)
        told = (await engine.jobs.run("consolidation")).told
        assert told == "archived 1 copy; 1 memory exported"
        written = index.stat().st_mtime_ns
        await engine.jobs.run("consolidation")
        assert index.stat().st_mtime_ns == written
