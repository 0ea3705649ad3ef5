"""Runs jobs: those that are due by themselves, one at a time, and never while an agent waits.

The same scheduler serves the app and an owner without a screen. What the jobs are is in
``registry``; what came of them is kept by ``runs``. A job that fails is recorded and due again with
its interval; one that was under way when the program ended is made up for.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.failsafe import Failure
from synthorg_tui.core.pauses import pausing
from synthorg_tui.jobs.models import (
    MAX_INTERRUPTED,
    Job,
    JobError,
    JobRun,
    JobStatus,
    RunProgress,
    RunState,
    Watch,
    next_run,
)
from synthorg_tui.jobs.runs import MAX_RUNS, JobRuns

_log = logging.getLogger(__name__)

JOBS: Final = "jobs"
"""Topic of the event that a job began, got on (``None``) or ended (its ``JobRun``)."""
FIRST_LOOK: Final = 10.0
"""Seconds after which whoever opened the store has what it was opened for."""
LOOK_EVERY: Final = 30.0
"""Seconds between two looks at the clock: after a sleep what is due runs within that time."""
POLL: Final = 0.1
"""Seconds between two looks at a job that runs, and at whether an agent waits."""
STOPS_WITHIN: Final = 0.6
"""Seconds that a cancelled job has to stop by itself."""
STORE_EVERY: Final = 5.0
"""Seconds between two records of how far a job is."""


_QUARTERS: Final = 4


class LiveRun:
    """One run of a job from its turn to its end; ``step`` may be called from any thread.

    Args:
        job: What is run.
        cancel: Set when it is to stop; a new one by default.
        report: Told how far it is, when ``tell`` is called.
    """

    def __init__(
        self,
        job: Job,
        cancel: threading.Event | None = None,
        report: Callable[[RunProgress], None] | None = None,
    ) -> None:
        self.job = job
        self.cancel = cancel or threading.Event()
        self.done = 0
        self.total = 0
        self.lines: list[str] = []
        self._report = report
        self._began = monotonic()
        self._paused = 0.0
        self._waiting_since: float | None = None
        self._first: tuple[float, int] | None = None
        self._quarter = 0

    @property
    def progress(self) -> RunProgress:
        """How far the run is now."""
        rate = self._rate()
        left = (self.total - self.done) / rate if rate and self.total else None
        return RunProgress(self.done, self.total, rate, left, self._waiting_since is not None)

    def step(self, done: int, total: int) -> None:
        """Take note of how many steps are done, of how many."""
        self.done, self.total = done, max(done, total)
        if self._first is None:
            self._first = self._active(), done
        quarter = _QUARTERS * done // self.total if self.total else 0
        if quarter > self._quarter:
            self._quarter = quarter
            self.log(f"{done:,} of {self.total:,}")

    def wait(self, why: str) -> None:
        """Take note that the run stands still from now on."""
        if self._waiting_since is None:
            self._waiting_since = monotonic()
            self.log(why)

    def go_on(self) -> None:
        """Take note that the run goes on, if it stood still."""
        if self._waiting_since is not None:
            self._paused += monotonic() - self._waiting_since
            self._waiting_since = None
            self.log("goes on")

    def tell(self) -> None:
        """Report how far the run is to whoever asked for it."""
        if self._report is not None:
            self._report(self.progress)

    def log(self, text: str) -> None:
        """Add a line with the seconds since the run came to be."""
        self.lines.append(f"{monotonic() - self._began:6.1f} s  {text}")

    def _active(self) -> float:
        """Seconds that the run worked and didn't wait."""
        now = self._waiting_since or monotonic()
        return now - self._began - self._paused

    def _rate(self) -> float:
        """Steps a second since the first one that was told; 0 while unknown."""
        if self._first is None:
            return 0.0
        at, done = self._first
        seconds = self._active() - at
        return (self.done - done) / seconds if seconds > 0 and self.done > done else 0.0


