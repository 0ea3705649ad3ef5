"""The clock by which a headless owner counts how long nobody has been connected."""

from types import SimpleNamespace

import pytest

from tests.patience import until

IDLE = 0.05
"""Seconds without a client after which the owner leaves, on a clock that only the test moves."""


class IdleClock:
    """Stands still until the test moves it, so that an owner leaves only when the test wants."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self._looks = 0
        owner, headless = "synthorg_tui.host.owner.time", "synthorg_tui.host.headless.time"
        patch.setattr(owner, SimpleNamespace(monotonic=lambda: self.now))
        patch.setattr(headless, SimpleNamespace(monotonic=self._look))
        patch.setattr("synthorg_tui.host.headless._LOOK_AT_JOBS", 0.01)

    def advance(self, idles: float) -> None:
        """Move the clock by so many times the seconds after which an owner leaves."""
        self.now += idles * IDLE

    async def looked(self) -> None:
        """Wait until the owner, without a client, has looked at the clock and stayed."""
        wanted = self._looks + 2
        await until(lambda: self._looks >= wanted)

    def _look(self) -> float:
        self._looks += 1
        return self.now
