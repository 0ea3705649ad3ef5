"""When a cycle is due."""

from datetime import UTC, datetime, timedelta

import pytest

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.persistence.settings_kv import is_due

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("interval", "length"),
    [
        (ConsolidationInterval.HOURLY, timedelta(hours=1)),
        (ConsolidationInterval.DAILY, timedelta(days=1)),
        (ConsolidationInterval.WEEKLY, timedelta(days=7)),
    ],
)
def test_an_interval_after_the_last_one(interval: ConsolidationInterval, length: timedelta) -> None:
    assert is_due(interval, NOW - length, NOW)
    assert not is_due(interval, NOW - length + TICK, NOW)


def test_what_was_never_done_is_due_at_once() -> None:
    assert is_due(ConsolidationInterval.WEEKLY, None, NOW)


def test_a_last_time_in_the_future_does_not_count() -> None:
    assert is_due(ConsolidationInterval.WEEKLY, NOW + TICK, NOW)


def test_never_is_never() -> None:
    assert not is_due(ConsolidationInterval.NEVER, None, NOW)
