"""Buckets of time in somebody's time zone, and the SQL that puts rows into them.

The database holds UTC. A day is that of the asker's zone, as in every list of the app: where the
zone's offset changes within the span, each row gets the offset of its own moment.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from synthorg_tui.figures.models import BucketUnit, FigureSpan, Series, TimeScale
from synthorg_tui.persistence.values import naive_utc

MAX_BUCKETS: Final = 60
"""Most buckets of all time; what is older counts into the first."""
CALENDAR_WEEKS: Final = 53
"""Weeks of the calendar, the present one included."""
_DAY: Final = timedelta(days=1)
_LOOK_EVERY: Final = timedelta(days=5)
"""How far apart the offsets of a zone are compared: two changes are further apart."""
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""From when on offsets are looked for; what is older has the one of that day."""
_FIXED: Final = {
    FigureSpan.WEEK: (BucketUnit.DAY, 7),
    FigureSpan.MONTH: (BucketUnit.DAY, 30),
    FigureSpan.QUARTER: (BucketUnit.WEEK, 13),
    FigureSpan.YEAR: (BucketUnit.MONTH, 12),
}
_ALL: Final = (
    (BucketUnit.DAY, 31),
    (BucketUnit.WEEK, 26),
    (BucketUnit.MONTH, 48),
    (BucketUnit.YEAR, MAX_BUCKETS),
)
"""Buckets of all time: the first of these that reaches back far enough."""


def scale_of(span: FigureSpan, now: datetime, oldest: datetime | None = None) -> TimeScale:
    """Return the buckets of a span that ends now; ``oldest`` is where all time begins."""
    today = now.date()
    if span is not FigureSpan.ALL:
        unit, count = _FIXED[span]
        return TimeScale(span, unit, _starts(unit, count, today))
    first = min(oldest.astimezone(now.tzinfo).date(), today) if oldest is not None else today
    for unit, most in _ALL:
        starts = _starts(unit, most, today)
        if starts[0] <= first or unit is BucketUnit.YEAR:
            begin = bisect_right(starts, first) - 1
            return TimeScale(span, unit, starts[max(begin, 0) :])
    raise AssertionError("unreachable")


def first_of(unit: BucketUnit, day: date) -> date:
    """Return the first day of the bucket that a day is in."""
    match unit:
        case BucketUnit.DAY:
            return day
        case BucketUnit.WEEK:
            return day - timedelta(days=day.weekday())
        case BucketUnit.MONTH:
            return day.replace(day=1)
        case BucketUnit.YEAR:
            return day.replace(month=1, day=1)


def _starts(unit: BucketUnit, count: int, today: date) -> tuple[date, ...]:
    starts = [first_of(unit, today)]
    while len(starts) < count and starts[-1] > date.min + timedelta(days=366):
        starts.append(first_of(unit, starts[-1] - _DAY))
    return tuple(reversed(starts))


def calendar_start(now: datetime) -> date:
    """Return the Monday on which the calendar begins."""
    return first_of(BucketUnit.WEEK, now.date()) - timedelta(weeks=CALENDAR_WEEKS - 1)


def midnight(day: date, now: datetime) -> datetime:
    """Return the beginning of a day in the zone of ``now``, as naive UTC like stored times."""
    return naive_utc(datetime.combine(day, time(), tzinfo=now.tzinfo))


class LocalDays:
    """Local days of one zone in SQL; ``oldest`` is the earliest moment whose offset matters."""

    def __init__(self, now: datetime, oldest: datetime) -> None:
        self._shifts = tuple(_shifts(now, min(oldest, now)))

    def sql(self, moment: str) -> str:
        """Return the SQL of the local date of a naive UTC column or expression."""
        *changes, (_, last) = self._shifts
        cases = "".join(
            f" WHEN {moment} < TIMESTAMP '{until:%Y-%m-%d %H:%M:%S}' THEN {offset}"
            for until, offset in changes
        )
        offset = f"CASE{cases} ELSE {last} END" if cases else str(last)
        return f"CAST({moment} + to_seconds({offset}) AS DATE)"

    def bucket_sql(self, moment: str, unit: BucketUnit) -> str:
        """Return the SQL of the first day of the bucket that a moment is in."""
        day = self.sql(moment)
        return day if unit is BucketUnit.DAY else f"date_trunc('{unit}', {day})::DATE"


def _shifts(now: datetime, oldest: datetime) -> Iterator[tuple[datetime, int]]:
    """Until when which offset holds, in seconds; the last one has no end."""
    zone, end = now.tzinfo or UTC, now.astimezone(UTC).replace(microsecond=0) + 2 * _DAY
    at = max(oldest.astimezone(UTC).replace(microsecond=0), _EARLIEST)

    def offset(moment: datetime) -> int:
        return int((moment.astimezone(zone).utcoffset() or timedelta()).total_seconds())

    present = offset(at)
    while at < end:
        later = min(at + _LOOK_EVERY, end)
        if offset(later) != present:
            low, high = at, later
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // timedelta(seconds=2) * timedelta(seconds=1)
                low, high = (middle, high) if offset(middle) == present else (low, middle)
            yield naive_utc(high), present
            present = offset(high)
            at = high
        else:
            at = later
    yield datetime.max, present


def counted_in(scale: TimeScale, counts: Iterable[tuple[date, int]]) -> tuple[int, ...]:
    """Return (first day, count) pairs as a count for each bucket of the scale."""
    found = [0] * len(scale.starts)
    for day, count in counts:
        at = bisect_right(scale.starts, day) - 1
        if at >= 0 or scale.span is FigureSpan.ALL:
            found[max(at, 0)] += count
    return tuple(found)


def series_of(
    scale: TimeScale, rows: Iterable[tuple[str, date, int]], *names: str
) -> tuple[Series, ...]:
    """Return a series for each name of (name, first day, count) rows, the largest first.

    With ``names`` those are returned, in this order, whether there are rows or not.
    """
    by_name: dict[str, list[tuple[date, int]]] = {name: [] for name in names}
    for name, day, count in rows:
        by_name.setdefault(name, []).append((day, count))
    made = [Series(name, counted_in(scale, counts)) for name, counts in by_name.items()]
    return tuple(made) if names else tuple(sorted(made, key=lambda s: (-s.total, s.name)))
