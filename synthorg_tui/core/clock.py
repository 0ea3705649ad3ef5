"""Time behind a protocol, so that tests decide what "now" is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of the current time; tests pass one that they set themselves."""

    def now(self) -> datetime:
        """Return the current time as a timezone-aware datetime."""


class StoppedClock:
    """Clock that stands at one time, for looking back."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at


class SystemClock:
    """Clock that reads the system time and returns it in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)