class JobScheduler:
    """Runs jobs while ``keep`` is awaited, and when it is asked to.

    Args:
        jobs: What there is to run, in the order in which jobs run that are due together.
        runs: Records what came of it; only the owner of the store may have it.
        clock: Decides when a job is due.
        events: Gets ``JOBS``.
        agent_waits: Whether an agent waits for an answer, or has just got one.
        tokens_since: Counts the tokens that language models used since a moment.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        runs: JobRuns,
        *,
        clock: Clock,
        events: Events,
        agent_waits: Callable[[], bool] = lambda: False,
        tokens_since: Callable[[datetime], Awaitable[int]] | None = None,
    ) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._runs = runs
        self._clock = clock
        self._events = events
        self._agent_waits = agent_waits
        self._tokens_since = tokens_since
        self._ended: dict[str, tuple[JobRun, ...]] | None = None
        self._loading = asyncio.Lock()
        self._live: dict[str, LiveRun] = {}
        self._running: LiveRun | None = None
        self._notes: asyncio.Queue[tuple[Job, RunState, str]] = asyncio.Queue()

    @property
    def running(self) -> tuple[str, RunProgress] | None:
        """The job that runs now and how far it is; ``None`` when none does."""
        live = self._running
        return (live.job.name, live.progress) if live is not None else None

    async def list(self) -> tuple[JobStatus, ...]:
        """Return all jobs: the latest run of each, when it is due, and how far it is if it runs."""
        ended = await self._history()
        return tuple([await self._status(job, ended) for job in self._jobs.values()])

    async def runs(self, job: str | None = None, *, limit: int = MAX_RUNS) -> tuple[JobRun, ...]:
        """Return the latest runs, of one job or of all, newest first.

        Raises ``JobError`` when there is no such job.
        """
        await self._history()
        if job is not None:
            self._job(job)
        return await self._runs.list(job, limit=limit)

    async def run(
        self,
        name: str,
        *,
        progress: Callable[[RunProgress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> JobRun:
        """Run a job now, whenever it is due, and return how it ended; a failure isn't raised.

        It waits for its turn, and while an agent waits for an answer. ``progress`` is told how far
        it is several times a second. Raises ``JobError`` when there is no such job, when it runs
        already, or when it goes on all the time.
        """
        job = self._job(name)
        if isinstance(job.work, Watch):
            raise JobError(
                f"{name} goes on by itself and isn't run",
                remedy="`synthorg-tui import` imports now.",
            )
        if name in self._live:
            raise JobError(
                f"{name} is running already", remedy="`synthorg-tui jobs list` shows it."
            )
        return await self._execute(LiveRun(job, cancel, progress))

    async def cancel(self, name: str | None = None) -> tuple[str, ...]:
        """Stop a job that runs or waits for its turn, or all; return the names of those stopped.

        What is done is kept. Raises ``JobError`` when there is no such job.
        """
        if name is not None:
            self._job(name)
        stopped = [each for each in self._live if name in (None, each)]
        for each in stopped:
            self._live[each].cancel.set()
        return tuple(stopped)

    async def keep(self) -> None:
        """Run what is due, now and later, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for job in self._jobs.values():
                if isinstance(job.work, Watch):
                    group.create_task(self._go_on(job, job.work))
            group.create_task(self._record_notes())
            await asyncio.sleep(FIRST_LOOK)
            while True:
                try:
                    await self.run_due()
                except Exception as error:  # whoever owns the store goes on
                    _log.warning("jobs can't be run: %s", _reason(error))
                await asyncio.sleep(LOOK_EVERY)

    async def run_due(self) -> tuple[JobRun, ...]:
        """Run all jobs that are due, one after the other, each once; return how they ended."""
        ended = await self._history()
        runs = []
        for job in self._jobs.values():
            now = self._clock.now()
            due = next_run(job, ended.get(job.name, ()), now)
            if due is not None and due <= now and job.name not in self._live:
                runs.append(await self._execute(LiveRun(job)))
        return tuple(runs)

    async def _go_on(self, job: Job, watch: Watch) -> None:
        def note(state: RunState, told: str) -> None:
            self._notes.put_nowait((job, state, told))

        try:
            await watch.keep(note)
        except Exception as error:  # the others go on
            note(RunState.FAILED, _reason(error))

    async def _record_notes(self) -> None:
        while True:
            job, state, told = await self._notes.get()
            live = LiveRun(job)
            live.log(told)
            run, _ = await self._begun(job)  # ``_record`` can't write it either, and says so
            await self._record(run, live, state, told)

    async def _begun(self, job: Job) -> tuple[JobRun, Exception | None]:
        """A run from now on, with the error for which it isn't on record, if any."""
        now = self._clock.now()
        await self._history()  # or it would be taken for one that an earlier process left open
        try:
            return await self._runs.begin(job.name, now), None
        except Exception as error:  # a full disk
            return JobRun(0, job.name, now, None, RunState.RUNNING), error

    async def _execute(self, live: LiveRun) -> JobRun:
        """Run a job when it is its turn, and record it."""
        self._live[live.job.name] = live
        try:
            await self._take_turn(live)
            self._running = live
            try:
                return await self._recorded(live)
            finally:
                self._running = None
        finally:
            del self._live[live.job.name]
            self._events.emit(JOBS)

    async def _take_turn(self, live: LiveRun) -> None:
        """Wait until no other job runs and no agent waits, or until it is cancelled."""
        while (self._running is not None or self._agent_waits()) and not live.cancel.is_set():
            live.wait("waits for its turn")
            live.tell()
            await asyncio.sleep(POLL)
        live.go_on()

    async def _recorded(self, live: LiveRun) -> JobRun:
        live.log("started")
        self._events.emit(JOBS)
        run, refused = await self._begun(live.job)
        if refused is not None:  # nothing can be run, and that is told
            return await self._record(run, live, RunState.FAILED, _reason(refused))
        try:
            state, told = await self._outcome(run, live)
        except asyncio.CancelledError:
            told = "the program ended while it ran"
            await self._record(run, live, RunState.INTERRUPTED, told)
            raise
        return await self._record(run, live, state, told)

    async def _outcome(self, run: JobRun, live: LiveRun) -> tuple[RunState, str]:
        """Do the work; return how it ended, and the words of that."""
        try:
            told = await self._watched(run, live)
        except CancelledByUserError:
            return RunState.CANCELLED, "stopped; what was done is kept"
        except Exception as error:
            return RunState.FAILED, _reason(error)
        if live.cancel.is_set():
            return RunState.CANCELLED, told or "stopped; what was done is kept"
        return (RunState.DONE, told) if told else (RunState.NOTHING, "nothing to do")

    async def _watched(self, run: JobRun, live: LiveRun) -> str:
        """Await the work in a task, tell how far it is, and see that it stops when it is to."""
        work = asyncio.create_task(self._paused(live))
        stored = monotonic()
        try:
            while not work.done() and not live.cancel.is_set():
                await asyncio.wait([work], timeout=POLL)
                live.tell()
                self._events.emit(JOBS)
                if monotonic() - stored > STORE_EVERY:
                    stored = monotonic()
                    await self._runs.reached(run.number, live.done, live.total)
            if not work.done():
                await asyncio.wait([work], timeout=STOPS_WITHIN)
        finally:
            if not work.done():
                live.cancel.set()  # for what runs in threads
                work.cancel()
                await asyncio.wait([work])
        if work.cancelled():
            raise CancelledByUserError("stopped")
        return work.result()

    async def _paused(self, live: LiveRun) -> str:
        assert not isinstance(live.job.work, Watch)
        if live.cancel.is_set():
            raise CancelledByUserError("stopped")
        with pausing(partial(self._pause, live)):
            return await live.job.work(live.step, live.cancel)

    async def _pause(self, live: LiveRun) -> None:
        """Stand still while an agent waits; raise when the job is to stop."""
        while self._agent_waits() and not live.cancel.is_set():
            live.wait("waits while an agent is answered")
            await asyncio.sleep(POLL)
        live.go_on()
        if live.cancel.is_set():
            raise CancelledByUserError("stopped")

    async def _record(self, run: JobRun, live: LiveRun, state: RunState, told: str) -> JobRun:
        """Keep how a run ended: on disk, or in this process alone where that can't be."""
        if state is RunState.FAILED:
            _log.warning("the job %s failed: %s", run.job, told)
        live.log(state if state is not RunState.FAILED else f"failed: {told}")
        ended = replace(
            run,
            ended_at=max(self._clock.now(), run.started_at),
            state=state,
            progress=live.done,
            total=live.total,
            told=told,
        )
        try:
            if self._tokens_since is not None:
                ended = replace(ended, tokens=await self._tokens_since(run.started_at))
            ended = await self._runs.end(ended, live.lines)
        except Exception as error:
            _log.warning("the run of %s can't be recorded: %s", run.job, _reason(error))
        history = await self._history()
        history[run.job] = (ended, *history.get(run.job, ())[: MAX_INTERRUPTED - 1])
        self._events.emit(JOBS, ended)
        return ended

    async def _history(self) -> dict[str, tuple[JobRun, ...]]:
        """The latest ended runs of each job; what an earlier process left open is interrupted."""
        async with self._loading:
            if self._ended is None:
                try:
                    await self._runs.interrupt_open(self._clock.now())
                except DomainError as error:  # a full disk; at the next start, then
                    _log.warning("interrupted runs can't be recorded: %s", _reason(error))
                self._ended = await self._runs.ended(MAX_INTERRUPTED)
        return self._ended

    async def _status(self, job: Job, ended: dict[str, tuple[JobRun, ...]]) -> JobStatus:
        runs, live = ended.get(job.name, ()), self._live.get(job.name)
        return JobStatus(
            name=job.name,
            title=job.title,
            setting=job.setting,
            interval=job.interval,
            idle=await job.work.idle() if isinstance(job.work, Watch) else "",
            last=runs[0] if runs else None,
            due_at=next_run(job, runs, self._clock.now()),
            running=live.progress if live is not None else None,
        )

    def _job(self, name: str) -> Job:
        job = self._jobs.get(name)
        if job is None:
            names = ", ".join(self._jobs)
            raise JobError(f"there is no job {name!r}", remedy=f"There are {names}.")
        return job


def _reason(error: Exception) -> str:
    """Why it failed, and what to do; of what nobody expected only its kind."""
    reason = Failure("", error).reason.rstrip(".")
    remedy = error.remedy if isinstance(error, DomainError) else ""
    return f"{reason}. {remedy}" if remedy else reason
