"""The overview: spans, ways to the rows behind its figures, and following what happens."""

import asyncio
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from operator import eq

import pytest
from rich.color import ColorType
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.figures.models import FigureSpan
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.filters import parse_query
from synthorg_tui.tui.manage.jobs import JobsScreen
from synthorg_tui.tui.overview import screen as overview
from synthorg_tui.tui.overview.blocks import TITLES, block_rows
from synthorg_tui.tui.overview.calendar import CalendarBlock
from synthorg_tui.tui.overview.screen import OverviewScreen
from synthorg_tui.tui.overview.ways import WayTo, day_way, memories_way
from synthorg_tui.tui.overview.widgets import FigureBlock
from tests.tui.overview.overview_fakes import (
    HOSTILE,
    FigureManagement,
    empty_figures,
    full_figures,
    with_another_digest,
)
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, until

WIDE, NARROW = (120, 40), (80, 24)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OverviewScreen, "HEARD_AFTER", 0.001)
    monkeypatch.setattr(overview, "KEEP_UP_EVERY", 0.001)


def app_with(management: FigureManagement) -> MemoryDeskApp:
    return fake_app(FakeDesk(rows(6)), management=management)


async def opened(pilot: Pilot[None]) -> OverviewScreen:
    await settle(pilot)
    await pilot.press("0")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, OverviewScreen)
    return screen


def block(screen: OverviewScreen, name: str) -> FigureBlock:
    return screen.query_one(f"#{name}", FigureBlock)


async def go_to(pilot: Pilot[None], name: str, wanted: Callable[[object], bool]) -> None:
    """Put the cursor on the first row of a block whose way is wanted."""
    screen = pilot.app.screen
    assert isinstance(screen, OverviewScreen)
    chosen = block(screen, name)
    chosen.focus()
    at = next(at for at in range(chosen.row_count) if wanted(chosen.value_at(at)))
    chosen.move_to(at)
    await pilot.press("enter")
    await settle(pilot)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_every_block_says_in_words_and_numbers_what_it_draws(size: tuple[int, int]) -> None:
    management = FigureManagement(full_figures)
    app = app_with(management)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert [each.border_title for each in screen.query(FigureBlock)] == list(TITLES.values())
        for name, told in (
            ("memories", "12,345 live"),
            ("kinds", "commit"),
            ("digests", "had memories"),
            ("hints", "24 without failure"),
            ("lessons", "1/5 with, 4/6 without"),
            ("models", "gpt-small"),
            ("approvals", "3 wait, 1 snoozed"),
            ("health", "120.4 MB"),
            ("jobs", "✓✓!✓✗"),
            ("calendar", "Mon"),
        ):
            assert told in block(screen, name).text
        shown = block(screen, "summary").display
        assert shown is (size == NARROW)


async def test_plus_and_minus_change_the_span_which_is_kept() -> None:
    management = FigureManagement(full_figures)
    app = app_with(management)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        assert management.read == [FigureSpan.MONTH]
        await pilot.press("plus")
        await settle(pilot)
        assert str(screen.drawn_span) == FigureSpan.QUARTER.value
        assert "[90d]" in screen_text(app)
        assert "by week" in screen_text(app)
        await pilot.press("minus", "minus", "minus")
        await settle(pilot)
        assert str(screen.drawn_span) == FigureSpan.WEEK.value
        assert "no shorter span" in toasts(app)
        await pilot.press("escape", "0")
        await settle(pilot)
        assert "[7d]" in screen_text(app)


async def test_an_answer_for_a_span_that_was_left_is_not_drawn() -> None:
    management = FigureManagement(full_figures)
    app = app_with(management)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        management.held = asyncio.Event()
        await pilot.press("plus", "plus")
        assert str(screen.drawn_span) == FigureSpan.MONTH.value
        management.held.set()
        await settle(pilot)
        assert str(screen.drawn_span) == FigureSpan.YEAR.value


async def test_a_project_leads_to_its_memories_of_the_span() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        way = memories_way(full_figures(NOW).scale.since, "project:", "/home/ada/shop")
        await go_to(pilot, "memories", lambda value: value == way)
        assert 'project:"/home/ada/shop"' in pane(app).listing.filter_text
        assert f"since:{full_figures(NOW).scale.since}" in pane(app).listing.filter_text


async def test_a_day_of_the_calendar_leads_to_its_sessions() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        calendar = screen.query_one(CalendarBlock)
        calendar.focus()
        await settle(pilot)
        assert calendar.day == NOW.date()
        await pilot.press("left", "up")
        wanted = NOW.date() - timedelta(days=8)
        assert calendar.day == wanted
        assert f"{wanted:%A} {wanted.day}" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert app.current_mode == "sessions"
        entry = app.screen.query_one("#query", Input)
        assert entry.value == f"since:{wanted} until:{wanted + timedelta(days=1)}"


async def test_a_figure_of_calls_leads_to_them() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        for name, text in (
            ("digests", "digest kind:digest"),
            ("hints", "after_failure kind:hint"),
            ("models", 'agent:"codex"'),
        ):
            await opened(pilot)
            await go_to(pilot, name, partial(eq, WayTo("activity", text)))
            assert app.current_mode == "activity"
            assert app.screen.query_one("#query", Input).value == text


