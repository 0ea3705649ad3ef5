"""The welcome screen, shown when the store is empty, with three ways to begin."""

from typing import Literal

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.formatting import counted, size
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar
from synthorg_tui.tui.widgets.rows import FixedList

Beginning = Literal["import", "sample", "empty"]

NONE_FOUND = "No sessions of a coding agent were found here"


class WelcomeScreen(Screen[Beginning]):
    """The welcome screen; returns the way the person chose to begin."""

    BINDINGS = bindings("welcome")
    HELP_CONTEXTS = ("welcome", "list", "app")

    def __init__(self, desk: MemoryPort) -> None:
        super().__init__()
        self._desk = desk
        self._found = "looking …"

    def compose(self) -> ComposeResult:
        yield LineBar(
            [
                line(("◆ ", "accent"), ("synthorg", "strong")),
                Line(),
                line(("A desk for the memories of your coding agents.", "text")),
                line(("Everything stays in files on this machine.", "muted")),
            ],
            id="hello",
        )
        choices = FixedList(id="choices")
        choices.border_title = "How to begin"
        yield choices
        yield KeyBar("welcome", "app")

    def on_mount(self) -> None:
        self._draw()
        self.query_one(FixedList).focus()
        run_job(self, self._look, group="look")

    async def _look(self) -> None:
        try:
            places = await self._desk.found_places()
        except DomainError as error:
            self._found = error.message
        else:
            files = sum(place.files for place in places)
            total = size(sum(place.bytes for place in places))
            self._found = f"{counted(files, 'session file')}, {total}" if files else NONE_FOUND
            if not files:
                self.query_one(FixedList).move_to(1)
        self._draw()

    def _draw(self) -> None:
        choices: tuple[tuple[Beginning, str, str, str], ...] = (
            ("import", "i", "Import what was found", self._found),
            ("sample", "l", "Load the sample", "a few short sessions to look around in"),
            ("empty", "e", "Start empty", "import or write memories later"),
        )

        def draw(width: int) -> list[tuple[object, Line]]:
            shown: list[tuple[object, Line]] = []
            for value, key, title, note in choices:
                role = "faint" if note == NONE_FOUND else "strong"
                choice = line(
                    ("  ", "text"), (key, "accent"), ("  ", "text"), (f"{title:<24}", role)
                )
                shown.append((value, choice.add(note, "muted").fit(width)))
            return shown

        self.query_one(FixedList).show(draw)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        value = event.list.value if isinstance(event.list, FixedList) else None
        if value == "import":
            self.dismiss("import")
        elif value == "sample":
            self.dismiss("sample")
        elif value == "empty":
            self.dismiss("empty")

    def action_importing(self) -> None:
        """Open the import of the transcripts found."""
        self.dismiss("import")

    def action_sample(self) -> None:
        """Import the sample sessions."""
        self.dismiss("sample")

    def action_close(self) -> None:
        """Begin with an empty store."""
        self.dismiss("empty")
