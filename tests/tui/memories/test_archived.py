"""The archive in the Memories pane: listed, said in words, filled and emptied by keys."""

from dataclasses import replace
from datetime import timedelta

import pytest
from textual.pilot import Pilot

from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.listing import ChangeKind, ListedMemory, MemoryRevision
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.memories.detail import detail_lines
from synthorg_tui.tui.memories.screen import MemoriesScreen
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until


def archived(row: ListedMemory, why: ArchiveReason, days: int = 3) -> ListedMemory:
    return replace(row, archived_at=NOW - timedelta(days=days), archived_why=why.value)


def desk_with_archive(live: int = 4) -> FakeDesk:
    """A desk with one archived memory for each reason, and ``live`` others."""
    made = rows(live + len(ArchiveReason))
    kept, gone = made[:live], made[live:]
    desk = FakeDesk(kept)
    for day, (row, why) in enumerate(zip(gone, ArchiveReason, strict=True), start=1):
        desk.live[row.id] = archived(row, why, day)
        if kept and why in (ArchiveReason.DUPLICATE, ArchiveReason.CONSOLIDATED):
            desk.standing[row.id] = kept[0]
        told = {"archived_at": "2026-03-11T15:09:00", "archived_why": why.value}
        desk.revisions[row.id] = [
            MemoryRevision(2, row.id, NOW, "retention", ChangeKind.ARCHIVED, {}, dict(told))
        ]
    return desk


async def opened(pilot: Pilot[None], *keys: str) -> MemoryDeskApp:
    app = pilot.app
    assert isinstance(app, MemoryDeskApp)
    await settle(pilot)
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    return app


async def list_archive(pilot: Pilot[None]) -> None:
    await pilot.press("slash", *"is", "colon", *"archived", "enter")
    await settle(pilot)


def compare(snap_compare: Compare, size: Size, desk: FakeDesk, *keys: str) -> bool:
    app = fake_app(desk)
    app.set_reactive(MemoryDeskApp.app_focus, True)

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await list_archive(pilot)
        await opened(pilot, *keys)

    return snap_compare(app, terminal_size=size, run_before=before)


def test_the_archive(snap_compare: Compare) -> None:
    """'4 memories, 6 archived' in the header; each row with 'arch.', its reason and since when;
    '1 of 6 · 6 of 6 match'; of the first what it is a duplicate of, and how it comes back."""
    assert compare(snap_compare, SIZES, desk_with_archive())


@EACH_SIZE
def test_a_merged_one_with_the_groups(snap_compare: Compare, size: Size) -> None:
    """The group Archive with 'archived 6' chosen, beside or instead of the list."""
    assert compare(snap_compare, size, desk_with_archive(), "j", "t")


def test_nothing_is_archived(snap_compare: Compare) -> None:
    """That nothing is archived, and what would be."""
    assert compare(snap_compare, SIZES, FakeDesk(rows(4)))


async def test_a_live_memory_is_archived_undone_and_archived_again() -> None:
    desk = FakeDesk(rows(6))
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "x")
        assert "Archived 1 memory" in toasts(app)
        assert "is:archived in the filter lists them" in toasts(app)
        assert "5 memories · 1 archived" in screen_text(app)
        assert "1 of 5 · newest · is:archived lists 1" in screen_text(app)
        await opened(pilot, "u")
        assert "Undone: archiving" in toasts(app)
        assert "6 memories ·" in screen_text(app)
        await opened(pilot, "ctrl+r")
        assert desk.live["mem-00000"].archived_at == NOW


async def test_marked_ones_are_archived_and_restored_together() -> None:
    desk = FakeDesk(rows(6))
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "space", "space", "x")
        assert "Archived 2 memories" in toasts(app)
        await list_archive(pilot)
        await until(pilot, lambda: "1 of 2 · 2 of 2 match" in screen_text(app))
        await opened(pilot, "asterisk", "R")
        assert "Restored 2 memories" in toasts(app)
        assert all(row.archived_at is None for row in desk.live.values())


async def test_keys_that_have_nothing_to_do_say_why() -> None:
    async with fake_app(desk_with_archive()).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "R")
        assert "It is live: x archives it" in toasts(app)
        await list_archive(pilot)
        await opened(pilot, "x")
        assert "It is archived already: R makes it live again" in toasts(app)
        await opened(pilot, "e")
        assert "It is archived: R makes it live, then edit it" in toasts(app)
        assert isinstance(app.screen, MemoriesScreen)


async def test_an_archived_memory_can_be_deleted() -> None:
    desk = desk_with_archive()
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await list_archive(pilot)
        app = await opened(pilot, "d")
        assert isinstance(app.screen, ConfirmDialog)
        await opened(pilot, "y")
        assert len(desk.gone) == 1


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (ArchiveReason.DUPLICATE, "a duplicate"),
        (ArchiveReason.SUPERSEDED, "superseded by a newer one"),
        (ArchiveReason.CONSOLIDATED, "merged into one text with others"),
        (ArchiveReason.EXPIRED, "its time was over"),
        (ArchiveReason.ROOM, "room was made for others"),
        (ArchiveReason.BY_HAND, "by hand"),
    ],
)
def test_the_detail_says_since_when_and_why(why: ArchiveReason, words: str) -> None:
    shown = plain(detail_lines(archived(rows(1)[0], why), (), now=NOW))
    assert f"because    {words}" in shown
    assert "on         2026-03-11 15:09 · 3d ago" in shown
    assert "R makes it live again; until then no agent is given it" in shown


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (ArchiveReason.DUPLICATE, "duplicate of “Pushing a branch"),
        (ArchiveReason.SUPERSEDED, "superseded by “Pushing a branch"),
        (ArchiveReason.CONSOLIDATED, "merged into “Pushing a branch"),
        (ArchiveReason.ROOM, "room was made for others"),
    ],
)
def test_what_stands_for_it_is_named(why: ArchiveReason, words: str) -> None:
    row, stands = rows(2)
    shown = plain(detail_lines(archived(row, why), (), now=NOW, stands=stands))
    assert f"because    {words}" in shown


def test_a_live_memory_has_no_word_of_the_archive() -> None:
    assert "rchive" not in plain(detail_lines(rows(1)[0], (), now=NOW))


def test_the_history_says_why_it_was_archived() -> None:
    told = {"archived_at": "2026-03-11T15:09:00", "archived_why": "room"}
    change = MemoryRevision(2, "m", NOW, "retention", ChangeKind.ARCHIVED, {}, dict(told))
    shown = plain(detail_lines(rows(1)[0], (change,), now=NOW))
    assert "▾ archived by the rules of retention, room  now" in shown


async def test_without_live_memories_the_archive_is_named_and_no_first_run_is_shown() -> None:
    async with fake_app(desk_with_archive(live=0)).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        assert "Every memory is archived" in screen_text(app)
        assert "is:archived lists them" in screen_text(app)


async def test_a_memory_shown_from_elsewhere_is_found_in_the_archive() -> None:
    desk = desk_with_archive()
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        app.screen.show_memory(desk.live["mem-00006"])
        await settle(pilot)
        assert "merged into" in screen_text(app)
        assert "Archived ─" in screen_text(app)
        assert "3 of 6" in screen_text(app)
