"""The jobs screen: what runs by itself, when, how far it is, and what came of it."""

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.job_lines import NO_JOBS, detail_lines, heading_line, job_line
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.jobs.models import JobRun, JobStatus
    from synthorg_tui.tui.base.lines import Line

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at how far jobs are."""


class JobsScreen(ManageScreen):
    """Lists the jobs; runs one or stops it. What runs goes on when the screen is left."""

    BINDINGS = bindings("jobs")
    CONTEXT = "jobs"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "The job"
    CHOICES = "Jobs"

    _jobs: "tuple[JobStatus, ...]" = ()
    _runs: "tuple[JobRun, ...]" = ()
    _runs_of = ("", 0)
    """The job whose runs are shown, and the number of its latest one."""

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(LOOK_EVERY, self._look)

    def _look(self) -> None:
        if self.is_current:
            run_job(self, self.load, group="load", failed=self.fail)

    async def load(self) -> None:
        self._jobs = await self.management.jobs()
        self.choices.placeholder = list(NO_JOBS)
        self.choices.show(self._rows)
        await self._show()

    def _rows(self, _width: int) -> "list[tuple[object, Line]]":
        if not self._jobs:
            return []
        now = self.now()
        return [
            (None, heading_line()),
            *((job.name, job_line(job, now)) for job in self._jobs),
        ]

    @property
    def job(self) -> "JobStatus | None":
        """The job under the cursor."""
        name = cast("str | None", self.choices.value)
        return next((job for job in self._jobs if job.name == name), None)

    async def _show(self) -> None:
        """Show the job under the cursor; its runs are only read when there are others."""
        job = self.job
        if job is None:
            self.say([])
            return
        latest = (job.name, job.last.number if job.last is not None else 0)
        is_other = latest[0] != self._runs_of[0]
        if latest != self._runs_of:
            self._runs, self._runs_of = await self.management.job_runs(job.name), latest
        lines = detail_lines(job, self._runs, self.now())
        if is_other or list(self.text.lines) != lines:
            self.text.show(lines, top=is_other)
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show the job under the cursor."""
        run_job(self, self._show, group="show", failed=self.fail)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to the runs of the job under the cursor."""
        event.stop()
        self.action_read()

    def action_read(self) -> None:
        """Go to the text, where the latest runs are."""
        self.text.focus()

    def action_run(self) -> None:
        """Run the job under the cursor now; it goes on when the screen is left."""
        job = self.job
        if job is not None:
            work = partial(self._run, job.name)
            run_job(self.app, work, group=f"job {job.name}", newest_only=False)

    async def _run(self, name: str) -> None:
        app = self.app
        run = await self.management.run_job(name)
        severity = "error" if run.state == "failed" else "information"
        toast(app, f"{name}: {run.told}", severity=severity)  # type: ignore[arg-type]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to stop only what runs, and to run only what doesn't."""
        job = self.job
        if action in ("run", "cancel"):
            return job is not None and (job.running is not None) == (action == "cancel")
        return super().check_action(action, parameters)

    def action_cancel(self) -> None:
        """Stop the job under the cursor; what is done is kept."""
        if self.job is not None:
            run_job(self, partial(self._cancel, self.job.name), group="cancel")

    async def _cancel(self, name: str) -> None:
        await self.management.cancel_job(name)
        toast(self, f"Stopping {name}; what is done is kept")
