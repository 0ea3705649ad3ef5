"""The Organisation pane: what every agent is to follow, now or as it was at a moment.

The screen asks, draws and passes on. What is listed, and which moment, belongs to ``state``; how it
looks to ``lines`` and ``detail``; what a person changes to ``acting``.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, error_lines, line
from synthorg_tui.tui.base.window import WINDOW
from synthorg_tui.tui.jobs import Recount, run_job, toast
from synthorg_tui.tui.organisation import lines as drawn
from synthorg_tui.tui.organisation.acting import EntryActions
from synthorg_tui.tui.organisation.adapter import EngineOrganisation
from synthorg_tui.tui.organisation.detail import refused_lines
from synthorg_tui.tui.organisation.state import DAY, KINDS, STATES, EntryPart
from synthorg_tui.tui.organisation.widgets import EntryDetail, EntryRows, TimeBar
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.tui.organisation.adapter import PromptRoom, RefusedWrite

_VALUES: Final = {
    "kind:": tuple(name for name, _ in KINDS.values()),
    "from:": tuple(OrgOrigin),
    "is:": STATES,
    "project:": (),
}
"""What each operator of the filter can take, as far as is known."""


class OrganisationScreen(EntryActions):
    """Lists, filters and searches entries; writes and retracts; shows the list as it was."""

    BINDINGS = bindings("organisation")
    CSS_PATH = "organisation.tcss"
    HELP_CONTEXTS = ("organisation", "slider", "list", "app")
    FILTER_HINT = "words  -words  kind:  project:  from:  is:retracted  tab completes"

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self._room: PromptRoom | None = None
        self._refused: tuple[RefusedWrite, ...] | None = None

    def compose(self) -> ComposeResult:
        """Header, slider, the list above or beside the entry, footer."""
        yield TopBar(self.panes, "Organisation")
        yield TimeBar(self.entries, now=self.now)
        with Horizontal(id="organisation-body"):
            with Vertical(id="entry-side"):
                yield from self.filter_entry("")
                yield LineBar(id="chips")
                listed = EntryRows(now=self.now, id="entries")
                listed.border_title = "Organisation"
                yield listed
            yield EntryDetail(now=self.now, id="entry-detail")
        yield KeyBar("organisation", "app")

    @property
    def listed(self) -> EntryRows:
        """The list of entries."""
        return self.query_one("#entries", EntryRows)

    @property
    def main_list(self) -> LineList:
        """The list of entries."""
        return self.listed

    @property
    def detail(self) -> EntryDetail:
        """The entry under the cursor in full."""
        return self.query_one("#entry-detail", EntryDetail)

    @property
    def entry(self) -> OrgEntry | None:
        """The entry under the cursor."""
        return self.listed.row

    # Loading

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self.entries.clear()
        super().tell_error(error)

    def reload(self, *, top: bool = False) -> None:
        """Read what is listed, and what is known besides; the cursor stays on its entry."""
        if self.port is None:
            return
        if not self.is_mounted:  # the store was open before the pane was there
            self.call_after_refresh(self.reload)
            return
        self.await_rows()
        self.detail.forget()
        self._refused = None
        run_job(self, partial(self._besides, self.port), group="besides")
        self._ask(0 if top else None)

    def _ask(self, offset: int | None = None) -> None:
        """Read the list alone; by default what is in view of it."""
        port = self.port
        if port is None:
            return
        generation = self.entries.ask()
        if offset is None:
            offset = self._offset_of(self._sought) if self._sought else self.entries.page.offset
        run_job(self, partial(self._load, port, generation, offset), group="listing")

    def _offset_of(self, entry: OrgEntry) -> int:
        """From where to load so that the newest facts of the entry's category are loaded."""
        if self.listed.window.index_of(entry.id) is not None:
            return self.entries.page.offset
        order = list(KINDS)
        at = order.index(entry.category)
        before = [count for kind, count in self.entries.page.counts if order.index(kind) < at]
        return max(sum(before) - WINDOW // 2, 0)

    async def _load(self, port: EngineOrganisation, generation: int, offset: int) -> None:
        try:
            is_newest = await self.entries.read(generation, port, offset=offset)
        except DomainError as error:
            if generation == self.entries.generation:
                self.tell_error(error)
            return
        if is_newest:
            self._error = None
            sought, self._sought = self._sought, None
            row = self.entry
            self.listed.show(
                self.entries, self._room, follow=sought.id if sought else row.id if row else None
            )
            self.draw()

    async def _besides(self, port: EngineOrganisation) -> None:
        """Read when something changed, and what fits into prompts: the list needn't wait."""
        self.entries.moments = await port.moments()
        self.query_one(TimeBar).draw()
        self.post_message(Recount())
        self._room = await port.room()
        self.listed.show(self.entries, self._room)
        self._draw_detail()

    @on(LineList.Scrolled, "#entries")
    def _load_more(self) -> None:
        entries, port = self.entries, self.port
        offset = (
            None if entries.found is not None else entries.window.wanted(*self.listed.visible_rows)
        )
        if port is not None and offset is not None and not entries.waiting:
            run_job(self, partial(self._load, port, entries.generation, offset), group="window")

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        entries, zoomed = self.entries, self.has_class("-zoomed")
        is_bare = not entries.window.total
        body = self.query_one("#organisation-body")
        body.styles.layout = "vertical" if self.narrow else "horizontal"
        self.query_one("#entry-side").display = not zoomed
        self.detail.display = not is_bare or entries.shown is EntryPart.REFUSED
        self.set_class(is_bare and entries.shown is not EntryPart.REFUSED, "-bare")
        self.listed.placeholder = self._placeholder()
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        slider = self.query_one(TimeBar)
        slider.display = bool(entries.answered) and self._error is None
        slider.draw()
        self.draw_filter(entries.query)
        if entries.window is not self.listed.window:
            self.listed.show(entries, self._room)
        self._follow_cursor()
        self.query_one(KeyBar).renew()

    def _status(self) -> str:
        if self.port is None:
            return self.opening_status
        if self._error is not None or not self.entries.answered:
            return ""
        return f"{counted(self.entries.page.stored, 'entry', 'entries')} in force"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(
                error_lines("What the organisation knows can't be shown", self._error)
            )
        if self.port is None or self.entries.waiting or not self.entries.answered:
            return drawn.loading_lines() if self._slow else []
        return drawn.empty_lines(self.entries)

    @on(LineList.Moved, "#entries")
    def _follow_cursor(self) -> None:
        title = "Results" if self.entries.found is not None else "Organisation"
        self.listed.set_titles(top=title, bottom=self.entries.caption(self.listed.cursor))
        self._draw_detail()

    def _draw_detail(self) -> None:
        if self.entries.shown is not EntryPart.REFUSED:
            self.detail.show_entry(self.entry, self.entries, self.port, self._room)
            return
        self.detail.border_title = "Refused writes"
        self.detail.show(refused_lines(self._refused, self.now()))
        if self._refused is None and self.port is not None:
            run_job(self, partial(self._read_refused, self.port), group="refused")

    async def _read_refused(self, port: EngineOrganisation) -> None:
        self._refused = await port.refused()
        self._draw_detail()

    # The slider over time

    @on(TimeBar.Slid)
    def _slid(self, event: TimeBar.Slid) -> None:
        entries, share = self.entries, event.share
        if share is None:
            self._move(lambda: entries.step(event.by))
        else:
            self._move(lambda: entries.go_to_share(share))

    def _move(self, go: Callable[[], bool]) -> None:
        """Show another moment, where there is one in that direction."""
        self.entries.search_text = ""
        if go():
            self._ask()
            self.query_one(TimeBar).draw()
            self.refresh_bindings()
        elif not self.entries.moments:
            toast(self, "Nothing was changed yet: there is no past to look at", severity="warning")
        else:
            where = "This is now" if self.entries.at is None else "This is the beginning"
            toast(self, f"{where}: there is nothing beyond")

    def action_older(self) -> None:
        """The moment before."""
        self._move(lambda: self.entries.step(-1))

    def action_newer(self) -> None:
        """The next moment."""
        self._move(lambda: self.entries.step(1))

    def action_day_earlier(self) -> None:
        """A day earlier."""
        self._shift(-DAY)

    def action_day_later(self) -> None:
        """A day later."""
        self._shift(DAY)

    def action_week_earlier(self) -> None:
        """A week earlier."""
        self._shift(-7 * DAY)

    def action_week_later(self) -> None:
        """A week later."""
        self._shift(7 * DAY)

    def _shift(self, by: timedelta) -> None:
        self._move(lambda: self.entries.shift(by))

    # Filter and search

    def action_filter(self) -> None:
        """Filter as the person types."""
        self.enter("filter", self.entries.filter_text)

    def action_search(self) -> None:
        """Search among what is in force now."""
        if self.entries.at is not None:
            toast(self, "A search looks at what is in force now: esc goes back to it")
            return
        self.enter("search", self.entries.search_text)

    @property
    def completions(self) -> Mapping[str, Sequence[str]]:
        """What each operator of the filter can take, as far as is known."""
        return _VALUES

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self._set_text(event.value, self.entering)

    def _set_text(self, text: str, kind: str) -> None:
        if kind == "search":
            self.entries.search_text = text
        else:
            self.entries.search_text = ""
            self.entries.filter_text = text
        self.draw()
        self.later(partial(self._ask, 0))

    def action_deleted(self) -> None:
        """List what was retracted, or what is in force again."""
        self.entries.search_text = ""
        self.entries.turn_retracted()
        self.draw()
        self._ask(0)

    def action_back(self) -> None:
        """Close the zoom, the changes, the search, go back to now, then close the filter."""
        entries, entering = self.entries, self.has_class("-entering")
        self.remove_class("-entering")
        self.listed.focus()
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
            self.draw()
        elif entries.shown is not EntryPart.ENTRY:
            entries.shown = EntryPart.ENTRY
            self.draw()
        elif entries.searching:
            self._set_text("", "search")
        elif entries.at is not None and not entering:
            self._move(entries.go_to_now)
        elif entries.filter_text:
            self._set_text("", "filter")

    # Looks

    def action_changes(self) -> None:
        """Show what the versions changed, or the entry again."""
        if not self.lacks_row("entry"):
            shown = self.entries.shown
            self.entries.shown = (
                EntryPart.ENTRY if shown is EntryPart.CHANGES else EntryPart.CHANGES
            )
            self.draw()

    def action_view(self) -> None:
        """The entry, its changes, refused writes: the next of them."""
        self.entries.shown = self.entries.shown.following
        self.draw()

    @on(LineList.Chosen, "#entries")
    def action_zoom(self) -> None:
        """Give the entry the whole room, and back."""
        if self.lacks_row("entry"):
            return
        self.toggle_class("-zoomed")
        self.draw()
        (self.detail if self.has_class("-zoomed") else self.listed).focus()
