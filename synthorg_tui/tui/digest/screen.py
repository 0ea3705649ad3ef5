"""The Digest pane: what can be done with what an agent would be given.

Choosing the agent a digest is for.
"""

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings, is_text
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.base.lines import Line, beside, line, one_line
from synthorg_tui.tui.digest.ports import DigestDesk, SavedScenario, Weighed
from synthorg_tui.tui.digest.state import read_budget
from synthorg_tui.tui.digest.view import DigestView
from synthorg_tui.tui.jobs import copy, toast
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import Change
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList


class DigestScreen(DigestView):
    """Chooses agent, task, budget and options; pins, excludes, edits, copies, saves."""

    BINDINGS = bindings("digest")
    HELP_CONTEXTS = ("digest", "knobs", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        show_memory: Callable[[ListedMemory], None],
    ) -> None:
        super().__init__(panes=panes)
        self._show_memory = show_memory

    def _ready(self) -> DigestDesk | None:
        if self.digests is None:
            toast(self, "The store is not open", severity="warning")
        return self.digests

    def _settled(self) -> bool:
        """Whether the answer shown is the answer to the question shown; says so when not."""
        if self.digest.answer is None or self.digest.waiting:
            toast(self, "There is no answer to this question yet", severity="warning")
            return False
        return True

    # The question

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is being typed, the keys that open an entry are text."""
        return not is_text(action, self.focused) and super().check_action(action, parameters)

    def action_task(self) -> None:
        """Write what the agent is about to do."""
        entry = self.query_one("#task", Input)
        entry.cursor_position = len(entry.value)
        self.set_focus(entry)

    def action_agent(self) -> None:
        """Choose whose memories."""
        if self._ready() is None:
            return
        if self.agents is None:
            toast(self, "The agents are still being read", severity="warning")
            return

        def chosen(agent_id: str | None) -> None:
            if agent_id is not None:
                self.digest.agent_id = agent_id
                self.ask_soon()

        self.app.push_screen(AgentDialog(self.agents, self.digest.agent_id), chosen)

    def action_budget(self) -> None:
        """Set how many tokens the memories may take."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        hint = "such as 800 or 2k"

        async def take(text: str) -> str:
            budget = read_budget(text)
            if budget is None:
                raise DomainError(f"{text} is no number of tokens.", remedy=f"Write one {hint}.")
            self.digest.budget = budget
            self.ask_soon()
            return text

        self.app.push_screen(
            PromptDialog("Token budget", str(self.digest.budget), hint=hint, save=take)
        )

    def action_more(self) -> None:
        """Raise the budget."""
        self.digest.step_budget(1)
        self.ask_soon()

    def action_less(self) -> None:
        """Lower the budget."""
        self.digest.step_budget(-1)
        self.ask_soon()

    def action_options(self) -> None:
        """Show or hide the options."""
        self.toggle_class("-knobs")
        self.draw()
        (self.query_one("#knobs") if self.has_class("-knobs") else self.candidates).focus()

    def action_reset(self) -> None:
        """Options as configured, nothing pinned, nothing excluded."""
        if self.digest.is_changed:
            self.digest.reset()
            self.ask_soon()
            toast(self, "Options are as configured; nothing is pinned or excluded")

    # Candidates

    def _candidate(self) -> Weighed | None:
        each = self.candidates.candidate
        if each is None:
            toast(self, "There is no candidate under the cursor", severity="warning")
        return each

    def action_pin(self) -> None:
        """Put the memory in whatever its score, or let it go again."""
        if each := self._candidate():
            self.digest.toggle_pin(each.row.id)
            self.ask_soon()

    def action_exclude(self) -> None:
        """Keep the memory out, or let it in again."""
        if each := self._candidate():
            self.digest.toggle_exclude(each.row.id)
            self.ask_soon()

    @on(LineList.Chosen, "#candidates")
    def action_memory(self) -> None:
        """Show the memory in the Memories pane."""
        if each := self._candidate():
            self._show_memory(each.row)

    def action_edit(self) -> None:
        """Edit the memory in a form; the text is compared with the one before."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        each, desk = self._candidate(), self.desk
        if each is None or desk is None:
            return
        row = each.row

        async def edit(written: Written) -> str:
            change = written.change(row)
            if change == Change():
                return ""
            await desk.edit(row.id, change)
            return "Saved · d shows what it changes"

        def saved(said: str | None) -> None:
            if said:
                toast(self, said)
                self.ask()

        self.app.push_screen(MemoryForm(row, (), edit), saved)

    # The text

    def action_diff(self) -> None:
        """Show the changes since the question was first answered, or the text again."""
        self.diffing = not self.diffing
        self.draw()

    def action_compare(self) -> None:
        """Show later changes against the present text."""
        if self._settled():
            self.digest.compare_from_here()
            self.draw()
            toast(self, "Changes are shown from here on")

    def action_copy(self) -> None:
        """Copy exactly what the agent would read."""
        answer = self.digest.answer
        if self._settled() and answer is not None:
            copy(self, answer.text)
            size = len(answer.text.encode("utf-8", "replace"))
            toast(self, f"Copied {counted(size, 'byte')}: exactly what the agent reads")

    # Scenarios

    def action_save(self) -> None:
        """Keep the question as a scenario, with what it includes now."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        ask, digests = self.digest.ask, self._ready()
        if ask is None or digests is None or not self._settled():
            return

        async def save(name: str) -> str:
            saved = await digests.save_scenario(name, ask)
            expected = counted(len(saved.expected), "memory", "memories")
            return f"Saved {name}: {expected} expected · S runs all"

        self.app.push_screen(
            PromptDialog(
                "Save as scenario",
                " ".join(ask.query.split()[:5]),
                hint="the same name replaces",
                save=save,
            ),
            lambda said: toast(self, said) if said else None,
        )

    def action_scenarios(self) -> None:
        """List the scenarios, and ask all of them again."""
        from synthorg_tui.tui.digest.scenarios import ScenariosScreen

        digests = self._ready()
        if digests is None:
            return

        def chosen(scenario: SavedScenario | None) -> None:
            if scenario is not None:
                self.digest.load(scenario)
                self.show_question()
                self.ask()

        self.app.push_screen(ScenariosScreen(digests), chosen)

    # Elsewhere

    def action_zoom(self) -> None:
        """Give the list or the text the whole room, and back."""
        zoomed = self.has_class("-zoom-text") or self.has_class("-zoom-list")
        text = self.query_one("#digest-text")
        self.set_class(not zoomed and self.focused is text, "-zoom-text")
        self.set_class(not zoomed and self.focused is not text, "-zoom-list")
        self.draw()

    def action_reload(self) -> None:
        """Ask again, or try to open the store again."""
        if self.digests is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()

    def action_back(self) -> None:
        """Close the options, the zoom, then the changes."""
        if self.has_class("-knobs"):
            self.remove_class("-knobs")
        elif self.has_class("-zoom-text") or self.has_class("-zoom-list"):
            self.remove_class("-zoom-text", "-zoom-list")
        else:
            self.diffing = False
        self.draw()
        self.candidates.focus()


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
