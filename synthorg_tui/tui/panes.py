"""What every header shows: the panes by number key, what waits, what agents do, long work."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from synthorg_tui.tui.activity.models import ActivityEvent

APPROVALS = "Approvals"
"""The pane that the count of what waits belongs to."""
ACTIVITY = "Activity"
"""The pane that the counts of agents belong to."""
PANES = (
    ("memories", "Memories", "1"),
    ("digest", "Digest", "2"),
    ("skills", "Skills", "3"),
    ("approvals", APPROVALS, "4"),
    ("activity", ACTIVITY, "5"),
)
"""The main panes: mode, title and number key."""


class Panes:
    """Titles of the panes by number key, the count of what waits for approval, those of agents.

    ``work`` says in a few words what takes a while, or is empty. Counts are 0 until the store was
    asked. Headers listen for as long as they are shown.
    """

    def __init__(self, titles: tuple[tuple[str, str], ...]) -> None:
        self.titles = titles
        self._waiting = 0
        self._agents = (0, 0)
        self._work = ""
        self._listeners: list[Callable[[], None]] = []

    @property
    def waiting(self) -> int:
        """How many items wait for approval."""
        return self._waiting

    @waiting.setter
    def waiting(self, count: int) -> None:
        if count != self._waiting:
            self._waiting = count
            self._tell()

    @property
    def agents(self) -> tuple[int, int]:
        """How many agents are connected, and how often they wrote since somebody looked."""
        return self._agents

    @agents.setter
    def agents(self, counts: tuple[int, int]) -> None:
        if counts != self._agents:
            self._agents = counts
            self._tell()

    @property
    def work(self) -> str:
        """What goes on in the background and how far it has come."""
        return self._work

    @work.setter
    def work(self, text: str) -> None:
        if text != self._work:
            self._work = text
            self._tell()

    def hear(self, event: "ActivityEvent") -> None:
        """Count who is connected, and what was written."""
        wrote = event.call is not None and event.call.wrote
        self.agents = (event.connected, self._agents[1] + wrote)

    def looked(self) -> None:
        """Somebody looks at what agents do: what they write from now on is counted."""
        self.agents = (self._agents[0], 0)

    def listen(self, listener: Callable[[], None]) -> None:
        """Tell of every new count."""
        self._listeners.append(listener)

    def leave(self, listener: Callable[[], None]) -> None:
        """No longer tell."""
        self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


class Recount(Message):
    """The queue may have changed: count again what waits."""
