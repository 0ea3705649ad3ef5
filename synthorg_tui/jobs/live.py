"""A run under way: how far it is, how fast, and what happened in it."""

import threading
from collections.abc import Callable
from time import monotonic

from synthorg_tui.jobs.models import Job, RunProgress

_QUARTERS = 4


class LiveRun:
    """One run of a job from its turn to its end; ``step`` may be called from any thread.

    Args:
        job: What is run.
        cancel: Set when it is to stop; a new one by default.
        report: Told how far it is, when ``tell`` is called.
    """

    def __init__(
        self,
        job: Job,
        cancel: threading.Event | None = None,
        report: Callable[[RunProgress], None] | None = None,
    ) -> None:
        self.job = job
        self.cancel = cancel or threading.Event()
        self.done = 0
        self.total = 0
        self.lines: list[str] = []
        self._report = report
        self._began = monotonic()
        self._paused = 0.0
        self._waiting_since: float | None = None
        self._first: tuple[float, int] | None = None
        self._quarter = 0

    @property
    def progress(self) -> RunProgress:
        """How far the run is now."""
        rate = self._rate()
        left = (self.total - self.done) / rate if rate and self.total else None
        return RunProgress(self.done, self.total, rate, left, self._waiting_since is not None)

    def step(self, done: int, total: int) -> None:
        """Take note of how many steps are done, of how many."""
        self.done, self.total = done, max(done, total)
        if self._first is None:
            self._first = self._active(), done
        quarter = _QUARTERS * done // self.total if self.total else 0
        if quarter > self._quarter:
            self._quarter = quarter
            self.log(f"{done:,} of {self.total:,}")

    def wait(self, why: str) -> None:
        """Take note that the run stands still from now on."""
        if self._waiting_since is None:
            self._waiting_since = monotonic()
            self.log(why)

    def go_on(self) -> None:
        """Take note that the run goes on, if it stood still."""
        if self._waiting_since is not None:
            self._paused += monotonic() - self._waiting_since
            self._waiting_since = None
            self.log("goes on")

    def tell(self) -> None:
        """Report how far the run is to whoever asked for it."""
        if self._report is not None:
            self._report(self.progress)

    def log(self, text: str) -> None:
        """Add a line with the seconds since the run came to be."""
        self.lines.append(f"{monotonic() - self._began:6.1f} s  {text}")

    def _active(self) -> float:
        """Seconds that the run worked and didn't wait."""
        now = self._waiting_since or monotonic()
        return now - self._began - self._paused

    def _rate(self) -> float:
        """Steps a second since the first one that was told; 0 while unknown."""
        if self._first is None:
            return 0.0
        at, done = self._first
        seconds = self._active() - at
        return (self.done - done) / seconds if seconds > 0 and self.done > done else 0.0
