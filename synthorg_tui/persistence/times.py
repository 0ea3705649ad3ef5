"""Moments as the database keeps them: in UTC, without a zone."""

from datetime import UTC, datetime


def naive(moment: datetime | None) -> datetime | None:
    """A moment as the database keeps it."""
    return None if moment is None else naive_utc(moment)


def naive_utc(moment: datetime) -> datetime:
    """A moment in UTC without a zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def aware(moment: datetime | None) -> datetime | None:
    """A kept moment with its zone."""
    return None if moment is None else moment.replace(tzinfo=UTC)
