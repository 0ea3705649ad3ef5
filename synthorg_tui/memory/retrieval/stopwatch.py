"""Measures the stages of a pipeline."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from synthorg_tui.memory.explanation import Stage


class Stopwatch:
    """Collects how long each stage took."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages so far, in order."""
        return tuple(self._stages)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the body."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages.append(Stage(name, (time.perf_counter() - started) * 1_000))
