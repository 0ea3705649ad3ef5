"""The runs of agents here: started, followed, resumed and cancelled by one owner of the store.

Executors carry runs out, and the engine's pipeline does the stages after them. The service decides
which runs may start, knows which are alive, and marks those whose process ended.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.failsafe import raise_fatal, surviving
from synthorg_tui.core.text import agent_id_problem, safe_text
from synthorg_tui.runtime.engine import AgentEngine
from synthorg_tui.runtime.models import (
    AgentRun,
    ExecutionResult,
    RunRequest,
    RunStatus,
    RunStep,
)
from synthorg_tui.runtime.protocol import RunExecutor
from synthorg_tui.runtime.runs import RunStore
from synthorg_tui.runtime.steps import result_of
from synthorg_tui.runtime.worktrees import remove_leftover_copies

_log = logging.getLogger(__name__)

RUN: Final = "run"
"""Topic of the event that a run changed; its data is the id of the run."""
_RESUMABLE: Final = (TerminationReason.SHUTDOWN, TerminationReason.ERROR)
_DECIDED: Final = frozenset({"skills", "approval.expired", "changed"})
LOOK_AGAIN: Final = 30.0
"""Seconds after which parked runs are looked at even if nothing was heard of."""
_MAX_OPEN: Final = 1_000
_INTERRUPTED: Final = "the program ended while it worked: it can be resumed"
_CANCELLED: Final = "cancelled"


@dataclass(slots=True)
class WorkingRun:
    """A run that works in this process; ``followers`` get each step, then ``None``.

    While it ``is_ending``, only its stages and its record are left to do.
    """

    run: AgentRun
    task: "asyncio.Task[None] | None" = None
    followers: "set[asyncio.Queue[RunStep | None]]" = field(default_factory=set)
    unstored: "asyncio.Queue[RunStep]" = field(default_factory=asyncio.Queue)
    is_cancelled: bool = False
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class RunRules:
    """Functions that the service calls before and while runs work.

    ``refusal`` returns why an agent may not run, empty when it may. ``is_waiting`` tells whether an
    approval item waits for a person still; ``give_up`` is told of one that nobody waits for any
    more. ``model`` names the model of a request. ``place`` is this program's name among those with
    the same store: each carries out its own runs only.
    """

    refusal: Callable[[str], Awaitable[str]]
    is_waiting: Callable[[str], Awaitable[bool]]
    give_up: Callable[[str], Awaitable[None]]
    model: Callable[[RunRequest], str]
    place: str = ""


class RunService:
    """Starts runs and knows how each stands; the owner of the store has one of it.

    A run goes on while the process that started it lives: closing the engine interrupts it, and
    ``resume`` goes on behind its last complete step. Parked runs go on by themselves once their
    item is decided, while ``keep`` is awaited.
    """

    def __init__(
        self,
        store: RunStore,
        engine: AgentEngine,
        others: Mapping[str, RunExecutor],
        rules: RunRules,
        *,
        events: Events,
        clock: Clock,
    ) -> None:
        self._store = store
        self._engine = engine
        self._executors: dict[str, RunExecutor] = {engine.name: engine, **others}
        self._rules = rules
        self._events = events
        self._clock = clock
        self._working: dict[str, WorkingRun] = {}
        self._opening = asyncio.Lock()
        self._is_open = False

    async def start(self, request: RunRequest) -> AgentRun:
        """Start a run and return it at once.

        Raises ``DomainError`` for an agent that a person paused, an unknown or unavailable
        executor, and a workspace that is no folder.
        """
        await self._open()
        problem = agent_id_problem(request.agent_id)
        if problem:
            raise DomainError(problem)
        if not await asyncio.to_thread(request.workspace.is_dir):
            where = safe_text(str(request.workspace))
            raise DomainError(f"the workspace {where} is no folder", remedy="Name another.")
        workspace = await asyncio.to_thread(request.workspace.resolve)
        request = request.model_copy(update={"workspace": workspace, "place": self._rules.place})
        executor = await self._permitted(request)
        run = AgentRun(
            id=uuid.uuid4().hex,
            request=request,
            status=RunStatus.RUNNING,
            started_at=self._clock.now(),
            model=self._rules.model(request),
        )
        stored = await self._store.create(run)
        self._begin(stored, executor, exact=request)
        return stored

    async def follow(self, run_id: str) -> AsyncIterator[RunStep]:
        """Yield the steps of a run, the stored ones first, then each once it is stored.

        Ends when the run doesn't work any more: ended, parked or interrupted.
        """
        run = await self.show(run_id)
        heard: asyncio.Queue[RunStep | None] = asyncio.Queue()
        working = self._working.get(run.id)
        if working is not None:
            working.followers.add(heard)
        last = 0
        try:
            for step in await self._store.steps(run.id):
                last = step.number
                yield step
            while working is not None and (told := await heard.get()) is not None:
                if told.number > last:
                    last = told.number
                    yield told
        finally:
            if working is not None:
                working.followers.discard(heard)

    async def wait(self, run_id: str) -> AgentRun:
        """Return a run once it doesn't work any more: ended, parked or interrupted."""
        run = await self.show(run_id)
        working = self._working.get(run.id)
        if working is not None and working.task is not None:
            await asyncio.wait([working.task])
        return await self._store.find(run.id)

    async def resume(self, run_id: str) -> AgentRun:
        """Go on with a run behind its last complete step and return it at once.

        Raises ``DomainError`` when it runs already, is completed, used up what it was allowed,
        or waits for a person who hasn't decided, and for what ``start`` refuses.
        """
        run = await self.show(run_id)
        if not self._is_ours(run):
            raise DomainError("the run is another machine's", remedy="Resume it there.")
        if run.status is RunStatus.RUNNING or run.id in self._working:
            raise DomainError("the run works already")
        if run.status is RunStatus.ENDED and run.reason not in _RESUMABLE:
            reason = run.reason.value if run.reason else "ended"
            raise DomainError(
                f"the run has ended ({reason})", remedy="Start it again, with other limits."
            )
        if run.status is RunStatus.PARKED and await self._rules.is_waiting(run.item_id):
            raise DomainError(
                "the run waits for your decision", remedy="Decide on its item in Approvals first."
            )
        executor = await self._permitted(run.request)
        await self._store.change(
            run.id, status=RunStatus.RUNNING.value, reason="", told="", item_id="", ended_at=None
        )
        run = await self._store.find(run.id)
        self._begin(run, executor, exact=run.request)
        return run

    async def cancel(self, run_id: str) -> AgentRun:
        """End a run for good and return it; one that has ended stays as it is."""
        run = await self.show(run_id)
        working = self._working.get(run.id)
        if working is not None and working.task is not None:
            if not working.is_ending:
                working.is_cancelled = True
                working.task.cancel()
            await asyncio.wait([working.task])
        elif run.status is not RunStatus.ENDED and working is None:
            await self._give_up(run)
        return await self._store.find(run.id)

    async def _give_up(self, run: AgentRun) -> None:
        """End a run that doesn't work; meanwhile nothing goes on with it."""
        ending = self._working[run.id] = WorkingRun(run, is_cancelled=True)
        try:
            if run.item_id:
                with surviving("giving up a question", _log):
                    await self._rules.give_up(run.item_id)
            stopped = TerminationReason.SHUTDOWN
            await self._end(ending, result_of(run.id, run.request, (), stopped, _CANCELLED))
        finally:
            self._over(ending)

    async def list(
        self, *, limit: int = 50, offset: int = 0, status: RunStatus | None = None
    ) -> tuple[AgentRun, ...]:
        """Return runs, the newest first."""
        await self._open()
        chosen = () if status is None else (status,)
        return await self._store.list(limit=limit, offset=offset, status=chosen)

    async def show(self, run_id: str) -> AgentRun:
        """Return a run; a start of its id is enough. Raises ``DomainError``."""
        await self._open()
        return await self._store.find(run_id)

    async def steps(self, run_id: str) -> tuple[RunStep, ...]:
        """Return the stored steps of a run, in their order."""
        return await self._store.steps((await self.show(run_id)).id)

    async def page(self, run_id: str, *, after: int, limit: int) -> tuple[tuple[RunStep, ...], int]:
        """Return at most ``limit`` steps behind the one numbered ``after``, and the last number."""
        return await self._store.page(run_id, after=after, limit=limit)

    async def executors(self) -> tuple[tuple[str, str], ...]:
        """Return the name of each executor, and why it can't run here; empty when it can."""
        return tuple([(name, await each.unavailable()) for name, each in self._executors.items()])

    @property
    def by_name(self) -> Mapping[str, RunExecutor]:
        """The executors by name, for experiments that are no runs of the person's."""
        return dict(self._executors)

    async def keep(self) -> None:
        """Go on with parked runs once they are decided on, until cancelled."""
        heard = asyncio.Event()

        def hear(topic: str, _: object) -> None:
            if topic in _DECIDED:
                heard.set()

        unsubscribe = self._events.subscribe(hear)
        try:
            while True:
                heard.clear()
                with surviving("looking at parked runs", _log):
                    await self._go_on()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_AGAIN):
                        await heard.wait()
        finally:
            unsubscribe()

    async def close(self) -> None:
        """Interrupt the runs that are alive; each can be resumed."""
        tasks = [each.task for each in self._working.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _go_on(self) -> None:
        """Resume the parked runs whose items are decided."""
        await self._open()
        parked = await self._store.list(limit=_MAX_OPEN, status=(RunStatus.PARKED,))
        for run in reversed(parked):
            if run.id in self._working or not self._is_ours(run):
                continue
            if await self._rules.is_waiting(run.item_id):
                continue
            with surviving(f"going on with the run {run.id}", _log):
                await self.resume(run.id)

    async def _open(self) -> None:
        """Mark the runs of this place whose process ended, and remove the copies of their work."""
        async with self._opening:
            if self._is_open:
                return
            with surviving("removing what crashed runs left", _log):
                await asyncio.to_thread(remove_leftover_copies)
            for run in await self._store.list(limit=_MAX_OPEN, status=(RunStatus.RUNNING,)):
                if run.id not in self._working and self._is_ours(run):
                    await self._store.interrupt(run.id, _INTERRUPTED)
            self._is_open = True

    def _is_ours(self, run: AgentRun) -> bool:
        return run.request.place == self._rules.place

    async def _permitted(self, request: RunRequest) -> RunExecutor:
        """The executor of a request; raises ``DomainError`` when it can't or may not run."""
        executor = self._executors.get(request.executor)
        if executor is None:
            known = ", ".join(sorted(self._executors))
            raise DomainError(
                f"there is no executor {safe_text(request.executor)[:64]!r}",
                remedy=f"There are: {known}.",
            )
        refusal = await self._rules.refusal(request.agent_id) or await executor.unavailable()
        if refusal:
            raise DomainError(refusal)
        return executor

    def _begin(self, run: AgentRun, executor: RunExecutor, *, exact: RunRequest) -> None:
        working = self._working[run.id] = WorkingRun(run)
        working.task = asyncio.create_task(self._work(working, executor, exact))
        self._events.emit(RUN, run.id)

    async def _work(self, working: WorkingRun, executor: RunExecutor, exact: RunRequest) -> None:
        """Carry out a run and store how it ended; the task of a run that is alive."""
        run = working.run
        try:
            try:
                result = await self._carried_out(working, executor, exact)
            except asyncio.CancelledError:
                if not working.is_cancelled:
                    raise
                _go_on_after_cancelling()
                stopped = TerminationReason.SHUTDOWN
                result = result_of(run.id, run.request, (), stopped, _CANCELLED)
            await self._end(working, result)
        except asyncio.CancelledError:
            await self._store.interrupt(run.id, _INTERRUPTED)
        except Exception as error:  # the store's, say: nobody awaits this task
            raise_fatal(error)
            _log.exception("the run %s stopped", run.id)
            told = f"it stopped unexpectedly ({type(error).__name__})"
            with surviving("marking an interrupted run", _log):
                await self._store.interrupt(run.id, told)
        finally:
            self._over(working)

    def _over(self, working: WorkingRun) -> None:
        """Tell all followers that a run doesn't work any more."""
        self._working.pop(working.run.id, None)
        for follower in working.followers:
            follower.put_nowait(None)
        self._events.emit(RUN, working.run.id)

    async def _carried_out(
        self, working: WorkingRun, executor: RunExecutor, exact: RunRequest
    ) -> ExecutionResult:
        """The result of a run; a ``DomainError`` becomes a failed result."""
        run = working.run
        steps = await self._store.steps(run.id)
        try:
            if executor is self._engine:  # it stores each step itself before it goes on
                told = partial(self._told, working)
                return await executor.run(run.id, exact, steps=steps, on_step=told)
            return await self._by_another(working, executor, exact, steps)
        except DomainError as error:
            return result_of(run.id, run.request, (), TerminationReason.ERROR, error.message)

    async def _by_another(
        self,
        working: WorkingRun,
        executor: RunExecutor,
        exact: RunRequest,
        steps: Sequence[RunStep],
    ) -> ExecutionResult:
        """Have an executor carry out a run that stores nothing, and store its steps for it."""
        storing = asyncio.create_task(self._store_steps(working))
        try:
            return await executor.run(
                working.run.id, exact, steps=steps, on_step=working.unstored.put_nowait
            )
        finally:
            await working.unstored.join()
            storing.cancel()

    async def _store_steps(self, working: WorkingRun) -> None:
        while True:
            step, run = await working.unstored.get(), working.run
            with surviving("storing a step", _log):
                self._told(working, await self._store.add(run.id, run.request.agent_id, step))
            working.unstored.task_done()

    def _told(self, working: WorkingRun, step: RunStep) -> None:
        for follower in working.followers:
            follower.put_nowait(step)
        self._events.emit(RUN, working.run.id)

    async def _end(self, working: WorkingRun, result: ExecutionResult) -> None:
        """Store how a run ended or that it is parked, after the pipeline where it has ended."""
        run, reason = working.run, result.termination_reason
        working.is_ending = True
        if reason is TerminationReason.PARKED:
            last = (await self._store.steps(run.id))[-1]
            await self._store.change(
                run.id,
                status=RunStatus.PARKED.value,
                reason=reason.value,
                told=f"{last.tool} waits for your decision",
                item_id=last.item_id,
            )
            return
        if reason is TerminationReason.SHUTDOWN and not working.is_cancelled:
            await self._store.change(
                run.id,
                status=RunStatus.INTERRUPTED.value,
                reason=reason.value,
                told=result.error_message or _INTERRUPTED,
            )
            return
        result = await self._engine.finish(run, result, partial(self._told, working))
        await self._store.change(
            run.id,
            status=RunStatus.ENDED.value,
            reason=reason.value,
            told=result.error_message,
            ended_at=self._clock.now(),
            execution_id=result.execution_id,
            item_id="",
        )


def _go_on_after_cancelling() -> None:
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
