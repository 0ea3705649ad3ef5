"""The agents screen: every agent with its place, memories, rights and own settings; changing them.

What belongs to the settings is changed in their file: the agent's entry in the person's editor, and
the change of the file is shown before it is written. Rights are changed at once.
"""

from functools import partial
from typing import TYPE_CHECKING, cast

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.editor import edit_text
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.agent_lines import NO_AGENTS, agent_line, detail_lines, heading_line
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.settings.agent_entry import EntryChange
    from synthorg_tui.settings.roster import AgentFacts

_ROLES = {"+": "good", "-": "bad", "@": "accent"}


class AgentsScreen(ManageScreen):
    """Lists the agents; restricts one, edits its entry in the settings, or shows its memories."""

    BINDINGS = bindings("agents")
    CONTEXT = "agents"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "The agent"
    CHOICES = "Agents"

    _agents: "tuple[AgentFacts, ...]" = ()
    _unsaved: "tuple[str, str]" = ("", "")
    """The agent whose entry couldn't be taken, and the text that was written."""

    async def load(self) -> None:
        self._agents = await self.management.agents()
        now = self.now()
        self.choices.placeholder = list(NO_AGENTS)

        def rows(_width: int) -> "list[tuple[object, Line]]":
            if not self._agents:
                return []
            listed = [(agent.id, agent_line(agent, now)) for agent in self._agents]
            return [(None, heading_line()), *listed]

        self.choices.show(rows)
        self._show()

    @property
    def agent(self) -> "AgentFacts | None":
        """The agent under the cursor."""
        name = cast("str | None", self.choices.value)
        return next((agent for agent in self._agents if agent.id == name), None)

    def _show(self) -> None:
        agent = self.agent
        self.say(detail_lines(agent, self.now()) if agent is not None else [])
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show the agent under the cursor."""
        self._show()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to what is known of the agent under the cursor."""
        event.stop()
        self.text.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what acts on an agent only where there is one."""
        if action in ("edit", "pause", "read_only", "memories"):
            return self.agent is not None
        return super().check_action(action, parameters)

    def action_reload(self) -> None:
        """Read the agents again."""
        run_job(self, self.load, group="load", failed=self.fail)

    # Rights

    def action_pause(self) -> None:
        """Pause the agent, after asking, or let it go on."""
        self._restrict("paused", "Pause", "Every call of it is refused until you let it go on")

    def action_read_only(self) -> None:
        """Refuse the agent's writes, after asking, or allow them again."""
        self._restrict("read_only", "Read only", "Its writes are refused until you allow them")

    def _restrict(self, right: str, yes: str, note: str) -> None:
        agent = self.agent
        if agent is None:
            return
        wanted = not getattr(agent, right)

        def answered(sure: bool | None) -> None:
            if sure:
                act = partial(self._change_right, agent.id, right, wanted)
                run_job(self, act, group="change", newest_only=False, failed=self.fail)

        if not wanted:
            answered(True)
            return
        question = f"{yes}: {agent.id}?"
        self.app.push_screen(ConfirmDialog(question, [line((note, "text"))], yes=yes), answered)

    async def _change_right(self, agent_id: str, right: str, wanted: bool) -> None:
        paused, read_only = (wanted, None) if right == "paused" else (None, wanted)
        await self.management.restrict_agent(agent_id, paused=paused, read_only=read_only)
        done = {"paused": ("goes on", "is paused"), "read_only": ("may write", "may only read")}
        toast(self, f"{agent_id} {done[right][wanted]}")
        await self.load()

    # Settings

    def action_edit(self) -> None:
        """Edit the agent's entry in the person's editor, then show what would change."""
        agent = self.agent
        if agent is None:
            return
        try:
            before = self.management.agent_entry(agent.id)
            unsaved = self._unsaved[1] if self._unsaved[0] == agent.id else ""
            text = edit_text(self.app, unsaved or before)
            self._unsaved = (agent.id, text)
            change = self.management.plan_agent(agent.id, text)
        except DomainError as error:
            self.fail(error)
            if self._unsaved[0] == agent.id:
                again = f"Nothing was changed; {key_of('agents.edit')} goes on where you were"
                toast(self, again, severity="warning")
            return
        self._unsaved = ("", "")
        if not change.is_needed:
            toast(self, "Nothing was changed")
            return
        self._ask(agent.id, change)

    def _ask(self, agent_id: str, change: "EntryChange") -> None:
        diff = [line((row, _ROLES.get(row[:1], "muted"))) for row in change.diff]
        question = f"Change the settings of {agent_id} in {change.path}?"

        def answered(sure: bool | None) -> None:
            if sure:
                act = partial(self._write, change)
                run_job(self, act, group="change", newest_only=False, failed=self.fail)

        self.app.push_screen(ConfirmDialog(question, diff, yes="Write"), answered)

    async def _write(self, change: "EntryChange") -> None:
        self.management.write_agent(change)
        toast(self, f"Written to {change.path}; it holds from the next start on")
        await self.load()

    def action_memories(self) -> None:
        """Go to the agent's memories in their pane."""
        agent = self.agent
        if agent is not None:
            self.dismiss()
            self.app.maker.show_agent(agent.id)  # type: ignore[attr-defined]
