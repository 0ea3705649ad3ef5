"""The Runs screen: the runs of agents here beside the steps of the one under the cursor, live.

What changes is told by the engine; nothing is asked again and again. Of a run's steps only the
pages near the view are read, and its end is followed until the person goes elsewhere.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.runtime.models import AgentRun, RunStatus, RunStep, StepKind
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import Line, line, one_line, plain
from synthorg_tui.tui.base.pane import ResponsiveScreen
from synthorg_tui.tui.jobs import Throttle, copy, run_job, toast
from synthorg_tui.tui.manage.lines import failure_lines
from synthorg_tui.tui.runs import lines as drawn
from synthorg_tui.tui.runs.adapter import RunDesk
from synthorg_tui.tui.runs.state import PAGE, StepPages, can_go_on, is_over
from synthorg_tui.tui.runs.widgets import RunList, StepList
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.tui.making import PaneMaker
    from synthorg_tui.tui.manage.adapter import StoreManagement

RUNS_AT_ONCE: Final = 100
"""Runs that are listed at first; at the end of the list as many more are read."""
STEPS_AGAIN_AFTER: Final = 0.25
"""Least seconds between two reads of the steps of a run that changes all the time."""
LIST_AGAIN_AFTER: Final = 1.0
"""Least seconds between two reads of the list: what a run used is added up over all its steps."""
TICK: Final = 1.0
"""Seconds between two drawings of how long runs work already."""
_ON_RUN: Final = ("read", "copy", "view", "zoom")


class RunsScreen(ResponsiveScreen):
    """Lists the runs; starts, stops and resumes them. They go on when the screen is left."""

    CSS_PATH = "runs.tcss"
    BINDINGS = bindings("runs")
    HELP_CONTEXTS = ("runs", "list", "view", "app")

    def __init__(self, management: "StoreManagement", now: Callable[[], datetime]) -> None:
        super().__init__()
        self.desk: RunDesk = management.runs
        self.now = now
        self._most = RUNS_AT_ONCE
        self._pages = StepPages()
        self._given: dict[str, ListedMemory] = {}
        self._changes = ""
        """What the run changed, while that is shown in place of the step."""
        self._begun = ""
        """The run that was started here, until it is listed."""
        self._soon = Throttle(self, self._look, LIST_AGAIN_AFTER)
        self._steps_soon = Throttle(self, self._look_at_steps, STEPS_AGAIN_AFTER)
        self._unwatch: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        runs = RunList(now=self.now, id="runs")
        runs.border_title = "Runs"
        runs.placeholder = [line(("Looking …", "muted"))]
        yield runs
        with Vertical(id="run"):
            yield LineBar(id="run-head")
            steps = StepList(id="steps")
            steps.border_title = "Steps"
            yield steps
            text = LineView(id="text")
            text.border_title = "The step"
            yield text
        yield KeyBar("runs", "app")

    def on_mount(self) -> None:
        self.runs.focus()
        self.set_class(True, "-bare")
        try:
            self._unwatch = self.desk.watch(self._heard)
        except DomainError as error:
            self.fail(error)
            return
        self.set_interval(TICK, self._tick)
        self._look()

    def on_unmount(self) -> None:
        self._unwatch()

    def on_screen_resume(self) -> None:
        """Read again what changed while another screen covered this one."""
        if self.runs.row_count:
            self._soon.ask()

    @property
    def runs(self) -> RunList:
        """The list of runs."""
        return self.query_one("#runs", RunList)

    @property
    def steps(self) -> StepList:
        """The list of the steps of the run under the cursor."""
        return self.query_one("#steps", StepList)

    @property
    def text(self) -> LineView:
        """The step under the cursor in full."""
        return self.query_one("#text", LineView)

    @property
    def run_shown(self) -> AgentRun | None:
        """The run under the cursor."""
        return self.runs.run

    # Reading

    def _heard(self, run_id: str) -> None:
        """A run changed."""
        self._soon.ask()
        if self.run_shown is not None and run_id == self.run_shown.id:
            self._steps_soon.ask()

    def _look_at_steps(self) -> None:
        run_job(self, self._load_steps, group="steps", failed=self.fail)

    def _look(self) -> None:
        run_job(self, self._load, group="runs", failed=self.fail)

    async def _load(self) -> None:
        runs = await self.desk.list(self._most)
        self.set_class(not runs, "-bare")
        self.runs.placeholder = drawn.no_runs()
        self.runs.show(runs, follow=self._begun)
        if any(run.id == self._begun for run in runs):
            self._begun = ""
        working = sum(run.status is RunStatus.RUNNING for run in runs)
        waiting = sum(run.status is RunStatus.PARKED for run in runs)
        counts = ((working, "running"), (waiting, "waits for you"))
        self.runs.set_titles(bottom=" · ".join(f"{n} {what}" for n, what in counts if n))
        await self._load_steps()

    async def _load_steps(self) -> None:
        """Read what is new of the run under the cursor, and what is in view of it."""
        run = self.run_shown
        if run is None:
            self._draw()
            return
        if run.id != self._pages.run_id:
            self._pages = StepPages(run.id)
        pages = self._pages
        pages.waits_for = run.item_id if run.status is RunStatus.PARKED else ""
        end = pages.end
        pages.take(end, await self.desk.steps(run.id, after=end, limit=PAGE))
        while pages is self._pages and (after := self._missing(pages)) is not None:
            found = await self.desk.steps(run.id, after=after, limit=PAGE)
            pages.take(after, found)
            if not found.steps:
                break
        if pages is self._pages:
            self._draw()

    def _missing(self, pages: StepPages) -> int | None:
        """What is to be read for the rows in view, and at the end while that is followed."""
        first, last = self.steps.visible_rows
        if pages.follows:
            first, last = pages.last - (last - first) - 1, pages.last - 1
        return pages.wanted(first, last)

    def fail(self, error: DomainError) -> None:
        """Show an error: in place of the list while there is none, else as the step's text."""
        if not self.runs.row_count:
            self.runs.placeholder = failure_lines(error)
            self.runs.changed()
            return
        self.text.show(failure_lines(error))

    # Drawing

    def _draw(self) -> None:
        run = self.run_shown
        self._draw_head()
        pages = self._pages
        if run is None or pages.run_id != run.id:
            pages = StepPages()
        self.steps.placeholder = drawn.about_lines(run, self.now()) if run is not None else []
        self.steps.show(pages)
        follows = run is not None and not is_over(run) and pages.follows
        below = pages.last - 1 - self.steps.cursor
        told = "follows the end" if follows else f"{below:,} below" if below > 0 else ""
        self.steps.set_titles(top=f"Steps · {pages.last:,}" if pages.last else "Steps", bottom=told)
        self._draw_step()
        self.refresh_bindings()

    def _draw_head(self) -> None:
        self.query_one("#run-head", LineBar).show(*drawn.head_lines(self.run_shown, self.now()))

    def _draw_step(self) -> None:
        step, run = self.steps.step, self.run_shown
        title = "What it changed" if self._changes else "The step"
        self.text.set_titles(top=title)
        if self._changes:
            shown = drawn.diff_lines(self._changes)
        elif step is None and run is not None:
            shown = drawn.about_lines(run, self.now())
        else:
            waits = step is not None and self._pages.waits_with(step)
            shown = drawn.detail_lines(step, self._given, self.now(), waits=waits)
        if list(self.text.lines) != shown:
            self.text.show(shown)
        if step is not None and any(each not in self._given for each in step.memory_ids):
            run_job(self, partial(self._name_memories, step), group="memories")

    async def _name_memories(self, step: RunStep) -> None:
        found = await self.desk.memories(step.memory_ids)
        if any(row.id not in self._given for row in found):
            self._given.update((row.id, row) for row in found)
            self._draw_step()

    def _tick(self) -> None:
        """Draw how long runs work already."""
        if self.is_current and self.run_shown is not None:
            self.runs.changed()
            self._draw_head()

    # Moving

    @on(LineList.Moved, "#runs")
    def _other_run(self) -> None:
        run, self._changes = self.run_shown, ""
        if run is not None and run.id != self._pages.run_id:
            self._look_at_steps()
        if self.runs.cursor >= self._most - 1:
            self._most += RUNS_AT_ONCE
            self._look()

    @on(LineList.Moved, "#steps")
    def _other_step(self) -> None:
        self._pages.moved(self.steps.cursor)
        if self.steps.has_focus:
            self._changes = ""
        self._draw()

    @on(LineList.Scrolled, "#steps")
    def _scrolled(self) -> None:
        if self._pages.wanted(*self.steps.visible_rows) is not None:
            self._look_at_steps()

    @on(LineList.Chosen, "#runs")
    def _to_steps(self) -> None:
        self.steps.focus()

    @on(LineList.Chosen, "#steps")
    def _open_step(self) -> None:
        step = self.steps.step
        if step is None:
            return
        if step.kind is StepKind.PARKED and step.item_id:
            self._maker.show_item(step.item_id)
        elif step.memory_ids:
            self.action_memory()
        else:
            self.text.focus()

    @property
    def _maker(self) -> "PaneMaker":
        maker: PaneMaker = self.app.maker  # type: ignore[attr-defined]
        return maker

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done with the run and the step under the cursors."""
        run = self.run_shown if self.is_mounted else None
        can = {
            "cancel": run is not None and not is_over(run),
            "again": run is not None and can_go_on(run),
            "source": run is not None and bool(run.execution_id),
            "memory": run is not None and bool(self.steps.step and self.steps.step.memory_ids),
            **dict.fromkeys(_ON_RUN, run is not None),
        }
        return can[action] if action in can else super().check_action(action, parameters)

    # Acting

    def action_read(self) -> None:
        """Go to the steps, or from there open the one under the cursor."""
        if self.focused is self.steps:
            self._open_step()
        else:
            self.steps.focus()

    def action_add(self) -> None:
        """Ask for a task, and start a run."""
        run_job(self, self._ask, group="form")

    async def _ask(self) -> None:
        from synthorg_tui.tui.runs.form import RunForm

        executors, agents = await self.desk.executors(), await self.desk.agents()
        form = RunForm(self.desk, dict(executors), agents, like=self.run_shown)
        self.app.push_screen(form, self._started)

    def _started(self, run_id: str | None) -> None:
        if run_id:
            self._begun = run_id
            self._look()
            self.steps.focus()

    def action_cancel(self) -> None:
        """Stop the run under the cursor, after asking; what it did stays done."""
        run = self.run_shown
        if run is None or is_over(run):
            return

        def answered(sure: bool | None) -> None:
            if sure:
                act = partial(self._act, partial(self.desk.cancel, run.id), "What it did is kept")
                run_job(self, act, group="act", newest_only=False)

        touched = [line((one_line(run.request.task), "text"))]
        note = "What it did stays done, and its record is kept."
        dialog = ConfirmDialog("Stop this run?", touched, yes="Stop", note=note)
        self.app.push_screen(dialog, answered)

    def action_again(self) -> None:
        """Go on with the run under the cursor, behind its last complete step."""
        run = self.run_shown
        if run is not None:
            act = partial(self._act, partial(self.desk.resume, run), "It goes on")
            run_job(self, act, group="act", newest_only=False)

    async def _act(self, act: Callable[[], Awaitable[AgentRun]], told: str) -> None:
        await act()
        toast(self, told)
        await self._load()

    def action_source(self) -> None:
        """Show the run's record, as every session is shown."""
        run = self.run_shown
        if run is not None and run.execution_id:
            self._maker.show_session(run.execution_id)

    def action_memory(self) -> None:
        """Show a memory that was given, in its pane; of several, the chosen one."""
        step = self.steps.step
        if step is not None and step.memory_ids:
            run_job(self, partial(self._show_memory, step), group="memories")

    async def _show_memory(self, step: RunStep) -> None:
        found = await self.desk.memories(step.memory_ids)
        if len(found) == 1:
            self._go(found[0])
            return
        rows: list[tuple[object, Line]] = [
            (row, line((one_line(row.content), "text"))) for row in found
        ]
        dialog = ChoiceDialog("Given", "↵ shows it · esc leaves", lambda _width: rows)
        self.app.push_screen(dialog, lambda row: self._go(row) if row is not None else None)

    def _go(self, row: object) -> None:
        self.dismiss()
        self._maker.show_memory(row)  # type: ignore[arg-type]

    def action_copy(self) -> None:
        """Copy the step under the cursor as it is shown, without its colours."""
        copy(self, safe_text(plain(list(self.text.lines)), multiline=True))
        toast(self, "Sent what the step shows to the terminal's clipboard")

    def action_view(self) -> None:
        """Show what the run changed in the copy of its folder, or the step again."""
        if self._changes:
            self._changes = ""
            self._draw_step()
        else:
            run_job(self, self._show_changes, group="changes")

    async def _show_changes(self) -> None:
        run = self.run_shown
        if run is None:
            return
        self._changes = await self.desk.changes(run.id)
        if not self._changes:
            toast(self, "No changes of it are kept", severity="warning")
            return
        self._draw_step()
        self.text.focus()

    def action_zoom(self) -> None:
        """Give the steps the whole screen, or the parts their room back."""
        self.toggle_class("-zoomed")
        self.steps.focus()

    def action_close(self) -> None:
        """Go back; what runs goes on."""
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        else:
            self.dismiss()
