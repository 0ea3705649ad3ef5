"""The Digest pane: shows what an agent would be given for a task, under changed settings too.

The screen starts, cancels and passes on requests. The question and its newest answer are in
``state``, the rendering in ``lines`` and ``notices``, the layout in ``widgets``.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.digest import notices
from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.digest.lines import is_removed
from synthorg_tui.tui.digest.state import Digest, Pacing
from synthorg_tui.tui.digest.widgets import (
    AgentText,
    CandidateList,
    DigestBody,
    OptionsList,
    QuestionBlock,
)
from synthorg_tui.tui.engine_adapter import Change
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.memory.retrieval.explanation import Candidate
    from synthorg_tui.memory.scenarios import Scenario


class DigestScreen(Pane):
    """The screen with the question, the candidates, the reasons for each, and the text."""

    BINDINGS = bindings("digest")
    CSS_PATH = "digest.tcss"
    HELP_CONTEXTS = ("digest", "knobs", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        show_memory: Callable[[ListedMemory], None],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self.digest = Digest()
        self.pacing = Pacing()
        self.agents: tuple[tuple[str, int], ...] | None = None
        self.diffing = False
        self._show_memory = show_memory

    def compose(self) -> ComposeResult:
        yield TopBar(self.panes, "Digest")
        yield QuestionBlock(id="question-block")
        yield DigestBody(id="digest-body")
        yield KeyBar("digest", "app")

    @property
    def body(self) -> DigestBody:
        """The widget with options, candidates and text."""
        return self.query_one(DigestBody)

    @property
    def candidates(self) -> CandidateList:
        """The widget that lists the candidates."""
        return self.body.candidates

    @property
    def main_list(self) -> LineList:
        """The list of candidates, which has the focus at first."""
        return self.candidates

    # Asking

    @property
    def digests(self) -> EngineDigests | None:
        """What agents would be given, once the store is open."""
        return self.desk.digests if self.desk is not None else None

    def reload(self) -> None:
        """Read agents and options again, and request the digest again."""
        if self.digests is not None:
            run_job(self, partial(self._load, self.digests), group="agents")

    async def _load(self, digests: EngineDigests) -> None:
        try:
            agents = await digests.agents()
            self.digest.suggest_budget(digests.budget())
            if not self.digest.agent_id and agents:
                self.digest.agent_id = max(agents, key=lambda agent: agent[1])[0]
            configured = digests.settings(self.digest.agent_id)
            self.digest.options.configure(configured, digests.strategies())
            if self.digest.agent_id:
                places, usual, told = await digests.places(self.digest.agent_id)
                self.digest.options.place(places, usual)
                self.digest.elsewhere = told
        except DomainError as error:
            self.tell_error(error)
            return
        self.agents = agents
        self.ask()

    def ask_soon(self) -> None:
        """Cancel the running request and start one for the present question.

        While answers are quick it starts at once; otherwise, after a short time without key
        presses.
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
        """Request the digest for the present question."""
        self._stop_waiting()
        generation, digests = self.digest.turn(), self.digests
        self._slow = False
        if digests is None or not self.digest.is_complete:
            self._error = None
            self.draw()
            return
        self.pacing.asked(monotonic())
        self.set_timer(self.LOADING_AFTER, partial(self._show_asking, generation))
        run_job(self, partial(self._fetch, digests, generation), group="digest")

    async def _fetch(self, digests: EngineDigests, generation: int) -> None:
        question = self.digest.question
        if question is None:
            return
        try:
            injection = await digests.digest(question)
        except DomainError as error:
            if self.digest.fail(generation):
                self.pacing.answered(monotonic())
                self.tell_error(error)
            return
        tokens = digests.count_tokens(injection.explanation.text)
        if self.digest.take(generation, injection, tokens):
            self.pacing.answered(monotonic())
            self._error = None
            self.draw()

    def _show_asking(self, generation: int) -> None:
        """Say that it takes a while, unless it is over or something newer is under way."""
        if self.digest.waiting and generation == self.digest.latest.generation:
            self._show_loading()

    @on(Input.Changed, "#task")
    def _typed(self, event: Input.Changed) -> None:
        self.digest.query = event.value
        self.ask_soon()

    @on(Input.Submitted, "#task")
    def _task_entered(self) -> None:
        self.candidates.focus()

    @on(OptionsList.Turned, "#options")
    def _turned(self, event: OptionsList.Turned) -> None:
        name = self.body.options.value_at(event.index)
        if isinstance(name, str):
            if event.by:
                self.digest.options.turn(name, event.by)
            else:
                self.digest.options.reset(name)
            self.ask_soon()

    # Drawing

    def draw(self) -> None:
        """Draw question, candidates, text and header from the state."""
        if not self.is_mounted:
            return
        has_failed = self._error is not None
        self.query_one(QuestionBlock).show(self.digest, has_failed=has_failed)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.body.show(
            self.digest,
            diffing=self.diffing,
            placeholder=self._placeholder(),
            has_failed=has_failed,
        )

    def _status(self) -> str:
        if self.digests is None:
            return self.opening_status
        return notices.status(self.digest, len(self.agents or ()), is_slow=self._slow)

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(notices.failure_lines(self._error))
        if self.digests is None or self.agents is None:
            return [line(("Opening the store …", "muted"))] if self._slow else []
        if self.digest.waiting:
            return [line(("Asking …", "muted"))] if self._slow else []
        return notices.empty_lines(self.digest, len(self.agents))

    # The question

    def _ready(self) -> EngineDigests | None:
        if self.digests is None:
            toast(self, "The store is not open", severity="warning")
        return self.digests

    def _is_answered(self) -> bool:
        """Whether the answer shown is the answer to the question shown; says so when not."""
        if self.digest.answer is None or self.digest.waiting:
            toast(self, "There is no answer to this question yet", severity="warning")
            return False
        return True

    def action_task(self) -> None:
        """Focus the input for the task that the agent would be about to do."""
        entry = self.query_one("#task", Input)
        entry.cursor_position = len(entry.value)
        self.set_focus(entry)

    def action_agent(self) -> None:
        """Choose the agent whose memories are used."""
        from synthorg_tui.tui.digest.dialogs import AgentDialog

        if self._ready() is None:
            return
        if self.agents is None:
            toast(self, "The agents are still being read", severity="warning")
            return

        def chosen(agent_id: object) -> None:
            if isinstance(agent_id, str):
                self.digest.agent_id = agent_id
                self.reload()

        self.app.push_screen(AgentDialog(self.agents, self.digest.agent_id), chosen)

    def action_budget(self) -> None:
        """Ask for the number of tokens that the memories may take."""
        from synthorg_tui.tui.digest.dialogs import budget_dialog

        def take(budget: int) -> None:
            self.digest.choose_budget(budget)
            self.ask_soon()

        self.app.push_screen(budget_dialog(self.digest.budget, take))

    def action_more(self) -> None:
        """Increase the token budget."""
        self.digest.step_budget(1)
        self.ask_soon()

    def action_less(self) -> None:
        """Decrease the token budget."""
        self.digest.step_budget(-1)
        self.ask_soon()

    def action_options(self) -> None:
        """Show or hide the options."""
        self.body.toggle_options()
        self.draw()
        self.body.focus_part()

    def action_reset(self) -> None:
        """Reset the options to the configured values, and remove all pins and exclusions."""
        if self.digest.is_changed:
            self.digest.reset()
            self.ask_soon()
            toast(self, "Options and budget are as configured; nothing is pinned or excluded")

    # Candidates

    def _candidate(self) -> "Candidate | None":
        """The candidate under the cursor; says why when there is none to act on."""
        candidate = self.candidates.candidate
        if candidate is None:
            toast(self, "There is no candidate under the cursor", severity="warning")
        elif is_removed(candidate):
            lists = f"{key_of('memories.deleted')} in Memories lists it"
            toast(self, f"It is no longer given · {lists}, to restore it")
            return None
        return candidate

    def action_pin(self) -> None:
        """Pin the memory, so that it is in the digest whatever its score, or unpin it."""
        if candidate := self._candidate():
            self.candidates.stay()
            self.digest.toggle_pin(candidate.entry.id)
            self.ask_soon()

    def action_exclude(self) -> None:
        """Exclude the memory from the digest, or include it again."""
        if candidate := self._candidate():
            self.candidates.stay()
            self.digest.toggle_exclude(candidate.entry.id)
            self.ask_soon()

    @on(LineList.Chosen, "#candidates")
    def action_memory(self) -> None:
        """Open the memory in the Memories pane."""
        if candidate := self._candidate():
            self._show_memory(candidate.entry)

    def action_group(self) -> None:
        """List the memories that this line stands for."""
        candidate, digests = self._candidate(), self._ready()
        if candidate is None or digests is None:
            return
        if not candidate.members:
            toast(self, "It stands for itself alone")
            return
        from synthorg_tui.tui.digest.dialogs import list_members

        work = partial(list_members, self, digests, candidate, self._show_memory)
        run_job(self, work, group="members")

    def action_source(self) -> None:
        """Show the transcript lines that the memory came from."""
        from synthorg_tui.tui.sessions.transcript import open_transcript

        candidate, desk = self._candidate(), self.desk
        if candidate is None or desk is None:
            return
        if source := candidate.entry.source:
            open_transcript(self, desk.sessions, source, self.now)
        else:
            toast(self, "This memory names no source: it was written by hand", severity="warning")

    def action_edit(self) -> None:
        """Edit the memory in a form; the digest's changes are then shown."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        candidate, desk = self._candidate(), self.desk
        if candidate is None or desk is None:
            return
        row = candidate.entry

        async def edit(written: Written) -> str:
            change = written.change(row)
            if change == Change():
                return ""
            await desk.edit(row.id, change)
            return f"Saved · {key_of('digest.diff')} shows what it changes"

        def saved(message: str | None) -> None:
            if message:
                toast(self, message)
                self.ask()

        self.app.push_screen(MemoryForm(row, (), edit), saved)

    # The text

    def action_diff(self) -> None:
        """Switch between the text and its changes since the question was first answered."""
        if not (self.diffing or self._is_answered()):
            return
        self.diffing = not self.diffing
        self.draw()
        if self.diffing:
            self.call_after_refresh(self.query_one(AgentText).next_change)

    def action_next_change(self, by: int = 1) -> None:
        """Show the changes of the text, and go to the next one or one before."""
        if not self.diffing:
            self.action_diff()
        elif not self.query_one(AgentText).next_change(by):
            toast(self, "Nothing changed in what the agent reads")

    def action_previous_change(self) -> None:
        """Go to the change before."""
        self.action_next_change(-1)

    def action_compare(self) -> None:
        """Use the present text as the one that later changes are compared with."""
        if self._is_answered():
            self.digest.compare_from_here()
            self.draw()
            toast(self, "Changes are shown from here on")

    def copy_chosen(self) -> None:
        """Copy the exact text the agent would read to the clipboard."""
        answer = self.digest.answer
        if self._is_answered() and answer is not None:
            copy(self, answer.text)
            size = len(answer.text.encode("utf-8", "replace"))
            sent = f"Sent {counted(size, 'byte')} to the terminal's clipboard"
            toast(self, f"{sent}: exactly what the agent reads")

    # Scenarios

    def action_save(self) -> None:
        """Save the question as a scenario with the memories its digest has now."""
        from synthorg_tui.tui.digest.dialogs import scenario_dialog

        digests, question = self._ready(), self.digest.question
        if digests is not None and self._is_answered() and question is not None:
            self.app.push_screen(
                scenario_dialog(digests, question),
                lambda message: toast(self, message) if message else None,
            )

    def action_scenarios(self) -> None:
        """Open the list of scenarios and run all of them."""
        from synthorg_tui.tui.digest.scenarios import ScenariosScreen

        digests = self._ready()
        if digests is None:
            return

        def chosen(scenario: "Scenario | None") -> None:
            if scenario is not None:
                self.digest.load(scenario)
                self.query_one(QuestionBlock).put(self.digest.query)
                self.ask()

        self.app.push_screen(ScenariosScreen(digests), chosen)

    # Elsewhere

    def action_zoom(self) -> None:
        """Enlarge the list or the text to the whole screen, or restore the layout."""
        self.body.toggle_zoom()
        self.draw()

    def action_back(self) -> None:
        """Close the first of these that is open: options, zoom, changes."""
        if not self.body.close_one():
            self.diffing = False
        self.draw()
        self.candidates.focus()
