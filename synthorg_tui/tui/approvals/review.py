"""A review as far as it only shows: one item in full, and keys that wake after a moment.

A review: the decision on exactly what is shown, and rewording it before.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, of
from synthorg_tui.tui.approvals import review_lines as drawn
from synthorg_tui.tui.approvals.lines import inbox_error
from synthorg_tui.tui.approvals.ports import ReviewSheet, Reworded, StaleReview, Wording
from synthorg_tui.tui.approvals.review_lines import doubt_lines
from synthorg_tui.tui.approvals.state import INERT_SECONDS, InertGuard
from synthorg_tui.tui.approvals.wording import (
    from_document,
    note_text,
    problems,
    shown,
    to_document,
)
from synthorg_tui.tui.base.editor import EditorError, edit_text
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.panes import APPROVALS, Panes, Recount
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

NARROW = 100
_INERT = frozenset(action.method for action in of("review")) - {"close"}
"""What does nothing at first: all that a review can do but leaving it."""


class ReviewView(Screen[None]):
    """Evidence and text of an item; what decides on it is inert until it was there a moment."""

    CSS_PATH = "approvals.tcss"

    def __init__(
        self,
        desk: MemoryPort,
        item_ids: Sequence[str],
        *,
        panes: Panes,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        at: int = 0,
        pane: str = APPROVALS,
        seen: Callable[[ReviewSheet], None] = lambda _sheet: None,
    ) -> None:
        super().__init__()
        self._desk = desk
        self._approvals = desk.approvals
        self._ids = list(item_ids)
        self._at = at
        self._panes = panes
        self._pane = pane
        self._now = now
        self._seen = seen
        self._guard = InertGuard(monotonic)
        self.sheet: ReviewSheet | None = None
        self.draft: Reworded | None = None
        self._unparsed = ""
        self._reasons: dict[str, str] = {}
        self._chosen = 0
        self._stale: tuple[ReviewSheet, ReviewSheet] | None = None
        self._error: DomainError | None = None
        self._deciding = False
        self._warned = False

    def compose(self) -> ComposeResult:
        """Header, what it stands on beside what would be kept, footer."""
        yield TopBar(self._panes, self._pane)
        yield LineBar(id="review-title")
        yield LineBar(id="review-banner")
        with Horizontal(id="review-body"):
            ground = LineView(id="ground")
            yield ground
            kept = LineView(id="kept")
            kept.border_title = drawn.KEPT
            yield kept
        yield KeyBar("review", "app")

    def on_mount(self) -> None:
        """Read the item."""
        self.query_one("#ground").focus()
        self._load()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._draw(top=False)

    def on_screen_resume(self) -> None:
        """Back from another screen: what is shown must be read as if it were new."""
        if self.sheet is not None:
            self._close_guard()

    # Showing

    def _load(self) -> None:
        item_id = self._ids[self._at]

        async def load() -> None:
            try:
                sheet = await self._approvals.review(item_id)
            except DomainError as error:
                self._error = error
                self._draw()
                return
            self._show(sheet)

        run_job(self, load, group="review")

    def _show(self, sheet: ReviewSheet) -> None:
        self.sheet, self._error, self._deciding = sheet, None, False
        self._close_guard()
        self._draw()

    def _close_guard(self) -> None:
        self._guard.close()
        self.query_one(KeyBar).wake(False)
        self.set_timer(INERT_SECONDS + 0.01, self._wake)  # by then the guard is open for certain

    def _wake(self) -> None:
        """Show that the keys work, once they do; from then on the item counts as reviewed."""
        if not self._guard.is_closed and self.sheet is not None and self.is_current:
            self.query_one(KeyBar).wake(True)
            self._seen(self.sheet)

    def _draw(self, *, top: bool = True) -> None:
        if not self.is_mounted:
            return
        narrow = self.app.size.width < NARROW
        ground, kept = self.query_one("#ground", LineView), self.query_one("#kept", LineView)
        kept.display = not narrow and self.sheet is not None
        ground.border_title = "Item" if narrow else "What it stands on"
        sheet = self.sheet
        self._draw_head()
        if sheet is None:
            error = self._error
            ground.show(inbox_error(error.message, error.remedy) if error else [])
            return
        several = len(sheet.occurrences) > 1
        ground.border_subtitle = (
            "o next · p transcript" if several else "p transcript" if sheet.occurrences else ""
        )
        now, chosen = self._now(), self._chosen if several else -1
        if narrow:
            lines = [*self._news(), *drawn.whole_lines(sheet, now, self.draft, chosen)]
            ground.show(lines, top=top)
            if self.draft is not None and top:
                said = next(at for at, each in enumerate(lines) if drawn.KEPT in each.plain)
                ground.call_after_refresh(ground.reveal, said)
            return
        lines = drawn.ground_lines(sheet, now, chosen)
        lines += [Line(), *drawn.around_lines(sheet, now)]
        ground.show([*self._news(), *lines], top=top)
        kept.show(drawn.kept_lines(sheet, self.draft), top=top)

    def _news(self) -> list[Line]:
        if self._stale is None:
            return []
        changed = drawn.changed_lines(*self._stale)
        return [line(("Changed since you read it", "title")), *changed, Line()]

    def _draw_head(self) -> None:
        place = f"{self._at + 1} of {len(self._ids)}" if len(self._ids) > 1 else ""
        self.query_one(TopBar).tell(line((place, "muted")))
        title = one_line(self.sheet.row.title) if self.sheet else ""
        self.query_one("#review-title", LineBar).show(line(("  ", "text"), (title, "strong")))
        banner, told = self.query_one("#review-banner", LineBar), self._banner()
        banner.display = bool(told.spans)
        banner.show(told)

    def _banner(self) -> Line:
        if self._stale is not None:
            news = "It changed since you read it. Nothing was decided: read it again."
            return line(("  ! ", "bad"), (news, "warn"))
        sheet = self.sheet
        if sheet is not None and sheet.problem:
            return line(("  ! ", "bad"), (f"It can only be rejected: {sheet.problem}", "warn"))
        if sheet is not None and sheet.ours:
            both = "Both sides changed this file: approving takes the one on disk. Both are below."
            return line(("  ↯ ", "bad"), (both, "warn"))
        if self.draft is not None:
            told = line(("  ✎ ", "accent"), ("Your wording  ", "text"), ("a", "accent"))
            return told.add(" approves it  ", "muted").add("⌫", "accent").add(" drops it", "muted")
        return Line()

    # What may be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While keys are inert, nothing of the review is done but to leave it."""
        inert = action in _INERT and self._guard.is_closed
        return not inert and super().check_action(action, parameters)

    # Elsewhere

    def action_evidence(self) -> None:
        """The next recorded occurrence."""
        if self.sheet is not None and self.sheet.occurrences:
            self._chosen = (self._chosen + 1) % len(self.sheet.occurrences)
            self._draw(top=False)

    def action_source(self) -> None:
        """Show the transcript lines of the chosen occurrence."""
        from synthorg_tui.tui.memories.source import SourceScreen

        if self.sheet is None or not self.sheet.occurrences:
            toast(self, "No transcript stands behind this", severity="warning")
            return
        chosen = self.sheet.occurrences[self._chosen % len(self.sheet.occurrences)]
        self.app.push_screen(SourceScreen(self._desk, chosen.source))

    def action_next(self) -> None:
        """The next item of the list."""
        self._step(1)

    def action_previous(self) -> None:
        """The item before."""
        self._step(-1)

    def _step(self, by: int) -> None:
        at = self._at + by
        if not 0 <= at < len(self._ids):
            toast(self, "This is the last one" if by > 0 else "This is the first one")
        elif self.draft is not None:
            toast(self, "Your wording is not approved: a approves, ⌫ drops it", severity="warning")
        else:
            self._at, self._chosen, self._stale, self.sheet = at, 0, None, None
            self._load()

    def action_copy(self) -> None:
        """Copy what would be kept, as it stands."""
        sheet = self.sheet
        said = self.draft or (sheet.rewordable if sheet else None)
        text = to_document(said) if isinstance(said, Wording) else said
        text = text or (sheet.text if sheet else "")
        if text:
            copy(self, text)
            toast(self, "Copied what would be kept")

    def action_reload(self) -> None:
        """Read the item again."""
        self._load()

    def action_close(self) -> None:
        """Back, deciding nothing; a wording of yours is only given up at the second press."""
        if self.draft is not None and not self._warned:
            self._warned = True
            toast(self, "Your wording is not approved: esc again gives it up", severity="warning")
            return
        self.dismiss()


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
            toast(self, f"It is {sheet.row.status}: nothing is left to decide", severity="warning")
            return None
        return sheet

    def _said(self) -> tuple[ReviewSheet, Reworded] | None:
        """The item and its wording, when it has one; says so when not."""
        sheet = self._pending()
        said = self.draft or (sheet.rewordable if sheet else None)
        if sheet is not None and said is None:
            told = "Only a lesson and what an agent wrote can be reworded"
            toast(self, told, severity="warning")
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
            toast(self, said)
            self.post_message(Recount())
            if self.is_current:
                self.dismiss()
            else:
                self._load()

        run_job(self, decide, group="change", newest_only=False)

    # Decisions

    def action_approve(self) -> None:
        """Approve what is shown; what is flagged or contradicts asks once more."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        sheet = self._pending()
        if sheet is None:
            return
        if sheet.problem:
            toast(self, f"It can only be rejected: {sheet.problem}", severity="warning")
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
        from synthorg_tui.tui.base.dialogs import PromptDialog

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
        from synthorg_tui.tui.approvals.dialogs import SnoozeDialog

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
        from synthorg_tui.tui.approvals.dialogs import LessonForm, NoteForm

        found = self._said()
        if found is None:
            return
        if isinstance(found[1], Wording):
            self.app.push_screen(LessonForm(found[1]), self._take)
        else:
            self.app.push_screen(NoteForm(found[1]), self._take)

    def action_parts(self) -> None:
        """Take a part of it: whose text for each field, which steps."""
        from synthorg_tui.tui.approvals.parts import PartsScreen

        found = self._said()
        if found is None:
            return
        if isinstance(found[1], Wording):
            self.app.push_screen(PartsScreen(found[0], found[1]), self._take)
        else:
            toast(self, "What an agent wrote is one part: e rewords it", severity="warning")

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
            toast(self, str(error), severity="error")
            return
        wording = from_document(text, said) if isinstance(said, Wording) else note_text(text, said)
        if wrong := problems(wording):
            self._unparsed = text
            toast(self, f"{wrong[0]}. E goes on where you were.", severity="warning")
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
            toast(self, await self._approvals.undo() or "There is no decision to take back")
            self.post_message(Recount())
            self._load()

        run_job(self, undo, group="change", newest_only=False)
