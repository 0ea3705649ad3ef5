"""Skills that change on disk come up for review once, and only what a person accepts counts."""

from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus, DecisionRefusedError
from synthorg_tui.curation import journal
from synthorg_tui.curation.disk_sync import SyncReport
from synthorg_tui.curation.models import FileChangeKind, FileChangePayload
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus
from synthorg_tui.curation.review import ReviewChangedError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.persistence.port import Connection
from tests.conftest import FixedClock
from tests.curation.review_kit import (
    OWN,
    PERSON,
    USER,
    Office,
    lesson,
    office,
    on_disk,
    write_skill_file,
)

NAME = "pushing-a-new-branch-needs-its-upstream-set"
DEPLOY = """---
name: deploy
description: Use when deploying to production.
---

Run `make deploy` and wait for the green light.
"""
EDITED = DEPLOY.replace("make deploy", "make release")


async def sync(desk: Office) -> SyncReport:
    return await desk.changes.sync()


async def only_change(desk: Office) -> tuple[str, FileChangePayload]:
    """The one file that waits for a decision."""
    (entry,) = await desk.desk.inbox()
    assert isinstance(entry.subject, FileChangePayload)
    return entry.item.id, entry.subject


async def accept(desk: Office) -> None:
    await sync(desk)
    item_id, _ = await only_change(desk)
    await desk.approve(item_id)


async def reject(desk: Office) -> None:
    await sync(desk)
    item_id, _ = await only_change(desk)
    shown = (await desk.desk.review(item_id)).shown
    await desk.desk.reject(item_id, shown=shown, reason="no", person=PERSON)


async def adopted(desk: Office) -> RegisteredSkill:
    """A lesson of ours, approved and on disk."""
    await desk.approve(await desk.propose(lesson()))
    (record,) = await desk.ledger.active()
    return record


