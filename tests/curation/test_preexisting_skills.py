"""What lay in a root of skills before us is taken note of, and reviewed when somebody asks."""

from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.curation.disk_sync import SyncReport
from synthorg_tui.curation.models import FileChangePayload
from tests.curation.review_kit import OWN, PERSON, USER, Office, lesson, office, write_skill_file
from tests.tables import rows

TEXT = "---\nname: {name}\ndescription: Use when asked to {name}.\n---\n\nDo it.\n"


def put(folder: Path, *names: str) -> list[Path]:
    return [write_skill_file(folder, name, TEXT.format(name=name)) for name in names]


async def waiting(desk: Office) -> list[str]:
    """The files that wait for a decision."""
    subjects = [entry.subject for entry in await desk.desk.inbox()]
    return [each.path for each in subjects if isinstance(each, FileChangePayload)]


async def test_what_is_there_at_first_sight_does_not_come_up(tmp_path: Path) -> None:
    put(tmp_path / USER, "deploy", "release", "test")
    async with office(tmp_path, knows_roots=False) as desk:
        assert await desk.changes.sync() == SyncReport(found=3)
        assert await desk.changes.sync() == SyncReport()
        assert await desk.desk.inbox() == ()
        assert await desk.memories() == ()


async def test_it_is_still_known_after_a_restart(tmp_path: Path) -> None:
    put(tmp_path / USER, "deploy")
    async with office(tmp_path, knows_roots=False) as desk:
        await desk.changes.sync()
    async with office(tmp_path, knows_roots=False) as desk:
        assert await desk.changes.sync() == SyncReport()


async def test_what_appears_later_comes_up(tmp_path: Path) -> None:
    put(tmp_path / USER, "deploy")
    async with office(tmp_path, knows_roots=False) as desk:
        await desk.changes.sync()
        (path,) = put(tmp_path / USER, "release")
        assert len((await desk.changes.sync()).added) == 1
        assert await waiting(desk) == [str(path)]


@rows("root", [USER, OWN])
async def test_a_root_that_was_not_there_yet_was_empty(tmp_path: Path, root: str) -> None:
    async with office(tmp_path, knows_roots=False) as desk:
        assert await desk.changes.sync() == SyncReport()
        put(tmp_path / root, "deploy")
        assert len((await desk.changes.sync()).added) == 1


async def test_a_root_that_cannot_be_read_has_not_been_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.skills import disk

    put(tmp_path / USER, "deploy")
    async with office(tmp_path, knows_roots=False) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(disk, "skill_folders", _refuse)
            assert await desk.changes.sync() == SyncReport()
        assert await desk.changes.sync() == SyncReport(found=1)


def _refuse(_descriptor: int) -> None:
    raise PermissionError(13, "Permission denied")


async def test_what_was_found_comes_up_when_it_changes_and_not_when_it_changes_back(
    tmp_path: Path,
) -> None:
    (path,) = put(tmp_path / USER, "deploy")
    before = path.read_text()
    async with office(tmp_path, knows_roots=False) as desk:
        await desk.changes.sync()
        path.write_text(before + "And tell.\n")
        (item_id,) = (await desk.changes.sync()).added
        path.write_text(before)
        assert await desk.changes.sync() == SyncReport(withdrawn=(item_id,))
        path.unlink()
        await desk.changes.sync()
        put(tmp_path / USER, "deploy")
        assert await desk.changes.sync() == SyncReport()


async def test_what_was_found_is_reviewed_when_somebody_asks(tmp_path: Path) -> None:
    first, _ = put(tmp_path / USER, "deploy", "release")
    async with office(tmp_path, knows_roots=False) as desk:
        await desk.changes.sync()
        item_id = await desk.changes.offer(str(first))
        assert await waiting(desk) == [str(first)]
        assert await desk.changes.offer(str(first)) == item_id
        assert await desk.changes.sync() == SyncReport()
        await desk.approve(item_id)
        assert [record.path for record in await desk.ledger.active()] == [str(first)]


async def test_what_was_asked_for_and_rejected_stays_decided(tmp_path: Path) -> None:
    (path,) = put(tmp_path / USER, "deploy")
    async with office(tmp_path, knows_roots=False) as desk:
        await desk.changes.sync()
        item_id = await desk.changes.offer(str(path))
        shown = (await desk.desk.review(item_id)).shown
        await desk.desk.reject(item_id, shown=shown, reason="no", person=PERSON)
        assert await desk.changes.sync() == SyncReport()
        assert await desk.changes.offer(str(path)) == ""


async def test_there_is_nothing_to_offer_of_what_counts_or_is_nowhere(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        assert await desk.changes.offer(record.path) == ""
        assert await desk.changes.offer("/nowhere/SKILL.md") == ""


async def test_what_came_up_before_roots_were_taken_note_of_stays_up(tmp_path: Path) -> None:
    """A store of an earlier version: its items are left alone."""
    put(tmp_path / USER, "deploy")
    async with office(tmp_path) as desk:
        (item_id,) = (await desk.changes.sync()).added
        database = desk.backend.core.database
        await database.write(lambda db: db.execute("DELETE FROM skill_roots"))
        assert await desk.changes.sync() == SyncReport()
        item = await desk.queue.get(item_id)
    assert item is not None
    assert item.status is ApprovalStatus.PENDING
