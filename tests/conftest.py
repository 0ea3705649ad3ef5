"""Fixtures shared by all tests."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with real transcripts and evaluation data, which is not part of the repo."""
    path = Path(os.environ.get("SYNTHORG_SHARED", REPO.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"no evaluation data at {path}; set SYNTHORG_SHARED to its folder")
    return path


class FixedClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.current = now

    def now(self) -> datetime:
        return self.current

    def advance(self, **delta: float) -> None:
        self.current += timedelta(**delta)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()
