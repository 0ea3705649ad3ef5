"""The Fine-tune screen: training, stopping, going on, deploying, taking back."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.models import FineTuneStage, FineTuneTrainer
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.fine_tune.lines import drawn
from synthorg_tui.tui.fine_tune.screen import FineTuneScreen
from tests.tui.fine_tune.tuning_fakes import (
    BROKEN,
    DONE,
    WORKING,
    WORSE,
    FakeTuningDesk,
    TuningManagement,
    checkpoint,
    tuning_run,
)
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(desk: FakeTuningDesk) -> MemoryDeskApp:
    return fake_app(FakeDesk(rows(6)), management=TuningManagement(desk))


async def opened(pilot: Pilot[None], *keys: str) -> None:
    await settle(pilot)
    for key in ("number_sign", *keys):
        await pilot.press(key)
        await settle(pilot)


def footer(app: MemoryDeskApp) -> str:
    return screen_text(app).splitlines()[-1]


async def test_too_few_questions_are_told_with_what_makes_more_and_nothing_begins() -> None:
    desk = FakeTuningDesk(found=84)
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "84 of 300" in screen_text(app))
        assert "What makes more of them" in screen_text(app)
        await pilot.press("r")
        await settle(pilot)
        assert not isinstance(app.screen, ConfirmDialog)
    assert desk.asked == []


async def test_a_run_begins_after_a_yes_and_is_then_under_the_cursor() -> None:
    desk = FakeTuningDesk()
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "r")
        assert isinstance(app.screen, ConfirmDialog)
        assert "812 questions with known answers" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert desk.asked == []
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert isinstance(app.screen, FineTuneScreen)
        assert app.screen.run_shown is desk.runs[0]
    assert desk.asked == ["start"]


async def test_where_all_weights_can_be_trained_a_person_chooses_what_is() -> None:
    desk = FakeTuningDesk()
    desk.can_train = tuple(FineTuneTrainer)
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "r")
        assert "a map of questions" in screen_text(app)
        for key in ("down", "enter", "y"):
            await pilot.press(key)
            await settle(pilot)
    assert desk.asked == ["start contrastive"]


async def test_what_is_at_work_is_followed_and_its_end_is_shown() -> None:
    desk = FakeTuningDesk([WORKING])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        assert "42%" in screen_text(app)
        assert "Train" not in footer(app)
        desk.runs = [WORKING.model_copy(update={"progress": 0.75})]
        await until(pilot, lambda: "75%" in screen_text(app))
        desk.runs = [DONE]
        await until(pilot, lambda: "✓ better" in screen_text(app))
        await settle(pilot)
        assert "Stop" not in footer(app)


async def test_a_run_is_stopped_and_gone_on_with() -> None:
    desk = FakeTuningDesk([WORKING])
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "c")
        await until(pilot, lambda: "the program ended" in screen_text(app))
        assert "goes on with it" in toasts(app)
        await pilot.press("G", "r")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
    assert desk.asked == ["cancel", f"resume {BROKEN.id}"]


async def test_beside_a_run_that_broke_off_a_new_one_can_be_begun() -> None:
    desk = FakeTuningDesk([BROKEN])
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "G", "r", "j", "enter", "y")
        await settle(pilot)
    assert desk.asked == ["start"]


async def test_a_better_checkpoint_is_deployed_and_taken_back_each_after_asking() -> None:
    desk = FakeTuningDesk([DONE], [checkpoint("5fe1a2")])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "j", "a")
        assert "NDCG@10 0.581 -> 0.612" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert "+ 5fe1a2" in screen_text(app)
        assert "Deploy" not in footer(app)
        await pilot.press("R", "y")
        await settle(pilot)
        assert "as it is" in screen_text(app)
    assert [deed.partition(" ")[0] for deed in desk.asked] == ["deploy", "roll"]


async def test_one_that_isnt_better_is_not_offered_to_be_deployed() -> None:
    desk = FakeTuningDesk([], [checkpoint("0bad00", WORSE)])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "j", "a")
        assert isinstance(app.screen, FineTuneScreen)
        assert "not surely better" in screen_text(app)
        assert "Deploy" not in footer(app)
    assert desk.asked == []


async def test_what_is_in_force_cant_be_deleted_and_others_can_after_asking() -> None:
    live, old = checkpoint("1ive00", is_active=True), checkpoint("01d000")
    desk = FakeTuningDesk([BROKEN], [live, old])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "j", "d")
        assert not isinstance(app.screen, ConfirmDialog)
        await pilot.press("j", "d")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        await pilot.press("G", "d")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
    assert desk.asked == [f"delete {old.id}", f"delete {BROKEN.id}"]


async def test_a_refused_act_is_told_and_changes_nothing_on_the_screen() -> None:
    desk = FakeTuningDesk([], [checkpoint("5fe1a2")])
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "j", "a")
        desk.error = DomainError("the file of the checkpoint isn't the one that was written")
        await pilot.press("y")
        await settle(pilot)
        assert "isn't the one that was written" in toasts(app)
        assert "○" in screen_text(app)


async def test_hostile_words_are_made_safe() -> None:
    hostile = "\x1b[31mowned\u202e [red]x[/red]"
    run = tuning_run("e\x1bv1l0", FineTuneStage.FAILED, error=hostile, note=hostile)
    desk = FakeTuningDesk([run])
    desk.problem = hostile
    app = app_with(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        for key in ("g", "G"):
            await pilot.press(key)
            await settle(pilot)
            text = screen_text(app)
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "[red]x[/red]" in text


async def test_where_nothing_of_it_can_be_done_that_is_said() -> None:
    desk = FakeTuningDesk()
    desk.error = DomainError("the inmemory backend embeds nothing", remedy="Choose another.")
    app = app_with(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "the inmemory backend embeds nothing" in screen_text(app)


@pytest.mark.parametrize("count", [1, 2, 39, 40, 41, 500])
def test_a_line_of_values_has_its_highest_on_top_and_fits(count: int) -> None:
    values = [float(at) for at in range(count)]
    top, bottom = drawn(values)
    assert len(top) == len(bottom) <= 40
    assert bottom[-1] == "█"


def test_values_that_are_all_the_same_are_drawn_as_one_level() -> None:
    assert len(set(drawn([0.5] * 7)[1])) == 1
