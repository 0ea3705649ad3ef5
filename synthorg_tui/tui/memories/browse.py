"""The Memories pane as far as it only looks: groups, list, detail, filter and search."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import is_text
from synthorg_tui.tui.base.filters import toggle_operator
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.window import WINDOW
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.detail import detail_lines
from synthorg_tui.tui.memories.lines import facet_lines
from synthorg_tui.tui.memories.state import (
    HITS,
    Listing,
    chip_line,
    empty_lines,
    error_lines,
    loading_lines,
)
from synthorg_tui.tui.panes import Panes, Recount
from synthorg_tui.tui.ports import MemoryDesk, MemoryRow, MemoryShelf, Revision
from synthorg_tui.tui.state import MAX_SPLIT, MIN_SPLIT, UiState
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList, MemoryList

DEBOUNCE = 0.12
LOADING_AFTER = 0.15
WAITING_AFTER = 0.3
"""Seconds until who is waited for is told; most have left the store before."""
NARROW = 100
_HINTS = {
    "filter": ("/ filter ", "words  -words  agent:  cat:  tag:  since:7d"),
    "search": ("s search ", "what you want to know, in your words"),
}


class BrowseScreen(Screen[None]):
    """Lists what the shelf has; the desk, for all else, comes once the engine is open."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012

    def __init__(
        self,
        *,
        state: UiState,
        now: Callable[[], datetime],
        panes: Panes,
    ) -> None:
        super().__init__()
        self.state = state
        self.now = now
        self.shelf: MemoryShelf | None = None
        self.desk: MemoryDesk | None = None
        self.listing = Listing(now)
        self.listing.sort = state.sort
        self.listing.filter_text = state.filter
        self._panes = panes
        self._entering = "filter"
        self._narrow_facets = False
        self._error: DomainError | None = None
        self._waits_for: DomainError | None = None
        self._slow = False
        self._timer: Timer | None = None
        self._history: tuple[str, tuple[Revision, ...]] | None = None

    def compose(self) -> ComposeResult:
        """Header, groups, list above or beside the detail, footer."""
        yield TopBar(self._panes, "Memories")
        with Horizontal(id="body"):
            groups = FixedList(id="facets")
            groups.border_title = "Groups"
            yield groups
            with Horizontal(id="main"):
                with Vertical(id="middle"):
                    with Horizontal(id="entry"):
                        yield LineBar(id="prompt")
                        yield Input(id="query", compact=True, select_on_focus=False)
                    yield LineBar(id="chips")
                    yield LineBar(id="banner")
                    rows = MemoryList(now=self.now, id="list")
                    rows.border_title = "Memories"
                    yield rows
                detail = LineView(id="detail")
                detail.border_title = "Detail"
                yield detail
        yield KeyBar("memories", "app")

    def on_mount(self) -> None:
        """Lay out as remembered; the rows come when the desk does."""
        self.rows.focus()
        self._slow = True  # opening the store takes longer than drawing the screen once more
        self._arrange()
        self._draw()

    def on_resize(self) -> None:
        """Stack the panes on a narrow terminal."""
        self._arrange()

    @property
    def rows(self) -> MemoryList:
        """The list of memories."""
        return self.query_one("#list", MemoryList)

    @property
    def narrow(self) -> bool:
        """Whether there is no room for panes side by side."""
        return self.app.size.width < NARROW

    # Loading

    async def browse(self, shelf: MemoryShelf) -> None:
        """The store can be read: list it. Searching and changes wait for ``attach``."""
        self.shelf = shelf
        self._error = self._waits_for = None
        await self._load(self.listing.ask(), 0, True)

    def attach(self, desk: MemoryDesk) -> None:
        """The engine is open: what is listed already stays."""
        self.desk = self.shelf = desk
        self._waits_for = None
        if self._error is not None or self.listing.waiting or not self.listing.facets.total:
            self._error = None
            self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error, self._waits_for = error, None
        self.listing.clear()
        self.rows.show(self.listing.window, scored=False, follow=None)
        self._draw()

    def tell_waiting(self, error: DomainError) -> None:
        """Say in place of the list who has the store, while they may yet leave."""
        if self._waits_for is None:
            self._waits_for = error
            self.set_timer(WAITING_AFTER, self._show_waiting)

    def _show_waiting(self) -> None:
        if self._waits_for is not None:
            self._error = None
            self._draw()

    def reload(self, *, facets: bool = True, top: bool = False) -> None:
        """Ask for what the view lists; the cursor stays on its memory where it can."""
        if self.shelf is None:
            return
        generation = self.listing.ask()
        offset = 0 if top else self.listing.window.offset
        self._slow = False
        self.set_timer(LOADING_AFTER, self._tell_loading)
        run_job(self, partial(self._load, generation, offset, facets), group="listing")

    async def _load(self, generation: int, offset: int, facets: bool) -> None:
        listing, shelf, desk = self.listing, self.shelf, self.desk
        if shelf is None or (listing.searching and desk is None):
            return
        try:
            if facets:
                listing.facets = await shelf.facets()
            what, words = listing.query.criteria, listing.query.text
            if listing.searching and desk is not None:
                taken = listing.take_hits(generation, await desk.search(words, what, limit=HITS))
            else:
                page = await shelf.page(what, sort=listing.sort, offset=offset, limit=WINDOW)
                taken = listing.take_page(generation, page)
        except DomainError as error:
            if generation == listing.generation:
                self.tell_error(error)
            return
        if taken:
            self._error = None
            self._show()
            if facets:
                self.post_message(Recount())

    def _show(self) -> None:
        searching = self.listing.searching
        follow = self.rows.row.id if self.rows.row and not searching else None
        if searching:
            self.rows.cursor = 0
        self.rows.show(self.listing.window, scored=searching, follow=follow)
        self._draw()
        self._follow_cursor()

    def _tell_loading(self) -> None:
        self._slow = True
        self._draw()

    @on(LineList.Scrolled, "#list")
    def _load_more(self) -> None:
        shelf, listing = self.shelf, self.listing
        offset = None if listing.searching else listing.window.wanted(*self.rows.visible_rows)
        if shelf is None or offset is None or listing.waiting:
            return

        async def load(generation: int, offset: int) -> None:
            try:
                what = listing.query.criteria
                page = await shelf.page(what, sort=listing.sort, offset=offset, limit=WINDOW)
            except DomainError as error:
                self.tell_error(error)
                return
            if listing.take_page(generation, page):
                self.rows.show(listing.window, scored=False, follow=None)
                self._draw()
                self._follow_cursor()

        run_job(self, partial(load, listing.generation, offset), group="window")

    # Drawing

    def _arrange(self) -> None:
        middle, detail = self.query_one("#middle"), self.query_one("#detail")
        share, rest = f"{self.state.split}%", "1fr"
        self.query_one("#main").styles.layout = "vertical" if self.narrow else "horizontal"
        bare = not self.listing.window.total and not self.listing.text
        detail.display = not bare
        share = "1fr" if bare else share
        middle.styles.width, middle.styles.height = (
            ("1fr", share) if self.narrow else (share, "1fr")
        )
        detail.styles.width = detail.styles.height = rest
        self.query_one("#facets").display = (
            self._narrow_facets if self.narrow else self.state.facets
        )

    def _draw(self) -> None:
        listing = self.listing
        self._arrange()
        self._draw_top()
        self._draw_list()
        query = listing.query
        chips = self.query_one("#chips", LineBar)
        chips.display = bool(query.chips)
        chips.show(
            chip_line(query, max(chips.size.width, 20), search=bool(listing.search_text.strip()))
        )
        banner = self.query_one("#banner", LineBar)
        told = query.problems[0] if query.problems else listing.degraded
        banner.display = bool(told)
        banner.show(line(("! ", "bad"), (told, "warn")))
        chosen = query.criteria
        self.query_one("#facets", FixedList).show(
            lambda width: list(
                facet_lines(
                    listing.facets, width, agents=chosen.agents, categories=chosen.categories
                )
            )
        )

    def _draw_top(self) -> None:
        facets = self.listing.facets
        if self.shelf is None:
            text = "not open" if self._error else "opening the store …"
        else:
            text = f"{memories(facets.total)} · {counted(len(facets.agents), 'agent')}"
        self.query_one(TopBar).tell(line((text, "muted")))

    def _draw_list(self) -> None:
        rows, listing = self.rows, self.listing
        rows.placeholder = self._placeholder()
        rows.show_marks(listing.marks)
        captions = [part for part in (listing.marked_caption, listing.caption) if part]
        title = "Results" if listing.searching else "Memories"
        rows.set_titles(top=title, bottom=" · ".join(captions))

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return error_lines(self._error.message, self._error.remedy)
        if self.shelf is None or self.listing.waiting:
            owner = self._waits_for.message if self._waits_for else ""
            return loading_lines(owner) if self._slow else []
        return empty_lines(self.listing)

    # Detail

    @on(LineList.Moved, "#list")
    def _follow_cursor(self) -> None:
        row = self.rows.row
        known = self._history if row and self._history and self._history[0] == row.id else None
        self._draw_detail(row, known[1] if known else None)
        if row is not None and known is None:
            self._later(DEBOUNCE, self._load_history)
        self._load_more()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(seconds, act)

    def _draw_detail(self, row: MemoryRow | None, history: tuple[Revision, ...] | None) -> None:
        detail = self.query_one("#detail", LineView)
        shown = detail_lines(row, history, now=self.now()) if row else []
        detail.show(shown, top=history is None)

    def _load_history(self) -> None:
        row, shelf = self.rows.row, self.shelf
        if row is None or shelf is None:
            return

        async def load() -> None:
            try:
                history = await shelf.history(row.id)
            except DomainError:
                history = ()
            self._history = (row.id, history)
            if self.rows.row is not None and self.rows.row.id == row.id:
                self._draw_detail(self.rows.row, history)

        run_job(self, load, group="history")

    def forget_history(self) -> None:
        """A memory changed: its history is read again."""
        self._history = None

    # Filter and search

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is being typed, the keys that open an entry are text."""
        return not is_text(action, self.focused) and super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Filter as you type."""
        self._enter("filter", self.listing.filter_text)

    def action_search(self) -> None:
        """Search by meaning and words."""
        self._enter("search", self.listing.search_text)

    def _enter(self, what: str, text: str) -> None:
        self._entering = what
        prompt, hint = _HINTS[what]
        self.add_class("-entering")
        self.query_one("#prompt", LineBar).show(line((prompt, "accent")))
        entry = self.query_one("#query", Input)
        with entry.prevent(Input.Changed):
            entry.value = text
        entry.placeholder = hint
        entry.cursor_position = len(text)
        self.set_focus(entry)

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.set_text(event.value, self._entering)

    def set_text(self, text: str, what: str) -> None:
        """Take a filter or search text; the store is asked once typing pauses."""
        if what == "search":
            self.listing.search_text = text
        else:
            self.listing.search_text = ""
            self.listing.filter_text = self.state.filter = text
        self.listing.ask()
        self._draw()
        self._later(DEBOUNCE, lambda: self.reload(facets=False, top=True))

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        self.remove_class("-entering")
        self.rows.focus()

    def action_back(self) -> None:
        """Close the zoom, then the search, then the filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        self.rows.focus()
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif self.listing.search_text:
            self.set_text("", "search")
        elif self.listing.filter_text and (entering or self.focused is self.rows):
            self.set_text("", "filter")

    @on(LineList.Chosen, "#facets")
    def _choose_group(self, event: LineList.Chosen) -> None:
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, tuple):
            what = "search" if self.listing.search_text.strip() else "filter"
            self.set_text(toggle_operator(self.listing.text, *value), what)

    def action_sort(self) -> None:
        """Next order."""
        if self.listing.searching:
            toast(self, "A search is ordered best first")
            return
        self.state.sort = self.listing.next_sort()
        self.reload(facets=False, top=True)

    # Sizes

    @on(LineList.Chosen, "#list")
    def action_zoom(self) -> None:
        """Give the detail the whole screen, and back."""
        if self.rows.row is not None:
            self.toggle_class("-zoomed")
            zoomed = self.has_class("-zoomed")
            self.query_one("#detail" if zoomed else "#list").focus()

    def action_facets(self) -> None:
        """Show or hide the groups."""
        if self.narrow:
            self._narrow_facets = not self._narrow_facets
        else:
            self.state.facets = not self.state.facets
        self._arrange()
        shown = self.query_one("#facets").display
        (self.query_one("#facets") if shown and self.narrow else self.rows).focus()

    def action_wider(self) -> None:
        """More room for the list."""
        self._resize_list(5)

    def action_narrower(self) -> None:
        """Less room for the list."""
        self._resize_list(-5)

    def _resize_list(self, by: int) -> None:
        self.state.split = min(max(self.state.split + by, MIN_SPLIT), MAX_SPLIT)
        self._arrange()
