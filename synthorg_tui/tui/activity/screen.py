"""The log of calls.

Choosing one of the memories that a call names.
The Activity pane as far as it only looks: who is there, the calls, one call and why.
The Activity pane: what a person can do about agents, and with what they did.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.activity import lines as drawn
from synthorg_tui.tui.activity.lines import call_line, call_lines, can_undo, seat_line
from synthorg_tui.tui.activity.ports import ActivityDesk, Call, Heard, Kept, Seat
from synthorg_tui.tui.activity.state import LIMIT, Activity, arguments_of
from synthorg_tui.tui.approvals.lines import filter_line
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.digest.ports import Answer
from synthorg_tui.tui.jobs import Throttle, copy, run_job, toast
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.panes import ACTIVITY, Panes
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList


class CallList(LineList):
    """Calls, newest first; at the top the cursor stays on the newest, else on its call."""

    def __init__(
        self, activity: Activity, *, now: Callable[[], datetime], id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._activity = activity
        self._now = now
        self._rows: tuple[Call, ...] = ()

    def show(self, *, roomy: bool) -> None:
        """Show what is listed now."""
        height = 2 if roomy else 1
        follow = self.call.number if self.call and self.cursor else None
        shown, top = self.is_cursor_in_view, self._at(self.visible_rows[0])
        was, same = self.visible_rows[0], height == self.row_height
        self.row_height = height
        self._rows = self._activity.rows
        self.changed()
        if (at := self._index(follow)) is not None:
            self.cursor = at
        if same and top is not None and (now := self._index(top.number)) is not None:
            self.shift(now - was)
        if shown:
            self.reveal()

    @property
    def row_count(self) -> int:
        """Calls listed."""
        return len(self._rows)

    @property
    def call(self) -> Call | None:
        """The one under the cursor."""
        return self._at(self.cursor)

    @property
    def newer(self) -> int:
        """How many calls are above the part in view."""
        return self.visible_rows[0] if self._rows else 0

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The call."""
        call = self._rows[index]
        if self.row_height == 1:
            return [call_line(call, width - 1, self._now())]
        return call_lines(call, width - 1, self._now())

    def _at(self, index: int) -> Call | None:
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def _index(self, number: int | None) -> int | None:
        return next((at for at, each in enumerate(self._rows) if each.number == number), None)


class MemoryDialog(ModalScreen[ListedMemory | None]):
    """The memories, a line each; gives the chosen one."""

    BINDINGS = bindings("choose")

    def __init__(self, rows: Sequence[ListedMemory], *, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._rows = rows
        self._now = now

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="dialog") as box:
            box.border_title = "Which memory"
            box.border_subtitle = "↵ chooses · esc leaves"
            yield FixedList(id="named")

    def on_mount(self) -> None:
        """As many lines as memories, up to what fits."""
        rows, now = self.query_one("#named", FixedList), self._now()
        rows.styles.height = min(len(self._rows), 16)
        rows.show(
            lambda width: [
                (row, memory_line(row, width, now=now, marked=False)) for row in self._rows
            ]
        )
        rows.focus()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """The memory under the cursor."""
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, ListedMemory):
            self.dismiss(value)

    def action_close(self) -> None:
        """None of them."""
        self.dismiss(None)


KEEP_UP_AFTER = 0.4
"""Seconds between two drawings while calls come; after a rest the first is shown at once."""
_HINT = "words  -words  agent:  client:  kind:digest  tool:  is:error  is:write"


class ActivityView(Pane):
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
        self._soon = Throttle(self, self._keep_up, KEEP_UP_AFTER)

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

    def attach(self, desk: MemoryPort) -> None:
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
        run_job(self, partial(self._load, self.port, self.activity.ask()), group="log")

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

        run_job(self, look, group="seats")

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
        chips = self.query_one("#chips", LineBar)
        shown = filter_line(activity.sifter, max(chips.size.width, 20))
        chips.display = bool(shown.spans)
        chips.show(shown)
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

        run_job(self, read, group="call")

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


