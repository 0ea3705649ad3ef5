"""Calls a person who looks elsewhere: something has come to wait for a decision.

While the terminal has the focus the header says so, and nothing calls. What is written to the
terminal or handed to the desktop holds numbers only: no word of an agent or a transcript.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from synthorg_tui.core.text import counted
from synthorg_tui.tui.jobs import error_toast
from synthorg_tui.tui.panes import Panes

if TYPE_CHECKING:
    from synthorg_tui.tui.activity.models import ActivityEvent
    from synthorg_tui.tui.approvals.adapter import EngineApprovals

_OSC_9: Final = ("iterm", "wezterm", "ghostty", "kitty", "foot", "contour")
_OSC_777: Final = ("rxvt", "vte")
_MULTIPLEXERS: Final = ("TMUX", "STY")


class Attention:
    """Takes the number of pending approvals for the header, and calls when it has grown."""

    def __init__(self, app: App[Any], panes: Panes) -> None:
        self._app = app
        self._panes = panes
        self._is_counted = False

    async def count(self, approvals: "EngineApprovals") -> None:
        """Show how many items wait, and call for those that are new.

        What waited before the app was opened calls nobody.
        """
        waiting = await approvals.pending()
        new = waiting - self._panes.waiting
        self._panes.waiting = waiting
        if new > 0 and self._is_counted and not self._app.app_focus:
            self._call(
                f"synthorg: {counted(waiting, 'item')} to decide, {new:,} new", approvals.notify
            )
        self._is_counted = True

    def hear(self, event: "ActivityEvent") -> None:
        """Take what happened for the header; what keeps sessions from coming in is told."""
        self._panes.hear(event)
        if event.error is not None:
            error_toast(self._app, event.error)

    def _call(self, text: str, notify: str) -> None:
        driver = self._app._driver
        if notify == "off" or driver is None:
            return
        sequence = terminal_notification(text, os.environ) if notify == "notification" else ""
        if sequence:
            driver.write(sequence)
            driver.flush()
        elif notify == "bell" or not desktop_notification(text, os.environ):
            self._app.bell()


def terminal_notification(text: str, environ: Mapping[str, str]) -> str:
    """Return the escape sequence by which the terminal shows a notification; empty without one.

    ``text`` must be our own words: it isn't made safe here. A multiplexer would swallow it.
    """
    if any(environ.get(name) for name in _MULTIPLEXERS):
        return ""
    terminal = f"{environ.get('TERM_PROGRAM', '')} {environ.get('TERM', '')}".lower()
    if any(name in terminal for name in _OSC_9):
        return f"\x1b]9;{text}\x07"
    if any(name in terminal for name in _OSC_777) or environ.get("VTE_VERSION"):
        title, _, body = text.partition(": ")
        return f"\x1b]777;notify;{title};{body}\x07"
    return ""


def desktop_notification(text: str, environ: Mapping[str, str]) -> bool:
    """Have the desktop show a notification; ``False`` where there is no desktop or it can't."""
    import shutil  # here: few settings ask for it
    import subprocess

    program = shutil.which("notify-send")
    if program is None or not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        return False
    title, _, body = text.partition(": ")
    with suppress(OSError):
        subprocess.Popen(
            [program, "--app-name", "synthorg", "--", title, body],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return True
    return False
