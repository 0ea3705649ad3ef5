"""The desks of Approvals and Skills over the real engine: on disk, in the store, and back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.approvals.person import Person
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.curation.review import ReviewChangedError, SubjectKind
from synthorg_tui.skills.watcher import SkillWatcher
from synthorg_tui.tui.approvals.wording import Wording, approvable
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.curation.review_kit import item_of, lesson
from tests.patience import PATIENCE


@asynccontextmanager
async def desk_on(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EngineAdapter]:
    monkeypatch.setenv("HOME", str(data_dir / "home"))
    host = LocalEngineHost(data_dir=data_dir)
    try:
        yield await host.open()
    finally:
        await host.close()


async def propose(desk: EngineAdapter, said: Lesson) -> str:
    item = item_of(said)
    await desk._engine.approvals.add(item)
    return item.id


async def test_a_lesson_is_listed_reviewed_approved_found_as_a_skill_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        said = lesson()
        item_id = await propose(desk, said)
        assert await desk.approvals.pending() == 1
        (row,) = await desk.approvals.inbox()
        assert (row.item.id, row.kind) == (item_id, SubjectKind.LESSON)
        assert row.item.status is ApprovalStatus.PENDING
        assert await desk.approvals.flag_counts([row]) == {item_id: 0}
        assert row.confidence == said.proposal.confidence
        assert row.recurrence == said.recurrence
        sheet = await desk.approvals.review(item_id)
        assert sheet.entry.fields["discovery"].text == said.proposal.discovery
        assert sheet.entry.evidence == said.evidence
        assert [event.kind for event in await desk.approvals.trail(item_id)] == ["added"]
        done = await desk.approvals.approve(item_id, sheet.shown)
        assert done.paths == (sheet.path,)
        assert Path(sheet.path).read_text("utf-8") == sheet.text
        assert await desk.approvals.pending() == 0
        skill_row, *shipped = (await desk.skills.overview()).rows
        assert (skill_row.path, skill_row.state) == (sheet.path, "valid")
        assert {row.state for row in shipped} == {"shipped"}
        skill = await desk.skills.skill(sheet.path)
        assert skill.text == sheet.text
        assert len(skill.versions) == 1
        assert skill.evidence == said.evidence
        assert (await desk.approvals.inbox("approved"))[0].item.decided_by == str(Person("tui"))
        undone = await desk.approvals.undo()
        assert undone is not None
        assert said.proposal.discovery in undone.title
        assert not Path(sheet.path).exists()
        assert await desk.approvals.pending() == 1
        assert await desk.approvals.undo() is None


async def test_a_persons_wording_is_what_is_kept_with_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        subject = sheet.entry.subject
        assert isinstance(subject, Lesson)
        mine = replace(Wording.of(subject.proposal), action="Push with -u the first time.")
        await desk.approvals.approve(item_id, sheet.shown, *approvable(subject, mine))
        assert "Push with -u the first time." in Path(sheet.path).read_text("utf-8")
        decided = await desk.approvals.review(item_id)
        assert decided.entry.fields["action"].author is Author.PERSON


async def test_what_changed_since_it_was_shown_is_refused_and_comes_back_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        Path(sheet.path).parent.mkdir(parents=True)
        Path(sheet.path).write_text("somebody was here", encoding="utf-8")
        with pytest.raises(ReviewChangedError) as caught:
            await desk.approvals.approve(item_id, sheet.shown)
        assert caught.value.review.shown != sheet.shown
        with pytest.raises(ReviewChangedError):
            await desk.approvals.reject(item_id, sheet.shown, "no")
        bulk = await desk.approvals.approve_many([(item_id, sheet.shown)])
        assert bulk.decisions == ()
        assert [review.item.id for review in bulk.stale] == [item_id]
        await desk.approvals.reject(item_id, caught.value.review.shown, "not ours")
        assert (await desk.approvals.inbox("rejected"))[0].item.decision_reason == "not ours"


async def test_snoozed_items_do_not_count_and_wake_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        await desk.approvals.snooze(item_id, datetime.now(UTC) + timedelta(hours=1))
        assert await desk.approvals.pending() == 0
        assert (await desk.approvals.inbox())[0].item.snoozed_until is not None
        await desk.approvals.snooze(item_id, None)
        assert await desk.approvals.pending() == 1


async def test_an_edit_on_disk_waits_for_review_and_ours_can_be_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        await desk.approvals.approve(item_id, sheet.shown)
        path = Path(sheet.path)
        path.write_text(sheet.text.replace("## Action", "## Action\n\nFirst of all:"), "utf-8")
        assert await desk.skills.sync() == 1
        row, *shipped = (await desk.skills.overview()).rows
        assert (row.state, row.waiting != "") == ("changed", True)
        assert not any(row.waiting for row in shipped)
        change = await desk.approvals.review(row.waiting)
        assert change.entry.kind is SubjectKind.FILE_CHANGE
        assert any("First of all" in each for each in change.diff)
        await desk.skills.restore(sheet.path)
        assert path.read_text("utf-8") == sheet.text
        await desk.skills.retire(sheet.path)
        assert not path.exists()
        assert await desk.skills.undo()
        assert path.read_text("utf-8") == sheet.text


async def test_the_folders_are_watched_until_the_store_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        await desk.approvals.approve(item_id, sheet.shown)
        told: asyncio.Queue[int] = asyncio.Queue()
        begun, changes = asyncio.Event(), SkillWatcher.changes

        def noted(*args: Any, **given: Any) -> Any:
            begun.set()
            return changes(*args, **given)

        monkeypatch.setattr(SkillWatcher, "changes", noted)
        desk.skills.watch(told.put_nowait)
        desk.skills.watch(told.put_nowait)
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
        Path(sheet.path).write_text(sheet.text + "\nOne more line.\n", encoding="utf-8")
        async with asyncio.timeout(PATIENCE):
            assert await told.get() == 1