class ActivityScreen(ActivityView):
    """Pauses, restricts and disconnects agents; takes back what they wrote; goes to it."""

    BINDINGS = bindings("activity")
    HELP_CONTEXTS = ("activity", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        show_memory: Callable[[ListedMemory], None],
        show_skill: Callable[[str], None],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self._show_memory = show_memory
        self._show_skill = show_skill

    def _do(self, act: Callable[[], Awaitable[str]]) -> None:
        """Run a change; tell what it did, then look at the agents again."""

        async def run() -> None:
            toast(self, await act())
            self._kept.clear()
            self.reload()

        run_job(self, run, group="change", newest_only=False)

    # Agents

    def _agent(self) -> tuple[Seat, ActivityDesk] | None:
        """The agent under the cursor: of the list in focus, or who made the call."""
        port, call, seat = self.port, self.log_list.call, self.seat_list.value
        if port is None:
            toast(self, "The store is not open", severity="warning")
            return None
        if isinstance(seat, Seat) and (self.focused is self.seat_list or call is None):
            return seat, port
        if call is not None:
            return self.activity.restricted(call.agent_id), port
        toast(self, "There is no agent under the cursor", severity="warning")
        return None

    def action_pause(self) -> None:
        """Refuse everything to the agent, or no more."""
        if found := self._agent():
            seat, port = found

            async def pause() -> str:
                await port.set_paused(seat.agent_id, not seat.paused)
                if seat.paused:
                    return f"{seat.agent_id} goes on"
                return f"{seat.agent_id} is paused: it is refused everything · p lets it go on"

            self._do(pause)

    def action_read_only(self) -> None:
        """Refuse writes to the agent, or no more."""
        if found := self._agent():
            seat, port = found

            async def restrict() -> str:
                await port.set_read_only(seat.agent_id, not seat.read_only)
                if seat.read_only:
                    return f"{seat.agent_id} may write again"
                return f"{seat.agent_id} may only read · o lets it write again"

            self._do(restrict)

    def action_disconnect(self) -> None:
        """End the connection, or all of the agent's, after asking."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        found = self._agent()
        if found is None:
            return
        seat, port = found
        seats = (seat,) if seat.number else self.activity.connections(seat.agent_id)
        if not seats:
            toast(self, f"{seat.agent_id} is not connected", severity="warning")
            return

        async def disconnect() -> str:
            await port.disconnect([each.number for each in seats])
            return f"Ended {counted(len(seats), 'connection')} of {seat.agent_id}"

        self.app.push_screen(
            ConfirmDialog(
                f"Disconnect {counted(len(seats), 'client')}?",
                [seat_line(each, 60, self.now()) for each in seats],
                yes="Disconnect",
                note="It may come back at once; p keeps it out.",
            ),
            lambda yes: self._do(disconnect) if yes else None,
        )

    # The call

    def _call(self) -> tuple[Call, ActivityDesk] | None:
        call, port = self.log_list.call, self.port
        if call is None or port is None:
            toast(self, "There is no call under the cursor", severity="warning")
            return None
        return call, port

    def action_undo(self) -> None:
        """Take back what the call wrote, after asking, or bring it back."""
        found = self._call()
        if found is None:
            return
        call, port = found
        if not call.wrote:
            toast(self, "This call wrote nothing", severity="warning")
            return

        async def look() -> None:
            kept = await port.memories(call)
            if not can_undo(call, kept):
                toast(self, "There is nothing of this call left to take back", severity="warning")
            elif any(each.is_live for each in kept):
                self._ask_undo(call, port, kept)
            else:
                self._do(lambda: port.undo(call))

        run_job(self, look, group="undo")

    def _ask_undo(self, call: Call, port: ActivityDesk, kept: tuple[Kept, ...]) -> None:
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        live = [each.row for each in kept if each.is_live and each.row.agent_id == call.agent_id]
        self.app.push_screen(
            ConfirmDialog(
                f"Take back {memories(len(live))} that {call.agent_id} wrote?",
                [memory_line(row, 60, now=self.now(), marked=False) for row in live],
                yes="Take back",
                note="u brings it back.",
            ),
            lambda yes: self._do(lambda: port.undo(call)) if yes else None,
        )

    def action_memory(self) -> None:
        """Show a memory of the call in the Memories pane; of several, choose which."""
        found = self._call()
        if found is None:
            return
        call, port = found

        def chosen(row: ListedMemory | None) -> None:
            if row is not None:
                self._show_memory(row)

        async def look() -> None:
            rows = [each.row for each in await port.memories(call) if each.is_live]
            if not rows:
                toast(self, "This call names no memory that is in the store", severity="warning")
            elif len(rows) == 1:
                chosen(rows[0])
            else:
                self.app.push_screen(MemoryDialog(rows, now=self.now), chosen)

        run_job(self, look, group="memory")

    def action_skill(self) -> None:
        """Show the skill that was read in the Skills pane."""
        if found := self._call():
            call, _ = found
            name = (arguments_of(call) or {}).get("name")
            if "skill" in call.name and isinstance(name, str) and name:
                self._show_skill(name)
            else:
                toast(self, "This call read no skill", severity="warning")

    def action_copy(self) -> None:
        """Copy exactly what the agent was told."""
        if found := self._call():
            call, _ = found
            copy(self, call.reply)
            size = len(call.reply.encode("utf-8", "replace"))
            toast(self, f"Copied {counted(size, 'byte')}: exactly what the agent read")

    # Looks

    def action_view(self) -> None:
        """What the agent read, or why."""
        self.why = not self.why
        self.draw()

    @on(LineList.Chosen, "#calls")
    def action_zoom(self) -> None:
        """Give the call the whole room, and back."""
        if self.log_list.call is not None:
            self.toggle_class("-zoomed")
            self.draw()
            shown = "#call" if self.query_one("#call").display else "#why"
            (self.query_one(shown) if self.has_class("-zoomed") else self.log_list).focus()

    def action_only(self) -> None:
        """List only the calls of the agent under the cursor, or all again."""
        from textual.widgets import Input

        if found := self._agent():
            wanted, entry = f"agent:{found[0].agent_id}", self.query_one("#query", Input)
            entry.value = "" if entry.value == wanted else wanted

    def action_reload(self) -> None:
        """Read the log again, or try to open the store again."""
        if self.port is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()
