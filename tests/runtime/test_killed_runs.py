"""A run whose process is killed anywhere: no step is lost, and nothing is done twice."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.persistence.database import Database
from synthorg_tui.runtime.models import RunStatus, RunStep
from tests.patience import PATIENCE
from tests.pty_kit import LOADED
from tests.runtime.killed_run import Place, service_of, work
from tests.runtime.run_kit import model_server
from tests.soak import points

KILLS = points(4, 30)
TURNS = 8
LONGEST = 0.02
"""Seconds from a step or an effect of the run to the end of its process."""


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What a model says after so many answers of its own: a line to note, or that it is done."""
    turn = sum(message["role"] == "assistant" for message in messages) + 1
    message: dict[str, Any] = {"role": "assistant", "content": "Done." if turn > TURNS else ""}
    if turn <= TURNS:
        arguments = json.dumps({"line": f"line {turn}"})
        function = {"name": "note", "arguments": arguments}
        message["tool_calls"] = [{"id": "c", "type": "function", "function": function}]
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.fixture
def url() -> Iterator[str]:
    with model_server(lambda body: answer(body["messages"])) as address:
        yield address


def killed_at(place: Place, file: Path, further: int, delay: float) -> bool:
    """Have a process go on with the run, and kill it; whether it wasn't done by then.

    That is ``delay`` seconds after ``file`` has so many lines more than before.
    """
    mine, theirs = LOADED.Pipe()
    process = LOADED.Process(target=work, args=(place, theirs))
    process.start()
    theirs.close()
    assert mine.poll(PATIENCE)
    assert mine.recv() == "ready"
    wanted, end = lines_of(file) + further, monotonic() + PATIENCE
    while lines_of(file) < wanted and process.is_alive():
        assert monotonic() < end
        sleep(0.001)
    if not mine.poll(delay):
        process.kill()
    process.join(PATIENCE)
    assert process.exitcode in (-9, 0)
    return process.exitcode == -9


def lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.mark.soak
@pytest.mark.long
async def test_a_run_killed_at_random_moments_loses_no_step_and_does_nothing_twice(
    tmp_path: Path, url: str
) -> None:
    place = Place(tmp_path / "store", tmp_path / "work", url)
    place.workspace.mkdir()
    chance, kills = random.Random(16), 0
    files = (place.told, place.workspace / "log")
    while kills < KILLS:
        # After a step, or after something was done that no step tells of yet.
        file, delay = chance.choice(files), chance.uniform(0.0, LONGEST)
        kills += killed_at(place, file, chance.randrange(3), delay)
    while killed_at(place, place.told, 0, PATIENCE):
        pass
    database = Database.in_dir(place.store)
    await database.open()
    service = service_of(database, place)
    runs = await service.list()
    steps = [step for run in runs for step in await service.steps(run.id)]
    await database.close()
    assert {run.status for run in runs} == {RunStatus.ENDED}
    assert all(run.turns == TURNS + 1 for run in runs)
    written = Counter((place.workspace / "log").read_text().splitlines())
    for turn in range(1, TURNS + 1):
        outcomes = [outcome for line, outcome in map(noted, steps) if line == f"line {turn}"]
        assert len(outcomes) == len(runs)
        # What is known to be done was done; what isn't known was done once or not at all.
        done, unknown = outcomes.count(CallOutcome.OK), outcomes.count(CallOutcome.UNKNOWN)
        assert done + unknown == len(runs)
        assert done <= written[f"line {turn}"] <= len(runs)


def noted(step: RunStep) -> tuple[str, CallOutcome | None]:
    return str(step.arguments.get("line", "")), step.outcome
