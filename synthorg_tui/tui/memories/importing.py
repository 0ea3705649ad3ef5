"""The import screen: the transcripts found, the choice of them, progress, and the report."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.lines import place_line, progress_lines, report_lines
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport


class ImportScreen(Screen[bool]):
    """The import dialog; returns ``True`` if memories may have been added.

    With ``sample`` it imports the sample sessions at once, with ``roots`` what is there.
    """

    BINDINGS = bindings("importing")
    HELP_CONTEXTS = ("importing", "list", "view", "app")

    @dataclass
    class Stepped(Message):
        """Posted with the progress of the import, from whichever thread it runs in."""

        step: "ImportProgress"

        def can_replace(self, message: Message) -> bool:
            """Return whether an older message may be dropped: only the newest is drawn."""
            return isinstance(message, ImportScreen.Stepped)

    def __init__(
        self,
        desk: MemoryPort,
        *,
        run_job: bool = False,
        sample: bool = False,
        roots: Sequence[Path] = (),
    ) -> None:
        super().__init__()
        self._roots = roots
        self._desk = desk
        self._start = run_job
        self._sample = sample
        self._places: tuple[FoundTranscripts, ...] = ()
        self._chosen: set[Path] = set()
        self._cancel = threading.Event()
        self._ran = False
        self.importing = False

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
        run_job(self, self._look, group="look")

    async def _look(self) -> None:
        if self._sample or self._roots:
            self._begin(self._roots)
            return
        places = self.query_one(FixedList)
        try:
            self._places = await self._desk.found_places()
        except DomainError as error:
            self._tell_error(error)
            return
        self._chosen = {place.root for place in self._places}
        if not self._places:
            places.placeholder = [
                line(("No sessions found", "title")),
                Line(),
                line(("Claude Code keeps them in ~/.claude, Codex in ~/.codex.", "text")),
                line(("f3", "accent"), (" imports from any other place.", "muted")),
                line(("l", "accent"), (" loads a sample to look around in", "muted")),
            ]
        self._draw_places()
        if self._start and self._places:
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
            return not (self._places or self.importing or self._sample or self._roots)
        return super().check_action(action, parameters)

    def action_sample(self) -> None:
        """Import the sample sessions."""
        self._sample = True
        self._begin(())

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
        """Import the selected places."""
        roots = [place.root for place in self._places if place.root in self._chosen]
        if not roots:
            toast(self, "Choose a place with space first", severity="warning")
            return
        self._begin(roots)

    def _begin(self, roots: Sequence[Path]) -> None:
        self.importing = True
        self._ran = True
        self._cancel.clear()
        self.add_class("-running")
        self.remove_class("-done")
        self.set_class(self._sample or bool(self._roots), "-sample")
        self.query_one(FixedList).styles.height = len(self._places) + 2
        self.refresh_bindings()
        self.query_one("#progress", LineBar).show(line(("Reading …", "muted")))
        run_job(self, partial(self._run, roots), group="import", newest_only=False)

    async def _run(self, roots: Sequence[Path]) -> None:
        try:
            if self._sample:
                outcome = await self._desk.load_sample()
            else:
                outcome = await self._desk.run_import(
                    roots,
                    progress=self._stepped,
                    cancel=self._cancel,
                )
        except DomainError as error:
            self._tell_error(error)
        except Exception as error:  # a long job never ends without a word
            self._tell_error(DomainError(f"{type(error).__name__}: {error}"))
        else:
            self._tell_report(outcome)
        finally:
            self.importing = False
            self.refresh_bindings()

    def _stepped(self, step: "ImportProgress") -> None:
        self.post_message(self.Stepped(step))

    def on_import_screen_stepped(self, message: Stepped) -> None:
        """Draw the progress."""
        bar = self.query_one("#progress", LineBar)
        if self.importing:
            bar.show(*progress_lines(message.step, bar.size.width))

    def _tell_report(self, outcome: "ImportReport") -> None:
        self.remove_class("-running")
        self.add_class("-done")
        report = self.query_one("#report", LineView)
        report.show(report_lines(outcome))
        report.focus()

    def _tell_error(self, error: DomainError) -> None:
        self.remove_class("-running")
        self.add_class("-done")
        shown = [line(("✗ ", "bad"), (error.message, "text"))]
        if error.remedy:
            shown += [Line(), line(("→ ", "accent"), (error.remedy, "text"))]
        report = self.query_one("#report", LineView)
        report.show(shown)
        report.focus()

    def action_cancel(self) -> None:
        """Stop the import before the next file; what was imported stays."""
        self._cancel.set()
        toast(self, "Stopping; what is done is kept")

    def action_close(self) -> None:
        """Close the screen, unless an import is running."""
        if self.importing:
            toast(self, "The import is running; c stops it", severity="warning")
            return
        self.dismiss(self._ran)
