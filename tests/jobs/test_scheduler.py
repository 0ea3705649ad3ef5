"""When jobs run and what is kept of their runs: a real store, a clock that is set."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.pauses import pause_point
from synthorg_tui.jobs.models import (
    Job,
    JobError,
    JobRun,
    JobStatus,
    Note,
    RunProgress,
    RunState,
    Steps,
    Watch,
)
from synthorg_tui.jobs.runs import MAX_RUNS, JobRuns
from synthorg_tui.jobs.scheduler import JobScheduler
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.usage import UsageStore
from synthorg_tui.providers.completion.usage import UsageRecord
from tests.conftest import FixedClock
from tests.disk_kit import disk_of
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only

DAILY = ConsolidationInterval.DAILY
HOURLY = ConsolidationInterval.HOURLY


@dataclass
class Bench:
    """A store with jobs that a test names; each run of one is noted in ``ran``."""

    database: StoreDatabase
    clock: FixedClock = field(default_factory=FixedClock)
    ran: list[str] = field(default_factory=list)
    agent_waits: bool = False

    def job(
        self,
        name: str,
        interval: ConsolidationInterval = DAILY,
        work: Callable[[Steps, threading.Event], Awaitable[str]] | None = None,
    ) -> Job:
        async def note(progress: Steps, cancel: threading.Event) -> str:
            self.ran.append(name)
            return await work(progress, cancel) if work is not None else f"{name} done"

        return Job(name, f"Does {name}", f"jobs.{name}", interval, note)

    def scheduler(self, *jobs: Job) -> JobScheduler:
        """A scheduler as a process that has just opened the store has it."""
        return JobScheduler(
            jobs,
            JobRuns(self.database),
            clock=self.clock,
            events=Events(),
            agent_waits=lambda: self.agent_waits,
            tokens_since=UsageStore(self.database).tokens_since,
        )


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Bench]:
    async with own_database(home) as database:
        yield Bench(database)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened(tmp_path) as made:
        yield made


async def status(scheduler: JobScheduler, name: str) -> JobStatus:
    return next(each for each in await scheduler.list() if each.name == name)


async def reached(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until it returns something true, for as long as tests wait for anything."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await condition():
                return
            await asyncio.sleep(0)


async def waits(scheduler: JobScheduler, name: str) -> bool:
    running = (await status(scheduler, name)).running
    return running is not None and running.waits


def states(runs: tuple[JobRun, ...]) -> list[tuple[str, RunState]]:
    return [(run.job, run.state) for run in runs]


class TestWhenJobsAreDue:
    async def test_a_job_that_never_ran_is_due_and_then_after_its_interval(
        self, bench: Bench
    ) -> None:
        scheduler = bench.scheduler(bench.job("a", HOURLY), bench.job("b", DAILY))
        await scheduler.run_due()
        assert bench.ran == ["a", "b"]
        await scheduler.run_due()
        bench.clock.advance(minutes=59, seconds=59)
        await scheduler.run_due()
        assert bench.ran == ["a", "b"]
        bench.clock.advance(seconds=1)
        await scheduler.run_due()
        assert bench.ran == ["a", "b", "a"]

    async def test_when_it_ran_outlives_the_process(self, bench: Bench) -> None:
        await bench.scheduler(bench.job("a")).run_due()
        await bench.scheduler(bench.job("a")).run_due()
        assert bench.ran == ["a"]

    async def test_after_a_long_sleep_each_job_runs_once(self, bench: Bench) -> None:
        scheduler = bench.scheduler(bench.job("a", HOURLY), bench.job("b", HOURLY))
        await scheduler.run_due()
        bench.clock.advance(days=30)
        await scheduler.run_due()
        await scheduler.run_due()
        assert bench.ran == ["a", "b"] * 2

    async def test_a_clock_that_was_set_back_costs_one_run(self, bench: Bench) -> None:
        scheduler = bench.scheduler(bench.job("a"))
        await scheduler.run_due()
        bench.clock.advance(days=-400)
        for _ in range(3):
            await scheduler.run_due()
            bench.clock.advance(hours=1)
        assert bench.ran == ["a", "a"]
        run = (await scheduler.runs("a"))[0]
        assert run.ended_at is not None
        assert run.ended_at >= run.started_at

    async def test_what_is_set_to_never_runs_only_when_asked(self, bench: Bench) -> None:
        scheduler = bench.scheduler(bench.job("a", ConsolidationInterval.NEVER))
        await scheduler.run_due()
        assert bench.ran == []
        assert (await status(scheduler, "a")).due_at is None
        assert (await scheduler.run("a")).state is RunState.DONE

    async def test_a_run_that_was_asked_for_counts(self, bench: Bench) -> None:
        scheduler = bench.scheduler(bench.job("a"))
        await scheduler.run("a")
        bench.clock.advance(hours=1)
        await scheduler.run_due()
        assert bench.ran == ["a"]
        due = (await status(scheduler, "a")).due_at
        assert due == bench.clock.now() + timedelta(hours=23)

    async def test_what_is_due_runs_while_it_is_kept(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.jobs.scheduler.FIRST_LOOK", 0.0)
        monkeypatch.setattr("synthorg_tui.jobs.scheduler.LOOK_EVERY", 0.01)
        scheduler = bench.scheduler(bench.job("a"))
        keeping = asyncio.create_task(scheduler.keep())
        await until(lambda: bench.ran == ["a"])
        bench.clock.advance(days=3)
        await until(lambda: bench.ran == ["a", "a"])
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


class TestOneAtATime:
    async def test_a_job_waits_until_the_other_has_ended(self, bench: Bench) -> None:
        go_on = asyncio.Event()

        async def slow(_: Steps, __: threading.Event) -> str:
            await go_on.wait()
            return "slow"

        scheduler = bench.scheduler(bench.job("a", work=slow), bench.job("b"))
        first = asyncio.create_task(scheduler.run("a"))
        await until(lambda: bench.ran)
        second = asyncio.create_task(scheduler.run("b"))
        await reached(lambda: waits(scheduler, "b"))
        assert bench.ran == ["a"]
        with pytest.raises(JobError, match="running already"):
            await scheduler.run("a")
        go_on.set()
        await asyncio.gather(first, second)
        assert bench.ran == ["a", "b"]

    async def test_no_job_begins_while_an_agent_waits(self, bench: Bench) -> None:
        bench.agent_waits = True
        scheduler = bench.scheduler(bench.job("a"))
        running = asyncio.create_task(scheduler.run("a"))
        await reached(lambda: waits(scheduler, "a"))
        assert bench.ran == []
        bench.agent_waits = False
        assert (await running).state is RunState.DONE

    async def test_a_job_stands_still_between_steps_while_an_agent_waits(
        self, bench: Bench
    ) -> None:
        done: list[int] = []

        async def steps(progress: Steps, _: threading.Event) -> str:
            for step in range(1, 4):
                done.append(step)
                progress(step, 3)
                bench.agent_waits = step == 2
                await pause_point()
            return "all"

        scheduler = bench.scheduler(bench.job("a", work=steps))
        running = asyncio.create_task(scheduler.run("a"))
        await reached(lambda: waits(scheduler, "a"))
        assert done == [1, 2]
        bench.agent_waits = False
        run = await running
        assert (run.state, run.progress, run.total) == (RunState.DONE, 3, 3)
        assert "waits while an agent is answered" in run.log

    async def test_a_pause_point_outside_of_a_job_does_nothing(self) -> None:
        await pause_point()


class TestHowRunsEnd:
    async def test_a_failure_is_kept_and_tried_again_when_it_is_due(self, bench: Bench) -> None:
        async def broken(_: Steps, __: threading.Event) -> str:
            raise DomainError("the disk is full", remedy="Free some space.")

        scheduler = bench.scheduler(bench.job("a", work=broken), bench.job("b"))
        await scheduler.run_due()
        assert bench.ran == ["a", "b"], "the next one runs all the same"
        last = (await status(scheduler, "a")).last
        assert last is not None
        assert (last.state, last.told) == (
            RunState.FAILED,
            "the disk is full. Free some space.",
        )
        assert "failed: the disk is full" in last.log
        bench.clock.advance(hours=23)
        await scheduler.run_due()
        assert bench.ran == ["a", "b"]
        bench.clock.advance(hours=1)
        await scheduler.run_due()
        assert bench.ran == ["a", "b"] * 2

    async def test_an_unexpected_error_is_told_without_what_it_says(self, bench: Bench) -> None:
        async def broken(_: Steps, __: threading.Event) -> str:
            raise ValueError("password=hunter2")

        run = await bench.scheduler(bench.job("a", work=broken)).run("a")
        assert (run.state, run.told) == (RunState.FAILED, "ValueError")
        assert "hunter2" not in run.log

    async def test_one_that_had_nothing_to_do_leaves_one_run(self, bench: Bench) -> None:
        async def idle(_: Steps, __: threading.Event) -> str:
            return ""

        scheduler = bench.scheduler(bench.job("a", work=idle))
        for _ in range(3):
            run = await scheduler.run("a")
        assert (run.state, run.told) == (RunState.NOTHING, "nothing to do")
        assert [each.number for each in await scheduler.runs("a")] == [run.number]

    async def test_tokens_that_models_used_meanwhile_are_counted(self, bench: Bench) -> None:
        async def words(_: Steps, __: threading.Event) -> str:
            usage = UsageStore(bench.database)
            await usage.add(UsageRecord(bench.clock.now(), "m", 120, 30, 0.5, 0.0))
            return "2 texts worded"

        scheduler = bench.scheduler(bench.job("a", work=words), bench.job("b"))
        assert (await scheduler.run("a")).tokens == 150
        bench.clock.advance(seconds=1)
        assert (await scheduler.run("b")).tokens == 0

    async def test_runs_are_bounded(self, bench: Bench) -> None:
        scheduler = bench.scheduler(bench.job("a"), bench.job("b"))
        await scheduler.run("b")
        for _ in range(MAX_RUNS + 3):
            await scheduler.run("a")
        assert len(await scheduler.runs("a", limit=1000)) == MAX_RUNS
        assert states(await scheduler.runs("b")) == [("b", RunState.DONE)]

    async def test_an_unknown_job_is_named(self, bench: Bench) -> None:
        with pytest.raises(JobError, match="no job 'x'") as refused:
            await bench.scheduler(bench.job("a")).run("x")
        assert refused.value.remedy == "There are a."


class TestStopping:
    @pytest.mark.parametrize("obeys", [True, False], ids=["stops by itself", "must be stopped"])
    async def test_a_cancelled_job_ends(self, bench: Bench, obeys: bool) -> None:
        async def endless(progress: Steps, cancel: threading.Event) -> str:
            progress(1, 9)
            while True:
                await asyncio.sleep(0.01)
                if obeys and cancel.is_set():
                    raise CancelledByUserError("stopped at 1 of 9")

        scheduler = bench.scheduler(bench.job("a", work=endless))
        running = asyncio.create_task(scheduler.run("a"))
        await until(lambda: bench.ran)
        assert await scheduler.cancel("a") == ("a",)
        run = await running
        assert (run.state, run.progress, run.total) == (RunState.CANCELLED, 1, 9)
        assert run.told == "stopped; what was done is kept"
        await scheduler.run_due()
        assert bench.ran == ["a"], "it is due again with its interval"

    async def test_who_asked_for_a_run_can_stop_it(self, bench: Bench) -> None:
        async def until_told(_: Steps, cancel: threading.Event) -> str:
            await asyncio.to_thread(cancel.wait)
            return "3 of 5 moved"

        stop, told = threading.Event(), list[RunProgress]()
        scheduler = bench.scheduler(bench.job("a", work=until_told))
        running = asyncio.create_task(scheduler.run("a", progress=told.append, cancel=stop))
        await until(lambda: told)
        stop.set()
        run = await running
        assert (run.state, run.told) == (RunState.CANCELLED, "3 of 5 moved")

    async def test_one_that_waits_for_its_turn_can_be_stopped(self, bench: Bench) -> None:
        bench.agent_waits = True
        scheduler = bench.scheduler(bench.job("a"))
        running = asyncio.create_task(scheduler.run("a"))
        await reached(scheduler.cancel)
        assert (await running).state is RunState.CANCELLED
        assert bench.ran == []

    async def test_nothing_is_stopped_where_nothing_runs(self, bench: Bench) -> None:
        assert await bench.scheduler(bench.job("a")).cancel() == ()


class TestInterruptions:
    async def test_one_that_the_end_of_the_program_stops_runs_again(self, bench: Bench) -> None:
        async def endless(_: Steps, __: threading.Event) -> str:
            await asyncio.Event().wait()
            return ""

        scheduler = bench.scheduler(bench.job("a", work=endless))
        due = asyncio.create_task(scheduler.run_due())
        await until(lambda: bench.ran)
        due.cancel()
        await asyncio.gather(due, return_exceptions=True)
        again = bench.scheduler(bench.job("a"))
        last = (await status(again, "a")).last
        assert last is not None
        assert (last.state, last.told) == (
            RunState.INTERRUPTED,
            "the program ended while it ran",
        )
        await again.run_due()
        assert bench.ran == ["a", "a"]

    @files_only
    async def test_one_that_was_killed_is_shown_and_runs_again(self, bench: Bench) -> None:
        await JobRuns(bench.database).begin("a", bench.clock.now())
        scheduler = bench.scheduler(bench.job("a"))
        assert states(await scheduler.runs()) == [("a", RunState.INTERRUPTED)]
        await scheduler.run_due()
        assert states(await scheduler.runs()) == [
            ("a", RunState.DONE),
            ("a", RunState.INTERRUPTED),
        ]

    @files_only
    @pytest.mark.parametrize(("times", "runs_at_once"), [(2, True), (3, False)])
    async def test_one_that_may_be_what_kills_the_program_waits(
        self, bench: Bench, times: int, runs_at_once: bool
    ) -> None:
        for _ in range(times):
            await JobRuns(bench.database).begin("a", bench.clock.now())
        scheduler = bench.scheduler(bench.job("a"))
        await scheduler.run_due()
        assert bool(bench.ran) is runs_at_once
        bench.clock.advance(days=1)
        await scheduler.run_due()
        assert len(bench.ran) == 1 + runs_at_once


class TestWorkThatGoesOn:
    async def test_what_it_brings_is_recorded_and_its_end_stops_nobody(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.jobs.scheduler.FIRST_LOOK", 0.0)

        async def follow(note: Note) -> None:
            note(RunState.DONE, "1 session, 4 new memories")
            raise DomainError("the places are gone")

        async def why() -> str:
            return "no places"

        watch = Job("imports", "Import", "ingest.follow", None, Watch(follow, why))
        scheduler = bench.scheduler(watch, bench.job("a"))
        keeping = asyncio.create_task(scheduler.keep())

        async def all_recorded() -> bool:
            runs = await scheduler.runs()
            return len(runs) == 3 and all(run.ended_at for run in runs)

        await reached(all_recorded)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert [(run.state, run.told) for run in await scheduler.runs("imports")] == [
            (RunState.FAILED, "the places are gone"),
            (RunState.DONE, "1 session, 4 new memories"),
        ]
        shown = await status(scheduler, "imports")
        assert (shown.interval, shown.due_at, shown.idle) == (None, None, "no places")
        with pytest.raises(JobError, match="goes on by itself"):
            await scheduler.run("imports")

    async def test_a_run_that_cannot_be_recorded_is_not_run_again_and_again(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def full(_: JobRuns, __: JobRun, ___: object = ()) -> JobRun:
            raise DomainError("the disk is full")

        scheduler = bench.scheduler(bench.job("a"))
        with monkeypatch.context() as patched:
            patched.setattr(JobRuns, "end", full)
            await scheduler.run_due()
        await scheduler.run_due()
        assert bench.ran == ["a"]

    @files_only
    async def test_where_nothing_can_be_recorded_nothing_runs_and_that_is_told(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scheduler = bench.scheduler(bench.job("a"))
        with monkeypatch.context() as patched:
            disk_of(patched, free_mib=1)
            (run,) = await scheduler.run_due()
        assert bench.ran == []
        assert run.state is RunState.FAILED
        assert "MB are free" in run.told
        assert (await status(scheduler, "a")).last == run
