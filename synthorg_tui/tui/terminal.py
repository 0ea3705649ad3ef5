"""Whether the terminal that the app was started on is still there."""

import select
import sys
from contextlib import suppress

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


def is_gone() -> bool:
    """Whether nobody can see the app or type any more, as after its window was closed.

    Usually the system ends the program then; not when hang-ups are ignored, and an app on a
    terminal that is gone would read its end over and over.
    """
    with suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(sys.__stdin__.fileno(), 0)  # type: ignore[union-attr]
        return any(state & _GONE for _, state in poll.poll(0))
    return False
