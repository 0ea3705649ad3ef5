"""The Approvals pane as far as it only looks: inbox, filter, and the item under the cursor."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.approvals_ports import ApprovalRow, ApprovalsDesk, ReviewSheet
from synthorg_tui.tui.jobs import start
from synthorg_tui.tui.panes import APPROVALS, Panes, Recount
from synthorg_tui.tui.ports import MemoryDesk
from synthorg_tui.tui.screens.list_pane import ListPane
from synthorg_tui.tui.view_models.approvals import Inbox
from synthorg_tui.tui.view_models.approvals_lines import empty_inbox, inbox_error, sifter_line
from synthorg_tui.tui.view_models.approvals_review import head_lines, whole_lines
from synthorg_tui.tui.view_models.clockwork import counted
from synthorg_tui.tui.view_models.ink import Line, line
from synthorg_tui.tui.widgets.approvals import ApprovalList
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.inked import LineBar, LineView
from synthorg_tui.tui.widgets.line_list import LineList

_HINT = "words  -words  kind:lesson  agent:  scope:  risk:high  is:flagged"


class ApprovalsView(ListPane):
    """Lists what waits and shows the item under the cursor; the desk comes once it is open."""

    CSS_PATH = "approvals.tcss"

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self.approvals: ApprovalsDesk | None = None
        self.inbox = Inbox(now)
        self._sheets: dict[str, ReviewSheet] = {}

    def compose(self) -> ComposeResult:
        """Header, filter, list above or beside the item, footer."""
        yield TopBar(self.panes, APPROVALS)
        with Horizontal(id="approvals-body"):
            with Vertical(id="waiting"):
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                yield ApprovalList(self.inbox, now=self.now, id="inbox")
            item = LineView(id="item")
            item.border_title = "Item"
            yield item
        yield KeyBar("approvals", "app")

    @property
    def rows(self) -> ApprovalList:
        """The list of items."""
        return self.query_one("#inbox", ApprovalList)

    @property
    def main_list(self) -> LineList:
        """The inbox."""
        return self.rows

    # Loading

    def attach(self, desk: MemoryDesk) -> None:
        """The engine is open: read the queue."""
        self.desk, self.approvals = desk, desk.approvals
        self._error = None
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error = error
        self.inbox.rows = ()
        self.draw()

    def reload(self) -> None:
        """Read the queue again; the cursor stays on its item where it can."""
        if self.approvals is None:
            return
        self._sheets.clear()
        self.await_rows()
        start(self, partial(self._load, self.approvals, self.inbox.ask()), group="inbox")

    async def _load(self, approvals: ApprovalsDesk, generation: int) -> None:
        try:
            rows = await approvals.inbox(self.inbox.status)
        except DomainError as error:
            if generation == self.inbox.generation:
                self.tell_error(error)
            return
        if self.inbox.take(generation, rows):
            self._error = None
            self.draw()
            self.post_message(Recount())

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        self.query_one("#approvals-body").styles.layout = (
            "vertical" if self.narrow else "horizontal"
        )
        inbox, rows = self.inbox, self.rows
        zoomed = self.has_class("-zoomed")
        self.query_one("#waiting").display = not zoomed
        self.query_one("#item").display = bool(inbox.rows)
        self.set_class(not inbox.rows, "-bare")
        rows.placeholder = self._placeholder()
        rows.border_title = "Inbox" if inbox.view == "waiting" else inbox.view.capitalize()
        rows.border_subtitle = inbox.caption
        rows.show(roomy=not self.narrow)
        sifter, chips = inbox.sifter, self.query_one("#chips", LineBar)
        chips.display = bool(sifter.chips or sifter.problem)
        told = sifter_line(sifter, max(chips.size.width, 20))
        chips.show(line(("! ", "bad"), (sifter.problem, "warn")) if sifter.problem else told)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self._draw_item()

    def _status(self) -> str:
        if self.approvals is None:
            return "not open" if self._error else "opening the store …"
        seen = len(self.inbox.reviewed)
        return f"◉ {counted(seen, 'item')} reviewed" if seen else ""

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return inbox_error(self._error.message, self._error.remedy)
        if self.approvals is None or self.inbox.loaded is None:
            return [line(("Reading the queue …", "muted"))] if self._slow else []
        return empty_inbox(self.inbox)

    # The item under the cursor

    @on(LineList.Moved, "#inbox")
    def _follow_cursor(self) -> None:
        self._draw_item()
        row = self.rows.item
        if row is not None and row.id not in self._sheets:
            self.later(self._load_item)

    def _load_item(self) -> None:
        row, approvals = self.rows.item, self.approvals
        if row is None or approvals is None or row.id in self._sheets:
            return

        async def load() -> None:
            self._sheets[row.id] = await approvals.review(row.id)
            if self.rows.item is not None and self.rows.item.id == row.id:
                self._draw_item()

        start(self, load, group="item")

    def _draw_item(self) -> None:
        view, row = self.query_one("#item", LineView), self.rows.item
        sheet = self._sheets.get(row.id) if row else None
        if sheet is not None:
            view.show(whole_lines(sheet, self.now()))
        else:
            view.show(head_lines(row) if row else [])
        view.border_subtitle = "↵ reviews" if row else ""
        if row is not None and sheet is None:
            self.later(self._load_item)

    def item(self) -> ApprovalRow | None:
        """The item under the cursor."""
        return self.rows.item

    # Filter

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.inbox.filter_text = event.value
        self.inbox.arrange()
        self.draw()

    def action_back(self) -> None:
        """Close the zoom, the entry, then the filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif entering or self.focused is self.rows:
            self.query_one("#query", Input).value = ""
        self.draw()
        self.rows.focus()
