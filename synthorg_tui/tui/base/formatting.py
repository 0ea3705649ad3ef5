"""Format times, sizes and counts for people."""

from datetime import datetime

from synthorg_tui.core.text import counted as counted
from synthorg_tui.core.text import duration as duration
from synthorg_tui.core.text import size as size

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def ago(then: datetime, now: datetime) -> str:
    """Return the age in at most four characters: ``now``, ``5m``, ``3h``, ``12d``, ``2y``."""
    seconds = int((now - then).total_seconds())
    if seconds < _MINUTE:
        return "now"
    for step, until, unit in (
        (_MINUTE, _HOUR, "m"),
        (_HOUR, _DAY, "h"),
        (_DAY, 14 * _DAY, "d"),
        (7 * _DAY, 365 * _DAY, "w"),
    ):
        if seconds < until:
            return f"{seconds // step}{unit}"
    return f"{seconds // (365 * _DAY)}y"


def moment(then: datetime, now: datetime) -> str:
    """Return time, in the time zone of ``now``, and age: ``2026-01-01 12:00 · 5m ago``."""
    shown = then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M")
    distance = ago(then, now)
    return f"{shown} · just now" if distance == "now" else f"{shown} · {distance} ago"


def memories(count: int) -> str:
    """Return a number of memories in words: ``1 memory``, ``1,234 memories``."""
    return counted(count, "memory", "memories")
