"""The lists of memories, and of any fixed set of lines."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.memory.listing import ListedMemory, SortOrder
from synthorg_tui.tui.base.headings import Headings
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.base.window import Marks, RowWindow
from synthorg_tui.tui.memories.headings import agent_and_age, headings_of
from synthorg_tui.tui.memories.lines import found_lines, memory_line, waiting_line
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:  # it stems words, which a list of all memories needn't
    from synthorg_tui.memory.retrieval.passages import PassageFinder


class MemoryList(LineList):
    """The list of memories under headings; a search result has a second line, and no headings."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self.window = RowWindow()
        self.marks = Marks()
        self._order: SortOrder | None = None
        self._finder: PassageFinder | None = None

    @property
    def row_count(self) -> int:
        """The number of memories in the listing, loaded or not."""
        return self.window.total

    @property
    def row(self) -> ListedMemory | None:
        """The memory under the cursor; ``None`` if it isn't loaded."""
        return self.window.get(self.cursor)

    def show(
        self,
        window: RowWindow,
        *,
        order: SortOrder | None = None,
        asked: str = "",
        follow: str | None = None,
    ) -> None:
        """Show a window of rows under headings, or the results of searching for ``asked``.

        The rows are in ``order``; without one they have no headings, and say all themselves. The
        cursor moves to the memory with the id ``follow``, if listed.
        """
        (index, part), height = self.place_of(self.scroll_offset.y), self.row_height
        shape = self._headings.shape
        self._order, self.row_height = order, 2 if asked else 1
        self._finder = _finder_of(asked)
        self._take(window)
        if height == self.row_height and shape != self._headings.shape:
            self._scroll_back(index, part)
        at = window.index_of(follow)
        if at is not None:
            self.cursor = at
        self.reveal()

    def renew(self, window: RowWindow) -> None:
        """Show rows that were read again; cursor and scroll position stay on their memories."""
        index, part = self.place_of(self.scroll_offset.y)
        top, shown = self.window.get(index), self.is_cursor_in_view
        follow = self.row.id if self.row else None
        self._take(window)
        if (at := window.index_of(follow)) is not None:
            self.cursor = at
        if top is not None and (now := window.index_of(top.id)) is not None:
            self._scroll_back(now, part)
        if shown:
            self.reveal()

    def _take(self, window: RowWindow) -> None:
        """Draw a window of rows under its headings."""
        self.window = window
        if self._order is not None and self._finder is None:
            self.show_under(headings_of(window, self._order, now=self._now()))
        else:
            self.show_under(Headings())

    def _scroll_back(self, index: int, part: int) -> None:
        """Have this line of a row at the top again; at the top of the list new rows are shown."""
        if self.scroll_offset.y:
            over = len(self._headings.over(index))
            line = self.top_of(index) + over + max(part, -over)
            self.scroll_to(y=line, animate=False)

    def show_marks(self, marks: Marks) -> None:
        """Redraw the rows with these marks."""
        if marks is not self.marks:
            self.marks = marks
            self.changed()

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a memory: one, and of a search result a second one."""
        row, now = self.window.get(index), self._now()
        width -= 1
        if row is None:
            return [waiting_line(width), Line()][: self.row_height]
        marked = row.id in self.marks
        if self._finder is not None:
            return found_lines(row, width, finder=self._finder, now=now, marked=marked)
        shows = agent_and_age(row, self.window.get(index - 1), self._order, now)
        under = row.project_name if self._order in ("newest", "oldest") else ""
        return [memory_line(row, width, now=now, marked=marked, shows=shows, under=under)]


def _finder_of(asked: str) -> "PassageFinder | None":
    if not asked:
        return None
    from synthorg_tui.memory.retrieval.passages import PassageFinder

    return PassageFinder(asked)


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
