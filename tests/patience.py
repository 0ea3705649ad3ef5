"""Waits in tests for a condition, never for a fixed time."""

import asyncio
from collections.abc import Callable
from time import monotonic

PATIENCE = 600.0
"""Seconds until a test that hangs fails: as long as a moment may take on a very busy machine."""


async def until(
    reached: Callable[[], object], told: Callable[[], str] = str, *, every: float = 0.01
) -> None:
    """Wait until ``reached``, which is asked ``every`` so many seconds, returns something true.

    After ``PATIENCE`` seconds the test fails with the text that ``told`` returns.
    """
    end = monotonic() + PATIENCE
    while not reached():
        assert monotonic() < end, f"not within {PATIENCE:.0f} s {told()}".strip()
        await asyncio.sleep(every)
