"""The import that runs in the background of the app: one at a time, its progress in the header.

The Memories pane owns it and goes on working meanwhile; the import screen shows it when asked to.
What is imported by itself isn't here: that is the engine's.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import error_toast, run_job, toast

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportProgress, ImportReport

NOWHERE = "No sessions found in the places of {} agents; synthorg-tui agents readers lists them."
"""What is said where there is nothing to import."""


class ImportRun:
    """A running import with its latest ``step``, or the last one with its ``report`` or ``error``.

    ``more`` is called when memories may have been added. ``watcher`` is called with each change
    while a screen shows the import; without one its end is told in a toast.
    """

    def __init__(self, pane: Pane, more: Callable[[], None]) -> None:
        self._pane = pane
        self._more = more
        self._cancel = threading.Event()
        self._added = 0
        self.running = False
        self.step: ImportProgress | None = None
        self.report: ImportReport | None = None
        self.error: DomainError | None = None
        self.watcher: Callable[[], None] | None = None

    def start(self, desk: EngineAdapter, roots: Sequence[Path] | None) -> None:
        """Import files and folders, or with ``None`` the sample; one that runs goes on instead."""
        if self.running:
            toast(self._pane, "An import is running already; i shows it", severity="warning")
            return
        self.running, self.step, self.report, self.error = True, None, None, None
        self._added = 0
        self._cancel = threading.Event()
        self._pane.panes.importing = "importing"
        run_job(self._pane, partial(self._run, desk, roots), group="import", newest_only=False)

    def stop(self) -> None:
        """Ask the import to stop before the next file; what was imported stays."""
        self._cancel.set()

    def forget(self) -> None:
        """Forget how the last import ended, as the person has seen it."""
        if not self.running:
            self.report = self.error = None

    async def _run(self, desk: EngineAdapter, roots: Sequence[Path] | None) -> None:
        try:
            if roots is None:
                self.report = await desk.load_sample()
            else:
                self.report = await desk.run_import(
                    roots, progress=self._stepped, cancel=self._cancel
                )
        except DomainError as error:
            self.error = error
        except Exception as error:  # a long job never ends without a word
            self.error = DomainError(f"{type(error).__name__}: {error}")
        finally:
            self.running = False
            self._pane.panes.importing = ""
        self._more()
        self._tell()

    def _stepped(self, step: "ImportProgress") -> None:
        self._pane.call_later(self._take, step)

    def _take(self, step: "ImportProgress") -> None:
        if not self.running:
            return
        self.step = step
        share = step.bytes_done / step.bytes_total if step.bytes_total else 0.0
        self._pane.panes.importing = f"importing {share:.0%}"
        if step.memories_added != self._added:
            self._added = step.memories_added
            self._more()
        if self.watcher is not None:
            self.watcher()

    def _tell(self) -> None:
        if self.watcher is not None:
            self.watcher()
        elif self.error is not None:
            error_toast(self._pane, self.error)
        elif self.report is not None:
            toast(self._pane, summary(self.report))


def summary(report: "ImportReport") -> str:
    """Return the result of an import in one line."""
    state = "Import stopped" if report.cancelled else "Imported"
    lessons = f", {counted(report.lessons_proposed, 'lesson')}" if report.lessons_proposed else ""
    sessions = counted(report.executions, "session")
    return f"{state}: {memories(report.memories_added)} from {sessions}{lessons}. i shows more."
