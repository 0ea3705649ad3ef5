"""When a job is due."""

from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.persistence.settings_kv import due_at
from tests.tables import rows

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@rows(
    ("interval", "length"),
    [
        (ConsolidationInterval.HOURLY, timedelta(hours=1)),
        (ConsolidationInterval.DAILY, timedelta(days=1)),
        (ConsolidationInterval.WEEKLY, timedelta(days=7)),
    ],
)
def test_an_interval_after_the_last_one(interval: ConsolidationInterval, length: timedelta) -> None:
    assert due_at(interval, NOW - length, NOW) == NOW
    assert due_at(interval, NOW - length + TICK, NOW) == NOW + TICK


def test_what_was_never_done_is_due_at_once() -> None:
    assert due_at(ConsolidationInterval.WEEKLY, None, NOW) == NOW


def test_a_last_time_in_the_future_does_not_count() -> None:
    assert due_at(ConsolidationInterval.WEEKLY, NOW + TICK, NOW) == NOW


def test_never_is_never() -> None:
    assert due_at(ConsolidationInterval.NEVER, None, NOW) is None
