"""The Memories pane: groups, list and detail, and what a person does with memories.

It is the first pane and the only one that works before the engine is open: ``browse`` lists with
a reader of the store alone, ``attach`` brings the rest. What is asked for and what has come is in
``state``, changes with their undo are in ``changes``, lines in ``lines`` and ``detail``: here are
only widgets, keys, and which work runs when.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.editor import EditorError, edit_text
from synthorg_tui.tui.base.filters import toggle_operator
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.base.window import WINDOW, Marks
from synthorg_tui.tui.jobs import Throttle, copy, error_toast, run_job, toast
from synthorg_tui.tui.memories import lines as drawn
from synthorg_tui.tui.memories.changes import Act, UndoableChanges, default_name, write_file
from synthorg_tui.tui.memories.state import Listing, page_around
from synthorg_tui.tui.memories.view import MemoriesBody
from synthorg_tui.tui.panes import Panes, Recount
from synthorg_tui.tui.ports import Draft, MemoryPort, MemoryReader
from synthorg_tui.tui.state import MAX_SPLIT, MIN_SPLIT, UiState
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar
from synthorg_tui.tui.widgets.rows import FixedList, MemoryList

if TYPE_CHECKING:
    from synthorg_tui.tui.memories.welcome import WelcomeScreen

MAX_MARKED = 3000
"""Most memories that one key marks."""
_ENTRIES = {
    "filter": ("/ filter ", "words  -words  agent:  cat:  tag:  since:7d"),
    "search": ("s search ", "what you want to know, in your words"),
}


class MemoriesScreen(Pane):
    """Lists, filters and searches; marks, writes, edits, deletes, restores, copies and exports."""

    BINDINGS = bindings("memories")
    HELP_CONTEXTS = ("memories", "list", "app")
    KEEP_UP_AFTER: ClassVar[float] = 0.7
    """Seconds between two readings of the store for changes that others made."""
    WAITING_AFTER: ClassVar[float] = 0.3
    """Seconds until the pane says who has the store; most have left it before."""

    def __init__(self, *, state: UiState, now: Callable[[], datetime], panes: Panes) -> None:
        super().__init__(panes=panes, now=now)
        self.state = state
        self.reader: MemoryReader | None = None
        self.listing = Listing(now)
        self.listing.sort = state.sort
        self.listing.filter_text = state.filter
        self._changes = UndoableChanges()
        self._range_from: int | None = None
        self._welcome: WelcomeScreen | None = None
        self._entering = "filter"
        self._narrow_facets = False
        self._waits_for: DomainError | None = None
        self._keeping_up = Throttle(self, self.renew, self.KEEP_UP_AFTER)
        self._slow = True  # opening the store takes longer than drawing the screen once more

    def compose(self) -> ComposeResult:
        """Header, groups, list above or beside the detail, footer."""
        yield TopBar(self.panes, "Memories")
        yield MemoriesBody(self.listing, entry=self.filter_entry(""), now=self.now)
        yield KeyBar("memories", "app")

    @property
    def body(self) -> MemoriesBody:
        """What is drawn between header and footer."""
        return self.query_one(MemoriesBody)

    @property
    def rows(self) -> MemoryList:
        """The list of memories."""
        return self.body.rows

    @property
    def main_list(self) -> LineList:
        """The memories."""
        return self.rows

    # Loading

    async def browse(self, reader: MemoryReader) -> None:
        """List the store, which can be read. Searching and changes wait for ``attach``."""
        self.reader = reader
        self._error = self._waits_for = None
        await self._load(self.listing.ask(), 0, True)

    def attach(self, desk: MemoryPort) -> None:
        """The engine is open: what is listed already stays."""
        self.desk = self.reader = desk
        self._waits_for = None
        if self._error is not None or self.listing.waiting or not self.listing.facets.total:
            self._error = None
            self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error, self._waits_for = error, None
        self.listing.clear()
        self.rows.show(self.listing.window, scored=False, follow=None)
        self.draw()

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
        offset = 0 if top else self.listing.window.offset
        self.await_rows()
        run_job(self, partial(self._load, generation, offset, facets), group="listing")

    async def _load(self, generation: int, offset: int, facets: bool) -> None:
        listing, reader = self.listing, self.reader
        if reader is None or (listing.searching and self.desk is None):
            return
        try:
            if facets:
                listing.facets = await reader.facets()
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

    def show_answer(self) -> None:
        """Show what the newest question gave; a search starts at its best result."""
        searching = self.listing.searching
        follow = self.rows.row.id if self.rows.row and not searching else None
        if searching:
            self.rows.cursor = 0
        self._show_window(follow=follow, scored=searching)
        if not self.listing.facets.total and not self.listing.text and not self.state.welcomed:
            self._offer_beginnings()

    def _show_window(self, *, follow: str | None = None, scored: bool = False) -> None:
        self.rows.show(self.listing.window, scored=scored, follow=follow)
        self.draw()
        self._follow_cursor()

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
        welcome, reader = self._welcome, self.reader
        shown = self if welcome is None else welcome
        if reader is None or not shown.is_current:
            return
        if welcome is None:
            run_job(self, partial(self._read_again, reader, self.listing.generation), group="new")
        else:
            run_job(self, partial(self._withdraw, reader, welcome), group="new")

    async def _read_again(self, reader: MemoryReader, generation: int) -> None:
        listing, page = self.listing, None
        facets = await reader.facets()
        if not listing.searching:
            middle = self.rows.cursor if self.rows.is_cursor_in_view else self.rows.visible_rows[0]
            page = await listing.page(reader, max(middle - WINDOW // 2, 0))
        listing.facets = facets
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
        groups = self._narrow_facets if self.narrow else self.state.facets
        self.body.lay_out(narrow=self.narrow, split=self.state.split, groups=groups)

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
        return f"{memories(facets.total)} · {counted(len(facets.agents), 'agent')}"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return drawn.listing_error(self._error)
        if self.reader is None or self.listing.waiting:
            owner = self._waits_for.message if self._waits_for else ""
            return drawn.loading_lines(owner) if self._slow else []
        return drawn.empty_lines(self.listing)

    @on(LineList.Moved, "#list")
    def _follow_cursor(self) -> None:
        self.body.detail.show_memory(self.rows.row, self.reader)
        self._load_more()

    # Filter and search

    def action_filter(self) -> None:
        self._enter("filter", self.listing.filter_text)

    def action_search(self) -> None:
        self._enter("search", self.listing.search_text)

    def _enter(self, kind: str, text: str) -> None:
        self._entering = kind
        prompt, hint = _ENTRIES[kind]
        self.query_one("#prompt", LineBar).show(line((prompt, "accent")))
        entry = self.query_one("#query", Input)
        with entry.prevent(Input.Changed):
            entry.value = text
        entry.placeholder = hint
        super().action_filter()

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.set_text(event.value, self._entering)

    def set_text(self, text: str, kind: str) -> None:
        """Take a filter or search text; the store is asked once typing pauses."""
        if kind == "search":
            self.listing.search_text = text
        else:
            self.listing.search_text = ""
            self.listing.filter_text = self.state.filter = text
        self.listing.ask()
        self.draw()
        self.later(lambda: self.reload(facets=False, top=True))

    def action_back(self) -> None:
        """Drop a started range, or close the zoom, then the search, then the filter."""
        if self._range_from is not None:
            self._range_from = None
            toast(self, "Range dropped")
            return
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
        if self.rows.row is not None:
            self.toggle_class("-zoomed")
            (self.body.detail if self.has_class("-zoomed") else self.rows).focus()

    def action_facets(self) -> None:
        if self.narrow:
            self._narrow_facets = not self._narrow_facets
        else:
            self.state.facets = not self.state.facets
        self._arrange()
        groups = self.body.groups
        (groups if groups.display and self.narrow else self.rows).focus()

    def action_wider(self) -> None:
        self._resize_list(5)

    def action_narrower(self) -> None:
        self._resize_list(-5)

    def _resize_list(self, by: int) -> None:
        self.state.split = min(max(self.state.split + by, MIN_SPLIT), MAX_SPLIT)
        self._arrange()

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the memory under the cursor, and go on."""
        if self.rows.row is not None:
            self._set_marks(self.listing.marks.toggled(self.rows.row))
            self.rows.action_down()

    def action_mark_range(self) -> None:
        """The first press remembers the row, the second marks all between."""
        if self._range_from is None:
            self._range_from = self.rows.cursor
            toast(self, "Range starts here; v again marks up to the cursor, esc drops it")
            return
        first, last = sorted((self._range_from, self.rows.cursor))
        self._range_from = None
        self._mark_rows(first, last - first + 1)

    def action_mark_all(self) -> None:
        """Mark all in view; when all are marked, none."""
        marked, total = self.listing.marked, self.listing.window.total
        if marked and len(marked) >= min(total, MAX_MARKED):
            self._set_marks(self.listing.marks.without(row.id for row in marked))
        else:
            self._mark_rows(0, total)

    def _mark_rows(self, first: int, count: int) -> None:
        wanted = min(count, MAX_MARKED)

        async def mark() -> None:
            rows = await self.listing.rows(self.reader, first, wanted)
            self._set_marks(self.listing.marks.including(rows))
            if count > wanted:
                toast(self, f"Marked the first {wanted:,}: no key marks more", severity="warning")

        run_job(self, mark, group="marks")

    def _set_marks(self, marks: Marks) -> None:
        self.listing.marks = marks
        self.body.draw_list()

    # Changes

    def _ready(self) -> MemoryPort | None:
        if self.desk is None:
            why = "The store is not open" if self.reader is None else "Not loaded yet: try again"
            toast(self, why, severity="warning")
        return self.desk

    def _chosen(self) -> tuple[MemoryPort, ListedMemory] | None:
        """The memory under the cursor and what to change it with, once both are there."""
        row, desk = self.rows.row, self._ready()
        return (desk, row) if row is not None and desk is not None else None

    def _do(self, act: Act, failed: Callable[[DomainError], None] | None = None) -> None:
        """Run a change; show what it did, then read the store again."""

        async def run() -> None:
            self._changed(await act())

        run_job(self, run, group="change", newest_only=False, failed=failed)

    def _changed(self, message: str | None) -> None:
        if message:
            self.body.detail.forget_history()
            toast(self, message)
            self.reload()

    def action_add(self) -> None:
        from synthorg_tui.tui.base.form import MemoryForm, Written

        desk = self._ready()
        if desk is None:
            return

        async def add(new: Written) -> str:
            draft = Draft(new.agent_id, new.category, new.content or "", new.tags)
            return await self._changes.add(desk, draft)

        agents = [agent for agent, _ in self.listing.facets.agents]
        self.app.push_screen(MemoryForm(None, agents, add), self._changed)

    def action_edit(self) -> None:
        from synthorg_tui.tui.base.form import MemoryForm, Written

        chosen = self._chosen()
        if chosen is None:
            return
        desk, row = chosen

        async def edit(written: Written) -> str:
            return await self._changes.edit(desk, row, written.change(row))

        self.app.push_screen(MemoryForm(row, (), edit), self._changed)

    def action_edit_outside(self) -> None:
        """Edit the content in $EDITOR; a text that can't be stored is there the next time."""
        chosen = self._chosen()
        if chosen is None:
            return
        desk, row = chosen
        try:
            text = edit_text(self.app, self._changes.text_of(row))
        except EditorError as error:
            toast(self, str(error), severity="error")
            return

        def failed(error: DomainError) -> None:
            remedy = f"{error.remedy} E goes on where you were.".strip()
            error_toast(self, DomainError(error.message, remedy=remedy))

        if text.strip():
            self._do(lambda: self._changes.edit_content(desk, row, text), failed)
        else:
            self._changes.forget_text(row)
            toast(self, "The text was empty: nothing changed", severity="warning")

    def action_delete(self) -> None:
        """Delete the marked memories in view, or the one under the cursor, after asking."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        rows, desk = self.listing.targets(self.rows.row), self._ready()
        if not rows or desk is None:
            return
        listed = [drawn.memory_line(row, 60, now=self.now(), marked=False) for row in rows]
        hidden = len(self.listing.marks) - len(rows)
        note = f"{hidden:,} marked but hidden by the filter stay. " if hidden > 0 else ""
        question, note = f"Delete {memories(len(rows))}?", note + "u brings them back."
        ids = [row.id for row in rows]

        async def delete() -> str:
            message = await self._changes.delete(desk, ids)
            self.listing.marks = self.listing.marks.without(ids)
            return message

        self.app.push_screen(
            ConfirmDialog(question, listed, yes="Delete", note=note),
            lambda yes: self._do(delete) if yes else None,
        )

    def action_undo(self) -> None:
        """Take back the last change of this run; without one, list what was deleted before."""
        if undo := self._changes.pop():
            self._do(undo)
        else:
            self.action_deleted()

    def action_deleted(self) -> None:
        from synthorg_tui.tui.memories.deleted import DeletedScreen

        desk = self._ready()
        if desk is not None:
            self.app.push_screen(DeletedScreen(desk, self.now), lambda _changed: self.reload())

    # Taking out

    def action_copy(self) -> None:
        rows = self.listing.targets(self.rows.row)
        if rows:
            copy(self, "\n\n".join(row.content for row in rows))
            toast(self, f"Copied {memories(len(rows))}")

    def action_export(self) -> None:
        """Write the marked memories, or all in view, to a file."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        total = self.listing.window.total
        if self._ready() is None or not total:
            return
        marked = self.listing.marked

        async def export(name: str) -> str:
            rows = marked or await self.listing.rows(self.reader, 0, self.listing.window.total)
            return write_file(name, rows)

        question, name = f"Export {memories(len(marked) or total)} to", default_name(self.now())
        hint = ".json or .md · enter writes · esc cancels"
        dialog = PromptDialog(question, str(Path.cwd() / name), hint=hint, save=export)
        self.app.push_screen(dialog, self._changed)

    # Elsewhere

    def show_memory(self, row: ListedMemory) -> None:
        """Put the cursor on a memory, whatever was filtered or searched for."""
        desk, listing = self.desk, self.listing
        if desk is None:
            return
        listing.search_text = listing.filter_text = self.state.filter = ""
        listing.sort = self.state.sort = "newest"
        self.remove_class("-entering", "-zoomed")
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

    def action_source(self) -> None:
        """Show the transcript lines the memory came from."""
        from synthorg_tui.tui.memories.source import SourceScreen

        chosen = self._chosen()
        if chosen is None:
            return
        desk, row = chosen
        if row.source:
            self.app.push_screen(SourceScreen(desk, row.source))
        else:
            toast(self, "This memory names no source: it was written by hand", severity="warning")

    def action_importing(self, *, run_job: bool = False, sample: bool = False) -> None:
        from synthorg_tui.tui.memories.importing import ImportScreen

        desk = self._ready()
        if desk is not None:
            screen = ImportScreen(desk, run_job=run_job, sample=sample)
            self.app.push_screen(screen, lambda _changed: self.reload(top=True))

    def action_reload(self) -> None:
        """Read the store again, or try to open it again."""
        if self.desk is None and (self.reader is None or self._error is not None):
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()

    # The first run

    def _offer_beginnings(self) -> None:
        from synthorg_tui.tui.memories.welcome import WelcomeScreen

        if self.desk is None:
            return
        self.state.welcomed = True

        def chosen(beginning: str | None) -> None:
            self._welcome = None
            if beginning in ("import", "sample"):
                self.action_importing(run_job=True, sample=beginning == "sample")

        self._welcome = WelcomeScreen(self.desk)
        self.app.push_screen(self._welcome, chosen)

    async def _withdraw(self, reader: MemoryReader, welcome: "WelcomeScreen") -> None:
        """Ways to begin are of no use once something is there: agents and commands write, too."""
        if (await reader.facets()).total:
            welcome.dismiss("empty")
