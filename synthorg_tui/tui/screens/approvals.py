"""The Approvals pane: what can be done with the items that wait."""

from collections.abc import Callable
from datetime import datetime

from textual import on

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals_ports import ApprovalRow, ApprovalsDesk
from synthorg_tui.tui.jobs import say, start
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.screens.approvals_view import ApprovalsView
from synthorg_tui.tui.view_models.approvals_lines import row_line
from synthorg_tui.tui.view_models.clockwork import counted
from synthorg_tui.tui.widgets.line_list import LineList


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
            say(self, "The store is not open", severity="warning")
        return self.approvals

    @on(LineList.Chosen, "#inbox")
    def action_review(self) -> None:
        """Open the item with everything a decision stands on."""
        from synthorg_tui.tui.screens.approvals_review import ReviewScreen

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
        from synthorg_tui.tui.screens.dialogs import ConfirmDialog

        approvals = self._ready()
        rows, note = self.inbox.bulk()
        if approvals is None:
            return
        if not rows:
            told = note or "Nothing listed here was reviewed."
            say(self, f"{told} ↵ opens a review", severity="warning")
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
            say(
                self, " · ".join([told, *refused]), severity="warning" if refused else "information"
            )
            self.reload()

        start(self, approve, group="change", newest_only=False)

    def action_snooze(self) -> None:
        """Put the item out of the way for a while."""
        from synthorg_tui.tui.screens.approvals_dialogs import SnoozeDialog

        row, approvals = self.rows.item, self._ready()
        if row is None or approvals is None:
            return
        if row.status != "pending":
            say(self, f"It is {row.status}: nothing waits here", severity="warning")
            return

        def snooze(until: datetime | None) -> None:
            async def act() -> None:
                await approvals.snooze(row.id, until)
                say(self, f"Snoozed until {until:%a %d %b %H:%M}" if until else "It waits again")
                self.reload()

            start(self, act, group="change", newest_only=False)

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
                say(self, said or "There is no decision to take back")
                self.reload()

            start(self, undo, group="change", newest_only=False)

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
