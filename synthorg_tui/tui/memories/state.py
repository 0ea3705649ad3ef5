"""The state of the Memories pane: what is asked for, what has come, and what is marked.

The screen asks it what to list and draws what it holds. Everything here works on a store and is
tested without a screen: no Textual, and no line of styled text.
"""

from collections.abc import Callable
from datetime import datetime

from synthorg_tui.memory.listing import (
    SORT_ORDERS,
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    SortOrder,
)
from synthorg_tui.tui.base.filters import Query, matches, parse_query
from synthorg_tui.tui.base.window import WINDOW, Latest, Marks, RowWindow
from synthorg_tui.tui.ports import MemoryPort, MemoryReader

MAX_HITS = 100
"""Most results of a search."""


class Listing(Latest):
    """A filter and a search over one store, and the answers to the newest question only."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self.filter_text = ""
        self.search_text = ""
        self.sort: SortOrder = "newest"
        self.facets = Facets()
        self.window = RowWindow()
        self.marks = Marks()
        self.degraded = ""

    @property
    def text(self) -> str:
        """The text that decides what is listed: the search, or else the filter."""
        return self.search_text if self.search_text.strip() else self.filter_text

    @property
    def searching(self) -> bool:
        """Whether words are searched for; a search of operators only is a filter."""
        return bool(self.search_text.strip() and self.query.text)

    @property
    def query(self) -> Query:
        """That text, parsed with the agents there are."""
        agents = tuple(agent for agent, _ in self.facets.agents)
        return parse_query(self.text, now=self._now(), agents=agents)

    def clear(self) -> None:
        """List nothing: the newest question had an error for an answer."""
        self.answer(self.generation)
        self.window = RowWindow()

    async def read(
        self, generation: int, reader: MemoryReader, desk: MemoryPort | None, *, offset: int
    ) -> bool:
        """Read what is listed; ``False`` when a newer question was asked meanwhile.

        A search needs the desk: it asks the engine.
        """
        if not self.searching or desk is None:
            return self.take_page(generation, await self.page(reader, offset))
        query = self.query
        found = await desk.search(query.text, query.criteria, limit=MAX_HITS)
        return self.take_hits(generation, found)

    async def page(self, reader: MemoryReader, offset: int, limit: int = WINDOW) -> MemoryPage:
        """Part of what the filter lists, in the order chosen."""
        return await reader.browse(self.query.criteria, sort=self.sort, offset=offset, limit=limit)

    async def rows(
        self, reader: MemoryReader | None, first: int = 0, count: int | None = None
    ) -> list[ListedMemory]:
        """Rows of the present view by position, loaded or not; all of them without a count."""
        count = self.window.total if count is None else count
        if self.searching or reader is None:
            return list(self.window.rows[first : first + count])
        rows: list[ListedMemory] = []
        while len(rows) < count:
            page = await self.page(reader, first + len(rows), min(WINDOW, count - len(rows)))
            if not page.entries:
                break
            rows.extend(page.entries)
        return rows

    def take_page(self, generation: int, page: MemoryPage) -> bool:
        """Take a page; ``False`` when a newer question was asked meanwhile."""
        return self._take(generation, RowWindow(page.entries, page.offset, page.total))

    def take_hits(self, generation: int, hits: FoundMemories) -> bool:
        """Take search results; ``False`` when a newer question was asked meanwhile."""
        return self._take(generation, RowWindow(hits.hits, 0, len(hits.hits)), hits.degraded)

    def _take(self, generation: int, window: RowWindow, degraded: str = "") -> bool:
        if not self.answer(generation):
            return False
        self.window, self.degraded = window, degraded
        return True

    def next_sort(self) -> SortOrder:
        """Turn to the next order."""
        self.sort = SORT_ORDERS[(SORT_ORDERS.index(self.sort) + 1) % len(SORT_ORDERS)]
        return self.sort

    def shows(self, row: ListedMemory) -> bool:
        """Whether the present view lists the memory."""
        if self.searching:
            return self.window.index_of(row.id) is not None
        return matches(self.query.criteria, row)

    @property
    def marked(self) -> tuple[ListedMemory, ...]:
        """The marked memories that the present view lists."""
        return self.marks.in_view(self.shows)

    def targets(self, under_cursor: ListedMemory | None) -> tuple[ListedMemory, ...]:
        """What an action touches: the marked rows in view, or else the one under the cursor."""
        return self.marked or ((under_cursor,) if under_cursor is not None else ())

    @property
    def caption(self) -> str:
        """Totals and order, for the frame of the list."""
        if not self.window.rows:
            return ""
        return f"{self.window.caption} · {'best first' if self.searching else self.sort}"

    @property
    def marked_caption(self) -> str:
        """How many are marked, and how many of them the view hides."""
        if not len(self.marks):
            return ""
        hidden = len(self.marks) - len(self.marked)
        return f"✓ {len(self.marks):,} marked" + (f", {hidden:,} hidden" if hidden else "")


async def page_around(reader: MemoryReader, row: ListedMemory) -> MemoryPage | None:
    """The page of all memories, newest first, that holds this one; ``None`` when it is deleted.

    As many memories are at least as new as it, so that is about where it stands.
    """
    newer = await reader.browse(
        BrowseFilter(since=row.created_at), sort="newest", offset=0, limit=1
    )
    offset = max(newer.total - WINDOW // 2, 0)
    page = await reader.browse(BrowseFilter(), sort="newest", offset=offset, limit=WINDOW)
    return page if any(listed.id == row.id for listed in page.entries) else None
