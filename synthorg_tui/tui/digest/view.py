"""The Digest pane as far as it only asks and shows: question, budget, candidates, text."""

from functools import partial
from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.digest import lines as drawn
from synthorg_tui.tui.digest.knobs import knob_lines, knobs_summary
from synthorg_tui.tui.digest.ports import Answer, Ask, DigestDesk
from synthorg_tui.tui.digest.state import Before, Digest, Pacing
from synthorg_tui.tui.digest.widgets import CandidateList, KnobList, TaskInput
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

LOADING_AFTER = 0.15
NARROW = 100
TEXT_TITLE = "What the agent reads"


class DigestView(Screen[None]):
    """Asks what an agent would be given and shows the answer; the desk comes once it is open."""

    AUTO_FOCUS = "#candidates"  # a key that comes early is no text of the task
    CSS_PATH = "digest.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012

    def __init__(self, *, panes: Panes) -> None:
        super().__init__()
        self.desk: MemoryPort | None = None
        self.digests: DigestDesk | None = None
        self.digest = Digest()
        self.agents: tuple[tuple[str, int], ...] | None = None
        self.diffing = False
        self._panes = panes
        self._error: DomainError | None = None
        self._slow = False
        self._subject = ("", "")
        self._text_shown: tuple[Answer | None, Before | None, bool] = (None, None, False)
        self._timer: Timer | None = None
        self.pacing = Pacing()

    def compose(self) -> ComposeResult:
        """Who, what and how much; candidates and why beside the text; keys."""
        yield TopBar(self._panes, "Digest")
        with Vertical(id="question-block"):
            yield LineBar(id="asking")
            with Horizontal(id="task-row"):
                yield LineBar([line((" / task ", "accent"))], id="task-prompt")
                yield TaskInput(
                    id="task",
                    compact=True,
                    select_on_focus=False,
                    placeholder="what the agent is about to do, in your words",
                )
            yield LineBar(id="budget")
            yield LineBar(id="digest-banner")
        with Horizontal(id="digest-body"):
            knobs = KnobList(id="knobs")
            knobs.border_title = "Options"
            knobs.border_subtitle = "← → turn · ⌫ back"
            yield knobs
            with Horizontal(id="digest-main"):
                with Vertical(id="weighing"):
                    candidates = CandidateList(id="candidates")
                    candidates.border_title = "Candidates"
                    yield candidates
                    why = LineView(id="why")
                    why.border_title = "Why"
                    yield why
                text = LineView(id="digest-text")
                text.border_title = TEXT_TITLE
                yield text
        yield KeyBar("digest", "app")

    def on_mount(self) -> None:
        """Start in the list; agents and options come with the desk."""
        self.candidates.focus()
        self.draw()
        self.set_timer(LOADING_AFTER, partial(self._tell_loading, self.digest.generation))

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self.draw()

    @property
    def candidates(self) -> CandidateList:
        """The list of candidates."""
        return self.query_one("#candidates", CandidateList)

    @property
    def narrow(self) -> bool:
        """Whether there is no room for candidates and text side by side."""
        return self.app.size.width < NARROW

    # Asking

    def attach(self, desk: MemoryPort) -> None:
        """The engine is open: read agents and options, then ask."""
        self.desk, self.digests = desk, desk.digests
        self._error = None
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the candidates."""
        self._error = error
        self.draw()

    def reload(self) -> None:
        """Read agents and options again, and ask again."""
        digests = self.digests
        if digests is None:
            return

        async def load() -> None:
            try:
                agents = await digests.agents()
                self.digest.knobs.configure(digests.settings(), digests.strategies())
            except DomainError as error:
                self.tell_error(error)
                return
            self.agents = agents
            if not self.digest.agent_id and agents:
                self.digest.agent_id = max(agents, key=lambda each: each[1])[0]
            self.ask()

        run_job(self, load, group="agents")

    def on_screen_resume(self) -> None:
        """Memories may have changed meanwhile."""
        self.reload()

    def ask_soon(self) -> None:
        """The question changed: what is under way is given up, and the new one asked.

        That is at once as long as answers are quick, so that the last of many keys isn't waited
        for; where they are not, it is when the keys rest.
        """
        self.workers.cancel_group(self, "digest")
        delay = self.pacing.delay(monotonic())
        if delay:
            self.digest.turn()
            self._stop_waiting()
            self._timer = self.set_timer(delay, self.ask)
        else:
            self.ask()
        self.draw()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.stop()

    def ask(self) -> None:
        """Ask what the agent would be given."""
        self._stop_waiting()
        generation, ask, digests = self.digest.turn(), self.digest.ask, self.digests
        self._slow = False
        if ask is None or digests is None:
            self._error = None
            self.draw()
            return
        self.pacing.asked(monotonic())
        self.set_timer(LOADING_AFTER, partial(self._tell_loading, generation))
        run_job(self, partial(self._fetch, digests, generation, ask), group="digest")

    async def _fetch(self, digests: DigestDesk, generation: int, ask: Ask) -> None:
        try:
            answer = await digests.digest(ask)
        except DomainError as error:
            if self.digest.fail(generation):
                self.pacing.answered(monotonic())
                self.tell_error(error)
            return
        if self.digest.take(generation, ask, answer):
            self.pacing.answered(monotonic())
            self._error = None
            self.draw()

    def _tell_loading(self, generation: int) -> None:
        """Say that it takes a while, unless it is over or something newer is under way."""
        is_opening = self.agents is None
        if is_opening or (self.digest.waiting and generation == self.digest.generation):
            self._slow = True
            self.draw()

    @on(Input.Changed, "#task")
    def _typed(self, event: Input.Changed) -> None:
        self.digest.query = event.value
        self.ask_soon()

    @on(Input.Submitted, "#task")
    def _entered(self) -> None:
        self.candidates.focus()

    def show_question(self) -> None:
        """Put the question into the entry, as after loading a scenario."""
        entry = self.query_one("#task", Input)
        with entry.prevent(Input.Changed):
            entry.value = safe_text(self.digest.query)

    @on(KnobList.Turned, "#knobs")
    def _turned(self, event: KnobList.Turned) -> None:
        name = self.query_one("#knobs", KnobList).value_at(event.index)
        if isinstance(name, str):
            if event.by:
                self.digest.knobs.turn(name, event.by)
            else:
                self.digest.knobs.reset(name)
            self.ask_soon()

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        self._arrange()
        self._draw_question()
        self._draw_candidates()
        self._draw_text()
        if self.has_class("-knobs"):
            knobs = self.query_one("#knobs", KnobList)
            knobs.show(lambda width: knob_lines(self.digest.knobs, width))

    def _arrange(self) -> None:
        narrow, knobs_open = self.narrow, self.has_class("-knobs")
        self.query_one("#digest-main").styles.layout = "vertical" if narrow else "horizontal"
        self.query_one("#knobs").display = knobs_open
        zoomed = self.has_class("-zoom-text") or (narrow and knobs_open)
        self.query_one("#weighing").display = not zoomed
        self.query_one("#digest-text").display = not self.has_class("-zoom-list") and (
            self.digest.answer is not None
        )
        self.query_one("#why").can_focus = not narrow
        self.query_one("#why").display = self.digest.answer is not None

    def _draw_question(self) -> None:
        digest = self.digest
        asking = line((" a ", "accent"), ("as ", "muted"))
        asking.add(one_line(digest.agent_id) or "nobody yet", "strong")
        asking.add("  b ", "accent").add(f"{counted(digest.budget, 'token')}", "strong")
        asking.add("  o ", "accent").extend(knobs_summary(digest.knobs))
        for count, word in ((len(digest.pinned), "pinned"), (len(digest.excluded), "excluded")):
            asking.add(f" · {count} {word}" if count else "", "warn")
        self.query_one("#asking", LineBar).show(asking)
        bar, answer = self.query_one("#budget", LineBar), digest.answer
        bar.display = answer is not None
        if answer is not None:
            bar.show(drawn.budget_line(answer, max(self.app.size.width - 2, 20)))
        banner = self.query_one("#digest-banner", LineBar)
        told = drawn.banner_lines(digest) if self._error is None else []
        banner.display = bool(told)
        banner.styles.height = max(len(told), 1)
        banner.show(*told)
        self.query_one(TopBar).tell(line((self._status(), "muted")))

    def _status(self) -> str:
        if self.digests is None:
            return "not open" if self._error else "opening the store …"
        answer = self.digest.answer
        if self.digest.waiting and self._slow:
            return "asking …"
        if answer is None:
            return counted(len(self.agents or ()), "agent")
        return f"{drawn.tally(answer)} · {answer.milliseconds:.0f} ms"

    def _draw_candidates(self) -> None:
        rows, answer = self.candidates, self.digest.answer
        rows.placeholder = self._placeholder()
        subject = (self.digest.agent_id, self.digest.query.strip())
        rows.show(
            answer if self._error is None else None,
            roomy=not self.narrow,
            follow=subject == self._subject or self.digest.waiting,
        )
        if not self.digest.waiting:
            self._subject = subject
        rows.set_titles(bottom=drawn.tally(answer) if answer else "")
        self._draw_why()

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return drawn.digest_error(self._error.message, self._error.remedy)
        if self.digests is None or self.agents is None:
            return [line(("Opening the store …", "muted"))] if self._slow else []
        if self.digest.waiting:
            return [line(("Asking …", "muted"))] if self._slow else []
        return drawn.empty_digest(self.digest, len(self.agents))

    @on(LineList.Moved, "#candidates")
    def _draw_why(self) -> None:
        each, answer = self.candidates.candidate, self.digest.answer
        shown: list[Line] = []
        if each is not None and answer is not None:
            shown = drawn.why_lines(each, answer.candidates, full=not self.narrow)
            if not self.narrow:
                shown += [Line(), drawn.stage_line(answer)]
        self.query_one("#why", LineView).show(shown)

    def _draw_text(self) -> None:
        view, digest = self.query_one("#digest-text", LineView), self.digest
        answer, before = digest.answer, digest.before
        shown = (answer, before, self.diffing)
        if all(old is new for old, new in zip(self._text_shown, shown, strict=True)):
            return
        self._text_shown = shown
        if answer is None or before is None:
            view.show([])
            return
        changes = drawn.change_caption(before.text, answer.text) if digest.text_changed else ""
        if self.diffing:
            view.set_titles(top="Changes in what the agent reads", bottom=changes or "no change")
            view.show(drawn.changed_text(before.text, answer.text), top=False)
            return
        size = f"{counted(answer.text_tokens, 'token')} in all"
        view.set_titles(top=TEXT_TITLE, bottom=f"{changes} · d shows · {size}" if changes else size)
        lines = drawn.ruled_text(answer.text, answer.text_tokens) or drawn.text_placeholder(digest)
        view.show(lines, top=False)
