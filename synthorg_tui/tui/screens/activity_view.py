"""The Activity pane as far as it only looks: who is there, the calls, one call and why."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.activity_ports import ActivityDesk, Call, Heard, Kept
from synthorg_tui.tui.digest_ports import Answer
from synthorg_tui.tui.jobs import start
from synthorg_tui.tui.live import Soon
from synthorg_tui.tui.panes import ACTIVITY, Panes
from synthorg_tui.tui.ports import MemoryDesk
from synthorg_tui.tui.screens.list_pane import ListPane
from synthorg_tui.tui.view_models import activity_lines as drawn
from synthorg_tui.tui.view_models.activity import LIMIT, Activity
from synthorg_tui.tui.view_models.approvals_lines import sifter_line
from synthorg_tui.tui.view_models.clockwork import counted
from synthorg_tui.tui.view_models.ink import Line, line
from synthorg_tui.tui.widgets.activity import CallList
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.inked import LineBar, LineView
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

KEEP_UP_AFTER = 0.4
"""Seconds between two drawings while calls come; after a rest the first is shown at once."""
_HINT = "words  -words  agent:  client:  kind:digest  tool:  is:error  is:write"


class ActivityView(ListPane):
    """Lists agents and calls as they come; the desk comes once it is open."""

    CSS_PATH = "activity.tcss"

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self.port: ActivityDesk | None = None
        self.activity = Activity()
        self.why = False
        self._answers: dict[int, Answer | None] = {}
        self._kept: dict[int, tuple[Kept, ...]] = {}
        self._shown: int | None = None
        self._awaits_layout = False
        self._soon = Soon(self, self._keep_up, KEEP_UP_AFTER)

    def compose(self) -> ComposeResult:
        """Header, agents and calls above or beside the call, footer."""
        yield TopBar(self.panes, ACTIVITY)
        with Horizontal(id="activity-body"):
            with Vertical(id="log-side"):
                seats = FixedList(id="seats")
                seats.border_title = "Agents"
                yield seats
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                calls = CallList(self.activity, now=self.now, id="calls")
                calls.border_title = "Calls"
                yield calls
            with Vertical(id="call-side"):
                call = LineView(id="call")
                call.border_title = "Call"
                yield call
                why = LineView(id="why")
                why.border_title = "Why"
                yield why
        yield KeyBar("activity", "app")

    @property
    def log_list(self) -> CallList:
        """The list of calls."""
        return self.query_one("#calls", CallList)

    @property
    def seat_list(self) -> FixedList:
        """The list of agents."""
        return self.query_one("#seats", FixedList)

    @property
    def main_list(self) -> LineList:
        """The log."""
        return self.log_list

    # Loading

    def attach(self, desk: MemoryDesk) -> None:
        """The engine is open: read the log, and hear of what comes."""
        self.desk, self.port = desk, desk.activity
        self._error = None
        self.port.listen(self.hear)
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the log."""
        self._error = error
        self.activity.loaded, self.activity.rows = None, ()
        self.draw()

    def reload(self) -> None:
        """Read agents and calls again; the cursor stays on its call where it can."""
        if self.port is None:
            return
        self.await_rows()
        start(self, partial(self._load, self.port, self.activity.ask()), group="log")

    async def _load(self, port: ActivityDesk, generation: int) -> None:
        activity = self.activity
        try:
            activity.seats = await port.seats()
            calls = await port.calls(
                limit=LIMIT, agent=activity.asked_agent, text=activity.asked_text
            )
        except DomainError as error:
            if generation == activity.generation:
                self.tell_error(error)
            return
        if activity.take(generation, calls):
            self._error = None
            self._kept.clear()
            self.draw()

    def hear(self, heard: Heard) -> None:
        """Something happened; it is shown soon, together with what else comes."""
        if heard.call is not None:
            self.activity.add(heard.call)
        if heard.topic == "changed":
            self._kept.clear()
        if self.is_current:
            self._soon.ask()

    def _keep_up(self) -> None:
        port = self.port

        async def look() -> None:
            if port is not None:
                self.activity.seats = await port.seats()
                self.activity.arrange()
                self.draw()

        start(self, look, group="seats")

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        if self.is_current:
            self.panes.looked()
        activity, zoomed = self.activity, self.has_class("-zoomed")
        self.query_one("#activity-body").styles.layout = "vertical" if self.narrow else "horizontal"
        self.query_one("#log-side").display = not zoomed
        self.query_one("#call-side").display = bool(activity.rows)
        self.set_class(not activity.rows, "-bare")
        self._draw_seats()
        self.log_list.placeholder = self._placeholder()
        self.log_list.show(roomy=not self.narrow)
        self._draw_caption()
        sifter, chips = activity.sifter, self.query_one("#chips", LineBar)
        chips.display = bool(sifter.chips or sifter.problem)
        told = sifter_line(sifter, max(chips.size.width, 20))
        chips.show(line(("! ", "bad"), (sifter.problem, "warn")) if sifter.problem else told)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.draw_call()

    def _draw_seats(self) -> None:
        seats, before = self.seat_list, self.seat_list.value
        seats.placeholder = drawn.no_seats(
            self.port is not None and self.port.is_open, self._error is not None
        )
        seats.show(lambda width: list(drawn.seat_lines(self.activity, width, self.now())))
        seats.styles.height = min(max(seats.row_count, 1), 3 if self.narrow else 8) + 2
        key = _seat_key(before)
        places = [at for at in range(seats.row_count) if _seat_key(seats.value_at(at)) == key]
        seats.move_to(places[0] if places else seats.cursor)
        there = sum(bool(each.number) for each in self.activity.seats)
        seats.set_titles(bottom=f"{there:,} connected" if there else "")

    @on(LineList.Scrolled, "#calls")
    def _draw_caption(self) -> None:
        newer = self.log_list.newer
        above = f"↑ {newer:,} newer · " if newer else ""
        self.log_list.set_titles(bottom=above + self.activity.caption)

    def _status(self) -> str:
        if self.port is None:
            return "not open" if self._error else "opening the store …"
        if not self.port.is_open:
            return "not listening yet"
        wrote = sum(each.wrote for each in self.activity.held)
        return counted(wrote, "write") if wrote else "listening"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return drawn.activity_error(self._error.message, self._error.remedy)
        if self.port is None or self.activity.loaded is None:
            return [line(("Reading the calls …", "muted"))] if self._slow else []
        return drawn.empty_log(self.activity)

    # The call under the cursor

    @on(LineList.Moved, "#calls")
    def draw_call(self) -> None:
        """Draw the call under the cursor; what isn't in the log is read once the cursor rests."""
        call, view = self.log_list.call, self.query_one("#call", LineView)
        why, answer = self.query_one("#why", LineView), None
        if call is not None:
            answer = self._answers.get(call.number)
        only = self.narrow or self.has_class("-zoomed")
        why.display = answer is not None and (self.why or not only)
        view.display = not (only and why.display)
        is_new = self._shown != (call.number if call else None)
        self._shown = call.number if call else None
        kept = self._kept.get(call.number) if call else None
        view.show(drawn.call_detail(call, kept, self.now()) if call else [], top=is_new)
        view.set_titles(bottom="v says why" if answer is not None and only else "")
        width = max(why.content_size.width - why.scrollbar_size_vertical, 20)
        why.show(drawn.why_lines(answer, width) if answer is not None else [], top=is_new)
        lacks_width = why.display and not why.content_size.width
        if lacks_width and not self._awaits_layout:  # it is known after layout; asked for once only
            self.call_after_refresh(self.draw_call)
        self._awaits_layout = lacks_width
        if call is not None and self._is_lacking(call):
            self.later(self._read)

    def _is_lacking(self, call: Call) -> bool:
        lacks_why = bool(call.explanation) and call.number not in self._answers
        return lacks_why or (call.wrote and call.number not in self._kept)

    def _read(self) -> None:
        call, port = self.log_list.call, self.port
        if call is None or port is None or not self._is_lacking(call):
            return

        async def read() -> None:
            if call.explanation and call.number not in self._answers:
                self._answers[call.number] = await port.answer(call)
            if call.wrote:
                self._kept[call.number] = await port.memories(call)
            self.draw_call()

        start(self, read, group="call")

    # Filter

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.activity.filter_text = event.value
        self.activity.arrange()
        self.draw()
        self.later(self.reload)

    def action_back(self) -> None:
        """Close the zoom, the explanation, the entry, then the filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif self.why:
            self.why = False
        elif entering or self.focused is not self.query_one("#query"):
            self.query_one("#query", Input).value = ""
        self.draw()
        self.log_list.focus()


def _seat_key(value: object) -> tuple[object, object]:
    return (getattr(value, "agent_id", None), getattr(value, "number", None))
