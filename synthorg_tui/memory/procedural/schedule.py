"""When something that runs now and then is due."""

from datetime import datetime, timedelta
from typing import Final, Protocol

from synthorg_tui.core.enums import ConsolidationInterval

_LENGTHS: Final = {
    ConsolidationInterval.HOURLY: timedelta(hours=1),
    ConsolidationInterval.DAILY: timedelta(days=1),
    ConsolidationInterval.WEEKLY: timedelta(weeks=1),
}


class Moments(Protocol):
    """Remembers when something was done last."""

    async def get(self, name: str) -> datetime | None:
        """The moment, or ``None``."""
        ...

    async def put(self, name: str, moment: datetime) -> None:
        """Keep a moment in the place of the former one."""
        ...


def is_due(interval: ConsolidationInterval, last: datetime | None, now: datetime) -> bool:
    """Whether an interval has passed since ``last``; what was never done is due.

    A ``last`` in the future (the clock was set back) doesn't count.
    """
    length = _LENGTHS.get(interval)
    if length is None:
        return False
    return last is None or last > now or now - last >= length
