"""Progress of long jobs on stderr: a line that is drawn over, or now and then a plain line."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from synthorg_tui.cli.console import Console, cut, plural

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportProgress

_REDRAW_SECONDS: Final = 0.1
_PLAIN_SECONDS: Final = 5.0
_CLEAR_LINE: Final = "\r\x1b[2K"
_MEGABYTE: Final = 1_000_000


class ProgressLine:
    """Shows the latest text; may be called from any thread. Leaving it clears the line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn = console.err.isatty()
        self._shown_at = time.monotonic() if not self._drawn else 0.0
        self._dirty = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._dirty:
            print(_CLEAR_LINE, end="", file=self._console.err, flush=True)

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed to show something again."""
        pause = _REDRAW_SECONDS if self._drawn else _PLAIN_SECONDS
        return time.monotonic() - self._shown_at >= pause

    def show(self, text: str) -> None:
        """Show ``text`` now."""
        self._shown_at = time.monotonic()
        if not self._drawn:
            self._console.note(text)
            return
        line = self._console.style(cut(text, self._console.width - 1), stream=self._console.err)
        print(f"{_CLEAR_LINE}{line}", end="", file=self._console.err, flush=True)
        self._dirty = True


class CountProgress(ProgressLine):
    """``1,200 of 5,000 memories``."""

    def __init__(self, console: Console, unit: str) -> None:
        super().__init__(console)
        self._unit = unit

    def __call__(self, done: int, total: int) -> None:
        """Show how many are done."""
        if self.is_due:
            self.show(f"{done:,} of {total:,} {self._unit}")


class ImportLine(ProgressLine):
    """``3 of 20 files · 12.3 of 40.0 MB · 1.1 MB/s · 25 s left · 140 memories · name``."""

    def __call__(self, step: "ImportProgress") -> None:
        """Show how far the import is."""
        if self.is_due:
            self.show(describe(step))


def describe(step: "ImportProgress") -> str:
    """An import's progress in one line."""
    left = f"{duration(step.seconds_left)} left" if step.seconds_left is not None else ""
    parts = (
        f"{step.files_done:,} of {plural(step.files_total, 'file')}",
        f"{step.bytes_done / _MEGABYTE:.1f} of {step.bytes_total / _MEGABYTE:.1f} MB",
        f"{step.bytes_per_second / _MEGABYTE:.1f} MB/s",
        left,
        plural(step.memories_added, "memory", "memories"),
        step.current,
    )
    return " · ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """``45 s``, ``3 min``, ``2 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
