"""Pictures of numbers in characters: columns, parts of a bar, and a calendar of days.

They say the same without colours: how high a column is, how long a bar, how dense a day. No library
draws them: those that plot in terminals take a tenth of a second to import, and of seven rows give
four to a frame and axes; they know no eighths, and colours of their own instead of the theme's.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from synthorg_tui.figures.models import ActivityDay
from synthorg_tui.figures.scale import CALENDAR_WEEKS

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
NOTHING: Final = "·"
"""What stands where a count is zero."""
SHADES: Final = "·░▒▓█"
"""Days of the calendar, from none to the most."""
_WEEKDAYS: Final = ("Mon", "", "Wed", "", "Fri", "", "")
LABEL_CELLS: Final = 4
"""Cells of the weekdays at the left of a calendar."""


def columns(counts: Sequence[int], width: int, height: int = 1) -> tuple[str, ...]:
    """Draw counts as columns of eighths, a text for each row; the highest fills the height.

    Columns are as wide as there is room for, with a gap where they are; of more counts than cells
    neighbours are added up. A count that isn't zero shows at least as the lowest step.
    """
    merged = _merged(counts, width)
    if not merged:
        return ("",) * height
    each = max(width // len(merged), 1)
    gap = 1 if each > 2 else 0
    highest = max(merged)
    most = height * 8
    steps = [max(round(count * most / highest), 1) if count > 0 else 0 for count in merged]
    rows = []
    for row in range(height - 1, -1, -1):
        parts = []
        for step in steps:
            filled = min(max(step - row * 8, 0), 8)
            shown = NOTHING if not step and not row else _EIGHTHS[filled]
            parts.append(shown * (each - gap) + " " * gap)
        rows.append("".join(parts))
    return tuple(rows)


def _merged(counts: Sequence[int], width: int) -> list[int]:
    """The counts, or sums of so many neighbours that they fit; the last one ends with today."""
    if width <= 0:
        return []
    together = -(-len(counts) // width)
    first = len(counts) % together if together else 0
    groups = [counts[:first]] if first else []
    groups += [counts[at : at + together] for at in range(first, len(counts), together or 1)]
    return [sum(group) for group in groups]


def stacked(parts: Sequence[float], width: int) -> tuple[int, ...]:
    """Return the cells of each part of a bar; what isn't zero has at least one where it fits."""
    total = sum(parts)
    if total <= 0 or width <= 0:
        return (0,) * len(parts)
    cells = [max(int(part * width / total), 1) if part > 0 else 0 for part in parts]
    while sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    order = sorted(range(len(parts)), key=lambda at: -parts[at])
    cells[order[0]] += width - sum(cells)
    return tuple(cells)


class CalendarRow(NamedTuple):
    """A row of the calendar: the label, and a shade for each week with the day that it is."""

    label: str
    days: tuple[tuple[date, int], ...]


def calendar_rows(
    days: Sequence[ActivityDay], last: date, weeks: int = CALENDAR_WEEKS
) -> tuple[CalendarRow, ...]:
    """Return a row for each weekday with the shades (0 to 4) of so many weeks up to ``last``.

    Days after ``last`` aren't in it. A shade is told by the number of calls, or, where none are
    known, of sessions: quarters of the days that have any.
    """
    first = last - timedelta(days=last.weekday(), weeks=weeks - 1)
    shades = shades_of(days)
    rows = []
    for weekday, label in enumerate(_WEEKDAYS):
        found = (first + timedelta(weeks=week, days=weekday) for week in range(weeks))
        rows.append(
            CalendarRow(label, tuple((day, shades.get(day, 0)) for day in found if day <= last))
        )
    return tuple(rows)


def shades_of(days: Sequence[ActivityDay]) -> Mapping[date, int]:
    """Return the shade of each day with anything, 1 to 4."""
    weights = {each.day: each.calls or each.sessions for each in days}
    ordered = sorted(weight for weight in weights.values() if weight)
    borders = [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)] if ordered else []
    highest = ordered[-1] if ordered else 0
    return {
        day: 4 if weight == highest else 1 + sum(weight >= border for border in borders)
        for day, weight in weights.items()
        if weight
    }


def month_labels(first: date, weeks: int, each: int) -> str:
    """Return the names of months over the weeks in which they begin, ``each`` cells a week."""
    labels = [" "] * (weeks * each)
    free = 0
    for week in range(weeks):
        monday = first + timedelta(weeks=week)
        begins = next(
            (day for day in (monday + timedelta(days=d) for d in range(7)) if day.day == 1), None
        )
        name = f"{begins:%b}" if begins else ""
        if name and week * each >= free and week * each + len(name) <= len(labels):
            labels[week * each : week * each + len(name)] = name
            free = week * each + len(name) + 1
    return "".join(labels)
