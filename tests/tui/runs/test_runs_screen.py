"""The Runs screen: live steps, what Enter opens, starting, stopping, resuming; many steps."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.errors import DomainError
from synthorg_tui.runtime.models import RunProfile, RunStatus, StepKind
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.runs.form import RunForm
from synthorg_tui.tui.runs.screen import RunsScreen
from synthorg_tui.tui.runs.state import PAGE
from tests.tui.runs.run_fakes import DIFF, PARKED, FakeRunDesk, RunsManagement, run, step, steps
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, type_text, until


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(desk: FakeRunDesk) -> MemoryDeskApp:
    return fake_app(FakeDesk(rows(6)), management=RunsManagement(desk))


async def opened(pilot: Pilot[None], *keys: str) -> None:
    await settle(pilot)
    for key in ("ampersand", *keys):
        await pilot.press(key)
        await settle(pilot)


def shown(app: MemoryDeskApp) -> RunsScreen:
    assert isinstance(app.screen, RunsScreen)
    return app.screen


async def test_a_step_that_is_stored_is_drawn_and_the_end_is_followed() -> None:
    desk = FakeRunDesk([run(0, RunStatus.RUNNING)], steps())
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "enter")
        desk.stored["run-0000"].append(step(6, StepKind.ANSWER, "Now I know why.", turn=3))
        desk.tell("run-0000")
        await until(pilot, lambda: "Now I know why." in screen_text(app))
        assert shown(app).steps.cursor == 5


async def test_going_back_stops_following_and_the_end_takes_it_up_again() -> None:
    desk = FakeRunDesk([run(0, RunStatus.RUNNING)], steps())
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "enter", "k")
        desk.stored["run-0000"].append(step(6, StepKind.ANSWER, "More.", turn=3))
        desk.tell("run-0000")
        await until(pilot, lambda: "2 below" in screen_text(app))
        assert shown(app).steps.cursor == 3
        await pilot.press("G")
        await until(pilot, lambda: "follows the end" in screen_text(app))


async def test_of_ten_thousand_steps_two_pages_are_read() -> None:
    many = [step(at, StepKind.NOTE, f"note {at}") for at in range(1, 10_001)]
    desk = FakeRunDesk([run()], many)
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "enter")
        assert "note 10000" in screen_text(app)
        assert len(desk.read) <= 3
        await pilot.press("g")
        await until(pilot, lambda: "note 1 " in screen_text(app))
        assert {after % PAGE for _, after in desk.read} == {0}


async def test_enter_on_what_waits_opens_its_review() -> None:
    parked = run(0, RunStatus.PARKED, item_id="item-7")
    app = app_with(FakeRunDesk([parked], [*steps(), PARKED]))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "enter", "enter")
        assert isinstance(app.screen, ReviewScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunsScreen)


async def test_a_memory_that_was_given_is_shown_in_its_pane() -> None:
    app = app_with(FakeRunDesk([run()], steps()))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "enter", "g", "enter", "j", "enter")
        row = pane(app).rows.row
        assert row is not None
        assert row.id == "mem-00001"


async def test_a_run_is_stopped_after_asking() -> None:
    desk = FakeRunDesk([run(0, RunStatus.RUNNING)], steps())
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "c")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        await settle(pilot)
        assert desk.asked == []
        await pilot.press("c", "y")
        await settle(pilot)
    assert desk.asked == ["cancel run-0000"]


async def test_only_what_broke_off_is_offered_to_go_on() -> None:
    desk = FakeRunDesk([run(0, RunStatus.INTERRUPTED), run(1)], steps())
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "Resume" in screen_text(app).splitlines()[-1]
        await pilot.press("r")
        await settle(pilot)
        assert desk.asked == ["resume run-0000"]
        await pilot.press("j")
        await settle(pilot)
        assert "Resume" not in screen_text(app).splitlines()[-1]


async def test_a_task_that_was_typed_starts_a_run_which_is_then_under_the_cursor(
    tmp_path: Path,
) -> None:
    desk = FakeRunDesk([run(1)])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "a")
        await type_text(pilot, "Say hello")
        app.screen.query_one("#workspace", Input).value = str(tmp_path)
        app.screen.query_one("#turns", Input).value = "5"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert shown(app).run_shown is desk.runs[0]
    (request,) = desk.requests
    assert (request.task, request.agent_id, request.workspace) == (
        "Say hello",
        "reviewer",
        tmp_path,
    )
    assert (request.limits.turns, request.profile) == (5, RunProfile.ASK)


async def test_what_is_wrong_is_said_while_typing_and_nothing_starts() -> None:
    desk = FakeRunDesk()
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "a")
        app.screen.query_one("#workspace", Input).value = "/nowhere/at/all"
        await type_text(pilot, "x")
        await settle(pilot)
        assert "There is no such folder." in screen_text(app)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, RunForm)
    assert desk.requests == []


async def test_a_refused_start_is_told_with_the_task_still_there(tmp_path: Path) -> None:
    desk = FakeRunDesk([run()])
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "a")
        await type_text(pilot, "Say hello")
        app.screen.query_one("#workspace", Input).value = str(tmp_path)
        desk.error = DomainError("ada is paused", remedy="Let it go on first.")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "ada is paused" in screen_text(app)
        assert "Say hello" in screen_text(app)


async def test_a_run_that_asks_for_nothing_needs_a_yes(tmp_path: Path) -> None:
    desk = FakeRunDesk()
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "a")
        await type_text(pilot, "Say hello")
        app.screen.query_one("#workspace", Input).value = str(tmp_path)
        app.screen.query_one("#profile").focus()
        await pilot.press("right", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        await settle(pilot)
        assert desk.requests == []
        await pilot.press("ctrl+s")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
    assert [request.profile for request in desk.requests] == [RunProfile.UNATTENDED]


async def test_what_a_run_changed_is_shown_in_place_of_the_step_and_goes_with_it() -> None:
    desk = FakeRunDesk([run(2), run(1)], steps())
    desk.patches = {"run-0002": DIFF}
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "v")
        assert "+    wait_for(ready)" in screen_text(app)
        await pilot.press("v")
        await settle(pilot)
        assert "+    wait_for(ready)" not in screen_text(app)


async def test_without_changes_it_says_so() -> None:
    app = app_with(FakeRunDesk([run()], steps()))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "v")
        assert "No changes of it are kept" in toasts(app)


async def test_what_models_and_tools_say_cannot_act_on_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202egpj"
    evil = [
        step(1, StepKind.ANSWER, hostile),
        step(2, StepKind.CALL, hostile, tool=hostile, arguments={hostile: hostile}),
    ]
    app = app_with(FakeRunDesk([run(0, task=hostile, told=hostile)], evil))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "owned" in text


async def test_the_header_of_every_pane_tells_what_runs() -> None:
    desk = FakeRunDesk([run(0, RunStatus.RUNNING)], steps())
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await until(pilot, lambda: "1 run · 3 turns" in screen_text(app))
        desk.runs = [run(0)]
        desk.tell("run-0000")
        await until(pilot, lambda: "1 run" not in screen_text(app))
