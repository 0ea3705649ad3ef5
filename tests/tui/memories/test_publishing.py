"""Publishing to all agents, and withdrawing, in the Memories pane."""

from dataclasses import replace

from synthorg_tui.tui.memories.detail import detail_lines
from tests.tui.memories.test_archived import opened
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text


async def test_a_memory_is_published_listed_as_shared_and_withdrawn() -> None:
    desk = FakeDesk(rows(6))
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "at")
        assert "Published 1 memory to all agents" in toasts(app)
        await opened(pilot, "slash")
        await type_text(pilot, "is:shared")
        await pilot.press("enter")
        await settle(pilot)
        assert "1 of 1" in screen_text(app)
        assert "@ shared with all" in screen_text(app)
        await opened(pilot, "at")
        assert "Withdrew 1 memory" in toasts(app)
    assert not any(row.shared for row in desk.live.values())


async def test_marked_ones_are_published_together_and_what_is_shared_stays_so() -> None:
    desk = FakeDesk([*rows(3), replace(rows(4)[3], shared=True)])
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "asterisk", "at")
        assert "Published 3 memories to all agents" in toasts(app)
    assert sum(row.shared for row in desk.live.values()) == 4


async def test_an_archived_memory_is_not_published() -> None:
    desk = FakeDesk(rows(2))
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        await opened(pilot, "x", "slash")
        await type_text(pilot, "is:archived")
        await pilot.press("enter")
        await settle(pilot)
        app = await opened(pilot, "at")
        assert "given to nobody" in toasts(app)
    assert not any(row.shared for row in desk.live.values())


def test_the_detail_tells_a_shared_memory_from_one_that_is_its_agents_alone() -> None:
    (row,) = rows(1)
    for shared in (True, False):
        lines = detail_lines(replace(row, shared=shared), (), now=NOW)
        assert ("@ shared with all" in lines[0].plain) is shared
