"""The state of the Memories pane: filter, search, loaded rows and marks.

The screen asks it what to list and draws what it holds. It works on a store and is tested without a
screen: no Textual, and no styled lines.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import project_names
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import (
    MEMORY_STATES,
    SORT_ORDERS,
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    SortOrder,
    owner_words,
    project_of,
)
from synthorg_tui.tui.base.filters import Query, matches, parse_query, toggle_operator
from synthorg_tui.tui.base.window import WINDOW, Latest, Marks, RowWindow
from synthorg_tui.tui.engine_adapter import EngineAdapter, MemoryReader

MAX_HITS = 100
"""Maximum number of results of a search."""


class Listing(Latest):
    """The filter and the search of a list of memories, and the result of the newest request.

    With ``deleted`` it lists what is deleted or expired.
    """

    def __init__(self, now: Callable[[], datetime], *, deleted: bool = False) -> None:
        super().__init__()
        self._now = now
        self._deleted = deleted
        self.filter_text = ""
        self.search_text = ""
        self.sort: SortOrder = "newest"
        self.facets = Facets()
        self.counts: Facets | None = None
        self.window = RowWindow()
        self.marks = Marks()
        self.degraded = ""

    @property
    def text(self) -> str:
        """The text that decides what is listed: the search, or without one the filter."""
        return self.search_text if self.search_text.strip() else self.filter_text

    @property
    def searching(self) -> bool:
        """Whether words are searched for; a search of operators only is a filter."""
        return bool(self.search_text.strip() and self.query.text)

    @property
    def query(self) -> Query:
        """The parsed filter or search text."""
        agents = tuple(owner_words(agent) for agent, _ in self.facets.agents)
        projects = tuple(path for path, _ in self.facets.projects)
        return parse_query(self.text, now=self._now(), agents=agents, projects=projects)

    @property
    def asked(self) -> str:
        """The words that are searched for; empty while memories are listed."""
        return self.query.text if self.searching else ""

    def clear(self) -> None:
        """Empty the list after the newest request failed."""
        self.answer(self.generation)
        self.window = RowWindow()

    async def read(
        self, generation: int, reader: MemoryReader, desk: EngineAdapter | None, *, offset: int
    ) -> bool:
        """Read the listed rows; return ``False`` if a newer request was made meanwhile.

        A search needs ``desk``, the open engine; otherwise it may be ``None``.
        """
        if not self.searching or desk is None:
            return self.take_page(generation, await self.page(reader, offset))
        query = self.query
        found = await desk.search(query.text, query.criteria, limit=MAX_HITS)
        return self.take_hits(generation, found)

    async def count(self, generation: int, reader: MemoryReader) -> bool:
        """Count the groups under the filter; return ``False`` if a newer request was made.

        The words of a search rank memories rather than filter them, so they don't count.
        """
        what = self.query.criteria
        counts = await reader.facets(replace(what, words=()) if self.searching else what)
        if generation != self.generation:
            return False
        self.counts = counts
        return True

    def prefer_project(self, here: Path) -> None:
        """Filter by the project that the folder ``here`` is in, if there are memories of it."""
        project = project_of(here, dict(self.facets.projects))
        if project is not None and not self.text.strip():
            names = project_names(path for path, _ in self.facets.projects)
            self.filter_text = toggle_operator("", "project:", names[project])

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """What each operator of a filter can take, as far as is known."""
        tags = Counter(tag for row in self.window.rows for tag in row.tags)
        sessions = dict.fromkeys(row.stored_session for row in self.window.rows)
        return {
            "project:": tuple(project_names(path for path, _ in self.facets.projects).values()),
            "kind:": tuple(MemoryKind),
            "agent:": tuple(owner_words(agent) for agent, _ in self.facets.agents),
            "cat:": tuple(MemoryCategory),
            "tag:": tuple(tag for tag, _ in tags.most_common()),
            "session:": tuple(filter(None, sessions)),
            "is:": MEMORY_STATES,
            "since:": (),
            "until:": (),
        }

    async def page(self, reader: MemoryReader, offset: int, limit: int = WINDOW) -> MemoryPage:
        """Return at most ``limit`` of the memories the filter lists, from ``offset`` on."""
        what = replace(self.query.criteria, deleted=self._deleted)
        return await reader.browse(what, sort=self.sort, offset=offset, limit=limit)

    async def rows(
        self, reader: MemoryReader | None, first: int = 0, count: int | None = None
    ) -> list[ListedMemory]:
        """Return ``count`` rows of the list from ``first`` on, or all of them.

        Rows of a filter are read from ``reader``, loaded or not.
        """
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
        """Store a page; return ``False``, and drop it, if a newer request was made meanwhile."""
        return self._take(generation, RowWindow(page.entries, page.offset, page.total))

    def take_hits(self, generation: int, hits: FoundMemories) -> bool:
        """Store search results; return ``False``, and drop them, if a newer request was made."""
        return self._take(generation, RowWindow(hits.hits, 0, len(hits.hits)), hits.degraded)

    def _take(self, generation: int, window: RowWindow, degraded: str = "") -> bool:
        if not self.answer(generation):
            return False
        self.window, self.degraded = window, degraded
        return True

    def next_sort(self) -> SortOrder:
        """Switch to the next sort order and return it."""
        self.sort = SORT_ORDERS[(SORT_ORDERS.index(self.sort) + 1) % len(SORT_ORDERS)]
        return self.sort

    def shows(self, row: ListedMemory) -> bool:
        """Return whether the memory is listed now."""
        if self.searching:
            return self.window.index_of(row.id) is not None
        return matches(self.query.criteria, row, now=None if self._deleted else self._now())

    @property
    def marked(self) -> tuple[ListedMemory, ...]:
        """Return the marked memories that are listed now."""
        return self.marks.in_view(self.shows)

    def targets(self, under_cursor: ListedMemory | None) -> tuple[ListedMemory, ...]:
        """Return the rows an action affects: the marked ones listed, or else ``under_cursor``."""
        return self.marked or ((under_cursor,) if under_cursor is not None else ())

    def caption(self, cursor: int) -> str:
        """The position of the cursor, the numbers of memories, and their order, for the list."""
        total, stored = self.window.total, self.stored
        if not self.window.rows:
            return ""
        at = f"{cursor + 1:,} of {total:,}"
        if self.searching:
            best = f"the {total} best" if total == MAX_HITS else "best first"
            return f"{at} · {best}"
        if self.text.strip():
            return f"{at} · {total:,} of {stored:,} match · {self.sort}"
        archived = self.facets.archived
        return f"{at} · {self.sort}" + (f" · is:archived lists {archived:,}" if archived else "")

    @property
    def stored(self) -> int:
        """How many memories there are of those a filter chooses from: live ones, or archived."""
        is_archive = "archived" in self.query.criteria.states
        return self.facets.archived if is_archive else self.facets.total

    @property
    def why_empty(self) -> str:
        """Why there is no memory under the cursor, for a key that needs one."""
        if self.waiting or self.window.rows:
            return "The memories are still being read"
        if self.searching:
            return "The search found no memory: esc goes back"
        if self.text.strip():
            return "The filter lists no memory: esc clears it"
        return "There is no memory yet: a writes one, i imports sessions"

    @property
    def marked_caption(self) -> str:
        """The number of marked memories, and of those that the filter hides."""
        if not len(self.marks):
            return ""
        hidden = len(self.marks) - len(self.marked)
        return f"✓ {len(self.marks):,} marked" + (f", {hidden:,} hidden" if hidden else "")


async def page_around(reader: MemoryReader, row: ListedMemory) -> MemoryPage | None:
    """Return the page of all live memories, newest first, that holds this one.

    Of an archived memory it is that of the archive. Returns ``None`` if the memory is deleted.
    """
    what = BrowseFilter(states=("archived",)) if row.archived_at is not None else BrowseFilter()
    newer = replace(what, since=row.created_at)
    before = (await reader.browse(newer, sort="newest", offset=0, limit=1)).total
    offset = max(before - WINDOW // 2, 0)
    page = await reader.browse(what, sort="newest", offset=offset, limit=WINDOW)
    return page if any(listed.id == row.id for listed in page.entries) else None
