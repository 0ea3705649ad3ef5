"""The Fine-tune screen: what is in force, the checkpoints and runs, and one of them in full.

A run goes on when the screen is left. While one is at work only its state in memory is asked for;
lists are read again when its stage changes, and its figures with each look.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from synthorg_tui.memory.fine_tune.models import FineTuneStatus, FineTuneTrainer
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.fine_tune import lines as drawn
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.memory.fine_tune.models import (
        CheckpointRecord,
        FineTuneRun,
        PreflightResult,
    )
    from synthorg_tui.tui.fine_tune.adapter import FineTuneDesk, TuningView

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at a run that is at work."""


class FineTuneScreen(ManageScreen):
    """Lists checkpoints and runs; starts, stops and resumes runs, deploys and takes back."""

    CSS_PATH = "../manage/manage.tcss"
    BINDINGS = bindings("tuning")
    CONTEXT = "tuning"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "In full"
    CHOICES = "Fine-tune"

    _view: "TuningView | None" = None
    _status = FineTuneStatus()
    _needs: "PreflightResult | None" = None
    _shown: object = None

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(LOOK_EVERY, self._look)

    def on_screen_resume(self) -> None:
        """Read again what changed while another screen covered this one."""
        if self._view is not None:
            run_job(self, self.load, group="load", failed=self.fail)

    @property
    def desk(self) -> "FineTuneDesk":
        """What the screen asks."""
        return self.management.fine_tune

    # Reading

    async def load(self) -> None:
        self._status = await self.desk.status()
        self._view = await self.desk.view()
        self.choices.show(self._rows)
        if self._shown is None:
            self._to_the_run_at_work()
        self._draw()
        if self._needs is None:
            await self._look_at_needs()

    async def _look_at_needs(self) -> None:
        self._needs = await self.desk.preflight()
        self._draw()

    def _look(self) -> None:
        if self.is_current and self._view is not None:
            run_job(self, self._follow, group="follow", failed=self.fail)

    async def _follow(self) -> None:
        """Draw how far the run at work is; read all again when it began or ended."""
        before, now = self._status, await self.desk.status()
        self._status = now
        if now != before or now.stage.is_active:
            await self.load()
        self._draw_work()

    def _rows(self, width: int) -> list[tuple[object, Line]]:
        return drawn.rows(self._view, width, self.now()) if self._view is not None else []

    def _to_the_run_at_work(self) -> None:
        if self._status.run_id is not None:
            self._go_to(("run", self._status.run_id))

    def _go_to(self, value: object) -> None:
        values = [self.choices.value_at(at) for at in range(self.choices.row_count)]
        if value in values:
            self.choices.move_to(values.index(value))

    # What is under the cursor

    @property
    def run_shown(self) -> "FineTuneRun | None":
        """The run under the cursor."""
        return next((each for each in self._runs if each.id == self._id_of("run")), None)

    @property
    def checkpoint(self) -> "CheckpointRecord | None":
        """The checkpoint under the cursor."""
        found = self._view.checkpoints if self._view is not None else ()
        return next((each for each in found if each.id == self._id_of("checkpoint")), None)

    @property
    def _runs(self) -> "tuple[FineTuneRun, ...]":
        return self._view.runs if self._view is not None else ()

    def _id_of(self, kind: str) -> str | None:
        value = cast("tuple[str, str] | None", self.choices.value)
        return value[1] if value is not None and value[0] == kind else None

    # Drawing

    def _draw(self) -> None:
        if self._view is None:
            return
        is_other, self._shown = self._shown != self.choices.value, self.choices.value
        if (run := self.run_shown) is not None:
            shown = drawn.run_lines(run, self.now())
        elif (checkpoint := self.checkpoint) is not None:
            shown = drawn.checkpoint_lines(checkpoint, self.now())
        else:
            shown = drawn.active_lines(self._view.active, self._needs)
        if is_other or list(self.text.lines) != shown:
            self.text.show(shown, top=is_other)
        self._draw_work()
        self.refresh_bindings()

    def _draw_work(self) -> None:
        """Show what is at work over the keys."""
        doing = self.query_one("#doing", LineBar)
        doing.display = self._status.stage.is_active
        doing.show(drawn.work_line(self._status, self.size.width))

    def on_line_list_moved(self) -> None:
        """Show what is under the cursor."""
        self._draw()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to the text."""
        event.stop()
        self.action_read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done with what is under the cursor."""
        if not self.is_mounted:
            return True
        checkpoint, run = self.checkpoint, self.run_shown
        is_active = self._status.stage.is_active
        metrics = checkpoint.eval_metrics if checkpoint is not None else None
        in_force = checkpoint is not None and checkpoint.is_active
        is_better = metrics is not None and metrics.is_surely_better
        can = {
            "run": not is_active,
            "cancel": is_active,
            "approve": is_better and not in_force,
            "restore": self._in_force is not None,
            "delete": (checkpoint is not None and not in_force)
            or (run is not None and not run.stage.is_active),
        }
        return can.get(action, True)

    @property
    def _in_force(self) -> "CheckpointRecord | None":
        found = self._view.checkpoints if self._view is not None else ()
        return next((each for each in found if each.is_active), None)

    # Acting

    def action_read(self) -> None:
        """Go to the text."""
        self.text.focus()

    def action_check(self) -> None:
        """Look again at what a run would need, and show it."""
        self._needs = None
        self._go_to(drawn.ACTIVE)
        self._draw()
        run_job(self, self._look_at_needs, group="needs", failed=self.fail)

    def action_run(self) -> None:
        """Begin a run, or go on with the one under the cursor if it broke off."""
        choices = drawn.run_choices(self.run_shown, self.desk.trainers())
        if len(choices) == 1:
            self._chosen(choices[0][0])
            return
        dialog = ChoiceDialog("Train", "↵ chooses · esc leaves", lambda _width: choices)
        self.app.push_screen(dialog, self._chosen)

    def _chosen(self, answer: object) -> None:
        if isinstance(answer, FineTuneTrainer):
            begin = partial(self._ask_to_begin, answer)
            run_job(self, begin, group="act", failed=self._refuse)
        elif isinstance(answer, str):
            resume = partial(self._begun, partial(self.desk.resume, answer))
            run_job(self, resume, group="act", failed=self._refuse)

    async def _ask_to_begin(self, trainer: FineTuneTrainer) -> None:
        """Ask for leave where a run can begin, else show what is missing."""
        if trainer is FineTuneTrainer.CONTRASTIVE:
            toast(self, "Looking at the model; the libraries take some seconds to load")
        self._needs = await self.desk.preflight(trainer)
        if not self._needs.can_proceed:
            self._go_to(drawn.ACTIVE)
            self._draw()
            toast(self, "It can't begin: see what a run needs", severity="warning")
            return

        def answered(sure: bool | None) -> None:
            if sure:
                begin = partial(self._begun, partial(self.desk.start, trainer))
                run_job(self, begin, group="act", failed=self._refuse)

        touched = [line((check.message, "text")) for check in self._needs.checks[-1:]]
        note = "It makes a checkpoint. Searches stay as they are until you deploy it."
        dialog = ConfirmDialog("Train on your memories?", touched, yes="Train", note=note)
        self.app.push_screen(dialog, answered)

    async def _begun(self, begin: "Callable[[], Awaitable[FineTuneRun]]") -> None:
        run = await begin()
        await self.load()
        self._go_to(("run", run.id))
        self._draw()

    def _refuse(self, error: "DomainError") -> None:
        """Show why a run can't begin."""
        self.text.show(drawn.refused_lines(error.message, error.remedy))

    def action_cancel(self) -> None:
        """Stop the run at work; what is done is kept, and it can be gone on with."""
        run_job(self, self._cancel, group="act")

    async def _cancel(self) -> None:
        stopped = await self.desk.cancel()
        toast(self, "Stopped; r goes on with it" if stopped else "Nothing is at work")
        await self.load()

    def action_approve(self) -> None:
        """Have searches use the checkpoint under the cursor, after asking."""
        checkpoint = self.checkpoint
        if checkpoint is None or checkpoint.eval_metrics is None:
            return
        note = "Every search reads questions with it from now on. Nothing is embedded again."
        self._ask(
            f"Deploy checkpoint {drawn.short(checkpoint.id)}?",
            [line((checkpoint.eval_metrics.words, "text"))],
            partial(self.desk.deploy, checkpoint.id),
            yes="Deploy",
            note=note,
            told="In force; R takes it back",
        )

    def action_restore(self) -> None:
        """Take the checkpoint in force back, after asking."""
        checkpoint = self._in_force
        if checkpoint is not None:
            self._ask(
                f"Roll checkpoint {drawn.short(checkpoint.id)} back?",
                [],
                partial(self.desk.roll_back, checkpoint.id),
                yes="Roll back",
                note="Searches are answered as before it was deployed. It is kept.",
                told="Rolled back",
            )

    def action_delete(self) -> None:
        """Delete the checkpoint or the run under the cursor for good, after asking."""
        checkpoint, run = self.checkpoint, self.run_shown
        if checkpoint is not None:
            act: Callable[[], Awaitable[object]]
            what, act = "checkpoint", partial(self.desk.delete_checkpoint, checkpoint.id)
        elif run is not None:
            what, act = "run", partial(self.desk.delete_run, run.id)
        else:
            return
        named = drawn.short((checkpoint or run).id)  # type: ignore[union-attr]
        note = "It can't be brought back; another run can make one like it."
        self._ask(f"Delete {what} {named}?", [], act, yes="Delete", note=note, told="Deleted")

    def _ask(
        self,
        question: str,
        touched: list[Line],
        act: Callable[[], Awaitable[object]],
        *,
        yes: str,
        note: str,
        told: str,
    ) -> None:
        async def do() -> None:
            await act()
            toast(self, told)
            await self.load()

        def answered(sure: bool | None) -> None:
            if sure:
                run_job(self, do, group="act", newest_only=False)

        self.app.push_screen(ConfirmDialog(question, touched, yes=yes, note=note), answered)

    def action_close(self) -> None:
        """Go back; what is at work goes on."""
        self.dismiss()
