"""The Activity pane: what a person can do about agents, and with what they did."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from textual import on

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.activity_ports import ActivityDesk, Call, Kept, Seat
from synthorg_tui.tui.jobs import copy, say, start
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import MemoryRow
from synthorg_tui.tui.screens.activity_view import ActivityView
from synthorg_tui.tui.view_models.activity import arguments_of
from synthorg_tui.tui.view_models.activity_lines import can_undo, seat_line
from synthorg_tui.tui.view_models.clockwork import counted, memories
from synthorg_tui.tui.view_models.rows import memory_line
from synthorg_tui.tui.widgets.line_list import LineList


class ActivityScreen(ActivityView):
    """Pauses, restricts and disconnects agents; takes back what they wrote; goes to it."""

    BINDINGS = bindings("activity")
    HELP_CONTEXTS = ("activity", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        show_memory: Callable[[MemoryRow], None],
        show_skill: Callable[[str], None],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self._show_memory = show_memory
        self._show_skill = show_skill

    def _do(self, act: Callable[[], Awaitable[str]]) -> None:
        """Run a change; tell what it did, then look at the agents again."""

        async def run() -> None:
            say(self, await act())
            self._kept.clear()
            self.reload()

        start(self, run, group="change", newest_only=False)

    # Agents

    def _agent(self) -> tuple[Seat, ActivityDesk] | None:
        """The agent under the cursor: of the list in focus, or who made the call."""
        port, call, seat = self.port, self.log_list.call, self.seat_list.value
        if port is None:
            say(self, "The store is not open", severity="warning")
            return None
        if isinstance(seat, Seat) and (self.focused is self.seat_list or call is None):
            return seat, port
        if call is not None:
            return self.activity.restricted(call.agent_id), port
        say(self, "There is no agent under the cursor", severity="warning")
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
        from synthorg_tui.tui.screens.dialogs import ConfirmDialog

        found = self._agent()
        if found is None:
            return
        seat, port = found
        seats = (seat,) if seat.number else self.activity.connections(seat.agent_id)
        if not seats:
            say(self, f"{seat.agent_id} is not connected", severity="warning")
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
            say(self, "There is no call under the cursor", severity="warning")
            return None
        return call, port

    def action_undo(self) -> None:
        """Take back what the call wrote, after asking, or bring it back."""
        found = self._call()
        if found is None:
            return
        call, port = found
        if not call.wrote:
            say(self, "This call wrote nothing", severity="warning")
            return

        async def look() -> None:
            kept = await port.memories(call)
            if not can_undo(call, kept):
                say(self, "There is nothing of this call left to take back", severity="warning")
            elif any(each.is_live for each in kept):
                self._ask_undo(call, port, kept)
            else:
                self._do(lambda: port.undo(call))

        start(self, look, group="undo")

    def _ask_undo(self, call: Call, port: ActivityDesk, kept: tuple[Kept, ...]) -> None:
        from synthorg_tui.tui.screens.dialogs import ConfirmDialog

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
        from synthorg_tui.tui.screens.activity_dialogs import MemoryDialog

        found = self._call()
        if found is None:
            return
        call, port = found

        def chosen(row: MemoryRow | None) -> None:
            if row is not None:
                self._show_memory(row)

        async def look() -> None:
            rows = [each.row for each in await port.memories(call) if each.is_live]
            if not rows:
                say(self, "This call names no memory that is in the store", severity="warning")
            elif len(rows) == 1:
                chosen(rows[0])
            else:
                self.app.push_screen(MemoryDialog(rows, now=self.now), chosen)

        start(self, look, group="memory")

    def action_skill(self) -> None:
        """Show the skill that was read in the Skills pane."""
        if found := self._call():
            call, _ = found
            name = (arguments_of(call) or {}).get("name")
            if "skill" in call.name and isinstance(name, str) and name:
                self._show_skill(name)
            else:
                say(self, "This call read no skill", severity="warning")

    def action_copy(self) -> None:
        """Copy exactly what the agent was told."""
        if found := self._call():
            call, _ = found
            copy(self, call.reply)
            size = len(call.reply.encode("utf-8", "replace"))
            say(self, f"Copied {counted(size, 'byte')}: exactly what the agent read")

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
