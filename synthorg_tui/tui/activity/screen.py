"""The Activity pane: shows what connected agents do, and lets a person restrict or undo it.

It pauses, restricts and disconnects agents, undoes their writes, and opens the memories they
concern. The data are in ``state``, the rendering in ``lines``.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.activity import lines as drawn
from synthorg_tui.tui.activity.adapter import EngineActivity
from synthorg_tui.tui.activity.models import ActivityEvent, ListedAgent, NamedMemory
from synthorg_tui.tui.activity.silencing import ask_silence
from synthorg_tui.tui.activity.state import LIMIT, Activity, can_undo, own_memories, skill_of
from synthorg_tui.tui.activity.widgets import AgentList, CallDetail, CallList
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, error_lines, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import Throttle, copy, run_job, toast
from synthorg_tui.tui.memories.lines import choice_lines, memory_line
from synthorg_tui.tui.panes import ACTIVITY, Panes
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord

KEEP_UP_AFTER = 0.4
"""Minimum seconds between two redraws while calls arrive; the first one is shown at once."""
_HINT = "words  -words  agent:  client:  kind:digest  tool:  is:error  is:write"


class ActivityScreen(Pane):
    """The screen with the list of agents, the log of calls, and the selected call in full."""

    CSS_PATH = "activity.tcss"
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
        self.activity = Activity()
        self.why = False
        self._show_memory = show_memory
        self._show_skill = show_skill
        self._throttle = Throttle(self, self._keep_up, KEEP_UP_AFTER)

    def compose(self) -> ComposeResult:
        yield TopBar(self.panes, ACTIVITY)
        with Horizontal(id="activity-body"):
            with Vertical(id="log-side"):
                agents = AgentList(id="seats")
                agents.border_title = "Agents"
                yield agents
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                calls = CallList(self.activity, now=self.now, id="calls")
                calls.border_title = "Calls"
                yield calls
            yield CallDetail(id="call-side")
        yield KeyBar("activity", "app")

    @property
    def log_list(self) -> CallList:
        """The widget that lists the calls."""
        return self.query_one("#calls", CallList)

    @property
    def agent_list(self) -> AgentList:
        """The widget that lists the agents."""
        return self.query_one("#seats", AgentList)

    @property
    def main_list(self) -> LineList:
        """The list of calls, which has the focus at first."""
        return self.log_list

    # Loading

    def attach(self, desk: EngineAdapter) -> None:
        """Take over the open store: read the log, and hear of what comes."""
        desk.activity.listen(self.hear)
        super().attach(desk)

    @property
    def port(self) -> EngineActivity | None:
        """What connected agents do, once the store is open."""
        return self.desk.activity if self.desk is not None else None

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the log."""
        self.activity.loaded, self.activity.rows = None, ()
        super().tell_error(error)

    def reload(self) -> None:
        """Read agents and calls again; the cursor stays on its call if that is still listed."""
        if self.port is None:
            return
        self.await_rows()
        run_job(self, partial(self._load, self.port, self.activity.latest.ask()), group="log")

    async def _load(self, port: EngineActivity, generation: int) -> None:
        activity = self.activity
        try:
            activity.agents = await port.agents()
            calls = await port.calls(
                limit=LIMIT, agent=activity.asked_agent, text=activity.asked_text
            )
        except DomainError as error:
            if generation == activity.latest.generation:
                self.tell_error(error)
            return
        if activity.take(generation, calls):
            self._error = None
            self.draw()

    def hear(self, event: ActivityEvent) -> None:
        """Add the event to the state and redraw shortly after, together with others that follow."""
        if event.call is not None:
            self.activity.add(event.call)
        if event.topic == "changed":
            self.activity.memories.clear()
        if self.is_current:
            self._throttle.ask()

    def _keep_up(self) -> None:
        port = self.port

        async def read() -> None:
            if port is not None:
                self.activity.agents = await port.agents()
                self.activity.arrange()
                self.draw()

        run_job(self, read, group="agents")

    # Drawing

    def draw(self) -> None:
        """Draw agents, log, selected call and header from the state."""
        if not self.is_mounted:
            return
        if self.is_current:
            self.panes.looked()
        activity, zoomed = self.activity, self.has_class("-zoomed")
        self.query_one("#activity-body").styles.layout = "vertical" if self.narrow else "horizontal"
        self.query_one("#log-side").display = not zoomed
        self.query_one("#call-side").display = bool(activity.rows)
        self.set_class(not activity.rows, "-bare")
        is_open = self.port is not None and self.port.is_open
        self.agent_list.placeholder = drawn.no_agents(is_open, self._error is not None)
        self.agent_list.show_agents(activity, now=self.now, most=3 if self.narrow else 8)
        self.log_list.placeholder = self._placeholder()
        self.log_list.show(roomy=not self.narrow)
        self._draw_caption()
        self.draw_filter(activity.filter)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.draw_call()

    @on(LineList.Scrolled, "#calls")
    def _draw_caption(self) -> None:
        newer = self.log_list.newer
        above = f"↑ {newer:,} newer · " if newer else ""
        self.log_list.set_titles(bottom=above + self.activity.caption)

    def _status(self) -> str:
        if self.port is None:
            return self.opening_status
        if not self.port.is_open:
            return "not listening yet"
        writes = sum(call.wrote for call in self.activity.held)
        return counted(writes, "write") if writes else "listening"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(error_lines(drawn.CANNOT_SHOW, self._error))
        if self.port is None or self.activity.loaded is None:
            return [line(("Reading the calls …", "muted"))] if self._slow else []
        return drawn.empty_log(self.activity)

    # The call under the cursor

    @on(LineList.Moved, "#calls")
    def draw_call(self) -> None:
        """Draw the call under the cursor; missing parts are read once the cursor rests on it."""
        call, detail = self.log_list.call, self.query_one(CallDetail)
        has_room = not (self.narrow or self.has_class("-zoomed"))
        detail.show(call, self.activity, now=self.now(), has_room=has_room, wants_why=self.why)
        if call is not None and self.activity.lacks(call):
            self.later(self._read_call)

    def _read_call(self) -> None:
        activity, call, port = self.activity, self.log_list.call, self.port
        if call is None or port is None or not activity.lacks(call):
            return

        async def read() -> None:
            if call.explanation and call.number not in activity.answers:
                activity.answers[call.number] = await port.answer(call)
            if call.wrote:
                activity.memories[call.number] = await port.memories(call)
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
        """Close the first of these that is open: zoom, explanation, entry, filter."""
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

    # Agents

    def _agent(self) -> tuple[ListedAgent, EngineActivity] | None:
        """The agent under the cursor: of the list in focus, or who made the call."""
        port, call, agent = self.port, self.log_list.call, self.agent_list.value
        if port is None:
            toast(self, "The store is not open", severity="warning")
            return None
        in_focus = self.focused is self.agent_list or call is None
        if isinstance(agent, ListedAgent) and in_focus:
            return agent, port
        if call is not None:
            return self.activity.restricted(call.agent_id), port
        toast(self, "There is no agent under the cursor", severity="warning")
        return None

    def action_pause(self) -> None:
        """Pause the selected agent, so that all its calls are refused, or resume it."""
        if target := self._agent():
            agent, port = target

            async def pause() -> str:
                await port.set_paused(agent.agent_id, not agent.paused)
                return drawn.paused_line(agent)

            if agent.paused:
                self.run_change(pause)
            else:
                question = f"Pause {agent.agent_id}?"
                self._ask_restriction(question, agent, "Pause", "Every call is refused", pause)

    def action_read_only(self) -> None:
        """Make the selected agent read-only, so that its writes are refused, or lift that."""
        if target := self._agent():
            agent, port = target

            async def restrict() -> str:
                await port.set_read_only(agent.agent_id, not agent.read_only)
                return drawn.read_only_line(agent)

            if agent.read_only:
                self.run_change(restrict)
            else:
                question = f"Make {agent.agent_id} read-only?"
                note = "Its writes are refused"
                self._ask_restriction(question, agent, "Read-only", note, restrict)

    def _ask_restriction(
        self,
        question: str,
        agent: ListedAgent,
        yes: str,
        note: str,
        act: Callable[[], Awaitable[str]],
    ) -> None:
        """Ask before something is taken from an agent that may be at work."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        action = "activity.pause" if yes == "Pause" else "activity.read_only"
        note = f"{note} until {key_of(action)} lets it go on."
        self.app.push_screen(
            ConfirmDialog(question, [drawn.agent_line(agent, 60, self.now())], yes=yes, note=note),
            lambda sure: self.run_change(act) if sure else None,
        )

    def action_disconnect(self) -> None:
        """Close the selected connection, or all of the agent's, after a confirmation."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        target = self._agent()
        if target is None:
            return
        agent, port = target
        ended = (agent,) if agent.number else self.activity.connections(agent.agent_id)
        if not ended:
            toast(self, f"{agent.agent_id} is not connected", severity="warning")
            return

        async def disconnect() -> str:
            await port.disconnect([connection.number for connection in ended])
            return f"Ended {counted(len(ended), 'connection')} of {agent.agent_id}"

        self.app.push_screen(
            ConfirmDialog(
                f"Disconnect {counted(len(ended), 'client')}?",
                [drawn.agent_line(connection, 60, self.now()) for connection in ended],
                yes="Disconnect",
                note=f"It may come back at once; {key_of('activity.pause')} keeps it out.",
            ),
            lambda yes: self.run_change(disconnect) if yes else None,
        )

    # The call

    def _call(self) -> "tuple[CallRecord, EngineActivity] | None":
        call, port = self.log_list.call, self.port
        if call is None or port is None:
            toast(self, "There is no call under the cursor", severity="warning")
            return None
        return call, port

    def action_undo(self) -> None:
        """Undo what the call wrote, after a confirmation, or redo it if it was undone."""
        target = self._call()
        if target is None:
            return
        call, port = target
        if not call.wrote:
            toast(self, "This call wrote nothing", severity="warning")
            return

        async def ask() -> None:
            named = await port.memories(call)
            if not can_undo(call, named):
                toast(self, "There is nothing of this call left to take back", severity="warning")
            elif any(memory.is_live for memory in named):
                self._ask_undo(call, port, named)
            else:
                self.run_change(lambda: port.undo(call))

        run_job(self, ask, group="undo")

    def _ask_undo(
        self, call: "CallRecord", port: EngineActivity, named: tuple[NamedMemory, ...]
    ) -> None:
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        live = [memory.row for memory in own_memories(call, named) if memory.is_live]
        self.app.push_screen(
            ConfirmDialog(
                f"Take back {memories(len(live))} that {call.agent_id} wrote?",
                [memory_line(row, 60, now=self.now(), marked=False) for row in live],
                yes="Take back",
                note=f"{key_of('activity.undo')} brings it back.",
            ),
            lambda yes: self.run_change(lambda: port.undo(call)) if yes else None,
        )

    def action_silence(self) -> None:
        """Silence the hints about what the call's hint was about, or allow them again."""
        if target := self._call():
            run_job(self, partial(ask_silence, self, *target), group="silence")

    def action_memory(self) -> None:
        """Open a memory of the call in the Memories pane; with several, ask which one.

        Of a call that read a skill it opens the skill in the Skills pane.
        """
        target = self._call()
        if target is None:
            return
        call, port = target
        if name := skill_of(call):
            self._show_skill(name)
            return

        def show(row: object) -> None:
            if isinstance(row, ListedMemory):
                self._show_memory(row)

        async def choose() -> None:
            rows = [memory.row for memory in await port.memories(call) if memory.is_live]
            if not rows:
                toast(self, "This call names no memory in the store", severity="warning")
            elif len(rows) == 1:
                show(rows[0])
            else:
                make = partial(choice_lines, rows, self.now())
                self.app.push_screen(
                    ChoiceDialog("Which memory", "↵ chooses · esc leaves", make), show
                )

        run_job(self, choose, group="memory")

    def copy_chosen(self) -> None:
        """Copy the exact text that the agent received to the clipboard."""
        if target := self._call():
            call, _ = target
            copy(self, call.reply)
            size = counted(drawn.reply_size(call), "byte")
            toast(self, f"Sent {size} to the terminal's clipboard: exactly what the agent read")

    # Looks

    def action_view(self) -> None:
        """Switch between the call and the explanation of its digest."""
        if self.lacks_row("call"):
            return
        self.why = not self.why
        self.draw()

    @on(LineList.Chosen, "#calls")
    def action_zoom(self) -> None:
        """Enlarge the call to the whole screen, or restore the layout."""
        if not self.lacks_row("call"):
            self.toggle_class("-zoomed")
            self.draw()
            shown = self.query_one(CallDetail).shown
            (shown if self.has_class("-zoomed") else self.log_list).focus()

    def action_only(self) -> None:
        """Filter the log to the agent under the cursor, or remove that filter."""
        if target := self._agent():
            wanted, entry = f"agent:{target[0].agent_id}", self.query_one("#query", Input)
            entry.value = "" if entry.value == wanted else wanted
