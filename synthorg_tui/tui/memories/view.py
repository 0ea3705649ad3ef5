"""The widgets of the Memories pane: groups, filter chips, list, and the selected memory.

The widgets get a listing and draw it, and the marker marks its rows; which question is asked when,
and what any other key does, is the screen's.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widget import Widget

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.listing import ListedMemory, MemoryRevision, MemoryUse
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.base.window import Marks
from synthorg_tui.tui.engine_adapter import MemoryReader
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.detail import MAX_USES, detail_lines
from synthorg_tui.tui.memories.lines import chip_line, facet_lines
from synthorg_tui.tui.memories.state import Listing
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList, MemoryList

MAX_MARKED = 3000
"""Most memories that one key marks."""


class MemoryDetail(LineView):
    """One memory in full; history and uses are read once the cursor rests on it."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = "Detail"
        self._now = now
        self._row: ListedMemory | None = None
        self._history: tuple[str, tuple[MemoryRevision, ...]] | None = None
        self._uses: tuple[MemoryUse, ...] = ()
        self._stands: ListedMemory | None = None
        self._timer: Timer | None = None

    def show_memory(self, row: ListedMemory | None, reader: MemoryReader | None) -> None:
        """Show a memory, or nothing; its history is read from ``reader``."""
        self._row = row
        if self._timer is not None:
            self._timer.stop()
        if row is not None and self._history is not None and self._history[0] == row.id:
            self._draw(self._history[1])
            return
        self._draw(None)
        if row is not None and reader is not None:
            memory_id = row.id
            self._timer = self.set_timer(Pane.DEBOUNCE, lambda: self._read(memory_id, reader))

    def forget_history(self) -> None:
        """Read the history again, as the memory has changed."""
        self._history = None

    def _read(self, memory_id: str, reader: MemoryReader) -> None:
        is_archived = self._row is not None and self._row.archived_at is not None

        async def read() -> None:
            try:
                history = await reader.history(memory_id)
                uses = await reader.uses(memory_id, limit=MAX_USES)
                stands = await reader.stands_for(memory_id) if is_archived else None
            except DomainError:
                history, uses, stands = (), (), None
            self._history, self._uses, self._stands = (memory_id, history), uses, stands
            if self._row is not None and self._row.id == memory_id:
                self._draw(history)

        run_job(self, read, group="history")

    def _draw(self, history: tuple[MemoryRevision, ...] | None) -> None:
        uses, stands = (self._uses, self._stands) if history is not None else ((), None)
        lines = (
            detail_lines(self._row, history, now=self._now(), uses=uses, stands=stands)
            if self._row
            else []
        )
        self.set_titles(top=_detail_title(self._row))
        self.show(lines, top=history is None)


class MemoriesBody(Horizontal):
    """The groups, the list and the details of a listing; ``entry`` is its filter input."""

    def __init__(
        self, listing: Listing, *, entry: Iterable[Widget], now: Callable[[], datetime]
    ) -> None:
        super().__init__(id="body")
        self._listing = listing
        self._entry = entry
        self._now = now

    def compose(self) -> ComposeResult:
        groups = FixedList(id="facets")
        groups.border_title = "Groups"
        yield groups
        with Horizontal(id="main"):
            with Vertical(id="middle"):
                yield from self._entry
                yield LineBar(id="chips")
                yield LineBar(id="banner")
                rows = MemoryList(now=self._now, id="list")
                rows.border_title = "Memories"
                yield rows
            yield MemoryDetail(now=self._now, id="detail")

    @property
    def rows(self) -> MemoryList:
        """The list of memories."""
        return self.query_one("#list", MemoryList)

    @property
    def detail(self) -> MemoryDetail:
        """The details of the memory under the cursor."""
        return self.query_one("#detail", MemoryDetail)

    @property
    def groups(self) -> FixedList:
        """The list of categories and agents with their counts."""
        return self.query_one("#facets", FixedList)

    def lay_out(self, *, narrow: bool, split: int, groups: bool) -> None:
        """Arrange the parts; ``split`` is the list's share in percent.

        ``narrow`` puts the details under the list, ``groups`` shows the groups at the left.
        """
        middle, detail = self.query_one("#middle"), self.detail
        self.query_one("#main").styles.layout = "vertical" if narrow else "horizontal"
        bare = not self._listing.window.total and not self._listing.text
        detail.display = not bare
        share = "1fr" if bare else f"{split}%"
        middle.styles.width, middle.styles.height = ("1fr", share) if narrow else (share, "1fr")
        detail.styles.width = detail.styles.height = "1fr"
        self.groups.display = groups

    def draw(self) -> None:
        """Draw the groups, the filter chips and the titles of the list, without its rows."""
        listing, query = self._listing, self._listing.query
        self.draw_list()
        chips = self.query_one("#chips", LineBar)
        chips.display = bool(query.chips)
        searching = bool(listing.search_text.strip())
        chips.show(chip_line(query, search=searching))
        banner = self.query_one("#banner", LineBar)
        warning = query.problems[0] if query.problems else listing.degraded
        banner.display = bool(warning)
        banner.show(line(("! ", "bad"), (warning, "warn")))
        self.draw_groups()

    def draw_groups(self) -> None:
        """Draw the groups with their numbers."""
        listing = self._listing
        chosen, counts = listing.query.criteria, listing.counts
        self.groups.show(
            lambda width: list(facet_lines(listing.facets, width, chosen=chosen, counts=counts))
        )

    def draw_list(self, placeholder: list[Line] | None = None) -> None:
        """Draw marks and titles of the list, and ``placeholder`` if it has no rows."""
        rows, listing = self.rows, self._listing
        if placeholder is not None:
            rows.placeholder = placeholder
        rows.show_marks(listing.marks)
        captions = filter(None, (listing.marked_caption, listing.caption(rows.cursor)))
        title = "Results" if listing.searching else "Memories"
        rows.set_titles(top=title, bottom=" · ".join(captions))


