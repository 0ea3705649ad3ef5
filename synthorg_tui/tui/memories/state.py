"""Finding where in the listing of everything a memory stands.

The state of the Memories pane: what is asked for, what has come, and what is marked.
"""

from collections.abc import Callable
from datetime import datetime

from synthorg_tui.tui.base.filters import Chip, Query, matches, parse_query
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.window import WINDOW, Marks, RowWindow
from synthorg_tui.tui.ports import (
    SORT_ORDERS,
    Criteria,
    Facets,
    Hits,
    MemoryDesk,
    MemoryRow,
    Page,
    SortOrder,
)


async def page_around(desk: MemoryDesk, row: MemoryRow) -> Page | None:
    """The page of all memories, newest first, that holds this one; ``None`` when it is gone.

    As many memories are at least as new as it, so that is about where it stands.
    """
    newer = await desk.page(Criteria(since=row.created_at), sort="newest", offset=0, limit=1)
    offset = max(newer.total - WINDOW // 2, 0)
    page = await desk.page(Criteria(), sort="newest", offset=offset, limit=WINDOW)
    return page if any(each.id == row.id for each in page.rows) else None


HITS = 100
"""Most results of a search."""


class Listing:
    """A filter and a search over one store, and the answers to the newest question only."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.filter_text = ""
        self.search_text = ""
        self.sort: SortOrder = "newest"
        self.facets = Facets()
        self.window = RowWindow()
        self.marks = Marks()
        self.degraded = ""
        self.generation = 0
        self.answered = 0

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
        """That text, parsed."""
        return self.parse(self.text)

    def parse(self, text: str) -> Query:
        """A query text read with the agents there are."""
        agents = tuple(agent for agent, _ in self.facets.agents)
        return parse_query(text, now=self._now(), agents=agents)

    @property
    def waiting(self) -> bool:
        """Whether the newest question has no answer yet."""
        return self.answered != self.generation

    def ask(self) -> int:
        """A new question: answers to older ones no longer count."""
        self.generation += 1
        return self.generation

    def clear(self) -> None:
        """Nothing is listed: the question had an error for an answer."""
        self.answered = self.generation
        self.window = RowWindow()

    def take_page(self, generation: int, page: Page) -> bool:
        """Take a page; ``False`` when a newer question was asked meanwhile."""
        if generation != self.generation:
            return False
        self.answered = generation
        self.window = RowWindow(page.rows, page.offset, page.total)
        self.degraded = ""
        return True

    def take_hits(self, generation: int, hits: Hits) -> bool:
        """Take search results; ``False`` when a newer question was asked meanwhile."""
        if generation != self.generation:
            return False
        self.answered = generation
        self.window = RowWindow(hits.rows, 0, len(hits.rows))
        self.degraded = hits.degraded
        return True

    def next_sort(self) -> SortOrder:
        """Turn to the next order."""
        self.sort = SORT_ORDERS[(SORT_ORDERS.index(self.sort) + 1) % len(SORT_ORDERS)]
        return self.sort

    def shows(self, row: MemoryRow) -> bool:
        """Whether the present view lists the memory."""
        if self.searching:
            return self.window.index_of(row.id) is not None
        return matches(self.query.criteria, row)

    def targets(self, under_cursor: MemoryRow | None) -> tuple[MemoryRow, ...]:
        """What an action touches: the marked rows in view, or else the one under the cursor."""
        marked = self.marks.in_view(self.shows)
        if marked:
            return marked
        return (under_cursor,) if under_cursor is not None else ()

    @property
    def caption(self) -> str:
        """Totals and order, for the frame of the list."""
        if not self.window.rows:
            return ""
        order = "best first" if self.searching else self.sort
        return f"{self.window.caption} · {order}"

    @property
    def marked_caption(self) -> str:
        """How many are marked, and how many of them the view hides."""
        if not len(self.marks):
            return ""
        hidden = len(self.marks) - len(self.marks.in_view(self.shows))
        return f"✓ {len(self.marks):,} marked" + (f", {hidden:,} hidden" if hidden else "")


def chip_line(query: Query, width: int, *, search: bool) -> Line:
    """The parts of a query as chips."""
    made = line(("search " if search else "filter ", "faint"))
    chips = query.chips
    if search and query.text:
        rest = tuple(chip for chip in chips if chip.kind != "word")
        chips = (Chip("word", query.text, "match"), *rest)
    for chip in chips:
        made.add("▐", chip.role).add(chip.label, "strong").add("▌ ", chip.role)
    return made.fit(width)


def empty_lines(listing: Listing) -> list[Line]:
    """Why the list has no rows, and the next step."""
    if listing.searching:
        return [
            line(("Nothing relevant", "title")),
            Line(),
            line((f"No memory is about “{listing.query.text or listing.search_text}”.", "text")),
            line(
                ("esc", "accent"),
                (" goes back   ", "muted"),
                ("s", "accent"),
                (" asks again", "muted"),
            ),
        ]
    if listing.filter_text.strip():
        return [
            line(("No memory matches", "title")),
            Line(),
            line(
                (
                    f"{counted(listing.facets.total, 'memory', 'memories')} hidden by the filter.",
                    "text",
                )
            ),
            line(
                ("esc", "accent"),
                (" clears it   ", "muted"),
                ("/", "accent"),
                (" changes it", "muted"),
            ),
        ]
    return [
        line(("No memories yet", "title")),
        Line(),
        line(("They come from the sessions of your coding agents.", "text")),
        line(
            ("i", "accent"),
            (" imports sessions   ", "muted"),
            ("a", "accent"),
            (" writes one", "muted"),
        ),
    ]


def loading_lines(owner: str = "") -> list[Line]:
    """The list while the store is being read, or while ``owner`` has it, who may leave it."""
    if not owner:
        return [line(("Reading the store …", "muted"))]
    return [
        line((owner, "text")),
        Line(),
        line(("Waiting a few seconds for it to end …", "muted")),
    ]


def error_lines(message: str, remedy: str) -> list[Line]:
    """What went wrong and what to do."""
    made = [line(("✗ ", "bad"), ("The memories can't be shown", "strong")), Line()]
    made.append(line((message, "text")))
    if remedy:
        made += [Line(), line(("→ ", "accent"), (remedy, "text"))]
    return [
        *made,
        Line(),
        line(("r", "accent"), (" tries again   ", "muted"), ("q", "accent"), (" quits", "muted")),
    ]