async def test_decisions_lead_to_their_view_and_skills_to_their_pane() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await go_to(pilot, "approvals", lambda value: value == WayTo("approvals", "rejected"))
        assert app.current_mode == "approvals"
        assert app.screen.inbox.view == "rejected"  # type: ignore[attr-defined]
        await opened(pilot)
        await go_to(pilot, "lessons", lambda value: value == WayTo("skills"))
        assert app.current_mode == "skills"


async def test_a_job_leads_to_the_jobs_and_escape_back_here() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await go_to(pilot, "jobs", lambda value: value == WayTo("jobs"))
        assert isinstance(app.screen, JobsScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, OverviewScreen)


async def test_down_goes_on_in_the_next_block_and_up_back() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        summary = block(screen, "summary")
        assert screen.focused is summary
        await pilot.press("G", "down")
        assert isinstance(screen.focused, CalendarBlock)
        await pilot.press("g", "up")
        assert screen.focused is summary
        await pilot.press("g", "up")
        assert screen.focused is summary


async def test_every_block_comes_into_view_on_a_low_terminal() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=(120, 24)) as pilot:
        screen = await opened(pilot)
        told = {"jobs": "imports", "hints": "before a call", "calendar": "Mon"}
        for size in ((120, 24), (200, 20), (60, 15)):
            await pilot.resize_terminal(*size)
            for name, words in told.items():
                block(screen, name).focus()
                await settle(pilot)
                assert words in screen_text(app), (size, name)


async def test_what_happens_is_drawn_once_for_many_events_and_leaves_the_cursor() -> None:
    management = FigureManagement(full_figures)
    app = app_with(management)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        digests = block(screen, "digests")
        digests.focus()
        digests.move_to(5)
        at, before, reads = digests.cursor, digests.text, len(management.read)
        management.answer = with_another_digest
        assert management.hear is not None
        for _ in range(50):
            management.hear()
        await until(pilot, lambda: digests.text != before)
        await settle(pilot)
        assert len(management.read) <= reads + 2
        assert (digests.cursor, screen.focused) == (at, digests)
        await pilot.press("escape")
        await settle(pilot)
        assert management.hear is None


async def test_an_error_takes_the_place_of_the_figures_and_later_stands_beside_them() -> None:
    management = FigureManagement(full_figures)
    management.figure_error = DomainError("The store is damaged.", remedy="Run the doctor.")
    app = app_with(management)
    async with app.run_test(size=NARROW) as pilot:
        await opened(pilot)
        assert "The store is damaged." in screen_text(app)
        assert "Run the doctor." in screen_text(app)
        management.figure_error = None
        await pilot.press("r")
        await settle(pilot)
        assert "In short" in screen_text(app)
        management.figure_error = DomainError("It is busy.")
        await pilot.press("r")
        await settle(pilot)
        assert "It is busy." in toasts(app)
        assert "In short" in screen_text(app)


async def test_an_empty_store_says_what_fills_it() -> None:
    app = app_with(FigureManagement(empty_figures))
    async with app.run_test(size=NARROW) as pilot:
        await opened(pilot)
        assert "nothing to draw yet" in screen_text(app)
        assert "connects an agent" in screen_text(app)


async def test_a_block_is_copied_as_text() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        block(screen, "jobs").focus()
        await pilot.press("y")
        assert app.clipboard.startswith("Jobs\n")
        assert "backup" in app.clipboard


async def test_names_of_others_act_on_no_terminal() -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        drawn = block(screen, "memories").text
        assert "till␛[31m" in drawn
        assert not set("\x1b\u202e\r") & set(drawn)
        assert memories_way(None, "project:", f"/home/ada/{HOSTILE}") is None


def _colours(app: App[None]) -> set[str]:
    strips = app.screen._compositor.render_strips(app.screen.size)
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    found = {style.color for style in styles if style.color is not None}
    return {colour.name for colour in found if colour.type is not ColorType.DEFAULT}


async def test_without_colours_the_screen_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        with_colours = screen_text(app)
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_with(FigureManagement(full_figures))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        assert screen_text(app) == with_colours
        text = screen_text(app)
    for told in ("[30d]", "✗", "! vectors", "█", "░", "without failure"):
        assert told in text.replace("\u00a0", " ")


@pytest.mark.parametrize("width", [20, 36, 76, 200])
@pytest.mark.parametrize("span", list(FigureSpan))
def test_no_line_is_wider_than_its_block(width: int, span: FigureSpan) -> None:
    for made in (full_figures, empty_figures):
        figures = made(NOW, span)
        for name in TITLES.keys() - {"calendar", "summary"}:
            for way, shown in block_rows(name, figures, width, NOW):
                assert shown.fit(width).width == width
                assert way is None or isinstance(way, WayTo)


def test_ways_are_filters_that_their_panes_understand() -> None:
    since = date(2026, 1, 5)
    way = memories_way(since, "project:", "/home/ada/my shop")
    assert way is not None
    query = parse_query(way.text, now=NOW, projects=["/home/ada/my shop", "/home/ada/till"])
    assert not query.problems
    assert query.criteria.projects == ("/home/ada/my shop",)
    assert query.criteria.since is not None
    assert query.criteria.since.date() == since
    kinds = memories_way(None, "kind:", "commit")
    assert kinds is not None
    assert [str(kind) for kind in parse_query(kinds.text, now=NOW).criteria.kinds] == ["commit"]
    assert memories_way(since, "project:", 'a "quoted" one') is None
    assert day_way(since).text == "since:2026-01-05 until:2026-01-06"
