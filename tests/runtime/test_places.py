"""Runs on a store that several programs have: each carries out its own."""

from pathlib import Path

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.persistence.database import Database
from synthorg_tui.runtime.engine import AgentEngine, EngineParts
from synthorg_tui.runtime.models import AgentRun, RunStatus
from synthorg_tui.runtime.service import RunRules, RunService
from tests.runtime.run_kit import Runtime
from tests.tables import rows


async def _may(_agent: str) -> str:
    return ""


async def _waits(_item: str) -> bool:
    return False


async def _given_up(_item: str) -> None:
    return None


def service_at(place: str, kit: Runtime) -> RunService:
    parts = EngineParts(lambda _: None, kit.registry, kit.tools, kit.store, kit.loop)
    rules = RunRules(_may, _waits, _given_up, lambda _: "m", place)
    return RunService(
        kit.store, AgentEngine(parts), {}, rules, events=Events(), clock=kit.loop.clock
    )


@rows("status", [RunStatus.RUNNING, RunStatus.PARKED])
async def test_the_run_of_another_place_is_left_to_it(tmp_path: Path, status: RunStatus) -> None:
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    kit = Runtime(database, tmp_path)
    request = kit.request().model_copy(update={"place": "here"})
    await kit.store.create(
        AgentRun(id="r1", request=request, status=status, started_at=SystemClock().now())
    )
    there = service_at("there", kit)
    assert (await there.show("r1")).status is status
    with pytest.raises(DomainError, match="another machine's"):
        await there.resume("r1")
    assert (await there.show("r1")).status is status
    await database.close()


async def test_a_run_of_this_place_that_nobody_works_on_is_interrupted(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    kit = Runtime(database, tmp_path)
    request = kit.request().model_copy(update={"place": "here"})
    run = AgentRun(
        id="r1", request=request, status=RunStatus.RUNNING, started_at=SystemClock().now()
    )
    await kit.store.create(run)
    assert (await service_at("here", kit).show("r1")).status is RunStatus.INTERRUPTED
    await database.close()
