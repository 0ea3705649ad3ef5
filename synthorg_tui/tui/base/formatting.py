"""Format times, sizes and counts for people."""

from datetime import datetime

from synthorg_tui.core.text import counted as counted
from synthorg_tui.core.text import duration as duration

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def ago(then: datetime, now: datetime) -> str:
    """Return the age in at most four characters: ``now``, ``5m``, ``3h``, ``12d``, ``2y``."""
    seconds = int((now - then).total_seconds())
    if seconds < _MINUTE:
        return "now"
    for size, until, unit in (
        (_MINUTE, _HOUR, "m"),
        (_HOUR, _DAY, "h"),
        (_DAY, 14 * _DAY, "d"),
        (7 * _DAY, 365 * _DAY, "w"),
    ):
        if seconds < until:
            return f"{seconds // size}{unit}"
    return f"{seconds // (365 * _DAY)}y"


def moment(then: datetime, now: datetime) -> str:
    """Return time, in the time zone of ``now``, and age: ``2026-01-01 12:00 · 5m ago``."""
    shown = then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M")
    distance = ago(then, now)
    return f"{shown} · just now" if distance == "now" else f"{shown} · {distance} ago"


def size(count: float) -> str:
    """Return a number of bytes with a unit: ``812 B``, ``1.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def memories(count: int) -> str:
    """Return a number of memories in words: ``1 memory``, ``1,234 memories``."""
    return counted(count, "memory", "memories")
