"""The two lists of the Runs screen; each asks for the lines of a row only when it is drawn."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.runs.lines import WIDE_ROW, run_lines, step_line, waiting_step
from synthorg_tui.tui.runs.state import StepPages
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.runtime.models import AgentRun, RunStep


class RunList(LineList):
    """The runs, newest first: a line each where it is wide enough, else two."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._runs: Sequence[AgentRun] = ()

    @property
    def row_count(self) -> int:
        """The number of runs that are listed."""
        return len(self._runs)

    @property
    def run(self) -> "AgentRun | None":
        """The run under the cursor."""
        return self._runs[self.cursor] if self.cursor < len(self._runs) else None

    def show(self, runs: "Sequence[AgentRun]", *, follow: str = "") -> None:
        """Show these runs; the cursor goes to the one with the id ``follow``, else it stays."""
        wanted = follow or (self.run.id if self.run is not None else "")
        self._runs = runs
        self._measure()
        self.changed()
        at = next((at for at, run in enumerate(runs) if run.id == wanted), None)
        if at is not None:
            self.cursor = at
            self.reveal()

    def remake(self) -> None:
        """Redraw at another width, where a run may have another number of lines."""
        self._measure()
        super().remake()

    def _measure(self) -> None:
        self.row_height = 1 if self.scrollable_content_region.width >= WIDE_ROW else 2

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a run."""
        rows = run_lines(self._runs[index], width, self._now())
        return [*rows, Line()][: self.row_height]


class StepList(LineList):
    """The steps of one run, of which only those near the view are loaded."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pages = StepPages()

    @property
    def row_count(self) -> int:
        """The number of steps, loaded or not."""
        return self._pages.last

    @property
    def step(self) -> "RunStep | None":
        """The step under the cursor; ``None`` if it isn't loaded."""
        return self._pages.get(self.cursor)

    def show(self, pages: StepPages) -> None:
        """Show the steps of a run; while its end is followed the cursor goes there."""
        is_other = pages is not self._pages
        self._pages = pages
        self.changed()
        if pages.follows and pages.last:
            self.move_to(pages.last - 1, -1)
        elif is_other:
            self.move_to(0)

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the line of a step."""
        step = self._pages.get(index)
        if step is None:
            return [waiting_step(width)]
        return [step_line(step, width, waits=self._pages.waits_with(step))]
