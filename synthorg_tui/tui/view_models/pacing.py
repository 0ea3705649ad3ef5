"""When to ask after a key: at once, or where answers take long, when the keys rest."""

QUICK = 0.5
"""Seconds an answer may take for the next key to be asked at once."""
REST = 0.2
"""Seconds without a key until a question is asked whose answer will take long."""


class Pacing:
    """Goes by how long the last question took, which each key that comes meanwhile cuts short.

    Times are seconds on any clock that doesn't jump.
    """

    def __init__(self) -> None:
        self._asked: float | None = None
        self._took = 0.0

    def delay(self, now: float) -> float:
        """Seconds from a key at ``now`` until to ask; a question under way is given up for it."""
        if self._asked is not None:
            self._took = max(self._took, now - self._asked)
            self._asked = None
        return 0.0 if self._took <= QUICK else REST

    def asked(self, now: float) -> None:
        """A question is under way."""
        self._asked = now

    def answered(self, now: float) -> None:
        """The question under way has its answer, or failed."""
        if self._asked is not None:
            self._took, self._asked = now - self._asked, None
