"""A process that carries out runs until it is killed; each step that it was told of it notes down.

Its arguments are all in a ``Place``. What it did is in files, which the test reads.
"""

import asyncio
import os
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from synthorg_tui.core.events import Events
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.openai import OpenAICompletion
from synthorg_tui.runtime.engine import AgentEngine, EngineParts
from synthorg_tui.runtime.models import AgentRun, RunStatus, RunStep
from synthorg_tui.runtime.service import RunRules, RunService
from tests.runtime.run_kit import Runtime


@dataclass(frozen=True)
class Place:
    """Where a run works, and which server answers it."""

    store: Path
    workspace: Path
    url: str

    @property
    def told(self) -> Path:
        """The file of steps that were told of, a line each: the run and the number."""
        return self.workspace.parent / "told"


def work(place: Place, ready: Connection) -> None:
    """Go on with the run that isn't completed, or start one; ends when that is."""
    asyncio.run(_work(place, ready))


async def _work(place: Place, ready: Connection) -> None:
    database = Database.in_dir(place.store)
    await database.open()
    service = service_of(database, place)
    runs = await service.list()
    await _require_all_told(service, place)
    ready.send("ready")
    if runs and runs[0].status is RunStatus.INTERRUPTED:
        run = await service.resume(runs[0].id)
    else:
        run = await service.start(Runtime(database, place.workspace).request())
    ended = await _watched(service, run, place)
    ready.send(str(ended.reason))
    await service.close()
    await database.close()


def service_of(database: StoreDatabase, place: Place) -> RunService:
    """The service of runs with the tools of the kit and a model on a server."""
    kit = Runtime(database, place.workspace)
    config = OpenAIModelConfig(type="openai", base_url=place.url, model="m")
    model = OpenAICompletion(config, environ={})
    parts = EngineParts(lambda _: model, kit.registry, kit.tools, kit.store, kit.loop)
    rules = RunRules(_may, _waits, _given_up, lambda _: "m")
    return RunService(
        kit.store, AgentEngine(parts), {}, rules, events=Events(), clock=kit.loop.clock
    )


async def _watched(service: RunService, run: AgentRun, place: Place) -> AgentRun:
    async for step in service.follow(run.id):
        _note(place.told, run, step)
    return await service.wait(run.id)


def _note(path: Path, run: AgentRun, step: RunStep) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{run.id} {step.number}\n".encode())
    os.close(descriptor)


async def _require_all_told(service: RunService, place: Place) -> None:
    """Each step that somebody was told of is there."""
    told = place.told.read_text().splitlines() if place.told.exists() else []
    latest: dict[str, int] = {}
    for line in told:
        run_id, number = line.split()
        latest[run_id] = max(latest.get(run_id, 0), int(number))
    for run_id, last in list(latest.items())[-1:]:
        numbers = [step.number for step in await service.steps(run_id)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert last <= len(numbers)


async def _may(_agent: str) -> str:
    return ""


async def _waits(_item: str) -> bool:
    return False


async def _given_up(_item: str) -> None:
    return None
