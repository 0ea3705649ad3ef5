"""Choosing the agent a digest is for."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.view_models.clockwork import memories
from synthorg_tui.tui.view_models.ink import Line, beside, line, one_line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList


class AgentDialog(ModalScreen[str | None]):
    """All agents by name with how much each remembers; gives the chosen one."""

    BINDINGS = bindings("choose")

    def __init__(self, agents: Sequence[tuple[str, int]], chosen: str) -> None:
        super().__init__()
        self._agents = agents
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="dialog", id="agents-box") as box:
            box.border_title = "As which agent"
            box.border_subtitle = "↵ chooses · esc leaves"
            yield FixedList(id="agents")

    def on_mount(self) -> None:
        """The cursor starts at the agent in use."""
        agents = self.query_one("#agents", FixedList)
        agents.placeholder = [line(("No agent has memories yet.", "muted"))]
        agents.styles.height = min(max(len(self._agents), 1), 16)
        agents.show(self._lines)
        ids = [agent_id for agent_id, _ in self._agents]
        if self._chosen in ids:
            agents.move_to(ids.index(self._chosen))
        agents.focus()

    def _lines(self, width: int) -> list[tuple[object, Line]]:
        made: list[tuple[object, Line]] = []
        for agent_id, count in self._agents:
            left = line(("▸ " if agent_id == self._chosen else "  ", "accent"))
            left.add(one_line(agent_id), "text")
            made.append((agent_id, beside(left, line((memories(count), "muted")), width)))
        return made

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """The agent under the cursor."""
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, str):
            self.dismiss(value)

    def action_close(self) -> None:
        """No other agent."""
        self.dismiss(None)
