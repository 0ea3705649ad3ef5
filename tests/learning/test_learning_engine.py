"""The desks of Approvals and Skills over the real engine: on disk, in the store, and back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.person import Person
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.tui.approvals.ports import StaleReview
from synthorg_tui.tui.engine_adapter import EngineAdapter, LocalEngineHost
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
        assert (row.id, row.kind, row.status) == (item_id, "lesson", "pending")
        assert row.confidence == said.proposal.confidence
        assert row.recurrence == said.recurrence
        sheet = await desk.approvals.review(item_id)
        assert sheet.proposed is not None
        assert sheet.proposed.discovery == said.proposal.discovery
        assert [each.source for each in sheet.occurrences] == [e.lines for e in said.evidence]
        assert [event.kind for event in sheet.trail] == ["added"]
        done = await desk.approvals.approve(item_id, sheet.shown)
        assert sheet.path in done
        assert Path(sheet.path).read_text("utf-8") == sheet.text
        assert await desk.approvals.pending() == 0
        (skill_row,) = (await desk.skills.shelf()).rows
        assert (skill_row.path, skill_row.state) == (sheet.path, "valid")
        skill = await desk.skills.skill(sheet.path)
        assert skill.text == sheet.text
        assert len(skill.versions) == 1
        assert [each.source for each in skill.taught_by] == [e.lines for e in said.evidence]
        assert (await desk.approvals.inbox("approved"))[0].decided_by == str(Person("tui"))
        assert said.proposal.discovery in (await desk.approvals.undo() or "")
        assert not Path(sheet.path).exists()
        assert await desk.approvals.pending() == 1
        assert await desk.approvals.undo() is None


async def test_a_persons_wording_is_what_is_kept_with_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        assert sheet.proposed is not None
        mine = replace(sheet.proposed, action="Push with -u the first time.")
        await desk.approvals.approve(item_id, sheet.shown, mine)
        assert "Push with -u the first time." in Path(sheet.path).read_text("utf-8")
        decided = await desk.approvals.review(item_id)
        assert decided.author("action") == Author.PERSON.value


async def test_a_wording_that_is_too_long_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        assert sheet.proposed is not None
        long = replace(sheet.proposed, discovery="x" * 601)
        with pytest.raises(DomainError, match="discovery"):
            await desk.approvals.approve(item_id, sheet.shown, long)
        assert await desk.approvals.pending() == 1


async def test_what_changed_since_it_was_shown_is_refused_and_comes_back_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        sheet = await desk.approvals.review(item_id)
        Path(sheet.path).parent.mkdir(parents=True)
        Path(sheet.path).write_text("somebody was here", encoding="utf-8")
        with pytest.raises(StaleReview) as caught:
            await desk.approvals.approve(item_id, sheet.shown)
        assert caught.value.sheet.shown != sheet.shown
        with pytest.raises(StaleReview):
            await desk.approvals.reject(item_id, sheet.shown, "no")
        bulk = await desk.approvals.approve_many([(item_id, sheet.shown)])
        assert bulk.approved == 0
        assert [each for each, _ in bulk.refused] == [item_id]
        await desk.approvals.reject(item_id, caught.value.sheet.shown, "not ours")
        assert (await desk.approvals.inbox("rejected"))[0].reason == "not ours"


async def test_snoozed_items_do_not_count_and_wake_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_on(tmp_path, monkeypatch) as desk:
        item_id = await propose(desk, lesson())
        await desk.approvals.snooze(item_id, datetime.now(UTC) + timedelta(hours=1))
        assert await desk.approvals.pending() == 0
        assert (await desk.approvals.inbox())[0].snoozed_until is not None
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
        (row,) = (await desk.skills.shelf()).rows
        assert (row.state, row.waiting != "") == ("changed", True)
        change = await desk.approvals.review(row.waiting)
        assert change.row.kind == "file_change"
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
        desk.skills.watch(told.put_nowait)
        desk.skills.watch(told.put_nowait)
        await asyncio.sleep(0.3)
        Path(sheet.path).write_text(sheet.text + "\nOne more line.\n", encoding="utf-8")
        async with asyncio.timeout(PATIENCE):
            assert await told.get() == 1
