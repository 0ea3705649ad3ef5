"""Pictures of the screens about the whole; each docstring says what must be visible."""

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def compare(
    snap_compare: Compare, size: Size, *keys: str, management: FakeManagement | None = None
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)

    app = fake_app(FakeDesk(rows(6)), management=management or FakeManagement())
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_doctor(snap_compare: Compare) -> None:
    """Memory, models and 'offline'; each check with its mark; the one that failed; R repairs."""
    assert compare(snap_compare, SIZES, "f4")


def test_backups(snap_compare: Compare) -> None:
    """Time, age, SIZES and who made each; what a restore does."""
    assert compare(snap_compare, SIZES, "f6")


def test_restoring_asks_for_a_word(snap_compare: Compare) -> None:
    """The backup's name, its age and SIZES, and the word to type."""
    assert compare(snap_compare, SIZES, "f6", "enter")


def test_connecting(snap_compare: Compare) -> None:
    """Who is connected and where; the exact change; a writes it."""
    assert compare(snap_compare, SIZES, "f2", "enter")


def test_importing_a_path(snap_compare: Compare) -> None:
    """The prompt with the home folder, and how to take a completion."""
    assert compare(snap_compare, SIZES, "f3")


def test_palette(snap_compare: Compare) -> None:
    """Actions with their keys and descriptions in the theme's colours, no emoji."""
    assert compare(snap_compare, SIZES, "ctrl+p", *"connect")
