"""Ctrl-C and the end of the app: what is said, what quits, and in which order."""

import pytest
from textual.screen import Screen

from tests.tui.tui_fakes import FakeDesk, Seconds, fake_app, rows
from tests.tui.tui_helpers import settle, toasts


@pytest.mark.parametrize("opens", ["", "d"], ids=["a pane", "a dialog"])
async def test_ctrl_c_says_how_to_quit_and_quits_within_two_seconds(opens: str) -> None:
    seconds = Seconds()
    app = fake_app(FakeDesk(rows(6)), seconds=seconds)
    async with app.run_test() as pilot:
        await settle(pilot)
        seconds.held = True
        await pilot.press(*opens, "ctrl+c")
        assert "q quits" in toasts(app)
        seconds.at += 2.0
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert app.return_code is None
        seconds.at += 1.99
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert app.return_code == 0


async def test_ctrl_c_in_a_form_never_quits() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a", "ctrl+c", "ctrl+c")
        await settle(pilot)
        assert app.return_code is None


@pytest.mark.parametrize(("code", "lets_go"), [(0, True), (143, False), (1, False)])
async def test_nobody_is_let_go_before_the_end_but_by_a_person_who_quits(
    code: int, lets_go: bool
) -> None:
    app = fake_app(FakeDesk(rows(6)))
    host = app._host
    async with app.run_test() as pilot:
        await settle(pilot)
        app.exit(return_code=code)
        app.on_given_back()
    assert bool(host.withdrawn) is lets_go  # type: ignore[attr-defined]


async def test_what_others_change_while_the_app_closes_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = fake_app(FakeDesk(rows(6)))
    monkeypatch.setattr(app.maker._renewing, "ask", app.maker._renewing._run)
    async with app.run_test() as pilot:
        await settle(pilot)
        shown = app.screen
        app.maker.keep_up(Screen(), everywhere=True)
    assert not app.screen_stack
    app.maker.keep_up(shown, everywhere=False)
    app.maker.keep_up(Screen(), everywhere=True)
