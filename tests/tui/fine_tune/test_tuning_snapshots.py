"""Pictures of the Fine-tune screen at both sizes; each docstring says what must be visible."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.fine_tune.tuning_fakes import (
    BROKEN,
    DONE,
    DONE_WORSE,
    WORKING,
    WORSE,
    FakeTuningDesk,
    TuningManagement,
    checkpoint,
)
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def compare(snap_compare: Compare, size: Size, desk: FakeTuningDesk, *keys: str) -> bool:
    app = fake_app(FakeDesk(rows(6)), management=TuningManagement(desk))
    app.set_reactive(MemoryDeskApp.app_focus, True)

    async def opened(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("number_sign", *keys):
            await pilot.press(key)
            await settle(pilot)

    return snap_compare(app, terminal_size=size, run_before=opened)


def test_too_few_questions(snap_compare: Compare) -> None:
    """That the model is used as it is; what was looked at, with 84 of 300 questions as a bar and
    what makes more of them."""
    assert compare(snap_compare, SIZES, FakeTuningDesk(found=84))


def test_nothing_yet(snap_compare: Compare) -> None:
    """That the model is used as it is, that enough questions are there, and which key trains."""
    assert compare(snap_compare, SIZES, FakeTuningDesk())


@EACH_SIZE
def test_at_work(snap_compare: Compare, size: Size) -> None:
    """The run with two stages done and the third at 42 %, loss and metric as columns with their
    values; over the keys what is at work, and the key that stops it."""
    assert compare(snap_compare, size, FakeTuningDesk([WORKING, BROKEN]))


def test_done_and_better(snap_compare: Compare) -> None:
    """The checkpoint with before and after, the interval of the gain, that it is better, what it
    is made of, and the key that deploys it."""
    desk = FakeTuningDesk([DONE], [checkpoint("5fe1a2", erased_since=3)])
    assert compare(snap_compare, SIZES, desk, "j")


def test_done_and_worse(snap_compare: Compare) -> None:
    """The run with all stages done, its lines, before and after, and that it isn't surely better;
    beside it a checkpoint that is in force."""
    live = checkpoint("1ive00", is_active=True)
    desk = FakeTuningDesk([DONE_WORSE], [checkpoint("0bad00", WORSE), live])
    assert compare(snap_compare, SIZES, desk, "G")


def test_broken_off(snap_compare: Compare) -> None:
    """The run that broke off, why, what is done of it, and the key that goes on."""
    assert compare(snap_compare, SIZES, FakeTuningDesk([BROKEN]), "G")


def test_an_error(snap_compare: Compare) -> None:
    """That it couldn't be read, why, and what helps."""
    desk = FakeTuningDesk()
    desk.error = DomainError("mem0 tunes nothing", remedy="Set memory.backend to local.")
    assert compare(snap_compare, (80, 24), desk)


def test_light(snap_compare: Compare) -> None:
    """The run at work in a light theme, where everything can be read."""
    app = fake_app(FakeDesk(rows(6)), management=TuningManagement(FakeTuningDesk([WORKING])))
    app.set_reactive(MemoryDeskApp.app_focus, True)

    async def opened(pilot: Pilot[None]) -> None:
        app.theme = "desk-light"
        await settle(pilot)
        await pilot.press("number_sign")
        await settle(pilot)

    assert snap_compare(app, terminal_size=(120, 40), run_before=opened)
