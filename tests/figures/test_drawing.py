"""Pictures say the numbers by height, length and density, and words say them exactly."""

from datetime import UTC, date, datetime, timedelta

from synthorg_tui.figures import wording
from synthorg_tui.figures.drawing import (
    calendar_rows,
    columns,
    month_labels,
    shades_of,
    stacked,
)
from synthorg_tui.figures.models import ActivityDay, HintOutcome, LessonFigures, Series
from tests.tables import rows

MONDAY = date(2026, 3, 30)


def test_columns_are_as_high_as_their_share_of_the_highest() -> None:
    assert columns([0, 1, 2, 4, 8], 5) == ("·▁▂▄█",)
    assert columns([0, 1, 8], 3, 2) == ("  █", "·▂█")
    assert columns([0, 0], 2) == ("··",)
    assert columns([], 4) == ("",)


def test_a_count_that_is_not_zero_always_shows() -> None:
    assert columns([1, 1_000_000], 2) == ("▁█",)
    assert stacked([1, 0, 1_000], 10) == (1, 0, 9)
    assert stacked([0, 0], 10) == (0, 0)
    assert sum(stacked([1] * 30, 10)) == 10


def test_columns_are_widened_where_there_is_room_and_added_up_where_there_is_none() -> None:
    assert columns([1, 1], 8) == ("███ ███ ",)
    assert columns([1, 1], 4) == ("████",)
    assert columns([1, 2, 3, 4, 5], 3) == ("▁▄█",)
    assert columns([1, 2], 0) == ("",)


def test_days_are_shaded_by_quarters_of_those_with_anything() -> None:
    days = [ActivityDay(MONDAY - timedelta(days=n), 1, n) for n in range(9)]
    shades = shades_of(days)
    assert [shades[day.day] for day in days] == [1, 1, 2, 2, 3, 3, 4, 4, 4]
    quiet = [ActivityDay(MONDAY, 0, 0), ActivityDay(MONDAY - timedelta(days=1), 2, 0)]
    assert shades_of(quiet) == {MONDAY - timedelta(days=1): 4}


def test_the_calendar_ends_with_the_last_day_and_has_weeks_as_columns() -> None:
    last = MONDAY + timedelta(days=1)
    rows = calendar_rows([ActivityDay(last, 1, 5)], last, weeks=3)
    assert [len(row.days) for row in rows] == [3, 3, 2, 2, 2, 2, 2]
    assert rows[1].days[-1] == (last, 4)
    assert rows[0].days[0] == (MONDAY - timedelta(weeks=2), 0)


def test_months_are_named_over_the_week_in_which_they_begin() -> None:
    assert month_labels(date(2026, 3, 16), 4, 2) == "    Apr "
    assert month_labels(date(2026, 2, 23), 1, 1) == " "


@rows(
    ("part", "whole", "words"),
    [(0, 0, "–"), (0, 9, "0 %"), (1, 1_000, "1 %"), (999, 1_000, "99 %"), (9, 9, "100 %")],
)
def test_only_all_is_a_hundred_percent_and_only_none_is_zero(
    part: int, whole: int, words: str
) -> None:
    assert wording.share(part, whole) == words


@rows(
    ("count", "words"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (9_949, "9.9k"), (9_951, "10k"), (2_345_678, "2.3M")],
)
def test_a_short_count_has_two_digits_and_a_unit(count: int, words: str) -> None:
    assert wording.short_count(count) == words


def test_a_cost_below_a_hundredth_is_not_nothing() -> None:
    assert [wording.money(cost) for cost in (0, 0.004, 1_234.5)] == [
        "0.00",
        "under 0.01",
        "1,234.50",
    ]


def test_what_became_of_hints_and_lessons_is_told_with_every_number() -> None:
    outcome = HintOutcome("before", clean=3, again=1, earlier=2, unknown=4)
    assert wording.outcome_words(outcome) == (
        "10 before a call: 3 without failure · 1 failed after · 2 had failed · 4 not known"
    )
    lesson = LessonFigures("push", "p", Series("push", (1,)), 5, 1, 6, 2)
    assert wording.failure_words(lesson) == "1/5 with, 2/6 without"
    unseen = LessonFigures("push", "p", Series("push", (0,)), 0, 0, 0, 0)
    assert wording.failure_words(unseen) == "not run since"


def test_the_day_with_the_most_is_named() -> None:
    from tests.tui.overview.overview_fakes import full_figures

    figures = full_figures(datetime(2026, 3, 30, tzinfo=UTC))
    words = wording.activity_words(figures)
    most = max(figures.days, key=lambda day: day.calls)
    assert f"most on {most.day.day} {most.day:%b %Y}: " in words
    assert f"{sum(day.calls for day in figures.days):,} calls" in words
