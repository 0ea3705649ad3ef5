"""The data of every header: the panes, pending approvals, agents, and background work."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from synthorg_tui.core.text import counted, safe_text

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportReport
    from synthorg_tui.jobs.models import RunProgress
    from synthorg_tui.tui.activity.models import ActivityEvent

APPROVALS = "Approvals"
"""Title of the pane whose tab shows the number of pending approvals."""
ACTIVITY = "Activity"
"""Title of the pane whose tab shows the numbers of agents and of their writes."""
SESSIONS = "Sessions"
"""Title of the pane that lists what agents did."""
PANES = (
    ("memories", "Memories", "1"),
    ("digest", "Digest", "2"),
    ("skills", "Skills", "3"),
    ("approvals", APPROVALS, "4"),
    ("activity", ACTIVITY, "5"),
    ("sessions", SESSIONS, "6"),
    ("organisation", "Organisation", "8"),
)
"""The panes: Textual mode, title and number key; 7 opens what is known of projects."""


_MAX_NAME = 24


class ImportNews:
    """What came in by itself since the person last looked, as one line of text."""

    def __init__(self) -> None:
        self._added: dict[str, int] = {}
        self._lessons = 0

    def add(self, report: "ImportReport") -> None:
        """Count what an import added."""
        known = sum(report.added_by_project.values())
        added = {**report.added_by_project, "": report.memories_added - known}
        for project, count in added.items():
            if count > 0:
                self._added[project] = self._added.get(project, 0) + count
        self._lessons += report.lessons_proposed

    def clear(self) -> None:
        """Forget what came: it has been seen."""
        self._added, self._lessons = {}, 0

    def __str__(self) -> str:
        """Return as ``3 new from shop, 2 lessons``; an empty text when nothing came."""
        names = [_short(project) for project in self._added if project]
        others = f" and {counted(len(names) - 1, 'other')}" if len(names) > 1 else ""
        source = f" from {names[0]}{others}" if names else ""
        new = sum(self._added.values())
        parts = (
            f"{new:,} new{source}" if new else "",
            counted(self._lessons, "lesson") if self._lessons else "",
        )
        return ", ".join(filter(None, parts))


def _short(project: str) -> str:
    """The name of a project's folder, which a stranger may have chosen."""
    name = safe_text(project.rstrip("/").rpartition("/")[2])
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


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
        self.job = ""
        self._runs = ""
        self._importing = ""
        self._news = ImportNews()
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
        return " · ".join(filter(None, (self._runs, self._work, self.job)))

    @work.setter
    def work(self, text: str) -> None:
        if text != self._work:
            self._work = text
            self._tell()

    def show_job(self, running: "tuple[str, RunProgress] | None") -> None:
        """Show the job that runs by itself and how far it is; ``None`` when none does."""
        name, now = running or ("", None)
        share = f" {now.done / now.total:.0%}" if now is not None and now.total else ""
        if f"{name}{share}" != self.job:
            self.job = f"{name}{share}"
            self._tell()

    def show_runs(self, text: str) -> None:
        """Show how many agents run here, and how far they are; an empty text when none does."""
        if text != self._runs:
            self._runs = text
            self._tell()

    @property
    def importing(self) -> str:
        """The import that a person started and its progress, or an empty string."""
        return self._importing

    @importing.setter
    def importing(self, text: str) -> None:
        if text != self._importing:
            self._importing = text
            self._tell()

    @property
    def news(self) -> str:
        """What came in by itself since the person last looked, or an empty string."""
        return str(self._news)

    def saw_news(self) -> None:
        """Forget what came in, as the person has seen it."""
        if self.news:
            self._news.clear()
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
        """Update the counts of agents and of writes, and what came in, from an event."""
        wrote = event.call is not None and event.call.wrote
        self.agents = (event.connected, self._agents[1] + wrote)
        if event.imported is not None:
            self._news.add(event.imported)
            self._tell()
        if event.topic == "connection":
            lost = event.lost
            since = f"since {lost.since.astimezone():%H:%M}" if lost is not None else ""
            self.badge("connection", since and f"database away {since}, trying again")

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
