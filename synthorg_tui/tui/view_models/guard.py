"""Keys that do nothing for a moment, so that one meant for another screen decides nothing."""

from collections.abc import Callable

INERT_SECONDS = 0.5


class InertGuard:
    """Closed for ``INERT_SECONDS`` from each ``close``; ``clock`` counts seconds and never back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("inf")

    def close(self) -> None:
        """Something new is on the screen."""
        self._until = self._clock() + INERT_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether keys do nothing yet; they never do before the first ``close``."""
        return self._clock() < self._until
