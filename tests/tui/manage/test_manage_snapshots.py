"""Pictures of the screens about the whole; each docstring says what must be visible."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
Compare = Callable[..., bool]
Size = tuple[int, int]


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


@SIZES
def test_doctor(snap_compare: Compare, size: Size) -> None:
    """Memory, models and 'offline'; each check with its mark; the one that failed; R repairs."""
    assert compare(snap_compare, size, "f4")


@SIZES
def test_backups(snap_compare: Compare, size: Size) -> None:
    """Time, age, size and who made each; what a restore does."""
    assert compare(snap_compare, size, "f6")


@SIZES
def test_restoring_asks_for_a_word(snap_compare: Compare, size: Size) -> None:
    """The backup's name, its age and size, and the word to type."""
    assert compare(snap_compare, size, "f6", "enter")


@SIZES
def test_connecting(snap_compare: Compare, size: Size) -> None:
    """Who is connected and where; the exact change; a writes it."""
    assert compare(snap_compare, size, "f2", "enter")


@SIZES
def test_importing_a_path(snap_compare: Compare, size: Size) -> None:
    """The prompt with the home folder, and how to take a completion."""
    assert compare(snap_compare, size, "f3")


@SIZES
def test_palette(snap_compare: Compare, size: Size) -> None:
    """Actions with their keys and descriptions in the theme's colours, no emoji."""
    assert compare(snap_compare, size, "ctrl+p", *"connect")
