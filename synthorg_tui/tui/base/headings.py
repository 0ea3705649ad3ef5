"""Headings over the rows of a list.

They are lines between rows, not rows: positions and totals count rows alone, and the cursor knows
nothing of them. Which rows have which is for who lists them; nothing here knows widgets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import accumulate

from synthorg_tui.tui.base.lines import Line, line, one_line


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
    """The headings of some rows, and where the lines of all rows are.

    Lines are counted from the top of the whole list; a row has ``height`` of them.
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
        """Return the headings over a row, by its position in the list."""
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


def day_heading(day: date | None, now: datetime, *, aside: str = "") -> RowHeading:
    """Return the heading of a day, which is ``None`` where no time is recorded."""
    return RowHeading(day, _day(day, now) if day else "no time recorded", "title", aside)


def _day(day: date, now: datetime) -> str:
    days = (now.date() - day) // timedelta(days=1)
    if days in (0, 1):
        return "Yesterday" if days else "Today"
    year = "" if day.year == now.year else f" {day.year}"
    return f"{day:%A} {day.day} {day:%B}{year}"
