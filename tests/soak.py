"""How many points a test of random kills, floods or long histories tries."""

import os
from typing import TypeVar

T = TypeVar("T")


def points(few: T, many: T) -> T:
    """Return ``few`` in the suite and ``many`` in ``make soak``, which sets ``SYNTHORG_SOAK``."""
    return many if os.environ.get("SYNTHORG_SOAK") else few
