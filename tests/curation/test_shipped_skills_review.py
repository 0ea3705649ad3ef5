"""Skills that come with the program are in force only by a person's yes; their files stay as is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.agents.toolbox import ApprovedSkills
from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.core.enums import SkillState
from synthorg_tui.curation.disk_sync import SyncReport
from synthorg_tui.curation.erasure import NOT_OURS
from synthorg_tui.skills.document import SkillPathError
from tests.curation.review_kit import PERSON, SHIPPED, office, write_skill_file
from tests.curation.test_overview import TEXT, Desk, shelf_of
from tests.memory.store.store_kit import AGENT

NAME = "agent-memory"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with office(tmp_path, knows_roots=False) as place:
        yield Desk(place, shelf_of(place))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A skill that is shipped."""
    return ship(tmp_path, "a task begins")


def ship(data_dir: Path, why: str) -> Path:
    return write_skill_file(data_dir / SHIPPED, NAME, TEXT.format(name=NAME, why=why))


async def approve(desk: Desk, path: Path) -> str:
    """Offer and approve it; its memory's id."""
    return await desk.office.approve(await desk.shelf.offer(str(path)))


async def given(desk: Desk) -> list[str]:
    """The skills that an agent is given."""
    return [card.name for card in await ApprovedSkills(desk.office.ledger).cards(AGENT)]


async def test_it_is_listed_as_shipped_and_never_comes_up_by_itself(desk: Desk, path: Path) -> None:
    for _ in range(2):
        assert await desk.shelf.sync() == SyncReport()
        row = await desk.only()
        assert (row.path, row.state, row.waiting) == (str(path), SkillState.SHIPPED, "")
        assert row.comes_up_on_request
    ship(desk.office.data_dir, "a newer version says so")
    assert await desk.shelf.sync() == SyncReport()
    assert (await desk.only()).state is SkillState.SHIPPED
    assert await given(desk) == []


async def test_what_was_offered_waits_through_every_sync(desk: Desk, path: Path) -> None:
    item_id = await desk.shelf.offer(str(path))
    assert item_id
    assert await desk.shelf.sync() == SyncReport()
    row = await desk.only()
    assert (row.state, row.waiting) == (SkillState.SHIPPED, item_id)
    assert not row.comes_up_on_request
    ship(desk.office.data_dir, "a newer version says so")
    assert await desk.shelf.sync() == SyncReport(withdrawn=(item_id,))


async def test_what_was_rejected_stays_decided(desk: Desk, path: Path) -> None:
    item_id = await desk.shelf.offer(str(path))
    shown = (await desk.office.desk.review(item_id)).shown
    await desk.office.desk.reject(item_id, shown=shown, reason="no", person=PERSON)
    assert await desk.shelf.sync() == SyncReport()
    assert await desk.shelf.offer(str(path)) == ""


async def test_approving_puts_it_in_force_and_retiring_leaves_the_file(
    desk: Desk, path: Path
) -> None:
    before = path.read_bytes(), path.stat().st_mtime_ns
    await approve(desk, path)
    assert ((await desk.only()).state, await given(desk)) == (SkillState.VALID, [NAME])
    assert (await ApprovedSkills(desk.office.ledger).read(AGENT, NAME)).content == path.read_text()

    decision = await desk.office.desk.retire(str(path), PERSON)
    assert decision.paths == ()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert await desk.shelf.sync() == SyncReport()
    assert ((await desk.only()).state, await given(desk)) == (SkillState.SHIPPED, [])

    await desk.office.desk.undo(PERSON)
    assert ((await desk.only()).state, await given(desk)) == (SkillState.VALID, [NAME])
    await desk.office.desk.undo(PERSON)
    row = await desk.only()
    assert (row.state, await given(desk)) == (SkillState.SHIPPED, [])
    item = await desk.office.queue.get(row.waiting)
    assert item is not None
    assert item.status is ApprovalStatus.PENDING
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


async def test_a_retired_one_can_be_approved_again(desk: Desk, path: Path) -> None:
    await approve(desk, path)
    await desk.office.desk.retire(str(path), PERSON)
    item_id = await desk.shelf.offer(str(path))
    assert await desk.shelf.sync() == SyncReport()
    await desk.office.approve(item_id)
    row = await desk.only()
    assert (row.state, row.version, await given(desk)) == (SkillState.VALID, 2, [NAME])


async def test_a_newer_version_waits_until_somebody_asks_and_agents_get_the_approved_text(
    desk: Desk, path: Path
) -> None:
    await approve(desk, path)
    approved = path.read_text()
    ship(desk.office.data_dir, "a newer version says so")
    assert await desk.shelf.sync() == SyncReport()
    row = await desk.only()
    assert (row.state, row.comes_up_on_request) == (SkillState.CHANGED, True)
    assert (await ApprovedSkills(desk.office.ledger).read(AGENT, NAME)).content == approved
    await approve(desk, path)
    assert ((await desk.only()).state, (await desk.only()).version) == (SkillState.VALID, 2)
    assert (await ApprovedSkills(desk.office.ledger).read(AGENT, NAME)).content == path.read_text()


async def test_nothing_is_written_over_it(desk: Desk, path: Path) -> None:
    await approve(desk, path)
    ship(desk.office.data_dir, "a newer version says so")
    newer = path.read_bytes()
    with pytest.raises(SkillPathError, match="never written"):
        await desk.office.desk.restore_file(str(path), PERSON)
    assert path.read_bytes() == newer


async def test_purging_its_memory_leaves_the_file(desk: Desk, path: Path) -> None:
    before = path.read_bytes()
    memory_id = await approve(desk, path)
    erased = await desk.office.parts.erasure.purge([memory_id], actor="person")
    assert (erased.removed, erased.left) == ((), ((str(path), NOT_OURS),))
    assert path.read_bytes() == before
    assert await desk.shelf.sync() == SyncReport()
    assert ((await desk.only()).state, await given(desk)) == (SkillState.SHIPPED, [])
