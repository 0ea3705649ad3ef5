"""Killed between any two steps, a decision is whole after a restart, or was never taken."""

import shutil
from pathlib import Path

import pytest

from synthorg_tui.agents.pending import PendingWrites
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.persistence.settings_kv import has_open
from tests.conftest import FixedClock
from tests.curation import crash_decider
from tests.curation.review_kit import PERSON, Office, lesson, office, on_disk
from tests.memory.store.store_kit import AGENT, draft
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.pty_kit import LOADED
from tests.soak import points
from tests.tables import rows

MOST_STEPS = 60
EVERY = points(4, 1)
"""Of how many steps one is the last: each action begins with another of them."""


async def prepare(data_dir: Path, action: str) -> None:
    """A skill in force and a proposal that takes its place, decided already for an undo.

    For a purge that of the skill is all there is to decide; a write of an agent's comes alone.
    """
    async with office(data_dir) as desk:
        if action == "undo a bulk":
            await approve_two(desk)
            return
        if action.endswith("a write"):
            item_id = await written(desk)
            if action.startswith("undo"):
                await desk.approve(item_id)
            return
        old = await desk.approve(await desk.propose(lesson(scope=ProceduralMemoryScope.ORG)))
        item_id = await desk.propose(lesson("b", discovery="Better.", supersedes=(old,)))
        if action == "undo":
            await desk.approve(item_id)


async def approve_two(desk: Office) -> None:
    """Two lessons, approved as one."""
    words = ("Alpha comes first.", "Beta is next.")
    ids = [
        await desk.propose(lesson(each, discovery=each, condition=each, action=each))
        for each in words
    ]
    shown = [(each, (await desk.desk.review(each)).shown) for each in ids]
    assert len((await desk.desk.approve_many(shown, PERSON)).decisions) == len(words)


async def written(desk: Office) -> str:
    """Have what an agent wants kept wait; the id of the item."""
    room = PendingWrites(desk.queue, clock=FixedClock(), level=lambda _: MemoryLevel.PERSISTENT)
    return await room.write(AGENT, draft("The staging database listens on port 6543."))


async def outline(desk: Office) -> dict[str, object]:
    """What is true, with memories by what they say: their ids come by chance."""
    memories = {entry.id: entry for entry in await desk.memories()}
    said = {key: (entry.agent_id, entry.content) for key, entry in memories.items()}
    skills = {
        record.path: (record.status, record.sha256, [said[each] for each in record.memory_ids])
        for record in await desk.ledger.all()
    }
    items = await desk.queue.list(snoozed=True)
    return {
        "memories": sorted(said.values()),
        "skills": skills,
        "items": {item.id: (item.status, item.consumed_at is not None) for item in items},
        "files": on_disk(desk.data_dir),
    }


async def outcome(data_dir: Path) -> dict[str, object]:
    """The outline after a restart; nothing is left to be finished."""
    async with office(data_dir) as desk:
        assert not await desk.backend.core.read(has_open)
        return await outline(desk)


def killed_after(data_dir: Path, action: str, steps: int) -> bool:
    """Whether the process was killed; it wasn't when it had no step left to make."""
    process = LOADED.Process(target=crash_decider.run, args=(str(data_dir), action, steps))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode in (-9, crash_decider.ALIVE), process.exitcode
    return process.exitcode == -9


@files_only
@pytest.mark.long
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@rows(
    ("action", "decisions", "first"),
    [
        ("approve", 1, 0),
        ("undo", 1, 1),
        ("undo a bulk", 2, 2),
        ("purge", 1, 3),
        ("approve a write", 1, 0),
        ("undo a write", 1, 1),
    ],
)
async def test_a_decision_is_whole_or_was_never_taken(
    tmp_path: Path, action: str, decisions: int, first: int
) -> None:
    origin = tmp_path / "data"  # the ledger knows skills by their paths
    kept = tmp_path / "kept"
    await prepare(origin, action)
    shutil.copytree(origin, kept)
    seen = [await outcome(origin)]
    for steps in range(first % EVERY, MOST_STEPS, EVERY):
        shutil.rmtree(origin)
        shutil.copytree(kept, origin)
        is_killed = killed_after(origin, action, steps)
        result = await outcome(origin)
        if result != seen[-1]:
            seen.append(result)
        if not is_killed:
            break
    assert not is_killed, "more steps than expected: raise MOST_STEPS"
    assert len(seen) == decisions + 1, "a decision was found half taken"
