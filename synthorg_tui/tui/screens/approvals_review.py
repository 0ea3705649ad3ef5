"""A review: the decision on exactly what is shown, and rewording it before."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals_ports import ReviewSheet, Reworded, StaleReview, Wording
from synthorg_tui.tui.editor import EditorError, edit_text
from synthorg_tui.tui.jobs import say, start
from synthorg_tui.tui.panes import Recount
from synthorg_tui.tui.screens.approvals_sheet import ReviewView
from synthorg_tui.tui.view_models.approvals_review import doubt_lines
from synthorg_tui.tui.view_models.approvals_wording import (
    from_document,
    note_text,
    problems,
    shown,
    to_document,
)


class ReviewScreen(ReviewView):
    """Approves, rejects, snoozes and rewords; nothing of it for the first half second."""

    BINDINGS = bindings("review")
    HELP_CONTEXTS = ("review", "view", "app")

    def _pending(self) -> ReviewSheet | None:
        """The item shown, when it can still be decided; says so when not."""
        sheet = self.sheet
        if sheet is None or self._deciding:
            return None
        if sheet.row.status != "pending":
            say(self, f"It is {sheet.row.status}: nothing is left to decide", severity="warning")
            return None
        return sheet

    def _said(self) -> tuple[ReviewSheet, Reworded] | None:
        """The item and its wording, when it has one; says so when not."""
        sheet = self._pending()
        said = self.draft or (sheet.rewordable if sheet else None)
        if sheet is not None and said is None:
            told = "Only a lesson and what an agent wrote can be reworded"
            say(self, told, severity="warning")
        return (sheet, said) if sheet and said else None

    def _decide(self, act: Callable[[ReviewSheet], Awaitable[str]]) -> None:
        """Decide on what is shown and leave; when it is another by now, show it anew."""
        sheet = self._pending()
        if sheet is None:
            return
        self._deciding = True

        async def decide() -> None:
            try:
                said = await act(sheet)
            except StaleReview as stale:
                self._stale = (sheet, stale.sheet)
                self._show(stale.sheet)
                return
            except DomainError:
                self._load()
                raise
            finally:
                self._deciding = False
            say(self, said)
            self.post_message(Recount())
            if self.is_current:
                self.dismiss()
            else:
                self._load()

        start(self, decide, group="change", newest_only=False)

    # Decisions

    def action_approve(self) -> None:
        """Approve what is shown; what is flagged or contradicts asks once more."""
        from synthorg_tui.tui.screens.dialogs import ConfirmDialog

        sheet = self._pending()
        if sheet is None:
            return
        if sheet.problem:
            say(self, f"It can only be rejected: {sheet.problem}", severity="warning")
            return
        doubts = doubt_lines(sheet)
        if not doubts:
            self._approve()
            return
        self.app.push_screen(
            ConfirmDialog("Approve it all the same?", doubts, yes="Approve"),
            lambda yes: self._approve() if yes else None,
        )

    def _approve(self) -> None:
        draft, approvals = self.draft, self._approvals
        self._decide(lambda sheet: approvals.approve(sheet.row.id, sheet.shown, draft))

    def action_reject(self) -> None:
        """Reject with a reason; it is not proposed again."""
        from synthorg_tui.tui.screens.dialogs import PromptDialog

        pending = self._pending()
        if pending is None:
            return
        item_id = pending.row.id

        def answered(reason: str | None) -> None:
            if reason:
                self._reasons[item_id] = reason
                approvals = self._approvals
                self._decide(lambda sheet: approvals.reject(sheet.row.id, sheet.shown, reason))

        before = self._reasons.get(item_id, "")
        hint = "it is not proposed again · ↵ rejects · esc leaves"
        self.app.push_screen(PromptDialog("Reject, because", before, hint=hint), answered)

    def action_snooze(self) -> None:
        """Put it out of the way for a while."""
        from synthorg_tui.tui.screens.approvals_dialogs import SnoozeDialog

        if self._pending() is None:
            return

        def chosen(until: datetime | None) -> None:
            if until is not None:
                self._decide(partial(self._snooze, until))

        self.app.push_screen(SnoozeDialog(self._now()), chosen)

    async def _snooze(self, until: datetime, sheet: ReviewSheet) -> str:
        await self._approvals.snooze(sheet.row.id, until)
        return f"Snoozed until {until:%a %d %b %H:%M}"

    # Rewording

    def action_reword(self) -> None:
        """Reword it in a form, then approve."""
        from synthorg_tui.tui.screens.approvals_dialogs import LessonForm, NoteForm

        found = self._said()
        if found is None:
            return
        if isinstance(found[1], Wording):
            self.app.push_screen(LessonForm(found[1]), self._take)
        else:
            self.app.push_screen(NoteForm(found[1]), self._take)

    def action_parts(self) -> None:
        """Take a part of it: whose text for each field, which steps."""
        from synthorg_tui.tui.screens.approvals_parts import PartsScreen

        found = self._said()
        if found is None:
            return
        if isinstance(found[1], Wording):
            self.app.push_screen(PartsScreen(found[0], found[1]), self._take)
        else:
            say(self, "What an agent wrote is one part: e rewords it", severity="warning")

    def action_reword_outside(self) -> None:
        """Reword it in $EDITOR; a text that doesn't do is kept for the next try."""
        found = self._said()
        if found is None:
            return
        _, said = found
        before = to_document(said) if isinstance(said, Wording) else shown(said)
        try:
            text = edit_text(self.app, self._unparsed or before)
        except EditorError as error:
            say(self, str(error), severity="error")
            return
        wording = from_document(text, said) if isinstance(said, Wording) else note_text(text, said)
        if wrong := problems(wording):
            self._unparsed = text
            say(self, f"{wrong[0]}. E goes on where you were.", severity="warning")
            return
        self._unparsed = ""
        self._take(wording)

    def _take(self, wording: Reworded | None) -> None:
        """Show a wording in place of the proposed one; it is approved by another key press."""
        if wording is None or self.sheet is None:
            return
        self.draft = wording if wording != self.sheet.rewordable else None
        self._close_guard()
        self._draw()

    def action_drop(self) -> None:
        """Drop your wording."""
        if self.draft is not None:
            self.draft, self._unparsed = None, ""
            self._close_guard()
            self._draw()

    def action_undo(self) -> None:
        """Take back the last decision."""

        async def undo() -> None:
            say(self, await self._approvals.undo() or "There is no decision to take back")
            self.post_message(Recount())
            self._load()

        start(self, undo, group="change", newest_only=False)
