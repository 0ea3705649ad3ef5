"""Releases the memory that searches need when a store wasn't used for a while.

Model and index take two thirds of the program's memory, and are loaded again in half a second. The
parts that hold memory free it, and load it again by themselves.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import give_back_code, give_back_memory

_log = logging.getLogger(__name__)

_LOOK_AGAIN = 1.0
"""Seconds until the next look, at least: the clock may be another than the one that is slept by."""


class IdleRelease:
    """Frees what was loaded for searches once none came for a while.

    Args:
        clock: Decides how long it was.
        after: How long that must be; ``None`` never frees anything.
        is_busy: Returns whether background work is under way; freeing waits for its end.
        steps: What frees memory, in order; each is called while others search and write.
    """

    def __init__(
        self,
        clock: Clock,
        after: timedelta | None,
        *,
        is_busy: Callable[[], bool],
        steps: Sequence[Callable[[], Awaitable[None]]],
    ) -> None:
        self._clock = clock
        self._after = after
        self._is_busy = is_busy
        self._steps = list(steps)
        self._used: datetime | None = None
        self._waiting: asyncio.Task[None] | None = None

    def also(self, step: Callable[[], Awaitable[None]]) -> None:
        """Free what this step frees, too."""
        self._steps.append(step)

    def used(self) -> None:
        """Note that something was asked, which begins the time of rest anew."""
        if self._after is None:
            return
        self._used = self._clock.now()
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.create_task(self._wait(self._after))

    async def release_if_due(self) -> bool:
        """Free memory if nothing was asked for long enough; return whether it was freed."""
        if self._after is None or self._used is None or self._is_busy():
            return False
        if self._clock.now() - self._used < self._after:
            return False
        self._used = None
        try:
            for step in self._steps:
                await step()
        except DomainError as error:
            _log.warning("not all memory was given back: %s", error)
        await asyncio.to_thread(give_back_memory)
        await asyncio.to_thread(give_back_code)
        return True

    async def close(self) -> None:
        """Stop waiting; nothing is freed any more."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)
            self._waiting = None

    async def _wait(self, after: timedelta) -> None:
        while self._used is not None:
            left = (after - (self._clock.now() - self._used)).total_seconds()
            await asyncio.sleep(max(left, _LOOK_AGAIN))
            await self.release_if_due()
