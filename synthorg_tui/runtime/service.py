"""The runs of agents here: started, followed, resumed and cancelled by one owner of the store.

What carries a run out is an executor, what a run leaves behind is for the pipeline. Here is only
who may run, which runs are alive, and what becomes of those whose process ended.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.events import Events
from synthorg_tui.runtime.models import AgentRun, RunRequest, RunStatus, RunStep
from synthorg_tui.runtime.protocol import RunExecutor
from synthorg_tui.runtime.runs import RunStore

RUN: Final = "run"
"""Topic of the event that a run changed; its data is the id of the run."""


class RunService:
    """Starts runs and knows how each stands; the owner of the store has one of it.

    A run goes on while the process that started it lives: closing the engine interrupts it, and
    ``resume`` goes on behind its last complete step. Parked runs go on by themselves once their
    item is decided, while ``keep`` is awaited.
    """

    def __init__(
        self,
        store: RunStore,
        executors: Mapping[str, RunExecutor],
        *,
        events: Events,
        clock: Clock,
    ) -> None:
        self._store = store
        self._executors = executors
        self._events = events
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, request: RunRequest) -> AgentRun:
        """Start a run and return it at once.

        Raises ``DomainError`` for an agent that a person paused, an unknown or unavailable
        executor, and a workspace that is no folder.
        """
        raise NotImplementedError

    async def follow(self, run_id: str) -> AsyncIterator[RunStep]:
        """Yield the steps of a run, the stored ones first, then each once it is stored.

        Ends when the run doesn't work any more: ended, parked or interrupted.
        """
        raise NotImplementedError
        yield

    async def wait(self, run_id: str) -> AgentRun:
        """Return a run once it doesn't work any more: ended, parked or interrupted."""
        raise NotImplementedError

    async def resume(self, run_id: str) -> AgentRun:
        """Go on with a run behind its last complete step and return it at once.

        Raises ``DomainError`` when it runs already, is completed, used up what it was allowed, or
        waits for a person who hasn't decided.
        """
        raise NotImplementedError

    async def cancel(self, run_id: str) -> AgentRun:
        """End a run for good and return it; one that has ended stays as it is."""
        raise NotImplementedError

    async def list(
        self, *, limit: int = 50, offset: int = 0, status: RunStatus | None = None
    ) -> tuple[AgentRun, ...]:
        """Return runs, the newest first."""
        return await self._store.list(
            limit=limit, offset=offset, status=() if status is None else (status,)
        )

    async def show(self, run_id: str) -> AgentRun:
        """Return a run; a start of its id is enough. Raises ``UnknownRunError``."""
        return await self._store.find(run_id)

    async def steps(self, run_id: str) -> tuple[RunStep, ...]:
        """Return the stored steps of a run, in their order."""
        return await self._store.steps((await self._store.find(run_id)).id)

    async def page(self, run_id: str, *, after: int, limit: int) -> tuple[tuple[RunStep, ...], int]:
        """Return at most ``limit`` steps behind the one numbered ``after``, and the last number."""
        return await self._store.page(run_id, after=after, limit=limit)

    async def executors(self) -> tuple[tuple[str, str], ...]:
        """Return the name of each executor, and why it can't run here; empty when it can."""
        return tuple([(name, await each.unavailable()) for name, each in self._executors.items()])

    async def keep(self) -> None:
        """Go on with parked runs once they are decided on, until cancelled."""
        raise NotImplementedError

    async def close(self) -> None:
        """Interrupt the runs that are alive; each can be resumed."""
