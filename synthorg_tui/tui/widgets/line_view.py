"""Bars of a few lines, and texts of any length: scrolled, wrapped, and searched."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line, wrap
from synthorg_tui.tui.base.matches import NO_MATCH, Matches, find, mark_row
from synthorg_tui.tui.base.wrapped import TextPlace, WrappedText
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.widgets.styled import StyledScroll, StyledWidget

MEASURED_AGAIN_AFTER = 0.02
"""Seconds between two portions of a long text that are measured."""
FOUND_AT_ONCE = 400_000
"""Characters of a text in which a search is done at once; in a longer one a thread does it."""
_WHILE_SEARCHING = ("next_match", "previous_match", "end_search")


class LineBar(StyledWidget):
    """A widget of a few lines that doesn't scroll, such as a header, a banner or a footer."""

    DEFAULT_CSS = "LineBar { height: 1; width: 1fr; }"

    def __init__(self, lines: Iterable[Line] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = list(lines)

    def show(self, *lines: Line) -> None:
        """Show these lines instead of the present ones."""
        if self.lines != list(lines):
            self.lines = list(lines)
            self.refresh()

    def show_whole(self, text: Line) -> None:
        """Show one line wrapped to as many rows as it needs, and scroll the widget into view."""
        rows = wrap(text, self.size.width) if self.size.width else [text]
        self.styles.height = len(rows)
        self.show(*rows)
        self.call_after_refresh(self.scroll_visible, animate=False)

    def render_line(self, y: int) -> Strip:
        shown = self.lines[y] if 0 <= y < len(self.lines) else Line()
        return self.strip(shown.fit(self.size.width), self.size.width)


class SearchBar(Horizontal):
    """The entry of a search in a text: the words on the left, the match one is at on the right.

    It stands above the footer until the search ends. ``Changed`` is posted as the person types.
    """

    DEFAULT_CSS = """
    SearchBar {
        dock: bottom; height: 1; margin-bottom: 1; background: $panel; padding: 0 1;
        & > .search-prompt { width: 7; }
        & > Input { width: 1fr; background: $panel; }
        & > .search-count { width: 44; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "end", "End"),
        Binding("down", "step(1)", "Next"),
        Binding("up", "step(-1)", "Previous"),
    ]

    def __init__(self, view: "LineView", needle: str) -> None:
        super().__init__()
        self.view = view
        self._needle = needle

    def compose(self) -> ComposeResult:
        """The prompt, the words, the count."""
        yield LineBar([line(("find ", "accent"))]).add_class("search-prompt")
        yield Input(self._needle, compact=True, select_on_focus=False)
        yield LineBar().add_class("search-count")

    def on_mount(self) -> None:
        """Take the keys."""
        self.query_one(Input).focus()

    def tell(self, caption: str) -> None:
        """Show which match one is at, and which keys go on."""
        nothing = caption.startswith(NO_MATCH)
        shown = line((caption, "warn" if nothing else "muted"))
        if caption:
            shown.add("   " if nothing else "   n next  N previous  ", "muted").add(
                "esc ends", "muted"
            )
        self.query_one(".search-count", LineBar).show(shown)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Find as the person types."""
        event.stop()
        self.view.find(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the keys back to the text, where n and N go from match to match."""
        event.stop()
        self.view.focus()

    def action_end(self) -> None:
        """End the search."""
        self.view.action_end_search()

    def action_step(self, by: int) -> None:
        """Go to another match."""
        self.view.step(by)


class LineView(StyledScroll):
    """A scrollable text, wrapped to the width, with vim-like keys and a search.

    Only what is in view is wrapped at once. The rest is measured in portions, so that a text of
    megabytes answers keys; until that is done the scrollbar shows an estimate.
    """

    BINDINGS = bindings("view")

    def __init__(self, lines: Iterable[Line] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = list(lines)
        self.text = WrappedText()
        self.matches = Matches()
        self._bar: SearchBar | None = None
        self._measuring: Timer | None = None

    def show(self, lines: Iterable[Line], *, top: bool = True) -> None:
        """Show these lines, scrolled to the top unless ``top`` is false.

        Only changed rows are redrawn.
        """
        lines = list(lines)
        if lines != self.lines:
            before = self._in_view()
            self.lines = lines
            self._wrap()
            first = self.scroll_offset.y
            for y, (old, new) in enumerate(zip(before, self._in_view(), strict=True), first):
                if old != new:
                    self.refresh_lines(y)
            if self.matches.needle:
                self.find(self.matches.needle)
        if top:
            self.scroll_to(y=0, animate=False)

    def _in_view(self) -> list[Line | None]:
        first = self.scroll_offset.y
        return [self.text.row(y) for y in range(first, first + self.size.height)]

    def reveal(self, index: int) -> None:
        """Scroll so that the line of this index, before wrapping, is near the top."""
        if 0 <= index < len(self.lines):
            self._reveal_piece(self.text.first_piece(index), 2)

    def _reveal_piece(self, piece: int, above: int) -> None:
        self._measure_around(piece)
        row = self.text.row_of(TextPlace(piece, 0))
        self.scroll_to(y=max(row - above, 0), animate=False)

    # Wrapping

    def remake(self) -> None:
        """Wrap the lines to the present width; the row at the top stays there."""
        top = self.text.place(self.scroll_offset.y)
        line_index, size = self.text.line_of(top.piece), len(self.text.pieces)
        self._wrap()
        if self.scroll_offset.y and size and line_index < len(self.lines):
            piece = self.text.first_piece(line_index)
            same = (
                TextPlace(top.piece, top.part)
                if size == len(self.text.pieces)
                else TextPlace(piece, 0)
            )
            self._measure_around(same.piece)
            self.scroll_to(y=self.text.row_of(same), animate=False)
        self.refresh()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        self.text = WrappedText(self.lines, width)
        self.text.measure_portion()
        self._measured()
        self._measure_on()

    def _measured(self) -> None:
        self.virtual_size = Size(self.text.width, self.text.row_count)

    def _measure_on(self) -> None:
        if self._measuring is not None:
            self._measuring.stop()
            self._measuring = None
        if not self.text.is_measured and self.is_attached:
            self._measuring = self.set_timer(MEASURED_AGAIN_AFTER, self._measure_portion)

    def _measure_portion(self) -> None:
        first, text = self.text.place(self.scroll_offset.y).piece, self.text
        from_piece = text.next_unmeasured
        self._keep_top(text.measure_portion)
        if from_piece <= first + self.size.height and first <= text.next_unmeasured:
            self.refresh()
        self._measure_on()

    def _keep_top(self, measure: Callable[[], bool]) -> None:
        """Measure; what is at the top of the view stays there."""
        top = self.text.place(self.scroll_offset.y)
        if measure():
            self._measured()
            row = self.text.row_of(top)
            if row != self.scroll_offset.y:
                self.scroll_to(y=row, animate=False)
                self.refresh()

    def _measure_around(self, piece: int) -> None:
        """Measure what one may see next when one goes to a piece."""
        if self.text.measure_around(piece, max(self.size.height, 1)):
            self._measured()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure what came into view."""
        super().watch_scroll_y(old_value, new_value)
        if not self.text.is_measured:
            text, page = self.text, max(self.size.height, 1)
            first = text.place(round(new_value)).piece
            self._keep_top(lambda: text.measure_around(first, page))

    def line_at(self, y: int, width: int) -> tuple[Line, Style | None]:
        """Return a wrapped row of the visible part, with the matches of a search marked."""
        at = y + self.scroll_offset.y
        row = self.text.row(at)
        if row is None:
            return Line(), None
        if self.matches.found:
            piece, part = self.text.place(at)
            if spans := self.matches.spans(piece):
                rows = self.text.rows(piece)
                row = mark_row(rows, part, self.text.pieces[piece], spans)
        return row, None

    # Searching

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave n, N and escape to the screen while nothing is searched for."""
        is_searching = self._bar is not None
        return (
            is_searching if action in _WHILE_SEARCHING else super().check_action(action, parameters)
        )

    def action_search(self) -> None:
        """Ask what to look for; the text follows as the person types."""
        if self._bar is not None:
            self._bar.query_one(Input).focus()
            return
        for other in self.screen.query(SearchBar):
            other.view.action_end_search(refocus=False)
        self._bar = SearchBar(self, self.matches.needle)
        self.screen.mount(self._bar)

    def find(self, needle: str) -> None:
        """Look for a text, and go to its first place from the top of the view on."""
        source, pieces = self.lines, self.text.pieces
        if self.text.size <= FOUND_AT_ONCE:
            self._found(find(pieces, needle))
            return
        self.matches = Matches(needle)

        async def search() -> None:
            matches = await asyncio.to_thread(find, pieces, needle)
            if source is self.lines:  # else another text came, and is searched itself
                self._found(matches)

        run_job(self, search, group="find")

    def _found(self, matches: Matches) -> None:
        self.matches = matches
        matches.go_to(self.searched_from)
        self._show_match()

    @property
    def searched_from(self) -> int:
        """The piece from which on the first match is looked for."""
        return self.text.place(self.scroll_offset.y).piece

    @property
    def match_caption(self) -> str:
        """Which match one is at, of how many."""
        return self.matches.caption

    def step(self, by: int) -> None:
        """Go on by so many matches."""
        self.matches.step(by)
        self._show_match()

    def _show_match(self) -> None:
        if self._bar is not None and self._bar.is_mounted:
            self._bar.tell(self.match_caption)
        if match := self.matches.here:
            self.show_piece(match.piece, match.start)
        self.refresh()

    def show_piece(self, piece: int, at: int = 0) -> None:
        """Scroll so that a character of a piece is in view, if it isn't."""
        self._measure_around(piece)
        ends = accumulate(len(row.plain) for row in self.text.rows(piece))
        part = next((number for number, end in enumerate(ends) if end > at), 0)
        row_number, top = self.text.row_of(TextPlace(piece, part)), self.scroll_offset.y
        height = max(self.scrollable_content_region.height, 1)
        if not top <= row_number < top + height:
            self.scroll_to(y=max(row_number - height // 3, 0), animate=False)

    def action_next_match(self) -> None:
        """Go to the next place where it stands."""
        self.step(1)

    def action_previous_match(self) -> None:
        """Go to the place before."""
        self.step(-1)

    def action_end_search(self, *, refocus: bool = True) -> None:
        """End the search; the text stays where it is."""
        bar, self._bar, self.matches = self._bar, None, Matches()
        if bar is not None:
            bar.remove()
            if refocus:
                self.focus()
        self.refresh()

    def on_hide(self) -> None:
        """End the search with the text."""
        self.action_end_search(refocus=False)

    # Moving

    def action_down(self) -> None:
        """Scroll one line down."""
        self.scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scroll one line up."""
        self.scroll_relative(y=-1, animate=False)

    def action_first(self) -> None:
        """Scroll to the top."""
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        """Scroll to the end."""
        self._measure_around(len(self.text.pieces))
        self.scroll_to(y=self.max_scroll_y, animate=False)

    def action_half_down(self) -> None:
        """Scroll half a page down."""
        self.scroll_relative(y=max(self.size.height // 2, 1), animate=False)

    def action_half_up(self) -> None:
        """Scroll half a page up."""
        self.scroll_relative(y=-max(self.size.height // 2, 1), animate=False)
