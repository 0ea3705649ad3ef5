"""How time passes in the tests of the screens: nothing waits longer than it must."""

import pytest
from textual.app import App
from textual.screen import Screen

from synthorg_tui.tui import safety
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.widgets import bars
from tests.patience import PATIENCE
from tests.tui.pictures import snap_compare
from tests.tui.tui_helpers import AFTER_A_KEY, at_rest, draw_and_end, draw_later

__all__ = ["snap_compare"]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pane, "DEBOUNCE", 0.001)
    monkeypatch.setattr(Pane, "LOADING_AFTER", 0.001)
    monkeypatch.setattr(MemoriesScreen, "KEEP_UP_AFTER", 0.001)
    # Toasts and news stay for as long as a slow machine may take to the end of a test.
    monkeypatch.setattr(MemoryDeskApp, "NOTIFICATION_TIMEOUT", PATIENCE)
    monkeypatch.setattr(safety, "NOTICE_SECONDS", PATIENCE)
    monkeypatch.setattr(bars, "NEWS_FADE_AFTER", PATIENCE)


@pytest.fixture(autouse=True)
def _keys_wait_for_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a key Textual looks how busy the processor is, which others may keep busy."""

    async def wait(min_sleep: float = 0, max_sleep: float = 0) -> None:
        await at_rest(AFTER_A_KEY)

    monkeypatch.setattr("textual.app.wait_for_idle", wait)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait)


@pytest.fixture(autouse=True)
def _nothing_is_drawn_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that no test looks at isn't drawn, which took a third of the time; the last is."""
    monkeypatch.setattr(Screen, "_compositor_refresh", draw_later)
    monkeypatch.setattr(App, "_shutdown", draw_and_end)
