"""Jobs without a screen: an owner runs what is due, and stays until it is done."""

import asyncio
import threading
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import remote_engine
from synthorg_tui.host.headless import serve
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.settings.root import RootConfig
from tests.host.idle_kit import IDLE, IdleClock
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only

SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})


@files_only
async def test_an_owner_without_a_screen_runs_what_is_due_before_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="Ports are 6543.")
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await engine.memory.store("builder", fact)
    monkeypatch.setattr("synthorg_tui.host.headless._KEEP_AFTER", 0.0)
    monkeypatch.setattr("synthorg_tui.jobs.scheduler.FIRST_LOOK", 0.0)
    clock, begun, go_on = IdleClock(monkeypatch), asyncio.Event(), asyncio.Event()
    back_up = Maintenance.back_up_daily

    async def slow(
        self: Maintenance, *, keep: int, progress: object, cancel: threading.Event
    ) -> Path | None:
        begun.set()
        await go_on.wait()
        return await back_up(self, keep=keep, cancel=cancel)

    monkeypatch.setattr(Maintenance, "back_up_daily", slow)
    ready = asyncio.Event()
    serving = asyncio.create_task(
        serve(
            SETTINGS,
            data_dir=tmp_path,
            stop=asyncio.Event(),
            until_idle=IDLE,
            on_ready=lambda _: ready.set(),
        )
    )
    async with asyncio.timeout(PATIENCE):
        await ready.wait()
        async with remote_engine(tmp_path, SETTINGS, role="test"):
            await begun.wait()
        await clock.looked()
        clock.advance(2)
        await clock.looked()
        assert not serving.done()
        go_on.set()
        await serving
    assert list(tmp_path.glob("backups/*-daily.duckdb"))
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        assert [run.state for run in await engine.jobs.runs("backup")] == ["done"]


async def test_an_owner_that_is_to_leave_does_so_in_the_middle_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synthorg_tui.host.headless._KEEP_AFTER", 0.0)
    monkeypatch.setattr("synthorg_tui.jobs.scheduler.FIRST_LOOK", 0.0)
    begun: list[str] = []

    async def endless(_: Maintenance, **__: object) -> None:
        begun.append("backup")
        await asyncio.Event().wait()

    monkeypatch.setattr(Maintenance, "back_up_daily", endless)
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(SETTINGS, data_dir=tmp_path, stop=stop))
    await until(lambda: begun)
    stop.set()
    async with asyncio.timeout(PATIENCE):
        await serving
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        assert [run.state for run in await engine.jobs.runs("backup")] == ["interrupted"]
