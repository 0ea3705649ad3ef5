"""Tells a function that takes time in proportion to its text from one that takes the square."""

import time
from collections.abc import Callable

ATTEMPTS = 12
"""Measures until a function counts as one that takes too long: one that is fair passes at once."""
SMALLEST = 0.0005
"""Seconds of CPU below which nothing is compared: so little is mostly the call itself."""


def takes_time_in_proportion(act: Callable[[str], object], text: str, longer: str) -> bool:
    """Whether eight times the text takes at most 24 times the CPU; quadratic it is 64 times.

    What is counted is the thread's own CPU, not the clock of the wall, and the first of many
    attempts that is in proportion is enough: the square of the length shows in all of them.
    """
    return any(
        _seconds(act, longer) < 24 * max(SMALLEST, _seconds(act, text)) for _ in range(ATTEMPTS)
    )


def _seconds(act: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    act(text)
    return time.thread_time() - start
