"""The data of every header: the panes, pending approvals, agents, and background work."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthorg_tui.tui.activity.models import ActivityEvent

APPROVALS = "Approvals"
"""Title of the pane whose tab shows the number of pending approvals."""
ACTIVITY = "Activity"
"""Title of the pane whose tab shows the numbers of agents and of their writes."""
PANES = (
    ("memories", "Memories", "1"),
    ("digest", "Digest", "2"),
    ("skills", "Skills", "3"),
    ("approvals", APPROVALS, "4"),
    ("activity", ACTIVITY, "5"),
)
"""The panes: Textual mode, title and number key."""


class Panes:
    """The titles of the panes and the counts beside them, shared by the headers of all screens.

    Counts are 0 until the store was read. ``work`` describes background work, or is empty.
    ``run_by`` names the coding agent that runs the app, empty for a person; it is a badge. Badges
    are what the person should know all the time. A header registers with ``listen`` while it is
    mounted.
    """

    def __init__(self, titles: tuple[tuple[str, str], ...], run_by: str = "") -> None:
        self.titles = titles
        warning = f"run by {run_by}: nothing can be approved or changed here" if run_by else ""
        self._badges = {"run_by": warning}
        self._waiting = 0
        self._agents = (0, 0)
        self._work = ""
        self._listeners: list[Callable[[], None]] = []

    @property
    def waiting(self) -> int:
        """The number of items that wait for approval."""
        return self._waiting

    @waiting.setter
    def waiting(self, count: int) -> None:
        if count != self._waiting:
            self._waiting = count
            self._tell()

    @property
    def agents(self) -> tuple[int, int]:
        """The number of connected agents, and of writes since the person last saw the pane."""
        return self._agents

    @agents.setter
    def agents(self, counts: tuple[int, int]) -> None:
        if counts != self._agents:
            self._agents = counts
            self._tell()

    @property
    def work(self) -> str:
        """The background work that is running and its progress, or an empty string."""
        return self._work

    @work.setter
    def work(self, text: str) -> None:
        if text != self._work:
            self._work = text
            self._tell()

    @property
    def badges(self) -> tuple[str, ...]:
        """The badges to show, in the order in which they were first set."""
        return tuple(filter(None, self._badges.values()))

    def badge(self, name: str, text: str) -> None:
        """Set the badge of this name, a few words; an empty text takes it away."""
        if text != self._badges.get(name, ""):
            self._badges[name] = text
            self._tell()

    def hear(self, event: "ActivityEvent") -> None:
        """Update the counts of connected agents and of writes from an event."""
        wrote = event.call is not None and event.call.wrote
        self.agents = (event.connected, self._agents[1] + wrote)

    def looked(self) -> None:
        """Reset the number of writes, as the person sees the Activity pane now."""
        self.agents = (self._agents[0], 0)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever a count or the background work changes."""
        self._listeners.append(listener)

    def leave(self, listener: Callable[[], None]) -> None:
        """Stop calling ``listener``."""
        self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
