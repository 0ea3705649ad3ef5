"""Runs the app in a child process, so that the terminal is given back however the app ends.

A process that a signal ends (no memory left, a fault in a library, ``kill -9``) can't tidy up after
itself, and the shell would be left with mouse reports and another screen. So the process that the
shell waits for does no more than wait, too, and puts right what the app left behind. What the app
is doesn't belong here.
"""

import os
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

    from synthorg_tui.cli.output import Console

_GIVE_BACK: Final = (
    "\x1b[<u"  # keyboard protocol
    "\x1b[?2048l\x1b[?2026l\x1b[?2004l\x1b[?1004l"  # size reports, frames, pasting, focus
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"  # wrapping, the other screen, the cursor, colours
)
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP)


def guarded(run: Callable[[], int], console: "Console") -> int:
    """Run the app in a child process and return its exit code; call it before threads start.

    When a signal ended it, the terminal is as it was before and the code is 128 plus the signal's
    number, as a shell has it. In the child this returns what ``run`` returns.
    """
    descriptor = sys.stderr.fileno()
    before = termios.tcgetattr(descriptor)
    sys.stdout.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)  # until they can be passed on
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return run()

    def pass_on(number: int, _: "FrameType | None") -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both
    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    code = os.waitstatus_to_exitcode(_wait(child))
    if code >= 0:
        return code
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError, termios.error):  # the terminal has gone
        os.write(descriptor, _GIVE_BACK.encode())
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        console.error(
            f"the app was ended by {signal.Signals(-code).name}",
            "Nothing that was stored is lost; open it again.",
        )
    return 128 - code


def _wait(child: int) -> int:
    """Wait until the child has ended; stop and go on with it where the terminal asks for that."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(child, signal.SIGCONT)
