"""What every header shows: the panes by number key, and how many approvals wait."""

from collections.abc import Callable

from textual.message import Message

APPROVALS = "Approvals"
"""The pane that the count belongs to."""


class Panes:
    """Titles of the panes by number key, and the count of what waits for approval.

    The count is 0 until the store was asked. Headers listen for as long as they are shown.
    """

    def __init__(self, titles: tuple[tuple[str, str], ...]) -> None:
        self.titles = titles
        self._waiting = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def waiting(self) -> int:
        """How many items wait for approval."""
        return self._waiting

    @waiting.setter
    def waiting(self, count: int) -> None:
        if count != self._waiting:
            self._waiting = count
            for listener in self._listeners:
                listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Tell of every new count."""
        self._listeners.append(listener)

    def leave(self, listener: Callable[[], None]) -> None:
        """No longer tell."""
        self._listeners.remove(listener)


class Recount(Message):
    """The queue may have changed: count again what waits."""
