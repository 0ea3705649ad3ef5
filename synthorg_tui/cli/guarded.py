"""Runs the app in a child process, so that the terminal is given back however the app ends.

A process that a signal ends (no memory left, a fault in a library, ``kill -9``) can't tidy up after
itself, and the shell would be left with mouse reports and another screen. So the process that the
shell waits for does no more than wait, too, and puts right what the app left behind. It also leaves
before the app does: once the app has given the terminal back, nobody has to wait for the store to
close. What the app is doesn't belong here.
"""

import os
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

    from synthorg_tui.cli.output import Console

_GIVE_BACK: Final = (
    "\x1b[<u"  # keyboard protocol
    "\x1b[?2048l\x1b[?2026l\x1b[?2004l\x1b[?1004l"  # size reports, frames, pasting, focus
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"  # wrapping, the other screen, the cursor, colours
)
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)
_PASSED_ON: Final = (*_ENDS, signal.SIGTSTP)


def guarded(run: Callable[[Callable[[], None]], int], console: "Console") -> int:
    """Run the app in a child process and return its exit code; call it before threads start.

    ``run`` gets a function to call when the terminal is given back and only the store is still to
    be closed: the parent then returns 0 at once, and the child goes on without a terminal. When a
    signal ended the app, the terminal is as it was before and the code is 128 plus the signal's
    number, as a shell has it. In the child this returns what ``run`` returns.
    """
    descriptor = sys.stderr.fileno()
    before = termios.tcgetattr(descriptor)
    sys.stdout.flush()
    told, tell = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    pid = os.fork()
    if pid == 0:
        os.close(told)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return run(lambda: _let_go(tell))
    os.close(tell)
    child = _Child(pid)
    child.hear()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    code = child.wait(told)
    if code < 0:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError, termios.error):  # the terminal has gone
            os.write(descriptor, _GIVE_BACK.encode())
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        code = 128 - code
    if code > 128:
        with suppress(OSError):
            console.error(
                f"the app was ended by {signal.Signals(code - 128).name}",
                "Nothing that was stored is lost; open it again.",
            )
    return code


def _let_go(tell: int) -> None:
    """Take the child out of the terminal and its session, then tell the parent."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
    with suppress(PermissionError):  # it leads a session of its own
        os.setsid()
    os.write(tell, b".")
    os.close(tell)


class _Child:
    """The process with the app, as its parent sees it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status: int | None = None

    def hear(self) -> None:
        """Pass signals on to the child, and follow it when it stops."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both
        for number in _PASSED_ON:
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGCHLD, self._look)

    def wait(self, told: int) -> int:
        """Wait until the child has ended, or says over ``told`` that it needs nobody to wait.

        Returns its exit code, or the signal's number below 0.
        """
        if os.read(told, 1):
            return 0
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # it ends: nothing is to be looked at
        if self._status is None:
            _, self._status = os.waitpid(self._pid, 0)
        return os.waitstatus_to_exitcode(self._status)

    def _pass_on(self, number: int, _: "FrameType | None") -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def _look(self, *_: Any) -> None:
        """Stop with the child and all that was started with them; go on when the shell says so."""
        if self._status is not None:
            return
        pid, status = os.waitpid(self._pid, os.WUNTRACED | os.WNOHANG)
        if not pid:
            return
        if not os.WIFSTOPPED(status):
            self._status = status
            return
        has_shell = os.getpgrp() != os.getsid(0)  # only then does somebody continue the group
        os.kill(0 if has_shell else os.getpid(), signal.SIGSTOP)
        goes_on = os.WCONTINUED | os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ProcessLookupError, ChildProcessError):  # it has ended
            # Continued once more, late, it would come back from its next stop by itself.
            if not os.waitid(os.P_PID, self._pid, goes_on):
                os.kill(self._pid, signal.SIGCONT)
