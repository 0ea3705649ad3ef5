"""The welcome screen, shown when the store is empty, with three ways to begin."""

from typing import Literal

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.formatting import counted, size
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.memories.import_run import NOWHERE
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

    def __init__(self, desk: EngineAdapter) -> None:
        super().__init__()
        self._desk = desk
        self._found = "looking …"
        self._is_none = False

    def compose(self) -> ComposeResult:
        yield LineBar(
            [
                line(("◆ ", "accent"), ("synthorg", "strong")),
                Line(),
                line(("A desk for the memories of your coding agents.", "text")),
                line(("Everything stays in files on this machine.", "muted")),
                line(("After an import, what agents write comes in by itself.", "muted")),
            ],
            id="hello",
        )
        choices = FixedList(id="choices")
        choices.border_title = "How to begin"
        yield choices
        yield LineBar(id="nowhere")
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
            self._found = f"{counted(files, 'session file')}, {total}" if files else "none found"
            self._is_none = not files
            if not files:
                self.query_one(FixedList).move_to(1)
                self._tell_nowhere()
        self._draw()

    def _tell_nowhere(self) -> None:
        first, _, rest = NOWHERE.format(self._desk.known_agents).partition("; ")
        self.query_one("#nowhere", LineBar).show(
            line((f"{first};", "faint")), line((rest, "faint"))
        )

    def _draw(self) -> None:
        choices: tuple[tuple[Beginning, str, str, str], ...] = (
            ("import", "i", "Import what was found", self._found),
            ("sample", "l", "Load the sample", "a few short sessions to look around in"),
            ("empty", "e", "Start empty", "import or write memories later"),
        )

        def draw(width: int) -> list[tuple[object, Line]]:
            shown: list[tuple[object, Line]] = []
            for value, key, title, note in choices:
                dim = self._is_none and value == "import"
                roles = ("faint", "faint") if dim else ("accent", "strong")
                choice = line(("  ", "text"), (key, roles[0]), ("  ", "text"))
                choice.add(f"{title:<24}", roles[1]).add(note, "faint" if dim else "muted")
                shown.append((value, choice.fit(width)))
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
