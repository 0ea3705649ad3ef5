"""Buckets begin with local days, weeks, months; what lies outside is left out or folded in."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.figures.models import BucketUnit, FigureSpan, TimeScale
from synthorg_tui.figures.scale import (
    CALENDAR_WEEKS,
    MAX_BUCKETS,
    LocalDays,
    calendar_start,
    counted_in,
    first_of,
    scale_of,
)
from tests.tables import rows

NOW = datetime(2026, 3, 30, 9, 30, tzinfo=UTC)
ZONES = ("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "UTC")


@rows(
    ("span", "unit", "count", "first"),
    [
        (FigureSpan.WEEK, BucketUnit.DAY, 7, date(2026, 3, 24)),
        (FigureSpan.MONTH, BucketUnit.DAY, 30, date(2026, 3, 1)),
        (FigureSpan.QUARTER, BucketUnit.WEEK, 13, date(2026, 1, 5)),
        (FigureSpan.YEAR, BucketUnit.MONTH, 12, date(2025, 4, 1)),
    ],
)
def test_a_span_ends_with_the_present_bucket(
    span: FigureSpan, unit: BucketUnit, count: int, first: date
) -> None:
    scale = scale_of(span, NOW)
    assert (scale.unit, len(scale.starts), scale.starts[0]) == (unit, count, first)
    assert scale.starts[-1] == first_of(unit, NOW.date())
    assert scale.since == first


@rows(
    ("days", "unit", "count"),
    [
        (0, BucketUnit.DAY, 1),
        (30, BucketUnit.DAY, 31),
        (31, BucketUnit.WEEK, 6),
        (175, BucketUnit.WEEK, 26),
        (176, BucketUnit.MONTH, 6),
        (365 * 3, BucketUnit.MONTH, 37),
        (365 * 5, BucketUnit.YEAR, 6),
    ],
)
def test_all_time_has_the_shortest_buckets_that_reach_back(
    days: int, unit: BucketUnit, count: int
) -> None:
    scale = scale_of(FigureSpan.ALL, NOW, NOW - timedelta(days=days))
    assert (scale.unit, len(scale.starts)) == (unit, count)
    assert scale.since is None


def test_what_is_older_than_all_buckets_counts_into_the_first_of_all_time_only() -> None:
    ancient = datetime(1800, 1, 1, tzinfo=UTC)
    scale = scale_of(FigureSpan.ALL, NOW, ancient)
    assert len(scale.starts) == MAX_BUCKETS
    counts = [(ancient.date(), 3), (NOW.date(), 2), (NOW.date() + timedelta(days=400), 1)]
    found = counted_in(scale, counts)
    assert (found[0], found[-1], sum(found)) == (3, 3, 6)
    year = scale_of(FigureSpan.YEAR, NOW)
    assert sum(counted_in(year, counts)) == 3


def test_a_store_that_is_dated_in_the_future_begins_today() -> None:
    scale = scale_of(FigureSpan.ALL, NOW, NOW + timedelta(days=9))
    assert scale.starts == (NOW.date(),)


def test_the_calendar_begins_on_a_monday_and_has_today() -> None:
    first = calendar_start(NOW)
    assert first.weekday() == 0
    assert first + timedelta(weeks=CALENDAR_WEEKS) > NOW.date() >= first


@settings(max_examples=25, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    moments=st.lists(
        st.datetimes(datetime(2021, 1, 1), datetime(2026, 3, 30)), min_size=1, max_size=20
    ),
    unit=st.sampled_from(list(BucketUnit)),
)
def test_the_database_puts_each_moment_into_the_bucket_of_its_local_day(
    zone: str, moments: list[datetime], unit: BucketUnit
) -> None:
    place = ZoneInfo(zone)
    days = LocalDays(NOW.astimezone(place), min(moments).replace(tzinfo=UTC))
    rows = duckdb.execute(
        f"SELECT {days.bucket_sql('seen', unit)}, count(*) "
        "FROM (SELECT unnest(?) AS seen) GROUP BY 1",
        [moments],
    ).fetchall()
    local = (at.replace(tzinfo=UTC).astimezone(place).date() for at in moments)
    assert dict(rows) == Counter(first_of(unit, day) for day in local)


@rows("seconds", [-1, 0, 1])
@rows("month", [3, 10])
def test_the_second_around_a_change_of_clocks_and_midnight_has_its_day(
    month: int, seconds: int
) -> None:
    place = ZoneInfo("Europe/Berlin")
    changes = {3: datetime(2025, 3, 30, 1, tzinfo=UTC), 10: datetime(2025, 10, 26, 1, tzinfo=UTC)}
    days = LocalDays(NOW.astimezone(place), NOW - timedelta(days=900))
    around = [changes[month] + timedelta(hours=h, seconds=seconds) for h in range(-27, 28)]
    rows = duckdb.execute(
        f"SELECT {days.sql('seen')} FROM (SELECT unnest(?) AS seen)",
        [[each.replace(tzinfo=None) for each in around]],
    ).fetchall()
    assert [row[0] for row in rows] == [each.astimezone(place).date() for each in around]


def test_a_fixed_offset_needs_no_cases() -> None:
    place = timezone(timedelta(hours=-3, minutes=-30))
    days = LocalDays(NOW.astimezone(place), datetime(1, 1, 1, tzinfo=UTC))
    assert days.sql("at") == "CAST(at + to_seconds(-12600) AS DATE)"


def test_a_count_of_a_day_between_two_starts_belongs_to_the_first_of_them() -> None:
    starts = (date(2026, 1, 5), date(2026, 1, 12))
    scale = TimeScale(FigureSpan.QUARTER, BucketUnit.WEEK, starts)
    days = {date(2026, 1, 4): 1, date(2026, 1, 5): 2, date(2026, 1, 11): 4, date(2026, 1, 12): 8}
    assert counted_in(scale, days.items()) == (6, 8)
