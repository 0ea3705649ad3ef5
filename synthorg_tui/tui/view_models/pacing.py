"""When to ask after a key: at once after a pause, else when the keys rest."""


class Pacing:
    """Answers the first key of a burst at once, and all that follow it together."""

    def __init__(self) -> None:
        self._last_key: float | None = None

    def delay(self, now: float, *, rest: float, busy: bool) -> float:
        """Seconds from a key at ``now`` until to ask: 0, or ``rest``.

        Args:
            now: On any clock that doesn't jump, in seconds.
            rest: How long no other key must have come before this one for it not to wait.
            busy: Whether an earlier question is still without its answer.
        """
        last, self._last_key = self._last_key, now
        rested = last is None or now - last >= rest
        return 0.0 if rested and not busy else rest
