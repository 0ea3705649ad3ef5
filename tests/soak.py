"""How many points a test of random kills, floods or long histories tries."""

import os


def points(few: int, many: int) -> int:
    """Return ``few`` in the suite and ``many`` in ``make soak``, which sets ``SYNTHORG_SOAK``."""
    return many if os.environ.get("SYNTHORG_SOAK") else few
