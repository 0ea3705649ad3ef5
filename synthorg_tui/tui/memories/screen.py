"""The Memories pane: groups, list and detail, and what a person does with memories.

It is the first pane and the only one that works before the engine is open: ``browse`` lists with
a reader of the store alone, ``attach`` brings the rest. What is asked for and what has come is in
``state``, dialogs and the changes they lead to are in ``dialogs``, lines in ``lines`` and
``detail``: here are only widgets, keys, and which work runs when.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.filters import toggle_operator
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.window import WINDOW
from synthorg_tui.tui.engine_adapter import EngineAdapter, MemoryReader
from synthorg_tui.tui.jobs import Recount, Throttle, run_job, toast
from synthorg_tui.tui.memories import lines as drawn
from synthorg_tui.tui.memories.acting import MemoryActions
from synthorg_tui.tui.memories.state import page_around
from synthorg_tui.tui.memories.view import MemoriesBody
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.state import MAX_SPLIT, MIN_SPLIT, UiState
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

ROOM_FOR_GROUPS = 130
"""Terminal width in columns from which the groups are shown beside list and detail."""


class MemoriesScreen(MemoryActions):
    """Lists, filters and searches; marks, writes, edits, deletes, restores, copies and exports."""

    BINDINGS = bindings("memories")
    HELP_CONTEXTS = ("memories", "list", "app")
    FILTER_HINT = "words  -words  project:  kind:  -agent:  tag:  session:  since:7d  tab completes"
    KEEP_UP_AFTER: ClassVar[float] = 0.7
    """Seconds between two readings of the store for changes that others made."""
    WAITING_AFTER: ClassVar[float] = 0.3
    """Seconds until the pane says who has the store; most have left it before."""

    def __init__(self, *, state: UiState, now: Callable[[], datetime], panes: Panes) -> None:
        super().__init__(panes=panes, now=now)
        self.state = state
        self.listing.sort = state.sort
        self._welcomed = False
        self._narrow_facets = False
        self._is_placed = False
        self._waits_for: DomainError | None = None
        self._keeping_up = Throttle(self, self.renew, self.KEEP_UP_AFTER)
        self._slow = True  # opening the store takes longer than drawing the screen once more

    def compose(self) -> ComposeResult:
        """Header, groups, list above or beside the detail, footer."""
        yield TopBar(self.panes, "Memories")
        yield MemoriesBody(self.listing, entry=self.filter_entry(""), now=self.now)
        yield KeyBar("memories", "app")

    # Loading

    async def browse(self, reader: MemoryReader) -> None:
        """List the store, which can be read. Searching and changes wait for ``attach``."""
        self.reader = reader
        self._error = self._waits_for = None
        await self._load(self.listing.ask(), 0, True)

    def attach(self, desk: EngineAdapter) -> None:
        """The engine is open: what is listed already stays."""
        self.desk = self.reader = desk
        self._waits_for = None
        if self._error is not None or self.listing.waiting or not self.listing.facets.total:
            self._error = None
            self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._waits_for = None
        self.listing.clear()
        self._show_rows(None)
        super().tell_error(error)

    def tell_waiting(self, error: DomainError) -> None:
        """Say in place of the list who has the store, while they may yet leave."""
        if self._waits_for is None:
            self._waits_for = error
            self.set_timer(self.WAITING_AFTER, self._show_waiting)

    def _show_waiting(self) -> None:
        if self._waits_for is not None:
            self._error = None
            self.draw()

    def await_rows(self) -> None:
        """Before the store can be read the list says so from the start."""
        if self.reader is not None:
            super().await_rows()

    def reload(self, *, facets: bool = True, top: bool = False) -> None:
        """Ask for what the view lists; the cursor stays on its memory where it can."""
        if self.reader is None:
            return
        generation = self.listing.ask()
        offset = 0 if top or self._added else self.listing.window.offset
        self.await_rows()
        run_job(self, partial(self._load, generation, offset, facets), group="listing")

    async def _load(self, generation: int, offset: int, facets: bool) -> None:
        listing, reader = self.listing, self.reader
        if reader is None or (listing.searching and self.desk is None):
            return
        try:
            if facets:
                listing.facets = await reader.facets()
                self._place()
            is_newest = await listing.read(generation, reader, self.desk, offset=offset)
        except DomainError as error:
            if generation == listing.generation:
                self.tell_error(error)
            return
        if is_newest:
            self._error = None
            self.show_answer()
            if facets:
                self.post_message(Recount())
            await self._count(generation)

    def _place(self) -> None:
        """At the start show the project that the app was started in, if it has memories."""
        if not self._is_placed:
            self._is_placed = True
            with suppress(OSError):  # a folder that was deleted is in no project
                self.listing.prefer_project(Path.cwd())

    async def _count(self, generation: int) -> None:
        """Count the groups under the filter while they are in view."""
        if self.reader is None or not self.body.groups.display:
            return
        try:
            is_newest = await self.listing.count(generation, self.reader)
        except DomainError:  # the rows are there: the next reading counts again
            return
        if is_newest:
            self.body.draw_groups()

    def show_answer(self) -> None:
        """Show what the newest question gave; a search starts at its best result."""
        searching = self.listing.searching
        follow = self.rows.row.id if self.rows.row and not searching else None
        if searching:
            self.rows.cursor = 0
        self._show_window(follow=self._follow_added() or follow)
        facets = self.listing.facets
        is_bare = not (facets.total or facets.archived or self.listing.text)
        if is_bare and self.desk is not None and not self._welcomed:
            self._welcomed = True
            self._dialogs.show_welcome(self.desk)

    def _show_window(self, *, follow: str | None = None) -> None:
        self._show_rows(follow)
        self.draw()
        self._follow_cursor()

    def _show_rows(self, follow: str | None) -> None:
        listing = self.listing
        self.rows.show(listing.window, order=listing.sort, asked=listing.asked, follow=follow)

    @on(LineList.Scrolled, "#list")
    def _load_more(self) -> None:
        reader, listing = self.reader, self.listing
        offset = None if listing.searching else listing.window.wanted(*self.rows.visible_rows)
        if reader is None or offset is None or listing.waiting:
            return

        async def load(generation: int) -> None:
            try:
                page = await listing.page(reader, offset)
            except DomainError as error:
                self.tell_error(error)
                return
            if listing.take_page(generation, page):
                self._show_window()

        run_job(self, partial(load, listing.generation), group="window")

    # Keeping up with what agents, commands and the other panes change

    def keep_up(self) -> None:
        """The store changed: show it soon, with cursor and scroll where they are."""
        self._keeping_up.ask()

    def renew(self) -> None:
        """Read what is listed again, or withdraw the welcome once there are memories."""
        welcome, reader = self._dialogs.welcome, self.reader
        shown = self if welcome is None else welcome
        if reader is None or not shown.is_current:
            return
        if welcome is None:
            run_job(self, partial(self._read_again, reader, self.listing.generation), group="new")
        else:
            run_job(self, partial(self._dialogs.withdraw_welcome, reader), group="new")

    async def _read_again(self, reader: MemoryReader, generation: int) -> None:
        listing, page = self.listing, None
        facets = await reader.facets()
        if not listing.searching:
            middle = self.rows.cursor if self.rows.is_cursor_in_view else self.rows.visible_rows[0]
            page = await listing.page(reader, max(middle - WINDOW // 2, 0))
        listing.facets = facets
        await self._count(generation)
        if page is None:  # a search stays as it was answered
            self.draw()
        elif listing.take_page(generation, page):
            before = self.rows.row
            self.rows.renew(listing.window)
            if self.rows.row != before:
                self.body.detail.forget_history()
            self.draw()
            self._follow_cursor()
        else:
            self.keep_up()

    # Drawing

    def _arrange(self) -> None:
        groups = self.state.facets if self._has_room else self._narrow_facets
        groups = groups and not self.has_class("-zoomed")
        self.body.lay_out(narrow=self.narrow, split=self.state.split, groups=groups)

    @property
    def _has_room(self) -> bool:
        """Whether the terminal has room for the groups, so that they are shown unasked."""
        return self.app.size.width >= ROOM_FOR_GROUPS

    def draw(self) -> None:
        """Draw everything from the state."""
        if self.is_mounted:
            self._arrange()
            self.query_one(TopBar).tell(line((self._status(), "muted")))
            self.rows.placeholder = self._placeholder()
            self.body.draw()

    def _status(self) -> str:
        if self.reader is None:
            return self.opening_status
        facets = self.listing.facets
        archived = f" · {facets.archived:,} archived" if facets.archived else ""
        agents = counted(len(facets.named_agents), "agent")
        return f"{memories(facets.total)}{archived} · {agents}"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(drawn.listing_error(self._error))
        if self.reader is None or self.listing.waiting:
            owner = self._waits_for.message if self._waits_for else ""
            return drawn.loading_lines(owner) if self._slow else []
        return drawn.empty_lines(self.listing)

    @on(LineList.Moved, "#list")
    def _follow_cursor(self) -> None:
        self.body.detail.show_memory(self.rows.row, self.reader)
        self.body.draw_list()
        self._load_more()

    # Filter and search

    def action_filter(self) -> None:
        self.enter("filter", self.listing.filter_text)

    def action_search(self) -> None:
        self.enter("search", self.listing.search_text)

    @property
    def completions(self) -> Mapping[str, Sequence[str]]:
        """What each operator of the filter can take, as far as is known."""
        return self.listing.values

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.set_text(event.value, self.entering)

    def set_text(self, text: str, kind: str) -> None:
        """Take a filter or search text; the store is asked once typing pauses."""
        if kind == "search":
            self.listing.search_text = text
        else:
            self.listing.search_text = ""
            self.listing.filter_text = text
        self.listing.ask()
        self.draw()
        self.later(lambda: self.reload(facets=False, top=True))

    def action_back(self) -> None:
        """Drop a started range, or close the zoom, then the search, then the filter."""
        if self._marker.drop_range():
            return
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        self.rows.focus()
        if self.has_class("-zoomed"):
            self._zoom(False)
        elif self.listing.search_text:
            self.set_text("", "search")
        elif self.listing.filter_text and (entering or self.focused is self.rows):
            self.set_text("", "filter")

    @on(LineList.Chosen, "#facets")
    def _choose_group(self, event: LineList.Chosen) -> None:
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, tuple):
            kind = "search" if self.listing.search_text.strip() else "filter"
            self.set_text(toggle_operator(self.listing.text, *value), kind)

    def action_sort(self) -> None:
        if self.listing.searching:
            toast(self, "A search is ordered best first")
            return
        self.state.sort = self.listing.next_sort()
        self.reload(facets=False, top=True)

    # Sizes

    @on(LineList.Chosen, "#list")
    def action_zoom(self) -> None:
        """Give the detail the whole screen, and back."""
        if self._has_row():
            self._zoom(not self.has_class("-zoomed"))
            self._note_opened()
            (self.body.detail if self.has_class("-zoomed") else self.rows).focus()

    def _note_opened(self) -> None:
        """Have a hit remembered that a person opens: evaluations ask for it again."""
        row, desk, listing = self.rows.row, self.desk, self.listing
        if listing.asked and self.has_class("-zoomed") and row is not None and desk is not None:
            note = partial(desk.note_opened, listing.asked, row.id)
            run_job(self, note, group="opened", newest_only=False, failed=lambda _error: None)

    def _zoom(self, zoomed: bool) -> None:
        self.set_class(zoomed, "-zoomed")
        self._arrange()

    def action_facets(self) -> None:
        if self._has_room:
            self.state.facets = not self.state.facets
        else:
            self._narrow_facets = not self._narrow_facets
        self._arrange()
        run_job(self, partial(self._count, self.listing.generation), group="counts")
        groups = self.body.groups
        (groups if groups.display and self.narrow else self.rows).focus()

    def action_resize(self, by: int) -> None:
        """Give the list more of the width, in percent, or less."""
        self.state.split = min(max(self.state.split + by, MIN_SPLIT), MAX_SPLIT)
        self._arrange()

    # Elsewhere

    def show_memory(self, row: ListedMemory) -> None:
        """Put the cursor on a memory, whatever was filtered or searched for."""
        desk, listing = self.desk, self.listing
        if desk is None:
            return
        listing.search_text = ""
        listing.filter_text = "is:archived" if row.archived_at is not None else ""
        listing.sort = self.state.sort = "newest"
        self.remove_class("-entering")
        self._zoom(False)
        generation = listing.ask()

        async def show() -> None:
            page = await page_around(desk, row)
            if page is None:
                toast(self, "This memory is no longer in the store", severity="warning")
                self.reload(top=True)
            elif listing.take_page(generation, page):
                self.rows.focus()
                self._show_window(follow=row.id)

        run_job(self, show, group="listing")

    def show_session(self, session_id: str) -> None:
        """List the memories of a session; esc lists all again."""
        self.show_filter(toggle_operator("", "session:", session_id))

    def show_agent(self, agent_id: str) -> None:
        """List the memories of an agent; esc lists all again."""
        self.show_filter(toggle_operator("", "agent:", agent_id))

    def show_filter(self, text: str) -> None:
        """List what a filter says; esc lists all again."""
        self.remove_class("-entering")
        self._zoom(False)
        self.rows.focus()
        self.set_text(text, "filter")

    def action_reload(self) -> None:
        """Read the store again, or try to open it again."""
        if self.desk is None and (self.reader is None or self._error is not None):
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()
