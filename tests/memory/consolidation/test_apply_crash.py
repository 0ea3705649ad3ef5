"""Killed at any moment of applying or undoing: every original is live or archived, all is whole."""

import random
import shutil
import time
from pathlib import Path

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.consolidation.plan import GroupState, MemberRole
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.memory.store.rows import StoredMemory
from tests.memory.consolidation import crash_applier
from tests.memory.consolidation.plan_kit import Bench, copies, said
from tests.memory.store.store_kit import AGENT, draft, opened, request
from tests.postgres_switch import files_only
from tests.pty_kit import LOADED
from tests.soak import points

KILLS = points(3, 60)
"""Moments at which a process is killed."""
SEED = 20260301
MOST_GROUPS = 16
LONGEST_GROUP = 0.08
NOTE = "We found that the queue of the mailer fills up when the disk is slow. " * 6


async def prepare(data_dir: Path) -> tuple[int, dict[str, StoredMemory]]:
    """A store with a plan of groups of every sort that changes something."""
    async with opened(data_dir, clock=SystemClock()) as backend:
        for at in range(6):
            await copies(backend, f"The key of {'x' * at} is in the vault.", 4)
        for at in range(4):
            tags = ("non-inferable", "fact:port")
            await backend.store(AGENT, request(f"The port is {at}.", tags=tags))
        old = [
            draft(f"Day {'z' * at}: {NOTE}", created_at="2020-01-01T00:00:00Z") for at in range(6)
        ]
        await backend.store_many(AGENT, old, actor="test")
        bench = Bench(backend, share=1.0)
        plan = await bench.plan()
        return plan.number, await bench.rows()


def killed(data_dir: Path, number: int, groups: int, seconds: float) -> None:
    """Apply and undo in a process, and kill it so many seconds after so many groups began."""
    ours, theirs = LOADED.Pipe(duplex=False)
    process = LOADED.Process(target=crash_applier.run, args=(str(data_dir), number, theirs))
    process.start()
    theirs.close()
    for _ in range(groups):
        ours.recv()  # fails if the process ends
    time.sleep(seconds)
    process.kill()
    process.join()
    assert process.exitcode == -9, "it ended by itself"
    ours.close()


async def check(data_dir: Path, originals: dict[str, StoredMemory]) -> int:
    """What must be true after a restart, before and after what was due is resumed."""
    async with opened(data_dir, clock=SystemClock()) as backend:
        bench = Bench(backend, share=1.0)
        states = await whole(bench, originals)
        await bench.applier.resume()
        assert GroupState.DUE not in await whole(bench, originals)
        report = await Maintenance(backend, data_dir=data_dir).doctor()
        assert report.ok, report
        return len(set(states))


async def whole(bench: Bench, originals: dict[str, StoredMemory]) -> list[GroupState]:
    """Check that each original is there once, and each group done or not; return their states."""
    rows = await bench.rows()
    for key, row in originals.items():
        assert said(rows[key]) == said(row)
        assert rows[key].deleted_at is None
    plan = await bench.stored(await latest(bench))
    for group in plan.groups:
        is_done = group.state is GroupState.APPLIED
        assert {rows[key].archived_at is not None for key in group.archived} == {is_done}
        assert all(rows[key].is_current for key in group.ids(MemberRole.KEPT))
        if is_done and group.added is not None:
            assert rows[group.added].is_current
    return [group.state for group in plan.groups]


async def latest(bench: Bench) -> int:
    row = await bench.core.read(
        lambda db: db.execute("SELECT max(number) FROM consolidation_plans").fetchone()
    )
    assert row is not None
    return int(row[0])


@files_only
@pytest.mark.long
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_half_done(
    tmp_path: Path,
) -> None:
    choose = random.Random(SEED)
    origin, data = tmp_path / "origin", tmp_path / "data"
    number, originals = await prepare(origin)
    for _ in range(KILLS):
        shutil.copytree(origin, data)
        killed(data, number, choose.randint(1, MOST_GROUPS), choose.uniform(0, LONGEST_GROUP))
        await check(data, originals)
        shutil.rmtree(data)
