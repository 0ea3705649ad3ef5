"""Pictures of the Sessions pane and a transcript; each docstring says what must be visible."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.sessions.sessions_fakes import FakeSessions, sessions
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle, type_text


def compare(snap_compare: Compare, count: int, size: Size, *keys: str, words: str = "") -> bool:
    desk = FakeDesk(rows(6))
    desk.sessions = FakeSessions(sessions(count))

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("6", *keys):
            await pilot.press(key)
            await settle(pilot)
        if words:
            await type_text(pilot, words)
            await settle(pilot)
            await pilot.press("enter")
            await settle(pilot)

    app = fake_app(desk)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


@pytest.mark.parametrize("count", [0, 340], ids=["empty", "many"])
def test_sessions(snap_compare: Compare, count: int) -> None:
    """Six tabs; days, outcome by glyph, title, where it changes whose, calls, failures; or i."""
    assert compare(snap_compare, count, SIZES)


def test_subagents(snap_compare: Compare) -> None:
    """The two subagents of the first session below it, after a turned arrow with their number."""
    assert compare(snap_compare, 12, SIZES, "space")


def test_delete(snap_compare: Compare) -> None:
    """The session, three things made of it, that it's for good; 'No' in focus of three answers."""
    assert compare(snap_compare, 5, SIZES, "d")


def test_transcript(snap_compare: Compare) -> None:
    """Who speaks with a bar beside all rows, the failed call under the cursor, folded hooks."""
    assert compare(snap_compare, 5, SIZES, "enter", "f")


def test_unfolded(snap_compare: Compare) -> None:
    """Below the failed call its whole output, behind a rule of its own."""
    assert compare(snap_compare, 5, SIZES, "enter", "f", "enter")


def test_search(snap_compare: Compare) -> None:
    """The words with how many matches above the footer, the present match reversed."""
    assert compare(snap_compare, 5, SIZES, "enter", "slash", words="push")


def test_no_match(snap_compare: Compare) -> None:
    """That nothing matches, and that z unfolds what isn't looked through."""
    assert compare(snap_compare, 5, SIZES, "enter", "slash", words="zebra")
