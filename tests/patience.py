"""Waiting in tests: for what must come, never for a time."""

import asyncio
from collections.abc import Callable
from time import monotonic

PATIENCE = 60.0
"""Seconds that what takes a moment may take on a machine which is busy with something else."""


async def until(reached: Callable[[], object], told: Callable[[], str] = str) -> None:
    """Wait until it is so; it fails with what ``told`` tells then."""
    end = monotonic() + PATIENCE
    while not reached():
        assert monotonic() < end, f"not within {PATIENCE:.0f} s {told()}".strip()
        await asyncio.sleep(0.01)
