"""The lists of memories, and of any fixed set of lines."""

from collections.abc import Callable
from datetime import datetime

from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.base.window import Marks, RowWindow
from synthorg_tui.tui.memories.lines import memory_line, score_line, waiting_line
from synthorg_tui.tui.widgets.line_list import LineList


class MemoryList(LineList):
    """The list of memories; with search scores, each has a second line for the bars."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self.window = RowWindow()
        self.marks = Marks()
        self._best_sparse = 0.0

    @property
    def row_count(self) -> int:
        """The number of memories in the listing, loaded or not."""
        return self.window.total

    @property
    def row(self) -> ListedMemory | None:
        """The memory under the cursor; ``None`` if it isn't loaded."""
        return self.window.get(self.cursor)

    def show(self, window: RowWindow, *, scored: bool, follow: str | None) -> None:
        """Show a window of rows.

        The cursor moves to the memory with the id ``follow``, if listed.
        """
        self.window = window
        self.row_height = 2 if scored else 1
        self._best_sparse = max((row.sparse or 0.0 for row in window.rows), default=0.0)
        self.changed()
        at = window.index_of(follow)
        if at is not None:
            self.cursor = at
        self.reveal()

    def renew(self, window: RowWindow) -> None:
        """Show rows that were read again; cursor and scroll position stay on their memories."""
        top = self.window.get(self.visible_rows[0])
        was, shown = self.visible_rows[0], self.is_cursor_in_view
        follow = self.row.id if self.row else None
        self.window = window
        self.changed()
        if (at := window.index_of(follow)) is not None:
            self.cursor = at
        if top is not None and (now := window.index_of(top.id)) is not None:
            self.shift(now - was)
        if shown:
            self.reveal()

    def show_marks(self, marks: Marks) -> None:
        """Redraw the rows with these marks."""
        if marks is not self.marks:
            self.marks = marks
            self.changed()

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a memory: one, and with scores a second one."""
        row = self.window.get(index)
        width -= 1
        if row is None:
            return [waiting_line(width), Line()]
        first = memory_line(row, width, now=self._now(), marked=row.id in self.marks)
        if self.row_height == 1:
            return [first]
        return [first, score_line(row, width, best_sparse=self._best_sparse)]


class FixedList(LineList):
    """A list of lines that each stand for a value; a line without one is a heading."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Callable[[int], list[tuple[object, Line]]] = lambda _width: []
        self._listed: list[tuple[object, Line]] = []

    def show(self, make: Callable[[int], list[tuple[object, Line]]]) -> None:
        """Show the (value, line) pairs that ``make`` returns for a width.

        Headings have ``None``.
        """
        self._make = make
        self._rebuild()

    def remake(self) -> None:
        """Request the lines for the present width."""
        self._rebuild()
        self.reveal()

    def _rebuild(self) -> None:
        self._listed = self._make(self.scrollable_content_region.width)
        self.changed()
        if not self.selectable(self.cursor):
            self.move_to(self.cursor)

    @property
    def row_count(self) -> int:
        """The number of lines, headings included."""
        return len(self._listed)

    @property
    def value(self) -> object:
        """The value of the line under the cursor."""
        return self.value_at(self.cursor)

    def value_at(self, index: int) -> object:
        """Return the value of a line; ``None`` for a heading."""
        return self._listed[index][0] if 0 <= index < len(self._listed) else None

    def selectable(self, index: int) -> bool:
        """Return whether the line has a value: the cursor skips headings."""
        return self.value_at(index) is not None

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the line of this index."""
        return [self._listed[index][1].fit(width)]
