"""The Approvals pane: the items that wait for a decision, and actions on them.

Single items are decided in a review that opens from here. Here a person can approve several at
once, but only those already reviewed. The data are in ``state``, the rendering in ``lines``.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.approvals.adapter import EngineApprovals
from synthorg_tui.tui.approvals.lines import (
    CANNOT_SHOW,
    bulk_line,
    empty_inbox,
    heading_line,
    row_line,
    row_lines,
    undo_line,
)
from synthorg_tui.tui.approvals.review_lines import head_lines, whole_lines
from synthorg_tui.tui.approvals.sheet import SheetEditing
from synthorg_tui.tui.approvals.state import Inbox
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, error_lines, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import Recount, run_job, toast
from synthorg_tui.tui.panes import APPROVALS, Panes
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.review import BulkOutcome, InboxEntry, Review


class InboxList(LineList):
    """The items of the inbox under headings; with enough room, each has a second line."""

    def __init__(self, inbox: Inbox, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._inbox = inbox
        self._now = now
        self._rows: list[InboxEntry | tuple[str, int]] = []

    def show(self, *, roomy: bool) -> None:
        """Show the rows of the inbox; the cursor stays on its item, or else at its position."""
        following = self.entry.item.id if self.entry else None
        self.row_height = 2 if roomy else 1
        self._rows = []
        for name, group in groupby(self._inbox.rows, key=self._inbox.group_of):
            entries = list(group)
            self._rows += [(name, len(entries))] if name else []
            self._rows += entries
        self.changed()
        places = [
            at
            for at, row in enumerate(self._rows)
            if not isinstance(row, tuple) and row.item.id == following
        ]
        self.move_to(places[0] if places else self.cursor)

    @property
    def row_count(self) -> int:
        """The number of items and headings."""
        return len(self._rows)

    @property
    def entry(self) -> "InboxEntry | None":
        """The item under the cursor, or ``None``."""
        row = self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None
        return None if isinstance(row, tuple) else row

    def selectable(self, index: int) -> bool:
        """Return whether the row is an item: the cursor skips headings."""
        return 0 <= index < len(self._rows) and not isinstance(self._rows[index], tuple)

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of an item or of a heading."""
        row = self._rows[index]
        if isinstance(row, tuple):
            return [Line(), heading_line(row[0], row[1], width)][-self.row_height :]
        marks = self._inbox.marks_of(row)
        if self.row_height == 1:
            return [row_line(row, width - 1, marks, now=self._now())]
        return row_lines(row, width - 1, marks, now=self._now())


_ON_PENDING = ("mark", "mark_all", "approve_reviewed", "edit_outside", "snooze")
_HINT = "words  -words  kind:gate  project:  certainty:>0.8  agent:  risk:high  is:flagged"


