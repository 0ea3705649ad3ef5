"""The lists of the product: memories, facets, and any fixed set of lines."""

from collections.abc import Callable
from datetime import datetime

from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.base.window import Marks, RowWindow
from synthorg_tui.tui.memories.lines import memory_line, score_line, waiting_line
from synthorg_tui.tui.widgets.line_list import LineList


class MemoryList(LineList):
    """Memories of a window; with scores, each takes a second line for the bars."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self.window = RowWindow()
        self.marks = Marks()
        self._best_sparse = 0.0

    @property
    def row_count(self) -> int:
        """All memories of the listing, loaded or not."""
        return self.window.total

    @property
    def row(self) -> ListedMemory | None:
        """The memory under the cursor, when it is loaded."""
        return self.window.get(self.cursor)

    def show(self, window: RowWindow, *, scored: bool, follow: str | None) -> None:
        """Show a window; the cursor stays on the memory ``follow`` when it is there."""
        self.window = window
        self.row_height = 2 if scored else 1
        self._best_sparse = max((row.sparse or 0.0 for row in window.rows), default=0.0)
        self.changed()
        at = window.index_of(follow)
        if at is not None:
            self.cursor = at
        self.reveal()

    def renew(self, window: RowWindow) -> None:
        """Show a window read again: cursor and scroll stay on their memories."""
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
        """Show which memories are marked."""
        if marks is not self.marks:
            self.marks = marks
            self.changed()

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The memory on one line, its scores on the next."""
        row = self.window.get(index)
        width -= 1
        if row is None:
            return [waiting_line(width), Line()]
        first = memory_line(row, width, now=self._now(), marked=row.id in self.marks)
        if self.row_height == 1:
            return [first]
        return [first, score_line(row, width, best_sparse=self._best_sparse)]


class FixedList(LineList):
    """Lines with a value each; those without one are headings."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Callable[[int], list[tuple[object, Line]]] = lambda _width: []
        self._listed: list[tuple[object, Line]] = []

    def show(self, make: Callable[[int], list[tuple[object, Line]]]) -> None:
        """Show what ``make`` gives for a width; a heading has ``None`` as its value."""
        self._make = make
        self._rebuild()

    def remake(self) -> None:
        """Make the lines for the new width."""
        self._rebuild()
        self.reveal()

    def _rebuild(self) -> None:
        self._listed = self._make(self.scrollable_content_region.width)
        self.changed()
        if not self.selectable(self.cursor):
            self.move_to(self.cursor)

    @property
    def row_count(self) -> int:
        """How many lines there are."""
        return len(self._listed)

    @property
    def value(self) -> object:
        """What the line under the cursor stands for."""
        return self.value_at(self.cursor)

    def value_at(self, index: int) -> object:
        """What a line stands for."""
        return self._listed[index][0] if 0 <= index < len(self._listed) else None

    def selectable(self, index: int) -> bool:
        """Headings are passed over."""
        return self.value_at(index) is not None

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The line."""
        return [self._listed[index][1].fit(width)]
