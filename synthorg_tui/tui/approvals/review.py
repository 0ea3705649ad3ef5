"""The review of single items: a decision applies to exactly what is shown.

Whenever the screen shows something new, keys that decide are disabled for half a second, so that a
key meant for the previous content has no effect. A person's wording is shown before it can be
approved. The texts are worked out in ``wording``, their rendering is in ``review_lines``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.approvals import review_lines as drawn
from synthorg_tui.tui.approvals.grounds import doubt_lines
from synthorg_tui.tui.approvals.lines import CANNOT_SHOW, decision_line, undo_line
from synthorg_tui.tui.approvals.rewording import RewordingScreen
from synthorg_tui.tui.approvals.state import INERT_SECONDS, InertGuard, ReviewState
from synthorg_tui.tui.approvals.wording import Wording, approvable, lesson_of, to_document
from synthorg_tui.tui.base.lines import error_lines, line, one_line
from synthorg_tui.tui.base.pane import NARROW
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import Recount, copy, run_job, toast
from synthorg_tui.tui.panes import APPROVALS, Panes
from synthorg_tui.tui.skills.evaluating import ABOUT_SKILLS, EvaluationLook
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.curation.models import Author, ProceduralMemoryProposal
    from synthorg_tui.curation.review import Review

_INERT = frozenset(("approve", "reject", "snooze", "undo", "drop"))
"""Actions that are disabled at first: those that decide, or give up what a person wrote."""
_ON_PENDING = frozenset(
    ("approve", "reject", "snooze", "reword", "reword_outside", "parts", "scope")
)


@dataclass(frozen=True, slots=True)
class ReviewOpener:
    """The data and callbacks that a review gets from the pane that opens it.

    ``pane`` is its title for the header, ``monotonic`` a clock in seconds. ``on_read`` is called
    with each review that was on the screen long enough to count as read.
    """

    panes: Panes
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    pane: str = APPROVALS
    on_read: "Callable[[Review], None]" = lambda _review: None


class ReviewScreen(RewordingScreen):
    """An item in full with its evidence; the person approves, rejects, snoozes or rewords it."""

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("review")
    HELP_CONTEXTS = ("review", "view", "app")

    def __init__(
        self, desk: EngineAdapter, item_ids: Sequence[str], opener: ReviewOpener, *, at: int = 0
    ) -> None:
        super().__init__()
        self._desk = desk
        self._approvals = desk.approvals
        self._opener = opener
        self._guard = InertGuard(opener.monotonic)
        self.shown = ReviewState(item_ids, at)
        self._helps = EvaluationLook(
            self, partial(self.draw, top=False), opener.now, "review.evaluate"
        )
        self._error: DomainError | None = None
        self._deciding = False
        self._warned = False

    def compose(self) -> ComposeResult:
        yield TopBar(self._opener.panes, self._opener.pane)
        yield LineBar(id="review-title")
        yield LineBar(id="review-banner")
        with Horizontal(id="review-body"):
            yield LineView(id="ground")
            kept = LineView(id="kept")
            kept.border_title = drawn.KEPT
            yield kept
        yield KeyBar("review", "app")

    def on_mount(self) -> None:
        self.query_one("#ground").focus()
        self._load()

    def on_resize(self) -> None:
        self.draw(top=False)

    def on_screen_resume(self) -> None:
        """Disable the deciding keys again for a moment, as after any change of the screen."""
        if self.shown.review is not None:
            self.close_guard()

    # Showing

    def _load(self) -> None:
        item_id = self.shown.item_id

        async def load() -> None:
            try:
                await self._show(await self._approvals.review(item_id))
            except DomainError as error:
                self._error = error
                self.draw()

        run_job(self, load, group="review")

    async def _show(self, review: "Review") -> None:
        self.shown.trail = await self._approvals.trail(review.item.id)
        self.shown.review, self._error, self._deciding = review, None, False
        self.close_guard()
        self._look()
        self.draw()

    def _look(self, *, anew: bool = False) -> None:
        """Look in the background whether what it proposes helps, if that is a skill."""
        review = self.shown.review
        if review is not None and review.entry.kind in ABOUT_SKILLS:
            self._helps.look(review.item.id, self._approvals.evaluation, anew=anew)

    def renew(self) -> None:
        """Show the item anew if others changed or decided it; the person's wording stays."""
        shown, before = self.shown, self.shown.review

        async def look() -> None:
            found = await self._approvals.review(shown.item_id)
            is_same = before and (found.shown, found.item) == (before.shown, before.item)
            if not is_same and not shown.is_own and shown.review is before:
                await self._show(found)

        if before is not None and not self._deciding:
            run_job(self, look, group="look", failed=lambda _error: None)

    def close_guard(self) -> None:
        self._guard.close()
        self.query_one(KeyBar).wake(False)
        self.set_timer(INERT_SECONDS + 0.01, self._wake)  # by then the guard is open for certain

    def _wake(self) -> None:
        """Show that the keys work, once they do; from then on the item counts as read."""
        review = self.shown.review
        if not self._guard.is_closed and review is not None and self.is_current:
            self.query_one(KeyBar).wake(True)
            self._opener.on_read(review)

    def draw(self, *, top: bool = True) -> None:
        if not self.is_mounted:
            return
        narrow, shown = self.app.size.width < NARROW, self.shown
        review, draft, now = shown.review, shown.draft, self._opener.now()
        ground, kept = self.query_one("#ground", LineView), self.query_one("#kept", LineView)
        kept.display = not narrow and review is not None
        self._draw_head()
        if review is None:
            ground.show(error_lines(CANNOT_SHOW, self._error) if self._error else [])
            return
        is_call = review.entry.kind in ("run", "admin")
        kept.border_title = drawn.DONE if is_call else drawn.KEPT
        ground.border_title = "Item" if narrow or is_call else "Why: the evidence"
        hint = f"{key_of('review.source')} transcript" if shown.evidence else ""
        following = f"{key_of('review.evidence')} next · "
        ground.border_subtitle = following + hint if shown.chosen >= 0 else hint
        helps = self._helps.lines(review.item.id)
        if narrow:
            whole = (review, shown.trail, now, draft, shown.chosen, shown.scope, helps)
            lines = drawn.whole_lines(*whole)
        else:
            grounds = drawn.ground_lines(review, now, shown.chosen, shown.scope, helps)
            about = drawn.about_lines(review, shown.trail, now)
            lines = [*drawn.head_lines(review.entry), *grounds, *about]
            kept.show(drawn.beside_lines(review, draft), top=top)
        lines = [*drawn.news_lines(shown.stale), *lines]
        ground.show(lines, top=top)
        if narrow and draft is not None and top:
            at = next(at for at, row in enumerate(lines) if drawn.KEPT in row.plain)
            ground.call_after_refresh(ground.reveal, at)

    def _draw_head(self) -> None:
        shown = self.shown
        self.query_one(TopBar).tell(line((shown.place, "muted")))
        title = one_line(shown.review.item.title) if shown.review else ""
        self.query_one("#review-title", LineBar).show(line(("  ", "text"), (title, "strong")))
        is_stale = shown.stale is not None
        text = drawn.banner_line(shown.review, shown.draft, is_stale=is_stale, scope=shown.scope)
        banner = self.query_one("#review-banner", LineBar)
        banner.display = bool(text.spans)
        banner.show(text)

    # What may be done

    def offers(self, method: str) -> bool:
        """Return whether the footer offers an action: what was decided is only read."""
        shown, review = self.shown, self.shown.review
        can = {
            "drop": shown.draft is not None or shown.scope is not None,
            "memory": len(shown.versions) > 1,
        }
        can["scope"] = review is not None and len(review.reach) > 1
        can["evaluate"] = review is not None and review.entry.kind in ABOUT_SKILLS
        can |= dict.fromkeys(("next", "previous"), bool(shown.place))
        can |= dict.fromkeys(("evidence", "evidence_before"), shown.chosen >= 0)
        decided = review is not None and review.item.status != "pending"
        return can.get(method, not (decided and method in _ON_PENDING))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the actions that decide until what is shown has been there for a moment."""
        inert = action in _INERT and self._guard.is_closed
        return not inert and super().check_action(action, parameters)

    def pending(self) -> "Review | None":
        """The item shown, when it can still be decided; says so when not."""
        review = self.shown.review
        if review is None or self._deciding:
            return None
        if (status := review.item.status) != "pending":
            toast(self, f"It is {status}: nothing is left to decide", severity="warning")
            return None
        if review.barred:
            toast(self, review.barred, severity="warning")
            return None
        return review

    # Elsewhere

    def action_evidence(self, by: int = 1) -> None:
        """Show the next recorded occurrence, or one before."""
        self.shown.next_evidence(by)
        self.draw(top=False)

    def action_evidence_before(self) -> None:
        """Show the recorded occurrence before."""
        self.action_evidence(-1)

    def action_memory(self) -> None:
        """Show a lesson in the model's words or in code's, or the memory that the item is about."""
        from synthorg_tui.tui.approvals.dialogs import show_subject

        if not (problem := self.shown.switch()):
            self.close_guard()
            self.draw()
        elif self.shown.review is not None:
            show_subject(self, self.shown.review, problem)

    def action_source(self) -> None:
        """Show the transcript lines of the selected occurrence."""
        from synthorg_tui.tui.sessions.transcript import open_transcript

        if evidence := self.shown.evidence:
            open_transcript(self, self._desk.sessions, evidence.lines, self._opener.now)
        else:
            toast(self, "No transcript stands behind this", severity="warning")

    def action_next(self) -> None:
        """Review the next item of the list."""
        self._step(1)

    def action_previous(self) -> None:
        """Review the previous item of the list."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if problem := self.shown.step(by):
            toast(self, problem, severity="warning" if self.shown.is_own else "information")
        else:
            self._load()

    def action_copy(self) -> None:
        """Copy the text that would be stored to the clipboard."""
        wording, review = self.shown.wording, self.shown.review
        text = to_document(wording) if isinstance(wording, Wording) else wording
        text = text or (review.text if review else "")
        if text:
            copy(self, text)
            toast(self, "Sent what would be stored to the terminal's clipboard")

    def action_evaluate(self) -> None:
        """Look again whether what it proposes helps."""
        self._look(anew=True)

    def action_reload(self) -> None:
        """Read the item again."""
        self._load()

    def action_close(self) -> None:
        """Close the review without a decision.

        Your wording is discarded only at the second press.
        """
        if self.shown.is_own and not self._warned:
            self._warned = True
            toast(self, "Your wording is not approved: esc again gives it up", severity="warning")
            return
        self.dismiss()

    # Decisions

    def _decide(self, act: "Callable[[Review], Awaitable[str]]") -> None:
        """Decide on what is shown and leave; when it is another by now, show it anew."""
        review = self.pending()
        if review is None:
            return
        self._deciding = True

        async def decide() -> None:
            from synthorg_tui.curation.review import ReviewChangedError

            try:
                done = await act(review)
            except ReviewChangedError as changed:
                self.shown.stale = (review, changed.review)
                await self._show(changed.review)
                return
            except DomainError:
                self._load()
                raise
            finally:
                self._deciding = False
            toast(self, done)
            self.post_message(Recount())
            if self.is_active:  # else help lies over it, or another pane is shown
                self.dismiss()
            else:
                self._load()

        run_job(self, decide, group="change", newest_only=False)

    def action_approve(self) -> None:
        """Approve what is shown.

        Asks for a confirmation if it is flagged or contradicts a skill.
        """
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        review = self.pending()
        if review is None:
            return
        if review.problem:
            toast(self, f"It can only be rejected: {review.problem}", severity="warning")
            return
        doubts = doubt_lines(review)
        if not doubts:
            self._decide(self._approve)
            return
        self.app.push_screen(
            ConfirmDialog("Approve it all the same?", doubts, yes="Approve"),
            lambda yes: self._decide(self._approve) if yes else None,
        )

    async def _approve(self, review: "Review") -> str:
        edited: ProceduralMemoryProposal | str | None = None
        authors: Mapping[str, Author] | None = None
        draft, lesson = self.shown.draft, lesson_of(review.entry)
        if isinstance(draft, Wording) and lesson is not None:
            edited, authors = approvable(lesson, draft)
        elif isinstance(draft, str):
            edited = draft
        decision = await self._approvals.approve(
            review.item.id, review.shown, edited, authors, self.shown.scope
        )
        return decision_line("Approved", decision)

    def action_reject(self) -> None:
        """Ask for a reason and reject the item, which isn't proposed again then."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        pending = self.pending()
        if pending is None:
            return
        item_id = pending.item.id

        def answered(reason: str | None) -> None:
            if reason:
                self.shown.reasons[item_id] = reason
                self._decide(reject)

        async def reject(review: "Review") -> str:
            await self._approvals.reject(review.item.id, review.shown, self.shown.reasons[item_id])
            return f"Rejected: it is not proposed again · {key_of('review.undo')} takes it back"

        before = self.shown.reasons.get(item_id, "")
        hint = "it is not proposed again · ↵ rejects · esc leaves"
        self.app.push_screen(PromptDialog("Why not?", before, hint=hint), answered)

    def action_snooze(self) -> None:
        """Ask for a time and hide the item from the queue until then."""
        from synthorg_tui.tui.approvals.dialogs import snooze_dialog

        if self.pending() is None:
            return

        def chosen(until: object) -> None:
            if not isinstance(until, datetime):
                return

            async def snooze(review: "Review") -> str:
                await self._approvals.snooze(review.item.id, until)
                return f"Snoozed until {until:%a %d %b %H:%M}"

            self._decide(snooze)

        self.app.push_screen(snooze_dialog(self._opener.now()), chosen)

    def action_undo(self) -> None:
        """Undo the last decision."""

        async def undo() -> None:
            toast(self, undo_line(await self._approvals.undo()))
            self.post_message(Recount())
            self._load()

        run_job(self, undo, group="change", newest_only=False)
