"""A click on a list goes to the row under the pointer, as does what the pointer hovers over."""

import re
from collections.abc import Awaitable, Callable

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.memories.welcome import WelcomeScreen
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList
from tests.tui.activity.activity_fakes import AGENTS, FakeActivity, calls
from tests.tui.approvals.approvals_fakes import FakeApprovals, approval_rows
from tests.tui.organisation.organisation_fakes import FakeOrganisation, many
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, in_sessions, rows
from tests.tui.tui_helpers import pane, screen_text, settle, type_text

WIDE, NARROW = (120, 40), (80, 24)


def full_desk() -> FakeDesk:
    """More of everything than a screen has rows for."""
    desk = FakeDesk(rows(200))
    desk.gone = {row.id: row for row in rows(300)[200:]}
    desk.activity = FakeActivity(calls(80), AGENTS)
    desk.skills = FakeSkills(skill_rows(60))
    desk.approvals = FakeApprovals(approval_rows(60))
    desk.organisation = FakeOrganisation(many(60))
    return desk


def keys(*pressed: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Come to a list by these keys."""

    async def press(pilot: Pilot[None]) -> None:
        await pilot.press(*pressed)

    return press


async def search(pilot: Pilot[None]) -> None:
    await pilot.press("1", "s")
    await type_text(pilot, "the")
    await pilot.press("enter")


async def ask(pilot: Pilot[None]) -> None:
    await pilot.press("2")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, DigestScreen)
    screen.digest.agent_id = "codex"
    screen.query_one("#task", Input).value = "git push of a branch the index"


# How one comes from list to list of an app, and how many lines their rows have.
WIDE_LISTS = [
    ("#list", keys(), 1),
    ("#facets", keys("t"), 1),
    ("#candidates", ask, 2),
    ("#skill-list", keys("3"), 1),
    ("#inbox", keys("4"), 2),
    ("#calls", keys("5"), 2),
    ("#seats", keys("5"), 1),
    ("#entries", keys("8"), 1),
    ("#deleted", keys("1", "U"), 1),
    ("#places", keys("escape", "i"), 1),
]
NARROW_LISTS = [
    ("#list", keys("o", "o"), 1),
    ("#candidates", ask, 1),
    ("#inbox", keys("4"), 1),
    ("#calls", keys("5"), 1),
    ("#session-list", keys("6"), 1),
    ("#entries", keys("8"), 1),
    ("#list", search, 2),
]


def line_of(listed: LineList, index: int, part: int = 0) -> Offset:
    """Where a line of a row is on the screen."""
    inside = listed.scrollable_content_region
    y = listed.top_of(index + 1) - listed.row_height + part - listed.scroll_offset.y
    return inside.offset + Offset(inside.width // 2, y)


def in_view(listed: LineList) -> list[int]:
    """The rows that are wholly in view and that the cursor may be on."""
    inside, (first, last) = listed.scrollable_content_region, listed.visible_rows
    return [
        index
        for index in range(first, last + 1)
        if listed.selectable(index)
        and line_of(listed, index).y >= inside.y
        and line_of(listed, index, listed.row_height - 1).y < inside.bottom
    ]


async def check_each_line(pilot: Pilot[None], listed: LineList) -> None:
    """Hover over and click on the first, a middle and the last row in view, on all their lines."""
    shown = in_view(listed)
    for index in {shown[0], shown[len(shown) // 2], shown[-1]}:
        for part in range(listed.row_height):
            await pilot.hover(offset=line_of(listed, index, part))
            assert listed.hovered == index, (index, part)
            other = next((row for row in shown if row != index), index)
            listed.cursor = other
            await pilot.click(offset=line_of(listed, index, part))
            assert listed.cursor == index, (index, part)


@pytest.mark.parametrize(
    ("size", "lists"), [(WIDE, WIDE_LISTS), (NARROW, NARROW_LISTS)], ids=["wide", "narrow"]
)
async def test_a_click_and_a_hover_are_on_the_row_under_the_pointer(
    size: tuple[int, int], lists: list[tuple[str, Callable[[Pilot[None]], Awaitable[None]], int]]
) -> None:
    async with fake_app(full_desk()).run_test(size=size) as pilot:
        await settle(pilot)
        for selector, come, height in lists:
            await come(pilot)
            await settle(pilot)
            listed = pilot.app.screen.query_one(selector, LineList)
            assert listed.row_height == height, selector
            await check_each_line(pilot, listed)
            y = min(11, int(listed.max_scroll_y))
            listed.scroll_to(y=y, animate=False)
            await settle(pilot)
            assert listed.scroll_offset.y == y
            await check_each_line(pilot, listed)


@pytest.mark.parametrize(("size", "places"), [(NARROW, (0, 1, 2, 37, 10_000)), (WIDE, (37,))])
async def test_what_stands_on_a_line_is_what_a_click_on_it_chooses(
    size: tuple[int, int], places: tuple[int, ...]
) -> None:
    """A heading is chosen by nothing; a memory between headings by a click on its own line."""
    app = fake_app(FakeDesk(in_sessions(200)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        listed = pane(app).rows
        for scrolled in places:
            listed.scroll_to(y=min(scrolled, int(listed.max_scroll_y)), animate=False)
            await settle(pilot)
            inside, lines = listed.scrollable_content_region, screen_text(app).split("\n")
            seen = set()
            for y in range(inside.y, inside.bottom):
                listed.cursor = before = 100
                await pilot.click(offset=Offset(inside.x + 8, y))
                number = re.search(r"memory (\d+)\.", lines[y][: inside.right])
                seen.add(bool(number))
                assert listed.cursor == (int(number[1]) if number else before), lines[y]
            assert seen == {True, False}, "headings and memories are in view"


async def test_a_second_click_opens_the_row_that_was_clicked() -> None:
    app = fake_app(full_desk())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("t")
        await settle(pilot)
        groups = app.screen.query_one("#facets", FixedList)
        codex = next(at for at in in_view(groups) if groups.value_at(at) == ("agent:", "codex"))
        for _ in range(2):
            await pilot.click(offset=line_of(groups, codex))
            await settle(pilot)
        assert pane(app).listing.filter_text == "agent:codex"


async def test_two_clicks_on_the_sample_load_it() -> None:
    desk = FakeDesk([])
    desk.places = ()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert isinstance(app.screen, WelcomeScreen)
        choices = app.screen.query_one("#choices", LineList)
        sample = in_view(choices)[-2]
        for _ in range(2):
            await pilot.click(offset=line_of(choices, sample))
            await settle(pilot)
        assert not isinstance(app.screen, WelcomeScreen)
        assert desk.live


async def test_neither_border_nor_scrollbar_is_a_row() -> None:
    app = fake_app(full_desk())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        listed = pane(app).rows
        listed.cursor = 5
        around, inside = listed.region, listed.scrollable_content_region
        places = {
            "top": Offset(inside.x + 4, around.y),
            "bottom": Offset(inside.x + 4, around.bottom - 1),
            "left": Offset(around.x, inside.y + 3),
            "scrollbar": Offset(inside.right, inside.y + 3),
        }
        for edge, place in places.items():
            await pilot.hover(offset=line_of(listed, 2))
            await pilot.hover(offset=place)
            assert listed.hovered == -1, edge
            await pilot.click(offset=place)
            assert listed.cursor == 5, edge
