"""The screen that connects coding agents to the store, and disconnects them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.lines import (
    client_line,
    connected_lines,
    disconnected_lines,
    plan_lines,
)
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.tui.manage.adapter import ClientState, PlannedConnection


class ConnectScreen(ManageScreen):
    """Lists the agents; shows exactly what would change, and writes it once a person says yes."""

    BINDINGS = bindings("connecting")
    CONTEXT = "connecting"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "What would change"
    CHOICES = "Agents"

    plan: "PlannedConnection | None" = None
    hooks = False
    other_scope = False

    async def load(self) -> None:
        states = await self.management.connections()
        self.choices.show(lambda _width: [(state, client_line(state)) for state in states])
        if self.plan is None:
            self._explain()

    def _explain(self) -> None:
        where = "the scope that isn't usual for it" if self.other_scope else "its usual scope"
        self.say(
            [
                line(("enter", "accent"), (" shows what connecting would change, ", "text")),
                line(("X", "accent"), ("     what disconnecting would change.", "text")),
                Line(),
                line(("s", "accent"), (f"     scope: {where} (for you, or this project)", "text")),
                line(
                    ("h", "accent"),
                    (f"     hooks: {'yes' if self.hooks else 'no'}", "text"),
                    (" (Claude Code: digest with prompts, hints with calls, import)", "muted"),
                ),
                Line(),
                line(("Nothing is written before you say so.", "muted")),
            ]
        )

    @property
    def state(self) -> "ClientState | None":
        """The agent under the cursor."""
        return cast("ClientState | None", self.choices.value)

    def on_line_list_moved(self) -> None:
        """Forget a plan that was made for another agent."""
        if self.plan is not None:
            self._drop()

    def _drop(self) -> None:
        self.plan = None
        self.refresh_bindings()
        self._explain()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Show what connecting the agent would change."""
        event.stop()
        self._show(self._connection)

    def action_scope(self) -> None:
        """Connect for all projects of the person, or for this one."""
        self.other_scope = not self.other_scope
        self._drop()

    def action_hooks(self) -> None:
        """Connect Claude Code with its hooks or without."""
        self.hooks = not self.hooks
        self._drop()

    def action_disconnect(self) -> None:
        """Show what disconnecting the agent would change."""
        self._show(lambda state: self.management.plan_removal(state.client))

    def _connection(self, state: "ClientState") -> "Awaitable[PlannedConnection]":
        from synthorg_tui.connect.clients import ConfigScope

        client, scope = state.client, state.client.usual
        if self.other_scope:
            scope = next(each for each in ConfigScope if each is not scope)
        return self.management.plan(client, scope, self.hooks and client.has_hooks)

    def _show(self, planned: "Callable[[ClientState], Awaitable[PlannedConnection]]") -> None:
        if self.state is not None and not self.doing:
            run_job(self, partial(self._plan, planned, self.state), group="plan", failed=self.fail)

    async def _plan(
        self,
        planned: "Callable[[ClientState], Awaitable[PlannedConnection]]",
        state: "ClientState",
    ) -> None:
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent()
        plan = await planned(state)
        self.plan = plan if plan.is_needed or not plan.removes else None
        self.say(plan_lines(plan))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to write only what is shown."""
        if action == "approve":
            return self.plan is not None
        return super().check_action(action, parameters)

    def action_approve(self) -> None:
        """Write exactly what is shown."""
        plan = self.plan
        if plan is None:
            toast(self, "enter or d shows first what would change", severity="warning")
            return
        self.plan = None
        self.begin("Writing", partial(self._write, plan))

    async def _write(self, plan: "PlannedConnection") -> None:
        if plan.removes:
            cleared = await self.management.disconnect(plan)
            lines = disconnected_lines(plan, sum(map(len, cleared.values())))
        else:
            lines = connected_lines(plan, await self.management.connect(plan))
        await self.load()
        self.say(lines)
