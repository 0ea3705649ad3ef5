"""What is deleted: previewed, filtered, marked, restored and erased together."""

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.memories.deleted import AT_ONCE, DeletedScreen
from synthorg_tui.tui.memories.screen import MemoriesScreen
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text, until

Size = tuple[int, int]


async def desk_without(count: int) -> FakeDesk:
    """A desk with six memories left and ``count`` deleted ones."""
    desk = FakeDesk(rows(count + 6))
    await desk.remove([row.id for row in rows(count)])
    return desk


async def opened(pilot: Pilot[None], *keys: str) -> MemoryDeskApp:
    """Open the deleted memories, then press keys."""
    app = pilot.app
    assert isinstance(app, MemoryDeskApp)
    await settle(pilot)
    for key in ("U", *keys):
        await pilot.press(key)
        await settle(pilot)
    return app


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_text_of_the_memory_under_the_cursor_is_shown(size: Size) -> None:
    async with fake_app(await desk_without(3)).run_test(size=size) as pilot:
        app = await opened(pilot)
        assert "The failing call was" in screen_text(app)
        await pilot.press("j")
        await settle(pilot)
        assert "The failing call was" not in screen_text(app)
        assert "2 of 3" in screen_text(app)


async def test_the_filter_narrows_what_is_listed_and_escape_clears_it_first() -> None:
    desk = await desk_without(12)
    async with fake_app(desk).run_test() as pilot:
        app = await opened(pilot, "slash")
        await type_text(pilot, "cat:proc git")
        await pilot.press("enter")
        await settle(pilot)
        assert "1 of 2" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, DeletedScreen)
        assert "of 12" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)


async def test_keys_of_the_list_are_text_while_the_filter_is_written() -> None:
    desk = await desk_without(3)
    async with fake_app(desk).run_test() as pilot:
        await opened(pilot, "slash", "u", "X", "asterisk")
        assert len(desk.gone) == 3
        assert not isinstance(pilot.app.screen, ConfirmDialog)


async def test_marked_memories_are_restored_together() -> None:
    desk = await desk_without(5)
    async with fake_app(desk).run_test() as pilot:
        app = await opened(pilot, "space", "space", "u")
        assert set(desk.gone) == {f"mem-0000{at}" for at in (2, 3, 4)}
        assert toasts(app) == "Restored 2 memories"
        assert "marked" not in screen_text(app)


async def test_a_range_and_all_are_marked_as_in_memories() -> None:
    async with fake_app(await desk_without(700)).run_test() as pilot:
        app = await opened(pilot, "V", "j", "j", "V")
        assert "3 marked" in screen_text(app)
        await pilot.press("asterisk")
        await settle(pilot)
        assert "700 marked" in screen_text(app)


async def test_several_are_erased_with_one_question_that_tells_what_goes_too() -> None:
    desk = await desk_without(6)
    desk.erased_with = ("Skill set-upstream goes", "A backup keeps it: old.duckdb")
    async with fake_app(desk).run_test() as pilot:
        app = await opened(pilot, "asterisk", "X")
        shown = screen_text(app)
        assert "Erase 6 memories for good?" in shown
        assert "and 3 more" in shown
        assert "Skill set-upstream goes" in shown
        assert "A backup keeps it: old.duckdb" in shown
        await pilot.press("y")
        await settle(pilot)
        assert not desk.gone
        assert isinstance(app.screen, DeletedScreen)
        assert toasts(app) == "Erased 6 memories"


async def test_effects_that_there_is_no_room_for_are_counted() -> None:
    desk = await desk_without(2)
    desk.erased_with = tuple(f"Skill number-{at} goes" for at in range(5))
    async with fake_app(desk).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "asterisk", "X")
        assert "and 2 more such effects" in screen_text(app)


async def test_marks_that_the_filter_hides_are_left_alone() -> None:
    desk = await desk_without(6)
    async with fake_app(desk).run_test() as pilot:
        await opened(pilot, "asterisk", "slash")
        await type_text(pilot, "cat:proc")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("X")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert len(desk.gone) == 5


def restored(desk: FakeDesk, count: int) -> Callable[[], bool]:
    return lambda: len(desk.live) == count + 6


async def test_restoring_many_shows_how_far_it_is_and_can_be_stopped() -> None:
    total = 3 * AT_ONCE
    desk = await desk_without(total)
    async with fake_app(desk).run_test() as pilot:
        app = await opened(pilot, "asterisk")
        desk.restore_gate = asyncio.Event()
        await pilot.press("u")
        assert f"Restoring 0 of {total}" in screen_text(app)
        desk.restore_gate.set()
        await until(pilot, lambda: f"Restoring {AT_ONCE} of {total}" in screen_text(app))
        await pilot.press("escape")
        assert isinstance(app.screen, DeletedScreen)
        await pilot.press("c")
        desk.restore_gate.set()
        await settle(pilot)
        assert restored(desk, 2 * AT_ONCE)()
        assert f"Stopped: restored {2 * AT_ONCE} of {total} memories" in toasts(app)
        assert "Restoring" not in screen_text(app)


async def test_restoring_to_the_end_restores_every_portion() -> None:
    total = 2 * AT_ONCE + 1
    desk = await desk_without(total)
    async with fake_app(desk).run_test() as pilot:
        app = await opened(pilot, "asterisk", "u")
        assert restored(desk, total)()
        assert toasts(app) == f"Restored {total} memories"
        assert "Nothing is deleted." in screen_text(app)