def _detail_title(row: ListedMemory | None) -> str:
    """What the row has a letter for in a word, and where it was; safe for a border's title."""
    if row is None:
        return "Detail"
    project = f" · {one_line(safe_text(row.project_name))}" if row.project_name else ""
    return f"Detail · {row.kind}{project}"


class Marker:
    """Marks the rows of a pane; a range goes from one press of its key to the next.

    ``rows`` is its list, ``drawn`` draws the marks; ``keys`` are the ids of the actions that end
    and drop a range.
    """

    def __init__(
        self,
        pane: Pane,
        listing: Listing,
        *,
        rows: Callable[[], MemoryList],
        drawn: Callable[[], None],
        keys: tuple[str, str] = ("memories.mark_range", "memories.back"),
    ) -> None:
        self._pane = pane
        self._listing = listing
        self._rows = rows
        self._drawn = drawn
        self._keys = keys
        self._range_from: int | None = None

    def mark(self) -> None:
        """Mark or unmark the memory under the cursor, and go on."""
        rows = self._rows()
        if rows.row is not None:
            self._set(self._listing.marks.toggled(rows.row))
            rows.action_down()

    def mark_range(self, reader: MemoryReader | None) -> None:
        """The first press remembers the row, the second marks all between."""
        cursor = self._rows().cursor
        if self._range_from is None:
            self._range_from = cursor
            again = f"{key_of(self._keys[0])} again marks up to the cursor"
            drops = f"{key_of(self._keys[1])} drops it"
            toast(self._pane, f"Range starts here; {again}, {drops}")
            return
        first, last = sorted((self._range_from, cursor))
        self._range_from = None
        self._pane.app.clear_notifications()  # what it said is over
        self._mark_rows(reader, first, last - first + 1)

    def drop_range(self) -> bool:
        """Drop a started range; ``False`` when there is none."""
        if self._range_from is None:
            return False
        self._range_from = None
        toast(self._pane, "Range dropped")
        return True

    def mark_all(self, reader: MemoryReader | None) -> None:
        """Mark all in view; when all are marked, none."""
        marked, total = self._listing.marked, self._listing.window.total
        if marked and len(marked) >= min(total, MAX_MARKED):
            self._set(self._listing.marks.without(row.id for row in marked))
        else:
            self._mark_rows(reader, 0, total)

    def _mark_rows(self, reader: MemoryReader | None, first: int, count: int) -> None:
        wanted = min(count, MAX_MARKED)

        async def mark() -> None:
            rows = await self._listing.rows(reader, first, wanted)
            self._set(self._listing.marks.including(rows))
            if count > wanted:
                message = f"Marked {wanted:,}, the most at once"
                toast(self._pane, message, severity="warning")

        run_job(self._pane, mark, group="marks")

    def _set(self, marks: Marks) -> None:
        self._listing.marks = marks
        self._drawn()
