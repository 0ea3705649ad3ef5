"""Changing an item before it is approved: its wording, and for whom it is.

What is changed is shown in place of what was proposed, and approved by another key press, which is
the review's.
"""

from typing import TYPE_CHECKING

from textual.screen import Screen

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.state import ReviewState
from synthorg_tui.tui.approvals.wording import (
    Reworded,
    Wording,
    problems,
    read_back,
    to_document,
)
from synthorg_tui.tui.base.editor import EditorError, edit_text
from synthorg_tui.tui.jobs import toast

if TYPE_CHECKING:
    from synthorg_tui.curation.review import Review


class RewordingScreen(Screen[None]):
    """A screen over the item in ``shown``, with the actions that change it."""

    shown: ReviewState

    def pending(self) -> "Review | None":
        """Return the item shown, when it can still be decided; says so when not."""
        raise NotImplementedError

    def close_guard(self) -> None:
        """Disable for a moment the keys that decide, as something new is shown."""
        raise NotImplementedError

    def draw(self, *, top: bool = True) -> None:
        """Draw the item as it is now."""
        raise NotImplementedError

    def _wording(self) -> "tuple[Review, Reworded] | None":
        """The item and its wording, when it has one; says so when not."""
        review = self.pending()
        if review is None:
            return None
        wording = self.shown.wording
        if not wording:
            problem = "Only a lesson and what an agent wrote can be reworded"
            toast(self, problem, severity="warning")
        return (review, wording) if wording else None

    def action_reword(self) -> None:
        """Reword the item in a form; the wording is shown before it can be approved."""
        from synthorg_tui.tui.approvals.dialogs import RewordForm

        if target := self._wording():
            self.app.push_screen(RewordForm(target[1]), self._take)

    def action_parts(self) -> None:
        """Combine the lesson from its versions, field by field and step by step."""
        from synthorg_tui.tui.approvals.parts import PartsScreen

        target = self._wording()
        if target is None:
            return
        review, wording = target
        if isinstance(wording, Wording):
            self.app.push_screen(PartsScreen(review.entry, wording), self._take)
        else:
            rewords = f"{key_of('review.reword')} rewords it"
            toast(self, f"What an agent wrote is one part: {rewords}", severity="warning")

    def action_reword_outside(self) -> None:
        """Reword the item in ``$EDITOR``; an invalid text is offered again the next time."""
        target = self._wording()
        if target is None:
            return
        _, before = target
        try:
            text = edit_text(self.app, self.shown.unparsed or to_document(before))
        except EditorError as error:
            toast(self, str(error), severity="error")
            return
        wording = read_back(text, before)
        if wrong := problems(wording):
            self.shown.unparsed = text
            goes_on = f"{key_of('review.reword_outside')} goes on where you were."
            toast(self, f"{wrong[0]}. {goes_on}", severity="warning")
            return
        self.shown.unparsed = ""
        self._take(wording)

    def _take(self, wording: Reworded | None) -> None:
        """Show a wording in place of the proposed one; it is approved by another key press."""
        if wording is not None and self.shown.review is not None:
            self.shown.take(wording)
            self.close_guard()
            self.draw()

    def action_drop(self) -> None:
        """Discard your wording and scope, and show what was proposed."""
        if self.shown.draft is not None or self.shown.scope is not None:
            self.shown.drop()
            self.close_guard()
            self.draw()

    def action_scope(self) -> None:
        """Choose the next scope: for whom it would be."""
        if self.pending() is None:
            return
        if problem := self.shown.next_scope():
            toast(self, problem, severity="warning")
            return
        self.close_guard()
        self.draw(top=False)
