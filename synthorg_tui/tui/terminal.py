"""The terminal the app runs at: what its signals do, and giving it back and taking it again.

Textual's own driver keeps the terminal when a signal ends the app, and starts its input twice when
it is continued twice, as it is by a shell and by the process that waits for the app.
"""

import asyncio
import os
import select
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class TerminalDriver(LinuxDriver):
    """Textual's driver, with signals that end, interrupt, stop and continue the app in order.

    SIGTERM and SIGHUP end it with 128 plus their number as its return code. SIGINT does what the
    key Ctrl-C does. While the person's editor has the terminal, SIGINT is the editor's.
    """

    def __init__(
        self,
        app: "App[Any]",
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._loop = asyncio.get_running_loop()
        self._is_shown = False
        self._is_leaving = True
        self._is_stopped = False
        self._given_back: Callable[[], None] = getattr(app, "on_given_back", lambda: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGTSTP, self._soon(self._step_aside))
        signal.signal(signal.SIGCONT, self._soon(self._come_back))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_shown = True

    def suspend_application_mode(self) -> None:
        self._is_leaving = False
        super().suspend_application_mode()
        self._is_leaving = True

    def stop_application_mode(self) -> None:
        """Give the terminal back; if it is for good, say so once all is written."""
        if not self._is_shown:
            return
        super().stop_application_mode()
        self._is_shown = False
        if self._is_leaving:
            self.close()
            self._given_back()

    def disable_input(self) -> None:
        """Stop reading; what is typed once the terminal was given back isn't ours to drop.

        The thread that reads looks every tenth of a second whether it is to end. A person who
        leaves doesn't wait for that.
        """
        if not self._is_shown:
            return
        if not self._is_leaving:
            super().disable_input()
            return
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        self._disable_mouse_support()
        self.exit_event.set()
        with suppress(termios.error):
            termios.tcflush(self.fileno, termios.TCIFLUSH)

    def close(self) -> None:
        if self._can_write():
            super().close()
        self._writer_thread = None

    def write(self, data: str) -> None:
        """Write to the terminal; nothing is written once it is gone or was given back."""
        if self._can_write():
            super().write(data)

    def _can_write(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def _end(self, number: int, _: object) -> None:
        self._loop.call_soon_threadsafe(lambda: self._app.exit(return_code=128 + number))

    def _interrupt(self, *_: object) -> None:
        if self._is_shown:
            self._loop.call_soon_threadsafe(self._app.call_later, self._app.action_help_quit)

    def _soon(self, act: Callable[[], None]) -> Callable[..., object]:
        """A handler that lets the loop do it: one act after the other, none within another."""
        return lambda *_: self._loop.call_soon_threadsafe(act)

    def _step_aside(self) -> None:
        if self._is_shown:
            self.suspend_application_mode()
            self._is_stopped = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _come_back(self) -> None:
        """Take the terminal again; in the background, stop again until it is ours."""
        if not self._is_stopped:
            return
        if os.tcgetpgrp(self.fileno) != os.getpgrp():
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        self._is_stopped = False
        self.resume_application_mode()
        self._app.refresh(layout=True)


def has_shell() -> bool:
    """Return whether there is a shell that could continue the app after it has stopped."""
    return os.getpgrp() != os.getsid(0)


def is_gone() -> bool:
    """Return whether the app has lost its terminal, as after its window was closed.

    The system usually ends the program then. It doesn't if the hang-up signal is ignored, and the
    app would read the end of its input in an endless loop.
    """
    with suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(sys.__stdin__.fileno(), 0)  # type: ignore[union-attr]
        return any(state & _GONE for _, state in poll.poll(0))
    return False


def is_interrupt(event: events.Event) -> bool:
    """Return whether the event is the key Ctrl-C, not yet given to a widget."""
    is_key = isinstance(event, events.Key) and event.key == "ctrl+c"
    return is_key and not event.is_forwarded
