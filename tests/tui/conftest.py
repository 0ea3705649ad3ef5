"""How time passes in the tests of the screens: nothing waits longer than it must."""

from collections.abc import Iterator

import pytest
from textual.app import App
from textual.pilot import Pilot
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


async def _until_the_event_loop_rests(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """After a key Textual looks how busy the processor is, which others may keep busy."""
    await at_rest(AFTER_A_KEY)


async def _until_all_is_processed(pilot: Pilot[None]) -> bool:
    """Textual sends a message to each widget and waits for all, after each event of the mouse."""
    await at_rest(AFTER_A_KEY)
    return True


@pytest.fixture(scope="package", autouse=True)
def _no_waiting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pane, "DEBOUNCE", 0.001)
        patch.setattr(Pane, "LOADING_AFTER", 0.001)
        patch.setattr(MemoriesScreen, "KEEP_UP_AFTER", 0.001)
        # Toasts and news stay for as long as a slow machine may take to the end of a test.
        patch.setattr(MemoryDeskApp, "NOTIFICATION_TIMEOUT", PATIENCE)
        patch.setattr(safety, "NOTICE_SECONDS", PATIENCE)
        patch.setattr(bars, "NEWS_FADE_AFTER", PATIENCE)
        patch.setattr("textual.app.wait_for_idle", _until_the_event_loop_rests)
        patch.setattr("textual.pilot.wait_for_idle", _until_the_event_loop_rests)
        patch.setattr(Pilot, "_wait_for_screen", _until_all_is_processed)
        # A frame that no test looks at isn't drawn, which took a third of the time; the last is.
        patch.setattr(Screen, "_compositor_refresh", draw_later)
        patch.setattr(App, "_shutdown", draw_and_end)
        yield
