"""The import screen: the transcripts found, the choice of them, progress, and the report."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.import_run import NOWHERE, ImportRun
from synthorg_tui.tui.memories.lines import place_line, progress_lines, report_lines
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportReport


class ImportScreen(Screen[None]):
    """The import dialog: what was found, or the import that runs, or how the last one ended.

    With ``starts`` everything that is found is imported at once.
    """

    BINDINGS = bindings("importing")
    HELP_CONTEXTS = ("importing", "list", "view", "app")

    def __init__(self, desk: EngineAdapter, run: ImportRun, *, starts: bool = False) -> None:
        super().__init__()
        self._desk = desk
        self._run = run
        self._starts = starts
        self._places: tuple[FoundTranscripts, ...] = ()
        self._chosen: set[Path] = set()

    @property
    def importing(self) -> bool:
        """Whether an import is running."""
        return self._run.running

    def compose(self) -> ComposeResult:
        places = FixedList(id="places")
        places.border_title = "Where sessions were found"
        places.placeholder = [line(("Looking …", "muted"))]
        yield places
        progress = LineBar(id="progress")
        progress.border_title = "Progress"
        yield progress
        report = LineView(id="report")
        report.border_title = "Report"
        yield report
        yield KeyBar("importing", "app")

    def on_mount(self) -> None:
        self.query_one("#places").focus()
        if self._run.running or self._run.report or self._run.error:
            self._run.watcher = self._draw_run
            self._draw_run()
            self.call_after_refresh(self._draw_run)  # the bar knows its width then
        else:
            run_job(self, self._look, group="look")

    def on_unmount(self) -> None:
        self._run.watcher = None

    async def _look(self) -> None:
        places = self.query_one(FixedList)
        try:
            self._places = await self._desk.found_places()
        except DomainError as error:
            self._show_error(error)
            return
        self._chosen = {place.root for place in self._places}
        if not self._places:
            nowhere = NOWHERE.format(self._desk.known_agents)
            places.placeholder = [
                line((nowhere, "muted")),
                Line(),
                line(("f3", "accent"), (" imports from any other place", "muted")),
                line(("l", "accent"), (" loads a sample to look around in", "muted")),
            ]
        self._draw_places()
        if self._starts and self._places:
            self.action_start()

    def _draw_places(self) -> None:
        def draw(width: int) -> list[tuple[object, Line]]:
            return [
                (place, place_line(place, width, chosen=place.root in self._chosen))
                for place in self._places
            ]

        places = self.query_one(FixedList)
        places.styles.height = max(len(self._places), 5) + 2
        places.show(draw)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that don't apply to the present step.

        A running import can only be cancelled, and places can be chosen only if some were found.
        """
        if action == "cancel":
            return self.importing
        if action in ("mark", "start"):
            return bool(self._places) and not self.importing
        if action == "sample":
            return not (self._places or self.importing or self.has_class("-begun"))
        return super().check_action(action, parameters)

    def action_sample(self) -> None:
        """Import the sample sessions."""
        self._run.start(self._desk, None)
        self.dismiss()

    def action_mark(self) -> None:
        """Select the place under the cursor for import, or deselect it."""
        under_cursor = self.query_one(FixedList).value
        roots = {place.root for place in self._places if place == under_cursor}
        if roots:
            self._chosen ^= roots
            self._draw_places()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        event.stop()
        if not self.importing:
            self.action_start()

    def action_start(self) -> None:
        """Import the selected places in the background, and go back to the memories."""
        roots = [place.root for place in self._places if place.root in self._chosen]
        if not roots:
            toast(self, "Choose a place with space first", severity="warning")
            return
        self._run.start(self._desk, roots)
        self.dismiss()

    def _draw_run(self) -> None:
        """Draw the import: its progress, or how it ended."""
        self.set_class(self._run.running, "-running")
        self.add_class("-begun")
        self.refresh_bindings()
        if self._run.running:
            bar = self.query_one("#progress", LineBar)
            step = self._run.step
            reading = [line(("Reading …", "muted"))]
            bar.show(*(progress_lines(step, bar.size.width) if step else reading))
        elif self._run.report is not None:
            self._show_report(self._run.report)
        elif self._run.error is not None:
            self._show_error(self._run.error)

    def _show_report(self, outcome: "ImportReport") -> None:
        self.add_class("-done")
        report = self.query_one("#report", LineView)
        report.show(report_lines(outcome))
        report.focus()

    def _show_error(self, error: DomainError) -> None:
        self.add_class("-done")
        shown = [line(("✗ ", "bad"), (error.message, "text"))]
        if error.remedy:
            shown += [Line(), line(("→ ", "accent"), (error.remedy, "text"))]
        report = self.query_one("#report", LineView)
        report.show(shown)
        report.focus()

    def action_cancel(self) -> None:
        """Stop the import before the next file; what was imported stays."""
        self._run.stop()
        toast(self, "Stopping; what is done is kept")

    def action_close(self) -> None:
        """Close the screen; an import that runs goes on."""
        self._run.forget()
        self.dismiss()
