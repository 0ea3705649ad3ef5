"""Driving the app in tests: wait for what is under way, read what is on the screen."""

import asyncio
from asyncio import BaseEventLoop
from collections.abc import Callable
from time import monotonic

from textual.app import App
from textual.events import Paste
from textual.pilot import Pilot
from textual.screen import Screen

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.memories.screen import MemoriesScreen
from tests import patience
from tests.patience import PATIENCE

AFTER_A_KEY = 0.02
"""Seconds of which timers are waited for after each key: what was typed is drawn after one."""
SOON = 0.06
"""Seconds of which timers are waited for before a test looks: what happens soon has happened."""


async def at_rest(within: float) -> None:
    """Wait until the event loop has nothing to run, and no timer due ``within`` so many seconds.

    It looks into the loop's queues instead of waiting for a time, so it works on slow machines too:
    messages, tasks and timers are all in them. Work in threads is not.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, BaseEventLoop)
    end, quiet = monotonic() + PATIENCE, 0
    while quiet < 2:  # a round lies between in which the loop looks at timers and pipes
        await asyncio.sleep(0)
        ready, scheduled = loop._ready, loop._scheduled  # type: ignore[attr-defined]
        due = min((each.when() for each in scheduled if not each.cancelled()), default=None)
        quiet = 0 if ready else quiet + 1
        if quiet and due is not None and due - loop.time() <= within:
            await asyncio.sleep(max(due - loop.time(), 0))
            quiet = 0
        assert monotonic() < end, f"after {PATIENCE:.0f} s there still is {[*ready, *scheduled]}"


_DRAW = Screen._compositor_refresh
_END = App._shutdown


def draw_later(screen: Screen[object]) -> None:
    """Note what of a screen has changed, which is drawn when a test looks or the app ends."""
    if screen is not screen.app.screen:
        _DRAW(screen)  # hands what has changed to the screen in front
    else:
        screen._dirty_widgets.clear()
        screen.app._update_mouse_over(screen)


def draw(app: App[None]) -> None:
    """Draw what has changed since it was drawn."""
    if app.screen_stack and app.screen._compositor._dirty_regions:
        _DRAW(app.screen)


async def draw_and_end(app: App[None]) -> None:
    """End an app once its last screen was drawn, also where no test has looked at it."""
    try:
        draw(app)
    finally:
        await _END(app)


async def settle(pilot: Pilot[None], *, held: int = 0) -> None:
    """Wait until the app is idle, except for ``held`` workers that the test itself holds back."""
    end = monotonic() + PATIENCE
    while True:
        await at_rest(SOON)
        working = [each for each in pilot.app.workers if each.is_running]
        if len(working) <= held:
            return
        assert monotonic() < end, f"after {PATIENCE:.0f} s there still is {working}"
        await asyncio.sleep(0.005)


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait until ``condition`` returns something true; a failure shows the screen's text.

    Most conditions draw the whole screen, so they aren't asked all the time.
    """
    told = lambda: f"on this screen:\n{screen_text(pilot.app)}"  # noqa: E731
    await patience.until(condition, told, every=0.04)


def screen_text(app: App[None]) -> str:
    """Return the text on the screen, line by line."""
    screen = app.screen
    width, height = screen.size
    strips = screen._compositor.render_strips(screen.size)
    screen._compositor._dirty_regions.clear()  # all of it has been drawn
    lines = ["".join(segment.text for segment in strip) for strip in strips]
    assert len(lines) == height
    assert width > 0
    return "\n".join(lines)


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Write into what has the focus: the last character is typed, what is before it pasted."""
    names = {" ": "space", ":": "colon", "-": "minus", "/": "slash"}
    pilot.app.post_message(Paste(text[:-1]))
    await pilot.press(names.get(text[-1], text[-1]))


def toasts(app: App[None]) -> str:
    """Return the toasts (short notifications) shown so far, one a line."""
    return "\n".join(each.message for each in app._notifications)


def pane(app: MemoryDeskApp) -> MemoriesScreen:
    """Return the Memories pane, which must be the pane shown."""
    screen = app.screen
    assert isinstance(screen, MemoriesScreen)
    return screen
