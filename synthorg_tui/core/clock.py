"""Time behind a protocol, so that tests decide what "now" is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of the current time."""

    def now(self) -> datetime:
        """The current time, timezone-aware."""
        ...


class SystemClock:
    """The machine's clock in UTC."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)
