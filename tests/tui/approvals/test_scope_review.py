"""For whom an item would be: shown in its review, and chosen there before it is approved."""

from dataclasses import replace

from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.tui.approvals.review_lines import reach_lines
from synthorg_tui.tui.base.lines import plain
from tests.tui.approvals.test_approvals_state import sheet
from tests.tui.approvals.test_review_screen import desk_with, open_review
from tests.tui.tui_fakes import Seconds, fake_app
from tests.tui.tui_helpers import screen_text, settle, toasts

AGENT, ROLE, DEPARTMENT, ORG = ProceduralMemoryScope
REACH = {AGENT: ("ada",), ROLE: ("ada", "bob"), DEPARTMENT: (), ORG: ("ada", "bob", "cyd")}


async def test_every_scope_names_the_agents_it_would_reach() -> None:
    desk = desk_with()
    desk.approvals.reach = REACH
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        shown = screen_text(app)
        for told in ("● agent", "○ role", "ada, bob, cyd", "nobody yet", "@ changes it"):
            assert told in shown


def test_a_scope_that_reaches_nobody_more_has_no_line_until_it_is_chosen() -> None:
    alone = dict.fromkeys((AGENT, ROLE, DEPARTMENT, ORG), ("ada",))
    shown = plain(reach_lines(replace(sheet(), reach=alone), None))
    assert "agent" in shown
    assert "role" not in shown
    assert "● org" in plain(reach_lines(replace(sheet(), reach=alone), "org"))


async def test_the_chosen_scope_is_shown_and_approved_by_another_key() -> None:
    desk = desk_with()
    desk.approvals.reach = REACH
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await pilot.press("at")
        await settle(pilot)
        assert "● role" in screen_text(app)
        assert "For the scope role" in screen_text(app)
        assert desk.approvals.decided == []
        await pilot.press("at", "at")
        await settle(pilot)
        assert "● org" in screen_text(app)
        await pilot.press("a")
        await settle(pilot)
    assert desk.approvals.scopes == ["org"]


async def test_the_proposed_scope_comes_round_again_and_is_no_change() -> None:
    desk = desk_with()
    desk.approvals.reach = REACH
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await pilot.press("at", "at", "at", "at")
        await settle(pilot)
        assert "For the scope" not in screen_text(app)
        await pilot.press("at", "backspace")
        await settle(pilot)
        assert "● agent" in screen_text(app)
        await pilot.press("a")
        await settle(pilot)
    assert desk.approvals.scopes == [None]


async def test_a_scope_that_was_just_chosen_is_not_approved_by_a_key_meant_for_before() -> None:
    desk, clock = desk_with(), Seconds()
    desk.approvals.reach = REACH
    app = fake_app(desk, seconds=clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        clock.held = True
        await pilot.press("at", "a")
        await settle(pilot)
    assert desk.approvals.decided == []


async def test_where_there_is_no_choice_it_is_said() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        assert "For whom" not in screen_text(app)
        await pilot.press("at")
        await settle(pilot)
        assert "can't be chosen" in toasts(app)
