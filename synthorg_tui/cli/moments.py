"""Times as a person types them."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Final

_RELATIVE: Final = re.compile(r"(\d{1,5})([hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str) -> datetime:
    """A date or time (the machine's zone unless it names one), or how long ago."""
    distance = _distance(text)
    return datetime.now(UTC) - distance if distance is not None else _date(text)


def parse_ahead(text: str) -> datetime:
    """A date or time (the machine's zone unless it names one), or how long from now."""
    distance = _distance(text)
    return datetime.now(UTC) + distance if distance is not None else _date(text)


def _distance(text: str) -> timedelta | None:
    relative = _RELATIVE.fullmatch(text)
    return timedelta(**{_UNITS[relative[2]]: int(relative[1])}) if relative else None


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        message = f"{text!r} is no date; write 2026-01-31, 2026-01-31T12:00, 12h, 7d or 2w"
        raise argparse.ArgumentTypeError(message) from None
