"""Every text can be searched with the same keys, and one of megabytes answers them."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.tui.base.lines import Line, text_lines
from synthorg_tui.tui.widgets.line_view import LineView, SearchBar
from tests.tui.activity.activity_fakes import AGENTS, FakeActivity, calls
from tests.tui.approvals.approvals_fakes import FakeApprovals, approval_rows
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, type_text, until

LONG = "\n".join(f"{number} the quick brown fox jumps over it " * 3 for number in range(300))


async def text_of(pilot: Pilot[None], lines: list[Line]) -> LineView:
    """The detail of a memory, with the keys and another text."""
    await settle(pilot)
    view = pilot.app.screen.query_one("#detail", LineView)
    view.show(lines)
    view.focus()
    await settle(pilot)
    return view


async def look_for(pilot: Pilot[None], words: str) -> None:
    await pilot.press("slash")
    await settle(pilot)
    await type_text(pilot, words)
    await settle(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_slash_finds_as_one_types_and_n_goes_on(size: tuple[int, int]) -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=size) as pilot:
        view = await text_of(pilot, text_lines(LONG))
        await look_for(pilot, "212 the")
        assert "1 of 3" in screen_text(app)
        assert "212 the quick" in screen_text(app)
        await pilot.press("enter", "n")
        await settle(pilot)
        assert view.has_focus
        assert "2 of 3" in screen_text(app)
        await pilot.press("N", "N")
        await settle(pilot)
        assert "3 of 3" in screen_text(app)


async def test_the_filter_of_the_list_stays_where_the_list_has_the_keys() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await settle(pilot)
        assert app.screen.has_class("-entering")
        assert not app.screen.query(SearchBar)


async def test_what_is_nowhere_is_said() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        await text_of(pilot, text_lines(LONG))
        await look_for(pilot, "zebra")
        assert "no match" in screen_text(app)


async def test_escape_ends_the_search_and_then_leaves_the_text() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await text_of(pilot, text_lines(LONG))
        await look_for(pilot, "fox")
        await pilot.press("escape")
        await settle(pilot)
        assert view.has_focus
        assert not app.screen.query(SearchBar)
        assert not view.matches.found
        await pilot.press("escape")
        await settle(pilot)
        assert not view.has_focus


async def test_the_next_text_is_searched_for_the_same_words() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await text_of(pilot, text_lines(LONG))
        await look_for(pilot, "fox")
        view.show(text_lines("one fox\nand no other"))
        await settle(pilot)
        assert "1 of 1" in screen_text(app)


async def test_a_text_of_megabytes_is_wrapped_only_where_one_looks() -> None:
    """The end, the middle and a match are exact before the whole is measured."""
    app = fake_app(FakeDesk(rows(6)))
    words = "lorem ipsum dolor sit amet " * 80_000
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        view = app.screen.query_one("#detail", LineView)
        view.show([*text_lines(words), *text_lines("the end")])
        view.focus()
        assert not view.text.is_measured
        view.action_last()
        view.action_up()
        assert view.text.row(round(view.scroll_y) + view.size.height) == text_lines("the end")[0]
        view.find("the end")
        await until(pilot, lambda: view.matches.found)
        assert view.matches.caption == "1 of 1"
        await until(pilot, lambda: view.text.is_measured)
        assert view.virtual_size.height == view.text.row_count
        view.action_last()
        await settle(pilot)
        assert "the end" in screen_text(app)


async def test_another_width_keeps_the_line_at_the_top() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await text_of(pilot, text_lines(LONG))
        view.reveal(150)
        await settle(pilot)
        before = view.text.place(view.scroll_offset.y).piece
        await pilot.resize_terminal(150, 40)
        await settle(pilot)
        assert view.text.place(view.scroll_offset.y).piece == before


async def test_each_text_is_searched_by_the_same_key() -> None:
    desk = FakeDesk(rows(6))
    desk.skills = FakeSkills(skill_rows(4))
    desk.approvals = FakeApprovals(approval_rows(4))
    desk.activity = FakeActivity(calls(12), AGENTS)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for keys, selector in (
            ("1 tab", "#detail"),
            ("3 z", "#source"),
            ("4 z", "#item"),
            ("4 enter", "#ground"),
            ("5 z", "#call"),
            ("6 z", "#session"),
            ("question_mark", "#help-text"),
        ):
            for key in keys.split():
                await pilot.press(key)
                await settle(pilot)
            view = app.screen.query_one(selector, LineView)
            view.focus()
            await look_for(pilot, "e")
            assert view.matches.found, selector
            assert " of " in screen_text(app), selector
            await pilot.press("enter", "n")
            await settle(pilot)
            assert view.matches.at == 1, selector
            await pilot.press("escape", "escape")
            await settle(pilot)
