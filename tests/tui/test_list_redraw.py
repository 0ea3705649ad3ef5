"""Lists draw what changed, lay nothing else out, and show what drawing everything would."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from synthorg_tui.memory.listing import SortOrder
from synthorg_tui.tui.base.window import RowWindow
from synthorg_tui.tui.widgets.rows import MemoryList
from tests.tui.digest.test_digest_redraw import redrawn, rows_drawn, shown
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

SIZES = [(80, 24), (120, 40)]


def window(first: int, count: int) -> RowWindow:
    """So many memories, the newest of them being the one with this number."""
    made = [replace(row, id=f"id-{at}") for at, row in enumerate(rows(400))]
    return RowWindow(tuple(made[first : first + count]), 0, count)


async def listed(
    pilot: Pilot[None], first: int, count: int, order: SortOrder | None = "newest"
) -> MemoryList:
    await settle(pilot)
    memories = pilot.app.screen.query_one(MemoryList)
    memories.show(window(first, count), order=order)
    await settle(pilot)
    return memories


async def laid_out(pilot: Pilot[None], act: Callable[[], None]) -> int:
    """How often the screen is laid out because of an act."""
    await settle(pilot)
    told: list[object] = []
    screen = pilot.app.screen
    screen.screen_layout_refresh_signal.subscribe(screen, told.append)
    act()
    await settle(pilot)
    screen.screen_layout_refresh_signal.unsubscribe(screen)
    return len(told)


@pytest.mark.parametrize("order", [None, "newest"])
async def test_a_new_memory_lays_nothing_out_again(order: SortOrder | None) -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        memories = await listed(pilot, 10, 60, order)
        assert await laid_out(pilot, lambda: memories.renew(window(9, 61))) == 0
        assert memories.virtual_size.height == 61 or order is not None


async def test_a_scrollbar_that_comes_or_goes_does() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        memories = await listed(pilot, 10, 5)
        assert not memories.show_vertical_scrollbar
        assert await laid_out(pilot, lambda: memories.renew(window(10, 60))) > 0
        assert memories.show_vertical_scrollbar
        assert shown(pilot) == await redrawn(pilot)


async def test_the_same_memories_read_again_are_not_drawn_again() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        memories = await listed(pilot, 10, 60)
        assert await rows_drawn(pilot, memories, lambda: memories.renew(window(10, 60))) == set()


async def test_of_memories_only_the_one_that_changed_is_drawn() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        memories = await listed(pilot, 10, 60)
        changed = list(window(10, 60).rows)
        changed[3] = replace(changed[3], content="Something else")
        now = RowWindow(tuple(changed), 0, 60)
        lines = set(range(memories.top_of(3), memories.top_of(4)))
        assert await rows_drawn(pilot, memories, lambda: memories.renew(now)) == lines


async def test_a_move_of_the_cursor_draws_the_rows_it_leaves_and_reaches() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        memories = await listed(pilot, 10, 60, order=None)
        assert await rows_drawn(pilot, memories, memories.action_down) == {0, 1}


@pytest.mark.parametrize("size", SIZES)
async def test_what_comes_goes_and_moves_is_shown_as_if_all_were_drawn(
    size: tuple[int, int],
) -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=size) as pilot:
        memories = await listed(pilot, 20, 60)
        steps: tuple[Callable[[], None], ...] = (
            lambda: memories.renew(window(17, 63)),
            memories.action_half_down,
            memories.action_last,
            lambda: memories.renew(window(10, 70)),
            lambda: memories.renew(window(12, 3)),
            lambda: memories.renew(window(12, 0)),
            lambda: memories.renew(window(12, 90)),
            lambda: memories.show(window(12, 90), order="newest", asked="git push"),
            lambda: memories.show(window(5, 20), order="agent"),
        )
        for number, step in enumerate(steps):
            step()
            await settle(pilot)
            assert shown(pilot) == await redrawn(pilot), number
