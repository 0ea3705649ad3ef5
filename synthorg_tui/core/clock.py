"""Time behind a protocol, so that tests decide what "now" is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of the current time; tests pass one that they set themselves."""

    def now(self) -> datetime:
        """Return the current time as a timezone-aware datetime."""
        ...


class SystemClock:
    """Clock that reads the system time and returns it in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)
