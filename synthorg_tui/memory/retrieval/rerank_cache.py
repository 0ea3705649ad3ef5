"""The orders that a model put memories into, remembered for some time."""

from collections import OrderedDict
from datetime import datetime, timedelta

from synthorg_tui.core.clock import Clock, SystemClock


class RerankCache:
    """Cache of orders by query and ids, with expiry and least-recently-used eviction.

    Raises:
        ValueError: ``ttl_seconds`` or ``size`` isn't positive.
    """

    def __init__(
        self,
        *,
        ttl_seconds: float = 3600,
        size: int = 1000,
        clock: Clock | None = None,
    ) -> None:
        if ttl_seconds <= 0 or size <= 0:
            raise ValueError(f"ttl_seconds {ttl_seconds} and size {size} must be positive")
        self._ttl = timedelta(seconds=ttl_seconds)
        self._size = size
        self._clock = clock or SystemClock()
        self._orders: OrderedDict[str, tuple[datetime, tuple[str, ...]]] = OrderedDict()

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the cached ids in order, or ``None`` when there are none or they have expired."""
        until, order = self._orders.get(key, (None, ()))
        if until is None:
            return None
        if until <= self._clock.now():
            del self._orders[key]
            return None
        self._orders.move_to_end(key)
        return order

    def put(self, key: str, order: tuple[str, ...]) -> None:
        """Cache an order; its lifetime starts now."""
        self._orders[key] = (self._clock.now() + self._ttl, order)
        self._orders.move_to_end(key)
        while len(self._orders) > self._size:
            self._orders.popitem(last=False)
