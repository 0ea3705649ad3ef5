"""Pictures of the Runs screen at both sizes; each docstring says what must be visible."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.runtime.models import RunStatus
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.runs.run_fakes import DIFF, PARKED, FakeRunDesk, RunsManagement, run, steps
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle, type_text


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(desk: FakeRunDesk) -> MemoryDeskApp:
    app = fake_app(FakeDesk(rows(6)), management=RunsManagement(desk))
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return app


async def opened(pilot: Pilot[None], *keys: str) -> None:
    await settle(pilot)
    for key in ("ampersand", *keys):
        await pilot.press(key)
        await settle(pilot)


def compare(snap_compare: Compare, size: Size, desk: FakeRunDesk, *keys: str) -> bool:
    return snap_compare(
        app_with(desk), terminal_size=size, run_before=lambda pilot: opened(pilot, *keys)
    )


def ended() -> list[TerminationReason]:
    return [each for each in TerminationReason if each is not TerminationReason.PARKED]


def test_no_runs(snap_compare: Compare) -> None:
    """That no agent ran here yet, which key starts a run, and which command does."""
    assert compare(snap_compare, SIZES, FakeRunDesk())


def test_a_live_run(snap_compare: Compare) -> None:
    """A running run with its elapsed minutes over two that ended; its steps with memory given, a
    call that worked and one that failed, a note at the cursor; that the end is followed."""
    runs = [run(0, RunStatus.RUNNING), run(1), run(2)]
    assert compare(snap_compare, SIZES, FakeRunDesk(runs, steps()))


def test_a_full_list_and_a_call_in_full(snap_compare: Compare) -> None:
    """Every way a run ends, of which the first is under the cursor; of its steps the failed call
    with both arguments, its output, and the tokens of the answer that led to it."""
    runs = [run(at, reason=reason) for at, reason in enumerate(ended())]
    runs.append(run(9, RunStatus.INTERRUPTED))
    assert compare(snap_compare, SIZES, FakeRunDesk(runs, steps()), "enter", "k")


def test_a_parked_run(snap_compare: Compare) -> None:
    """That the run waits for you and for what: the write with its arguments; how it is decided."""
    told = "write_file waits for you"
    parked = run(0, RunStatus.PARKED, item_id="item-7", told=told)
    desk = FakeRunDesk([parked, run(1)], [*steps(), PARKED])
    assert compare(snap_compare, SIZES, desk, "enter")


def test_the_memories_that_a_run_was_given(snap_compare: Compare) -> None:
    """Two memories by their texts, and the digest under them."""
    assert compare(snap_compare, SIZES, FakeRunDesk([run()], steps()), "enter", "g")


def test_the_changes_of_a_client(snap_compare: Compare) -> None:
    """A diff with a removed and an added line in their colours."""
    desk = FakeRunDesk([run(2)], steps())
    desk.patches = {"run-0002": DIFF}
    assert compare(snap_compare, SIZES, desk, "v")


def test_runs_that_cannot_be_read(snap_compare: Compare) -> None:
    """Why the runs can't be read, and what to do."""
    desk = FakeRunDesk([run()])
    desk.error = ConfigError("the store is damaged", remedy="Run synthorg-tui doctor.")
    assert compare(snap_compare, SIZES, desk)


def test_the_form_of_a_new_run(snap_compare: Compare) -> None:
    """Task, agent, executors, folder, profile, limits with those of the settings, and that codex
    can't run here and why."""
    desk = FakeRunDesk()

    async def typed(pilot: Pilot[None]) -> None:
        await opened(pilot, "a")
        await type_text(pilot, "Fix the cart")
        pilot.app.screen.query_one("#workspace").value = "/"  # type: ignore[attr-defined]
        pilot.app.screen.query_one("#executor").focus()
        await pilot.press("right", "right")
        await settle(pilot)

    assert snap_compare(app_with(desk), terminal_size=SIZES, run_before=typed)


def test_a_live_run_in_the_light_theme(snap_compare: Compare) -> None:
    """The same as in the dark theme, readable on a light ground."""

    async def light(pilot: Pilot[None]) -> None:
        pilot.app.theme = "desk-light"
        await opened(pilot)

    desk = FakeRunDesk([run(0, RunStatus.RUNNING), run(1), run(2)], steps())
    assert snap_compare(app_with(desk), terminal_size=(120, 40), run_before=light)
