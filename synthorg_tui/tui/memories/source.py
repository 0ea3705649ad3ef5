"""The screen of the transcript lines that a memory refers to."""

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import line, one_line
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.memories.detail import excerpt_lines
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

_FIRST_CONTEXT = 6
_MORE_CONTEXT = 40


class SourceScreen(Screen[None]):
    """Redacted transcript lines with their numbers, as readable text or raw.

    The lines the memory refers to are highlighted.
    """

    BINDINGS = bindings("source")
    HELP_CONTEXTS = ("source", "view", "app")

    def __init__(self, desk: MemoryPort, source: str) -> None:
        super().__init__()
        self._desk = desk
        self._source = source
        self._around = _FIRST_CONTEXT
        self._raw = False
        self._referenced = ""
        self._first = 0

    def compose(self) -> ComposeResult:
        yield LineBar(id="where")
        view = LineView(id="lines")
        view.border_title = "Transcript"
        yield view
        yield KeyBar("source", "app")

    def on_mount(self) -> None:
        run_job(self, self._load, group="excerpt")

    async def _load(self) -> None:
        source = self._source
        view, where = self.query_one("#lines", LineView), self.query_one("#where", LineBar)
        try:
            excerpt = await self._desk.excerpt(source, context=self._around)
        except DomainError as error:
            view.show([line(("✗ ", "bad"), (error.message, "text")), line((error.remedy, "muted"))])
            return
        if excerpt is None:
            view.show([line(("These lines are not kept in the store.", "warn"))])
            where.show(line((" " + one_line(source), "muted")))
            return
        first, last = excerpt.ref.first_line, excerpt.ref.last_line
        span = f"lines {first}–{last}"
        path = one_line(short_path(excerpt.path))
        where.show(line((f" {span} ", "title"), (f" {path}", "muted")))
        named = [text for number, text in excerpt.lines if first <= number <= last]
        self._referenced = "\n".join(named)
        shown = excerpt_lines(excerpt, raw=self._raw)
        marks = [at for at, row in enumerate(shown) if row.plain.startswith("▌")]
        self._first = marks[0] if marks else 0
        view.show(shown)
        view.call_after_refresh(view.reveal, self._first)

    def action_raw(self) -> None:
        """Switch between the lines as they are in the file and readable text."""
        self._raw = not self._raw
        self.on_mount()

    def action_more(self) -> None:
        """Show more lines before and after."""
        self._around += _MORE_CONTEXT
        self.on_mount()

    def action_jump(self) -> None:
        """Scroll to the lines the memory refers to."""
        self.query_one("#lines", LineView).reveal(self._first)

    def action_copy(self) -> None:
        """Copy the lines the memory refers to to the clipboard."""
        copy(self, self._referenced)
        toast(self, "Sent the lines referred to to the terminal's clipboard")

    def action_close(self) -> None:
        """Close the screen."""
        self.dismiss(None)
