"""Pictures of the Activity pane; each docstring says what must be visible and unclipped."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.activity.activity_fakes import AGENTS, FakeActivity, calls
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

COUNTS = pytest.mark.parametrize("count", [0, 340], ids=["empty", "many"])


def compare(snap_compare: Compare, count: int, size: Size, *keys: str) -> bool:
    desk = FakeDesk(rows(6))
    desk.activity = FakeActivity(calls(count), AGENTS[:count])

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("5", *keys):
            await pilot.press(key)
            await settle(pilot)

    app = fake_app(desk)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


@COUNTS
def test_activity(snap_compare: Compare, count: int) -> None:
    """Agents with what they may do, calls by glyph and word, the call in full; or what to do."""
    assert compare(snap_compare, count, SIZES)


def test_digest(snap_compare: Compare) -> None:
    """The text of a digest with its SIZES; at 120 columns why each memory is in or out below."""
    assert compare(snap_compare, 12, SIZES)


@EACH_SIZE
def test_why(snap_compare: Compare, size: Size) -> None:
    """The budget, verdicts with reasons, the cut between them."""
    assert compare(snap_compare, 12, size, "v")


def test_take_back(snap_compare: Compare) -> None:
    """What would be taken back, 'No' in focus, how to bring it back."""
    assert compare(snap_compare, 8, SIZES, "u")
