"""A list of any length with a cursor; a row's lines are requested only when it is drawn."""

from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Self

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.headings import Headings
from synthorg_tui.tui.base.lines import Line, wrap
from synthorg_tui.tui.widgets.styled import StyledScroll


class LineList(StyledScroll):
    """A scrollable list of ``row_count`` rows with a cursor; a row takes ``row_height`` lines.

    Subclasses provide ``row_count`` and ``row_lines``, and call ``changed`` after the rows changed.
    ``placeholder`` is shown if there are no rows. Lines over rows, which the cursor passes over,
    are given to ``show_under``.
    """

    BINDINGS = bindings("list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-list--cursor",
        "line-list--blurred",
        "line-list--hover",
    }
    DEFAULT_CSS = """
    LineList {
        & > .line-list--cursor { background: $primary 28%; text-style: bold; }
        & > .line-list--blurred { background: $foreground 10%; }
        & > .line-list--hover { background: $foreground 5%; }
    }
    """
    row_height = 1
    cursor: reactive[int] = reactive(0, repaint=False)
    hovered: reactive[int] = reactive(-1, repaint=False)

    @dataclass
    class Moved(Message):
        """Posted when the cursor moved to another row."""

        list: "LineList"
        index: int

        @property
        def control(self) -> "LineList":
            """The list that posted the message."""
            return self.list

    @dataclass
    class Chosen(Moved):
        """Posted when a row was opened by key or by a click on it."""

    @dataclass
    class Scrolled(Moved):
        """Posted when the list was scrolled; ``index`` is the first visible row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._placeholder: list[Line] = []
        self._headings = Headings()
        self._made: dict[int, list[Line]] = {}
        self._made_for = (0, 0, True)

    @property
    def placeholder(self) -> list[Line]:
        """The lines shown if there are no rows."""
        return self._placeholder

    @placeholder.setter
    def placeholder(self, lines: list[Line]) -> None:
        if lines != self._placeholder:
            self._placeholder = lines
            if not self.row_count:
                self.refresh()

    @property
    def row_count(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a row, for a width in cells."""
        raise NotImplementedError

    def show_under(self, headings: Headings) -> None:
        """Redraw the rows after they changed, with headings that may be on other lines."""
        before, self._headings = self._headings.shape, headings
        self.changed()
        if before != headings.shape:
            self.refresh()

    def top_of(self, index: int) -> int:
        """Return the first line of a row with its headings; for ``row_count``, of what follows."""
        return self._headings.top_of(index, self.row_height)

    def place_of(self, line: int) -> tuple[int, int]:
        """Return the row that a line belongs to, and which of its lines it is.

        Headings have negative numbers: the one next to the row is -1.
        """
        return self._headings.place_of(line, self.row_height)

    def selectable(self, index: int) -> bool:
        """Return whether the cursor may be on this row, by default on any."""
        return 0 <= index < self.row_count

    @property
    def visible_rows(self) -> tuple[int, int]:
        """The indexes of the first and the last visible row."""
        height = max(self.scrollable_content_region.height, 1)
        top = self.scroll_offset.y
        return self.place_of(top)[0], self.place_of(top + height - 1)[0]

    def changed(self) -> None:
        """Redraw the visible rows that differ from what is drawn, after rows changed.

        The cursor keeps its position where possible.
        """
        rows, width = self.row_count, self.scrollable_content_region.width
        self.virtual_size = Size(width, self.top_of(rows))
        self.cursor = min(self.cursor, max(rows - 1, 0))
        look = (width, self.row_height, not rows)
        if look != self._made_for:
            if self._made_for[2] != look[2] and self.is_mounted:
                self.screen.refresh_bindings()  # what acts on a row can be offered now, or can't
            self._made_for = look
            self.refresh()
        elif rows:
            self._redraw_changed(width)

    def _redraw_changed(self, width: int) -> None:
        before, self._made = self._made, {}
        first, last = self.visible_rows
        now = {at: self._lines(at, width) for at in range(first, min(last + 1, self.row_count))}
        changed = [at for at in range(first, last + 1) if before.get(at) != now.get(at)]
        for _, run in groupby(enumerate(changed), lambda place: place[1] - place[0]):
            rows = [index for _, index in run]
            self._redraw_rows(rows[0], rows[-1])

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Redraw the given regions, or without any all rows, whose lines are requested again."""
        if repaint and not regions:
            self._made = {}
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def remake(self) -> None:
        """Redraw after a change of size, and scroll the cursor into view."""
        self.changed()
        self.reveal()

    def reveal(self) -> None:
        """Scroll as little as needed to show the cursor."""
        height = self.scrollable_content_region.height
        top, bottom = self.top_of(self.cursor), self.top_of(self.cursor + 1)
        if self.cursor and not any(map(self.selectable, range(self.cursor))):
            top = 0
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + height > 0:
            self.scroll_to(y=bottom - height, animate=False)

    @property
    def is_cursor_in_view(self) -> bool:
        """Whether the row under the cursor is visible."""
        first, last = self.visible_rows
        return first <= self.cursor <= last

    def shift(self, rows: int) -> None:
        """Scroll by the number of rows inserted above, so that the visible rows stay in place.

        At the top it doesn't scroll: the new rows are shown.
        """
        if self.scroll_offset.y:
            self.scroll_to(y=self.scroll_offset.y + rows * self.row_height, animate=False)

    def move_to(self, index: int, step: int = 1) -> None:
        """Move the cursor to a row, or to the next selectable one in the direction of ``step``."""
        index = min(max(index, 0), max(self.row_count - 1, 0))
        at = index
        while 0 <= at < self.row_count and not self.selectable(at):
            at += 1 if step > 0 else -1
        if self.selectable(at):
            self.cursor = at
        self.reveal()

    def watch_cursor(self, old: int, new: int) -> None:
        self.redraw_row(old)
        self.redraw_row(new)
        self.post_message(self.Moved(self, new))

    def watch_hovered(self, old: int, new: int) -> None:
        self.redraw_row(old)
        self.redraw_row(new)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.is_mounted:
            self.post_message(self.Scrolled(self, self.visible_rows[0]))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.redraw_row(self.cursor)

    def redraw_row(self, index: int) -> None:
        """Redraw one row."""
        if index >= 0 and self.is_mounted:
            self._redraw_rows(index, index)

    def _redraw_rows(self, first: int, last: int) -> None:
        top = self.top_of(first)
        self.refresh_lines(top, self.top_of(last + 1) - top)

    def line_at(self, y: int, width: int) -> tuple[Line, Style | None]:
        """Return a line of the visible part and the style of its background, if it has one."""
        if not self.row_count:
            return self._placeholder_line(y, width), None
        index, part = self.place_of(y + self.scroll_offset.y)
        if index >= self.row_count:
            return Line(), None
        background = self._background(index) if part >= 0 else None
        return self._lines(index, width)[part].fit(width), background

    def _lines(self, index: int, width: int) -> list[Line]:
        """The lines of a row, made once for each of its lines and for as long as it is so.

        Its headings are at the end, where their negative numbers find them.
        """
        if width != self._made_for[0]:  # a scrollbar came or went: that is told a moment later
            return self._make_lines(index, width)
        if index not in self._made:
            self._made[index] = self._make_lines(index, width)
        return self._made[index]

    def _make_lines(self, index: int, width: int) -> list[Line]:
        over = [heading.line(width - 1) for heading in self._headings.over(index)]
        return [*self.row_lines(index, width), *over]

    def _placeholder_line(self, y: int, width: int) -> Line:
        rows = [row for shown in self.placeholder for row in wrap(shown, max(width - 2, 1))]
        top = max((self.size.height - len(rows)) // 3, 0)
        shown = rows[y - top] if 0 <= y - top < len(rows) else Line()
        indent = max((width - shown.width) // 2, 1)
        return Line([(" " * indent, "text"), *shown.spans]).fit(width)

    def _background(self, index: int) -> Style | None:
        if index == self.cursor and self.selectable(index):
            name = "line-list--cursor" if self.has_focus else "line-list--blurred"
            return self.component(name)
        return self.component("line-list--hover") if index == self.hovered else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.hovered = self._row_at(event)

    def on_leave(self) -> None:
        self.hovered = -1

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row, or open the row if the cursor is there."""
        index = self._row_at(event)
        if not self.selectable(index):
            return
        if index == self.cursor:
            self.post_message(self.Chosen(self, index))
        else:
            self.cursor = index

    def _row_at(self, event: events.MouseEvent) -> int:
        line_number = self.line_under(event)
        index, part = self.place_of(line_number) if line_number >= 0 else (-1, -1)
        return index if part >= 0 and index < self.row_count else -1

    def action_down(self) -> None:
        """Move the cursor one row down."""
        self.move_to(self.cursor + 1)

    def action_up(self) -> None:
        """Move the cursor one row up."""
        self.move_to(self.cursor - 1, -1)

    def action_first(self) -> None:
        """Move the cursor to the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """Move the cursor to the last row."""
        self.move_to(self.row_count - 1, -1)

    def action_half_down(self) -> None:
        """Move the cursor half a page down."""
        self.move_to(self.cursor + self._page // 2)

    def action_half_up(self) -> None:
        """Move the cursor half a page up."""
        self.move_to(self.cursor - self._page // 2, -1)

    def action_page_down(self) -> None:
        """Move the cursor one page down."""
        self.move_to(self.cursor + self._page)

    def action_page_up(self) -> None:
        """Move the cursor one page up."""
        self.move_to(self.cursor - self._page, -1)

    def action_choose(self) -> None:
        """Open the row under the cursor by posting ``Chosen``."""
        if self.selectable(self.cursor):
            self.post_message(self.Chosen(self, self.cursor))

    @property
    def _page(self) -> int:
        return max(self.scrollable_content_region.height // self.row_height, 2)
