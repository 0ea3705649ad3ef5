"""Driving the app in tests: wait for what is under way, read what is on the screen."""

from collections.abc import Callable
from time import monotonic

from textual.app import App
from textual.pilot import Pilot

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.screens.memories import MemoriesScreen

PATIENCE = 30.0
"""Seconds a slow machine is given for what takes a moment."""


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait for what a test says must come, however slow the machine is."""
    end = monotonic() + PATIENCE
    while not condition():
        shown = screen_text(pilot.app)
        assert monotonic() < end, f"it did not come within {PATIENCE:.0f} s:\n{shown}"
        await pilot.pause(0.01)


async def settle(pilot: Pilot[None], *, rounds: int = 200) -> None:
    """Wait until nothing is under way: no worker, no message, no timer about to start one."""
    quiet = 0
    for _ in range(rounds):
        await pilot.pause(0.01)
        working = any(worker.is_running for worker in pilot.app.workers)
        quiet = 0 if working else quiet + 1
        if quiet == 3:
            return


def screen_text(app: App[None]) -> str:
    """What the terminal shows, line by line."""
    screen = app.screen
    width, height = screen.size
    strips = screen._compositor.render_strips(screen.size)
    lines = ["".join(segment.text for segment in strip) for strip in strips]
    assert len(lines) == height
    assert width > 0
    return "\n".join(lines)


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Type character by character."""
    names = {" ": "space", ":": "colon", "-": "minus", "/": "slash"}
    await pilot.press(*(names.get(character, character) for character in text))


def toasts(app: App[None]) -> str:
    """The toasts told so far, one a line."""
    return "\n".join(each.message for each in app._notifications)


def pane(app: MemoryDeskApp) -> MemoriesScreen:
    """The Memories pane, which is what is shown."""
    screen = app.screen
    assert isinstance(screen, MemoriesScreen)
    return screen
