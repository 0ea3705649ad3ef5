"""Keeping up with what agents do, a few times a second at most."""

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer


class Soon:
    """Runs an act ``seconds`` after it was asked for; asking meanwhile adds nothing."""

    def __init__(self, owner: MessagePump, act: Callable[[], None], seconds: float) -> None:
        self._owner = owner
        self._act = act
        self._seconds = seconds
        self._timer: Timer | None = None

    def ask(self) -> None:
        """Run it soon."""
        if self._timer is None:
            self._timer = self._owner.set_timer(self._seconds, self._run)

    def _run(self) -> None:
        self._timer = None
        self._act()
