"""Headings over the rows of a listing: by day and session, or by what the rows are sorted by.

They are lines between rows, not rows: positions and totals count memories alone. Only the loaded
rows have headings, so a page that is loaded can move the lines of those after it. Nothing here
knows widgets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from synthorg_tui.memory.listing import ListedMemory, SortOrder
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.window import RowWindow

_NO_SESSION = "outside sessions"


@dataclass(frozen=True, slots=True)
class RowHeading:
    """What the rows below have in common.

    ``key`` tells it from others of its level, ``text`` is shown, and ``aside`` at the right.
    """

    key: object
    text: str
    role: str
    aside: str = ""
    indent: str = ""

    def line(self, width: int) -> Line:
        """Render the heading with a rule up to the right edge."""
        left = line((f"{self.indent}{one_line(self.text)} ", self.role))
        right = line((f" {self.aside}", "faint")) if self.aside else Line()
        left = left.fit(min(left.width, max(width - right.width - 2, 1)))
        rule = "─" * max(width - left.width - right.width, 0)
        return left.extend(Line([(rule, "track")])).extend(right).fit(width)


class Headings:
    """The headings of a window of rows, and where the lines of its rows are.

    Lines are counted from the top of the whole listing; a row has ``height`` of them.
    """

    def __init__(self, of: Sequence[tuple[int, tuple[RowHeading, ...]]] = ()) -> None:
        self._over = dict(of)
        self._rows = [index for index, _ in of]
        self._counts = [len(headings) for _, headings in of]
        self._before = [0, *accumulate(self._counts)]

    @property
    def shape(self) -> tuple[list[int], list[int]]:
        """The rows that have headings, and how many each has."""
        return self._rows, self._counts

    def over(self, index: int) -> tuple[RowHeading, ...]:
        """Return the headings over a row, by its position in the listing."""
        return self._over.get(index, ())

    def top_of(self, index: int, height: int) -> int:
        """Return the first line of a row with its headings."""
        return index * height + self._before[bisect_left(self._rows, index)]

    def place_of(self, at: int, height: int) -> tuple[int, int]:
        """Return the row that a line belongs to, and which of its lines; negative in headings."""
        last = bisect_right(self._rows, at, key=lambda index: self.top_of(index, height)) - 1
        if last < 0:
            return divmod(at, height)
        index, count = self._rows[last], self._counts[last]
        inside = at - self.top_of(index, height) - count
        if inside < 0:
            return index, inside
        return index + inside // height, inside % height


def headings_of(window: RowWindow, order: SortOrder, *, now: datetime) -> Headings:
    """Return the headings of the loaded rows, which are in this order.

    Memories of no session or project stand first under their day, or under a heading of their own.
    """
    found: list[tuple[int, tuple[RowHeading, ...]]] = []
    before: tuple[RowHeading, ...] = ()
    for at, row in enumerate(window.rows, start=window.offset):
        levels = _levels(row, order, now)
        same = 0
        while same < len(before) and before[same].key == levels[same].key:
            same += 1
        new = tuple(level for level in levels[same:] if same or level.text != _NO_SESSION)
        if new:
            found.append((at, new))
        before = levels
    return Headings(found)


def _levels(row: ListedMemory, order: SortOrder, now: datetime) -> tuple[RowHeading, ...]:
    if order == "agent":
        return (RowHeading(row.agent_id, row.agent_id, "title"),)
    if order == "category":
        return (RowHeading(row.category, row.category.value, "title"),)
    if order == "confidence":
        shown = f"{row.confidence:.2f}"
        return (RowHeading(shown, f"confidence {shown}", "title"),)
    local = row.created_at.astimezone(now.tzinfo)
    day = RowHeading(local.date(), _day(local, now), "title", ago(row.created_at, now))
    agent = row.agent_id if row.session_id else ""
    place = " · ".join(filter(None, (row.project_name, agent))) or _NO_SESSION
    key = (row.session_id, row.project, agent)
    session = RowHeading(key, place, "muted", f"{local:%H:%M}", indent=" ")
    return day, session


def _day(local: datetime, now: datetime) -> str:
    days = (now.date() - local.date()) // timedelta(days=1)
    if days in (0, 1):
        return "Yesterday" if days else "Today"
    year = "" if local.year == now.year else f" {local.year}"
    return f"{local:%A} {local.day} {local:%B}{year}"


def agent_and_age(
    row: ListedMemory, before: ListedMemory | None, order: SortOrder | None, now: datetime
) -> tuple[bool, bool]:
    """Return whether a row has to show its agent and its age: only where they change.

    In orders by time the headings say both, but not the agents of what was written outside
    sessions. Without an order there are no headings.
    """
    if order is None:
        return True, True
    if order in ("newest", "oldest"):
        return row.session_id is None and _agent_of(before) != row.agent_id, False
    agent = order != "agent" and (before is None or before.agent_id != row.agent_id)
    age = before is None or ago(before.created_at, now) != ago(row.created_at, now)
    return agent, age


def _agent_of(row: ListedMemory | None) -> str:
    """Whose memory the row is, if it says so itself."""
    return row.agent_id if row is not None and row.session_id is None else ""