class ApprovalsScreen(Pane):
    """The screen with the list of items and the selected one in full."""

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("approvals")
    HELP_CONTEXTS = ("approvals", "list", "app")

    def __init__(
        self, *, panes: Panes, now: Callable[[], datetime], monotonic: Callable[[], float]
    ) -> None:
        super().__init__(panes=panes, now=now)
        self.inbox = Inbox(now)
        self._monotonic = monotonic
        self._sheet = SheetEditing(self, self._edited)
        self._reviews: dict[str, tuple[Review, tuple[ApprovalEvent, ...]]] = {}

    def compose(self) -> ComposeResult:
        yield TopBar(self.panes, APPROVALS)
        yield LineBar(id="crowding")
        with Horizontal(id="approvals-body"):
            with Vertical(id="waiting"):
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                yield InboxList(self.inbox, now=self.now, id="inbox")
            item = LineView(id="item")
            item.border_title = "Item"
            yield item
        yield KeyBar("approvals", "app")

    def on_unmount(self) -> None:
        self._sheet.close()

    @property
    def rows(self) -> InboxList:
        """The widget that lists the items."""
        return self.query_one("#inbox", InboxList)

    @property
    def main_list(self) -> LineList:
        """The list of items, which has the focus at first."""
        return self.rows

    # Loading

    @property
    def approvals(self) -> EngineApprovals | None:
        """What waits for a person, once the store is open."""
        return self.desk.approvals if self.desk is not None else None

    def offers(self, method: str) -> bool:
        """Return whether the footer offers an action: of what was decided nothing is left to."""
        decided = self.inbox.status != "pending"
        return not (decided and method in _ON_PENDING) and super().offers(method)

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self.inbox.rows = ()
        super().tell_error(error)

    def reload(self) -> None:
        """Read the queue again; the cursor stays on its item if that is still listed."""
        if self.approvals is None:
            return
        self._reviews.clear()
        self.await_rows()
        run_job(self, partial(self._load, self.approvals, self.inbox.latest.ask()), group="inbox")

    async def _load(self, approvals: EngineApprovals, generation: int) -> None:
        try:
            entries = await approvals.inbox(self.inbox.status)
            flags = await approvals.flag_counts(entries)
        except DomainError as error:
            if generation == self.inbox.latest.generation:
                self.tell_error(error)
            return
        if self.inbox.take(generation, entries, flags):
            self._error = None
            self.draw()
            self.post_message(Recount())

    # Drawing

    def draw(self) -> None:
        """Draw list, selected item, filter and header from the state."""
        if not self.is_mounted:
            return
        body = self.query_one("#approvals-body")
        body.styles.layout = "vertical" if self.narrow else "horizontal"
        inbox, rows = self.inbox, self.rows
        self.query_one("#waiting").display = not self.has_class("-zoomed")
        self.query_one("#item").display = bool(inbox.rows)
        self.set_class(not inbox.rows, "-bare")
        rows.placeholder = self._placeholder()
        rows.border_title = "Inbox" if inbox.view == "waiting" else inbox.view.capitalize()
        rows.border_subtitle = inbox.caption
        rows.show(roomy=not self.narrow)
        crowding = self.query_one("#crowding", LineBar)
        crowding.display = bool(inbox.crowding)
        crowding.show(line(("! ", "bad"), (one_line(inbox.crowding), "warn")))
        self.draw_filter(inbox.filter)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self._draw_item()

    def _status(self) -> str:
        if self.approvals is None:
            return self.opening_status
        reviewed = len(self.inbox.reviewed)
        return f"◉ {counted(reviewed, 'item')} reviewed" if reviewed else ""

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return error_lines(CANNOT_SHOW, self._error)
        if self.approvals is None or self.inbox.loaded is None:
            return [line(("Reading the queue …", "muted"))] if self._slow else []
        return empty_inbox(self.inbox)

    # The item under the cursor

    @on(LineList.Moved, "#inbox")
    def _draw_item(self) -> None:
        view, entry = self.query_one("#item", LineView), self.rows.entry
        read = self._reviews.get(entry.item.id) if entry else None
        if read is not None:
            view.show(whole_lines(*read, self.now()))
        else:
            view.show(head_lines(entry) if entry else [])
        view.border_subtitle = "↵ reviews" if entry else ""
        if entry is not None and read is None:
            self.later(self._load_item)

    def _load_item(self) -> None:
        entry, approvals = self.rows.entry, self.approvals
        if entry is None or approvals is None or entry.item.id in self._reviews:
            return
        item_id = entry.item.id

        async def load() -> None:
            review = await approvals.review(item_id)
            self._reviews[item_id] = (review, await approvals.trail(item_id))
            if self.rows.entry is not None and self.rows.entry.item.id == item_id:
                self._draw_item()

        run_job(self, load, group="item")

    # Filter

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.inbox.filter_text = event.value
        self.inbox.arrange()
        self.draw()

    def action_back(self) -> None:
        """Close the first of these that is open: zoom, entry, filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif entering or self.focused is self.rows:
            self.query_one("#query", Input).value = ""
        self.draw()
        self.rows.focus()

    def _ready(self) -> EngineApprovals | None:
        if self.approvals is None:
            toast(self, "The store is not open", severity="warning")
        return self.approvals

    @on(LineList.Chosen, "#inbox")
    def action_review(self) -> None:
        """Open the review of the selected item, where it is decided."""
        from synthorg_tui.tui.approvals.review import ReviewOpener, ReviewScreen

        desk, entry = self.desk, self.rows.entry
        if self._ready() is None or self.lacks_row("item") or desk is None or entry is None:
            return
        ids = [listed.item.id for listed in self.inbox.rows]
        opener = ReviewOpener(self.panes, self.now, self._monotonic, on_read=self.inbox.saw)
        self.app.push_screen(ReviewScreen(desk, ids, opener, at=ids.index(entry.item.id)))

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the selected item, and move the cursor to the next one."""
        entry = self.rows.entry
        if not self.lacks_row("item") and entry is not None:
            self.inbox.toggle_mark(entry.item.id)
            self.rows.action_down()
            self.draw()

    def action_mark_all(self) -> None:
        """Mark all listed items, or unmark them if all are marked."""
        if self.lacks_row("item"):
            return
        self.inbox.toggle_all()
        self.draw()

    # Decisions

    def action_approve_reviewed(self) -> None:
        """Approve the listed items that were reviewed, after a confirmation.

        If any items are marked, only marked ones are approved.
        """
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        approvals = self._ready()
        entries, note = self.inbox.bulk()
        if approvals is None:
            return
        if not entries:
            problem = note or "Nothing listed here was reviewed."
            opens = f"{key_of('approvals.review')} opens a review"
            toast(self, f"{problem} {opens}", severity="warning")
            return
        listed = [
            row_line(entry, 60, self.inbox.marks_of(entry)._replace(marked=False), now=self.now())
            for entry in entries
        ]
        self.app.push_screen(
            ConfirmDialog(
                f"Approve {counted(len(entries), 'item')} as reviewed?",
                listed,
                yes="Approve",
                note=f"{note} {key_of('approvals.undo')} undoes all of them at once.".strip(),
            ),
            lambda yes: self._approve(approvals, entries) if yes else None,
        )

    def _approve(self, approvals: EngineApprovals, entries: "Sequence[InboxEntry]") -> None:
        pairs = [(entry.item.id, self.inbox.reviewed[entry.item.id]) for entry in entries]

        async def approve() -> None:
            outcome = await approvals.approve_many(pairs)
            self.inbox.forget(outcome)
            left = outcome.stale or outcome.refused
            toast(self, bulk_line(outcome), severity="warning" if left else "information")
            self.reload()

        run_job(self, approve, group="change", newest_only=False)

    def action_edit_outside(self) -> None:
        """Decide on the marked items in one file in ``$EDITOR``; asks when none is marked."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        approvals = self._ready()
        if approvals is None or self.lacks_row("item"):
            return
        ids, is_all = self.inbox.for_editor()
        if not ids:
            toast(self, "Nothing listed here waits", severity="warning")
        elif not is_all or self._sheet.goes_on:
            self._sheet.open(approvals, ids)
        else:
            self.app.push_screen(
                ConfirmDialog(
                    f"Open {counted(len(ids), 'item')} in $EDITOR?",
                    [],
                    yes="Open",
                    note=f"{key_of('approvals.mark')} marks single ones. "
                    "What you save decides, once you have confirmed it.",
                ),
                lambda yes: self._sheet.open(approvals, ids) if yes else None,
            )

    def _edited(self, outcome: "BulkOutcome") -> None:
        self.inbox.forget(outcome)
        self.reload()

    def action_snooze(self) -> None:
        """Ask for a time and hide the item until then, or show a snoozed one again."""
        from synthorg_tui.tui.approvals.dialogs import snooze_dialog

        approvals, entry = self._ready(), self.rows.entry
        if approvals is None or self.lacks_row("item") or entry is None:
            return
        item = entry.item
        if item.status != "pending":
            toast(self, f"It is {item.status}: nothing waits here", severity="warning")
            return

        def snooze(until: datetime | None) -> None:
            async def act() -> str:
                await approvals.snooze(item.id, until)
                return f"Snoozed until {until:%a %d %b %H:%M}" if until else "It waits again"

            self.run_change(act)

        if self.inbox.view == "snoozed":
            snooze(None)
            return
        self.app.push_screen(
            snooze_dialog(self.now()),
            lambda until: snooze(until) if isinstance(until, datetime) else None,
        )

    def action_memory(self) -> None:
        """Open the memory that the item is about in the Memories pane."""
        from synthorg_tui.tui.approvals.dialogs import show_subject

        approvals, entry = self._ready(), self.rows.entry
        if approvals is None or self.lacks_row("item") or entry is None:
            return
        item_id = entry.item.id

        async def show() -> None:
            show_subject(self, await approvals.review(item_id))

        run_job(self, show, group="memory")

    def action_undo(self) -> None:
        """Undo the last decision, even if it was made in an earlier run of the app."""
        if approvals := self._ready():

            async def undo() -> str:
                return undo_line(await approvals.undo())

            self.run_change(undo)

    # Looks

    def action_sort(self) -> None:
        """Switch to the next sort order."""
        self._turn("sort")

    def action_group(self) -> None:
        """Switch to the next grouping."""
        self._turn("group")

    def _turn(self, name: str) -> None:
        self.inbox.turn(name)
        self.inbox.arrange()
        self.draw()

    def action_view(self) -> None:
        """Switch between pending, snoozed, approved and rejected items."""
        self.inbox.turn("view")
        self.inbox.loaded, self.inbox.rows = None, ()
        self.refresh_bindings()
        self.draw()
        self.reload()

    def action_zoom(self) -> None:
        """Enlarge the item to the whole screen, or restore the layout."""
        if not self.lacks_row("item"):
            self.toggle_class("-zoomed")
            self.draw()
            (self.query_one("#item") if self.has_class("-zoomed") else self.rows).focus()
