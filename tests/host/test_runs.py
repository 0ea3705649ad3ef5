"""Runs over the wire: paged, bounded, heard of, and never unattended; kept while nobody watches."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import RemoteEngine, remote_engine
from synthorg_tui.host.errors import RefusedError
from synthorg_tui.host.headless import serve
from synthorg_tui.host.owner import RUN, Owner
from synthorg_tui.host.runs import MAX_PAGE_CHARS, RunCalls
from synthorg_tui.persistence.entities import Checkpoint
from synthorg_tui.runtime.models import (
    AgentRun,
    RunProfile,
    RunRequest,
    RunStatus,
    RunStep,
    StepKind,
)
from synthorg_tui.settings.root import RootConfig
from tests.cli.run_kit import RunServer, calls, run_server, says, settings_of
from tests.host.idle_kit import IDLE, IdleClock
from tests.patience import PATIENCE


@pytest.fixture(scope="module")
def server() -> Iterator[RunServer]:
    with run_server() as server:
        server.answers = [calls("read_file", path="a.txt"), says("It says hello.")]
        yield server


@pytest.fixture
def settings(server: RunServer) -> RootConfig:
    return RootConfig.model_validate(settings_of(server))


@pytest.fixture
async def engine(settings: RootConfig, tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(settings, data_dir=tmp_path / "data") as engine:
        owner = Owner(engine, data_dir=tmp_path / "data", kind="app")
        await owner.start()
        yield engine
        await owner.stop()


def request(workspace: Path, profile: RunProfile = RunProfile.READ_ONLY) -> RunRequest:
    (workspace / "a.txt").write_text("hello\n")
    return RunRequest(task="say it", agent_id="heron", workspace=workspace, profile=profile)


async def test_a_command_starts_follows_and_shows_a_run_of_the_owner(
    engine: Engine, settings: RootConfig, tmp_path: Path
) -> None:
    heard = list[tuple[str, object]]()
    async with remote_engine(
        tmp_path / "data", settings, role="command", on_event=lambda *event: heard.append(event)
    ) as remote:
        run = await remote.runs.start(request(tmp_path))
        done = await _ended(remote, run.id)
        page = await remote.runs.steps(run.id, limit=2)
        rest = await remote.runs.steps(run.id, after=2)
        assert [step.number for step in (*page.steps, *rest.steps)] == [*range(1, page.last + 1)]
        assert (done.turns, done.calls) == (2, 1)
        assert [each.id for each in await remote.runs.list()] == [run.id]
        assert await remote.runs.list(offset=1) == ()
        assert ("builtin", "") in await remote.runs.executors()
        assert (RUN, run.id) in heard


async def _ended(remote: RemoteEngine, run_id: str) -> AgentRun:
    async with asyncio.timeout(PATIENCE):
        while True:
            run: AgentRun = await remote.runs.show(run_id)
            if run.status is not RunStatus.RUNNING:
                return run
            await asyncio.sleep(0.02)


async def test_no_call_over_the_wire_starts_or_resumes_what_asks_for_nothing(
    engine: Engine, settings: RootConfig, tmp_path: Path
) -> None:
    unattended = request(tmp_path, RunProfile.UNATTENDED)
    async with remote_engine(tmp_path / "data", settings, role="command") as remote:
        with pytest.raises(DomainError, match="by a person only"):
            await remote.runs.start(unattended)
        agreed = await RunCalls(engine.runs, agreed=True).start(unattended)
        await engine.runs.wait(agreed.id)
        with pytest.raises(DomainError, match="by a person only"):
            await remote.runs.resume(agreed.id)
    with pytest.raises(RefusedError):
        await RunCalls(engine.runs).start(unattended)


async def test_a_page_ends_before_it_is_too_large_for_a_message(
    engine: Engine, tmp_path: Path
) -> None:
    run = await engine.runs.start(request(tmp_path))
    await engine.runs.wait(run.id)
    last = (await RunCalls(engine.runs).steps(run.id)).last
    long = "x" * (MAX_PAGE_CHARS // 2 + 1)
    for number in range(last + 1, last + 4):
        step = RunStep(number=number, kind=StepKind.NOTE, text=long, at=run.started_at)
        stored = Checkpoint(
            id=f"{run.id}-{number:06d}",
            execution_id=run.id,
            agent_id="heron",
            task_id=run.id,
            turn_number=0,
            context_json=step.model_dump_json(),
            created_at=step.at,
        )
        await engine.operations.checkpoints.save(stored)
    page = await RunCalls(engine.runs).steps(run.id, after=last)
    assert len(page.steps) == 1
    assert page.last == last + 3


async def test_an_owner_that_is_left_alone_stays_until_the_run_has_ended(
    settings: RootConfig, server: RunServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.goes_on.clear()
    clock = IdleClock(monkeypatch)
    ready = asyncio.Event()
    serving = asyncio.create_task(
        serve(
            settings,
            data_dir=tmp_path / "data",
            stop=asyncio.Event(),
            until_idle=IDLE,
            on_ready=lambda _owner: ready.set(),
        )
    )
    await ready.wait()
    async with remote_engine(tmp_path / "data", settings, role="command") as remote:
        run = await remote.runs.start(request(tmp_path))
    await clock.looked()
    clock.advance(2)
    await clock.looked()
    assert not serving.done()
    server.goes_on.set()
    await asyncio.wait_for(serving, PATIENCE)
    async with Engine.open(settings, data_dir=tmp_path / "data") as engine:
        assert (await engine.runs.show(run.id)).reason is TerminationReason.COMPLETED