async def test_a_new_file_becomes_a_shared_memory_once_it_is_approved(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        report = await sync(desk)
        item_id, change = await only_change(desk)
        assert await desk.memories() == ()
        review = await desk.desk.review(item_id)
        await desk.approve(item_id)
        (memory,) = await desk.memories()
        (record,) = await desk.ledger.active()
        history = await desk.ledger.versions(str(path))
    assert report.added == (item_id,)
    assert (change.change, change.path) == (FileChangeKind.NEW, str(path))
    assert (review.text, review.diff) == (DEPLOY, ())
    assert "make deploy" in memory.content
    assert "Use when deploying to production." in memory.content
    assert memory.source == "skill:deploy"
    assert (record.path, record.version) == (str(path), 1)
    assert [version.event.value for version in history] == ["accepted"]
    assert path.read_text() == DEPLOY


async def test_our_own_writes_are_no_changes(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await adopted(desk)
        assert await sync(desk) == SyncReport()


async def test_a_change_comes_up_once(tmp_path: Path) -> None:
    write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        assert len((await sync(desk)).added) == 1
        assert await sync(desk) == SyncReport()


async def test_an_edited_file_updates_its_memory(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        (before,) = await desk.memories()
        path.write_text(EDITED)
        await sync(desk)
        item_id, change = await only_change(desk)
        review = await desk.desk.review(item_id)
        await desk.approve(item_id)
        (memory,) = await desk.memories()
        (record,) = await desk.ledger.active()
    assert (change.change, change.version) == (FileChangeKind.EDITED, 1)
    assert "-Run `make deploy` and wait for the green light." in review.diff
    assert "+Run `make release` and wait for the green light." in review.diff
    assert [entry.id for entry in review.replaces] == [before.id]
    assert "make release" in memory.content
    assert (record.version, record.memory_ids) == (2, (memory.id,))


async def test_an_edit_of_our_file_keeps_what_the_lesson_stands_on(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        before = await adopted(desk)
        path = Path(before.path)
        path.write_text(path.read_text().replace("Push again", "Always push again"))
        await accept(desk)
        (record,) = await desk.ledger.active()
        (memory,) = await desk.memories()
    assert record.lesson_key == before.lesson_key
    assert record.evidence == before.evidence
    assert record.proposal.action.startswith("Always push again")
    assert memory.source == "failure:claude-code:one"
    assert memory.tags == ("non-inferable", "git")


async def test_a_rejected_edit_leaves_both_and_does_not_come_up_again(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        path.write_text(EDITED)
        await reject(desk)
        assert await sync(desk) == SyncReport()
        assert path.read_text() == EDITED
        assert "make deploy" in (await desk.memories())[0].content
        await desk.desk.restore_file(str(path), PERSON)
        assert path.read_text() == DEPLOY
        path.write_text(EDITED.replace("green", "blue"))
        assert len((await sync(desk)).added) == 1


async def test_a_deleted_file_retires_its_skill_once_it_is_approved(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        record = await adopted(desk)
        Path(record.path).unlink()
        await sync(desk)
        item_id, change = await only_change(desk)
        assert len(await desk.memories()) == 1
        review = await desk.desk.review(item_id)
        await desk.desk.approve(item_id, shown=review.shown, person=PERSON)
        assert await desk.memories() == ()
        gone = await desk.ledger.get(record.path)
    assert change.change is FileChangeKind.DELETED
    assert "-# Pushing a new branch needs its upstream set." in review.diff
    assert gone is not None
    assert gone.status is SkillStatus.RETIRED


async def test_a_deletion_that_is_rejected_can_be_written_back(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        record = await adopted(desk)
        ours = Path(record.path).read_bytes()
        Path(record.path).unlink()
        await reject(desk)
        await desk.desk.restore_file(record.path, PERSON)
        assert Path(record.path).read_bytes() == ours
        assert await sync(desk) == SyncReport()


async def test_what_is_no_difference_any_more_is_withdrawn(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        path.write_text(EDITED)
        (first,) = (await sync(desk)).added
        path.write_text(DEPLOY)
        assert await sync(desk) == SyncReport(withdrawn=(first,))
        assert await desk.desk.inbox() == ()
        path.write_text(EDITED)
        assert (await sync(desk)).added == (first,)
        assert len(await desk.desk.inbox()) == 1


async def test_a_further_edit_takes_the_place_of_the_one_that_waits(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        (first,) = (await sync(desk)).added
        path.write_text(EDITED)
        report = await sync(desk)
        _, change = await only_change(desk)
    assert report.withdrawn == (first,)
    assert change.text == EDITED


async def test_a_file_that_changes_behind_the_review_is_shown_anew(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        path.write_text(EDITED)
        await sync(desk)
        item_id, _ = await only_change(desk)
        shown = (await desk.desk.review(item_id)).shown
        path.write_text(EDITED.replace("green", "blue"))
        before = await desk.state()
        with pytest.raises(ReviewChangedError) as refused:
            await desk.desk.approve(item_id, shown=shown, person=PERSON)
        assert await desk.state() == before
    assert "+Run `make release` and wait for the blue light." in refused.value.review.diff


async def test_a_file_that_became_unusable_cannot_be_approved(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await sync(desk)
        item_id, _ = await only_change(desk)
        path.write_text("no front matter at all")
        review = await desk.desk.review(item_id)
        with pytest.raises(DecisionRefusedError, match="no valid skill"):
            await desk.desk.approve(item_id, shown=review.shown, person=PERSON)
    assert review.problem


async def test_files_edited_here_and_on_disk_are_a_conflict_with_both_texts(
    tmp_path: Path,
) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        (memory,) = await desk.memories()
        await desk.backend.admin.edit(memory.id, MemoryEdit(content="edited here"), actor="person")
        path.write_text(EDITED)
        await sync(desk)
        item_id, change = await only_change(desk)
        review = await desk.desk.review(item_id)
    assert change.change is FileChangeKind.CONFLICT
    assert (change.ours, change.text) == (DEPLOY, EDITED)
    assert [entry.content for entry in review.replaces] == ["edited here"]


async def test_a_file_that_appears_while_ours_is_written_stays_and_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_step = journal.write_step

    def overtaken(step: journal.FileStep, content: bytes | None) -> bool:
        write_skill_file(Path(step.root), step.name, DEPLOY.replace("deploy", NAME, 1))
        return write_step(step, content)

    async with office(tmp_path) as desk:
        item_id = await desk.propose(lesson())
        shown = (await desk.desk.review(item_id)).shown
        monkeypatch.setattr(journal, "write_step", overtaken)
        decision = await desk.desk.approve(item_id, shown=shown, person=PERSON)
        monkeypatch.undo()
        (path,) = decision.left_alone
        assert "make deploy" in Path(path).read_text()
        await sync(desk)
        _, change = await only_change(desk)
        assert change.change is FileChangeKind.CONFLICT
        assert "# Pushing a new branch" in change.ours
        await desk.desk.undo(PERSON)
    assert "make deploy" in Path(path).read_text()


async def test_shadowed_and_unusable_files_do_not_come_up(tmp_path: Path) -> None:
    write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    write_skill_file(tmp_path / OWN, "deploy", DEPLOY)
    write_skill_file(tmp_path / USER, "broken", "no front matter")
    async with office(tmp_path) as desk:
        assert len((await sync(desk)).added) == 1
        _, change = await only_change(desk)
    assert Path(change.path).is_relative_to(tmp_path / USER)


async def test_a_retired_skill_whose_file_comes_back_is_new(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        record = await adopted(desk)
        content = Path(record.path).read_text()
        await desk.desk.retire(record.path, PERSON)
        assert await sync(desk) == SyncReport()
        write_skill_file(tmp_path / OWN, NAME, content)
        await sync(desk)
        _, change = await only_change(desk)
        assert change.change is FileChangeKind.NEW
        await accept_first(desk)
        (again,) = await desk.ledger.active()
    assert (again.version, again.agent_id) == (2, "ada")


async def accept_first(desk: Office) -> None:
    item_id, _ = await only_change(desk)
    await desk.approve(item_id)


async def test_undoing_an_accepted_edit_puts_it_up_for_review_again(tmp_path: Path) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path) as desk:
        await accept(desk)
        path.write_text(EDITED)
        await sync(desk)
        before = await desk.state()
        await accept_first(desk)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before
        assert await sync(desk) == SyncReport()


async def test_secrets_in_a_file_reach_neither_memory_nor_queue(tmp_path: Path) -> None:
    token = "ghp_" + "a1" * 18
    path = write_skill_file(tmp_path / USER, "deploy", DEPLOY + f"\nUse {token}.\n")
    async with office(tmp_path) as desk:
        await sync(desk)
        item_id, _ = await only_change(desk)
        review = await desk.desk.review(item_id)
        await desk.approve(item_id)
        (memory,) = await desk.memories()
        (entry,) = await desk.desk.inbox(status=ApprovalStatus.APPROVED)
    assert [flag.kind.value for flag in review.flags] == ["secret"]
    assert token not in memory.content
    assert token not in entry.item.payload
    assert token in path.read_text()


async def test_an_item_nobody_looked_at_in_time_comes_up_again(
    tmp_path: Path, clock: FixedClock
) -> None:
    write_skill_file(tmp_path / USER, "deploy", DEPLOY)
    async with office(tmp_path, clock=clock) as desk:
        (first,) = (await sync(desk)).added
        item = await desk.queue.get(first)
        assert item is not None
        expired = item.model_copy(update={"status": ApprovalStatus.EXPIRED})
        await desk.queue.save(expired)
        assert (await sync(desk)).added == (first,)
    assert list(on_disk(tmp_path)) == [f"{USER}/deploy/SKILL.md"]


async def test_a_skill_that_was_approved_without_name_and_check_does_not_look_edited(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        old = record.proposal.model_dump_json(exclude={"name", "check"})

        def as_before(db: Connection) -> None:
            db.execute("UPDATE skills SET proposal = ?", [old])

        await desk.ledger.change(as_before)
        (memory,) = await desk.memories()
        assert "[CHECK]" not in memory.content
        assert await sync(desk) == SyncReport()
        assert await desk.changes.reworded(await desk.ledger.active()) == frozenset()
