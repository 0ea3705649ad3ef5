"""Only what changed is drawn again, and it shows what drawing everything would."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.segment import Segment
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.styled import StyledScroll
from tests.tui.digest.test_digest_pane import ask
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import draw, settle

TASKS = (
    "git push of a branch the index",
    "git push of a branch the index is",
    "git",
    "zzz",
    "push the index of a branch and rebase",
    "",
    "the test",
)
SIZES = [(80, 24), (120, 40)]


def shown(pilot: Pilot[None]) -> list[list[Segment]]:
    screen = pilot.app.screen
    return [list(strip) for strip in screen._compositor.render_strips(screen.size)]


async def redrawn(pilot: Pilot[None]) -> list[list[Segment]]:
    for widget in pilot.app.screen.walk_children():
        widget.refresh()
    await settle(pilot)
    return shown(pilot)


async def put(pilot: Pilot[None], screen: DigestScreen, task: str) -> None:
    screen.query_one("#task", Input).value = task
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_answers_that_follow_each_other(size: tuple[int, int]) -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=size) as pilot:
        screen = await ask(pilot)
        for task in TASKS:
            await put(pilot, screen, task)
            assert shown(pilot) == await redrawn(pilot), task


@pytest.mark.parametrize("size", SIZES)
async def test_answers_while_list_and_text_are_scrolled(size: tuple[int, int]) -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=size) as pilot:
        screen = await ask(pilot)
        await pilot.press("G")
        screen.query_one("#digest-text", LineView).action_half_down()
        for keys in (["-"] * 6, ["p"], ["x"], ["+"] * 9, ["d"], ["x", "g", "g"], ["o"], ["o"]):
            await pilot.press(*keys)
            await settle(pilot)
            assert shown(pilot) == await redrawn(pilot), keys


async def test_an_error_and_what_comes_after_it() -> None:
    desk = FakeDesk(rows(60))
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        for error in (DomainError("The index is gone", remedy="Reindex"), None):
            desk.digests.error = error
            await put(pilot, screen, TASKS[4] if error else TASKS[0])
            assert shown(pilot) == await redrawn(pilot)


async def rows_drawn(pilot: Pilot[None], view: StyledScroll, act: Callable[[], None]) -> set[int]:
    """The rows of a view that are drawn because of an act."""
    await settle(pilot)
    draw(pilot.app)
    drawn: set[int] = set()
    render_line = view.render_line

    def noted(y: int) -> Strip:
        drawn.add(y)
        return render_line(y)

    view.render_line = noted  # type: ignore[method-assign]
    act()
    await settle(pilot)
    draw(pilot.app)
    return drawn


async def test_of_a_text_only_lines_that_changed_are_drawn() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        view = (await ask(pilot)).query_one("#digest-text", LineView)
        texts = [line((word, "text")) for word in ("one", "two", "three")]
        view.show(texts)
        changed = [texts[0], line(("other", "text")), texts[2], line(("four", "text"))]
        assert await rows_drawn(pilot, view, lambda: view.show(changed)) == {1, 3}
        assert await rows_drawn(pilot, view, lambda: view.show(list(changed))) == set()


async def test_of_candidates_only_rows_that_changed_are_drawn() -> None:
    async with fake_app(FakeDesk(rows(60))).run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        listed, answer = screen.candidates, screen.digest.answer
        assert answer is not None
        second = replace(answer.candidates[1], relevance=0.01)
        others = (answer.candidates[0], second, *answer.candidates[2:])

        def show() -> None:
            listed.show(replace(answer, candidates=others), roomy=True, follow=True)

        assert await rows_drawn(pilot, listed, show) == {2, 3}
