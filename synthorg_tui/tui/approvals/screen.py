"""The list of the Approvals pane: items under their headings, with marks.

The Approvals pane as far as it only looks: inbox, filter, and the item under the cursor.
The Approvals pane: what can be done with the items that wait.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import groupby

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals.lines import (
    empty_inbox,
    heading_line,
    inbox_error,
    row_line,
    row_lines,
    sifter_line,
)
from synthorg_tui.tui.approvals.ports import ApprovalRow, ApprovalsDesk, ReviewSheet
from synthorg_tui.tui.approvals.review_lines import head_lines, whole_lines
from synthorg_tui.tui.approvals.state import Inbox
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.panes import APPROVALS, Panes, Recount
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView


class ApprovalList(LineList):
    """What the inbox lists; with room, each item takes a second line."""

    def __init__(self, inbox: Inbox, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._inbox = inbox
        self._now = now
        self._rows: list[ApprovalRow | tuple[str, int]] = []

    def show(self, *, roomy: bool) -> None:
        """Show the rows of the inbox; the cursor stays on its item, or where that one was."""
        following = self.item.id if self.item else None
        self.row_height = 2 if roomy else 1
        self._rows = []
        for name, group in groupby(self._inbox.rows, key=self._inbox.group_of):
            listed = list(group)
            self._rows += [(name, len(listed))] if name else []
            self._rows += listed
        self.changed()
        found = [at for at, each in enumerate(self._rows) if _id(each) == following]
        self.move_to(found[0] if found else self.cursor)

    @property
    def row_count(self) -> int:
        """Items and headings."""
        return len(self._rows)

    @property
    def item(self) -> ApprovalRow | None:
        """The one under the cursor."""
        each = self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None
        return each if isinstance(each, ApprovalRow) else None

    def selectable(self, index: int) -> bool:
        """Headings are passed over."""
        return 0 <= index < len(self._rows) and isinstance(self._rows[index], ApprovalRow)

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The item, or the heading."""
        each = self._rows[index]
        if isinstance(each, tuple):
            return [Line(), heading_line(each[0], each[1], width)][-self.row_height :]
        draw = row_lines if self.row_height > 1 else _single
        return draw(
            each,
            width - 1,
            now=self._now(),
            marked=each.id in self._inbox.marked,
            seen=each.id in self._inbox.reviewed,
        )


def _single(row: ApprovalRow, width: int, *, now: datetime, marked: bool, seen: bool) -> list[Line]:
    return [row_line(row, width, now=now, marked=marked, seen=seen)]


def _id(each: object) -> str | None:
    return each.id if isinstance(each, ApprovalRow) else None


_HINT = "words  -words  kind:lesson  agent:  scope:  risk:high  is:flagged"


class ApprovalsView(Pane):
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

    def attach(self, desk: MemoryPort) -> None:
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
        run_job(self, partial(self._load, self.approvals, self.inbox.ask()), group="inbox")

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

        run_job(self, load, group="item")

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


class ApprovalsScreen(ApprovalsView):
    """Opens reviews; marks, approves what was reviewed, snoozes, takes back."""

    BINDINGS = bindings("approvals")
    HELP_CONTEXTS = ("approvals", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self._monotonic = monotonic

    def _ready(self) -> ApprovalsDesk | None:
        if self.approvals is None:
            toast(self, "The store is not open", severity="warning")
        return self.approvals

    @on(LineList.Chosen, "#inbox")
    def action_review(self) -> None:
        """Open the item with everything a decision stands on."""
        from synthorg_tui.tui.approvals.review import ReviewScreen

        row, desk = self.rows.item, self.desk
        if row is None or desk is None or self._ready() is None:
            return
        ids = [each.id for each in self.inbox.rows]
        self.app.push_screen(
            ReviewScreen(
                desk,
                ids,
                at=ids.index(row.id),
                panes=self.panes,
                now=self.now,
                monotonic=self._monotonic,
                seen=self.inbox.saw,
            )
        )

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the item, and go on."""
        if row := self.rows.item:
            self.inbox.toggle_mark(row.id)
            self.rows.action_down()
            self.draw()

    def action_mark_all(self) -> None:
        """Mark all that are listed, or none of them."""
        self.inbox.toggle_all()
        self.draw()

    # Decisions

    def action_approve_reviewed(self) -> None:
        """Approve what was reviewed and is listed, after asking; marked ones only, if any are."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        approvals = self._ready()
        rows, note = self.inbox.bulk()
        if approvals is None:
            return
        if not rows:
            told = note or "Nothing listed here was reviewed."
            toast(self, f"{told} ↵ opens a review", severity="warning")
            return
        listed = [row_line(row, 60, now=self.now(), marked=False, seen=True) for row in rows]
        self.app.push_screen(
            ConfirmDialog(
                f"Approve {counted(len(rows), 'item')} as reviewed?",
                listed,
                yes="Approve",
                note=f"{note} u takes back one at a time.".strip(),
            ),
            lambda yes: self._approve(approvals, rows) if yes else None,
        )

    def _approve(self, approvals: ApprovalsDesk, rows: tuple[ApprovalRow, ...]) -> None:
        pairs = [(row.id, self.inbox.reviewed[row.id]) for row in rows]

        async def approve() -> None:
            done = await approvals.approve_many(pairs)
            for item_id, _ in done.refused:
                self.inbox.reviewed.pop(item_id, None)
            told = f"Approved {counted(done.approved, 'item')} · u takes back"
            refused = [reason for _, reason in done.refused]
            toast(
                self, " · ".join([told, *refused]), severity="warning" if refused else "information"
            )
            self.reload()

        run_job(self, approve, group="change", newest_only=False)

    def action_snooze(self) -> None:
        """Put the item out of the way for a while."""
        from synthorg_tui.tui.approvals.dialogs import SnoozeDialog

        row, approvals = self.rows.item, self._ready()
        if row is None or approvals is None:
            return
        if row.status != "pending":
            toast(self, f"It is {row.status}: nothing waits here", severity="warning")
            return

        def snooze(until: datetime | None) -> None:
            async def act() -> None:
                await approvals.snooze(row.id, until)
                toast(self, f"Snoozed until {until:%a %d %b %H:%M}" if until else "It waits again")
                self.reload()

            run_job(self, act, group="change", newest_only=False)

        if self.inbox.view == "snoozed":
            snooze(None)
            return
        dialog = SnoozeDialog(self.now())
        self.app.push_screen(dialog, lambda until: snooze(until) if until else None)

    def action_undo(self) -> None:
        """Take back the last decision, also one of an earlier run."""
        if approvals := self._ready():

            async def undo() -> None:
                said = await approvals.undo()
                toast(self, said or "There is no decision to take back")
                self.reload()

            run_job(self, undo, group="change", newest_only=False)

    # Looks

    def action_sort(self) -> None:
        """Next order."""
        self._turn("sort")

    def action_group(self) -> None:
        """Next grouping."""
        self._turn("group")

    def _turn(self, name: str) -> None:
        self.inbox.turn(name)
        self.inbox.arrange()
        self.draw()

    def action_view(self) -> None:
        """What waits, what is snoozed, what was approved, what was rejected."""
        self.inbox.turn("view")
        self.inbox.loaded, self.inbox.rows = None, ()
        self.draw()
        self.reload()

    def action_zoom(self) -> None:
        """Give the item the whole room, and back."""
        if self.rows.item is not None:
            self.toggle_class("-zoomed")
            self.draw()
            (self.query_one("#item") if self.has_class("-zoomed") else self.rows).focus()

    def action_reload(self) -> None:
        """Read the queue again, or try to open the store again."""
        if self.approvals is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()
