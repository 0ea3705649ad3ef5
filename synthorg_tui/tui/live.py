"""Keeping up with what agents do, a few times a second at most."""

from collections.abc import Callable
from time import monotonic
from typing import Final

from textual.message_pump import MessagePump
from textual.timer import Timer

_TOGETHER: Final = 0.05
"""What happens within so many seconds is shown at once."""


class Soon:
    """Runs an act soon after it was asked for, but not twice within ``seconds``."""

    def __init__(self, owner: MessagePump, act: Callable[[], None], seconds: float) -> None:
        self._owner = owner
        self._act = act
        self._seconds = seconds
        self._ran = -seconds
        self._timer: Timer | None = None

    def ask(self) -> None:
        """Run it soon; asking meanwhile adds nothing."""
        if self._timer is None:
            rest = self._ran + self._seconds - monotonic()
            wait = max(rest, min(_TOGETHER, self._seconds))
            self._timer = self._owner.set_timer(wait, self._run)

    def _run(self) -> None:
        self._timer = None
        self._ran = monotonic()
        self._act()
