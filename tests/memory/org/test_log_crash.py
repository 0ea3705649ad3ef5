"""A writer of facts killed at any moment: nothing acknowledged is lost, all is whole."""

import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.org.store import OrgStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from tests.memory.org import crash_writer
from tests.memory.org.org_kit import ever_written
from tests.memory.store.store_kit import opened
from tests.pty_kit import LOADED
from tests.soak import points

KILLS = points(5, 60)
SEED = 20260301
MOST_CHANGES = 6
LONGEST_CHANGE = 0.03

Told = tuple[str, str | None, str | None]
"""Begin or done, of which fact, and its text; none when it is retracted."""


def life(data_dir: Path, seed: int, active: list[str], choose: random.Random) -> Iterator[Told]:
    """What a writer said that is killed at a random moment after some changes."""
    ours, theirs = LOADED.Pipe(duplex=False)
    writer = LOADED.Process(target=crash_writer.run, args=(str(data_dir), seed, active, theirs))
    writer.start()
    theirs.close()
    for _ in range(choose.randint(0, 2 * MOST_CHANGES)):
        yield ours.recv()  # fails if the writer ends
    time.sleep(choose.uniform(0, LONGEST_CHANGE))
    writer.kill()
    writer.join()
    assert writer.exitcode == -9, "it ended by itself"
    yield from _rest(ours)
    ours.close()


def _rest(pipe: Connection) -> Iterator[Told]:
    try:
        while pipe.poll():
            yield pipe.recv()
    except (EOFError, OSError):
        return


async def stored(backend: LocalMemoryBackend, known: set[str]) -> dict[str, list[str | None]]:
    """The texts that the log of each fact holds, in order."""
    store = OrgStore(backend.core)
    facts = {each.id for each in await ever_written(store)} | known
    logs = {fact_id: await store.log(fact_id) for fact_id in facts}
    for lines in logs.values():
        assert [line.version for line in lines] == list(range(1, len(lines) + 1))
        times = [line.timestamp for line in lines]
        assert times == sorted(set(times))
    return {fact_id: [line.content for line in lines] for fact_id, lines in logs.items()}


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_killed_at_any_moment_no_acknowledged_line_is_lost(tmp_path: Path) -> None:
    choose = random.Random(SEED)
    expected: dict[str, list[str | None]] = {}
    for number in range(KILLS):
        active = [key for key, texts in expected.items() if texts[-1] is not None]
        begun: Told | None = None
        for phase, fact_id, text in life(tmp_path, number, active, choose):
            begun = (phase, fact_id, text) if phase == "begin" else None
            if phase == "done" and fact_id is not None:
                expected.setdefault(fact_id, []).append(text)
        async with opened(tmp_path, clock=SystemClock()) as backend:
            found = await stored(backend, set(expected))
            if begun is not None:
                _allow(expected, found, begun)
            assert found == expected
            report = await Maintenance(backend, data_dir=tmp_path).doctor()
            assert report.ok, report


def _allow(
    expected: dict[str, list[str | None]], found: dict[str, list[str | None]], begun: Told
) -> None:
    """What was begun and not acknowledged may be there, whole, or not at all."""
    _, fact_id, text = begun
    if fact_id is None:
        new = [key for key in found if key not in expected]
        assert [found[key] for key in new] in ([], [[text]])
        expected.update({key: [text] for key in new})
    elif found[fact_id] != expected[fact_id]:
        expected[fact_id].append(text)
