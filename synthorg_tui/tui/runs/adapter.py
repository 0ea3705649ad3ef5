"""What the Runs screen asks of the engine, with the person who starts and stops runs.

The app starts without the engine, so what loads it is imported inside. What starts, stops or
resumes a run is refused where an agent runs the app, but for a run that only reads.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from synthorg_tui.engine import Engine
    from synthorg_tui.host.runs import RunCalls, StepPage
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.runtime import RunLimits
    from synthorg_tui.runtime.models import AgentRun, RunRequest

MAX_PATCH: Final = 1_000_000
"""Bytes of a patch that are shown."""


class RunDesk:
    """The runs of the store that the app has open. Failures are ``DomainError``.

    ``engine`` returns the open engine, or raises.
    """

    def __init__(self, engine: "Callable[[], Engine]") -> None:
        self._engine = engine

    async def list(self, limit: int) -> "tuple[AgentRun, ...]":
        """Return the newest runs, at most so many."""
        return await self._calls().list(limit=limit)

    async def working(self) -> "tuple[AgentRun, ...]":
        """Return the runs that go on now."""
        from synthorg_tui.runtime.models import RunStatus

        return await self._calls().list(status=RunStatus.RUNNING)

    async def steps(self, run_id: str, *, after: int, limit: int) -> "StepPage":
        """Return steps behind the one numbered ``after``, and the number of the last."""
        return await self._calls().steps(run_id, after=after, limit=limit)

    async def start(self, request: "RunRequest") -> "AgentRun":
        """Start a run in the name of the person at the screen, who agreed to what it may do."""
        _require_person(request)
        return await self._calls(agreed=True).start(request)

    async def cancel(self, run_id: str) -> "AgentRun":
        """Stop a run; refused where an agent runs the app."""
        _require_person()
        return await self._calls().cancel(run_id)

    async def resume(self, run: "AgentRun") -> "AgentRun":
        """Go on with a run; refused where an agent runs the app, unless the run only reads."""
        _require_person(run.request)
        return await self._calls(agreed=True).resume(run.id)

    async def changes(self, run_id: str) -> str:
        """Return what a run changed in a copy of its folder, as a patch; empty when none is kept.

        Of a longer patch than ``MAX_PATCH`` bytes the rest is left out.
        """
        from synthorg_tui.runtime.executors.patches import KeptPatches

        path = KeptPatches(self._engine().data_dir).path(run_id)
        return "" if path is None else await asyncio.to_thread(_start_of, path)

    async def executors(self) -> tuple[tuple[str, str], ...]:
        """Return each executor's name, and why it can't run here, empty when it can."""
        return await self._calls().executors()

    async def agents(self) -> tuple[str, ...]:
        """Return the ids of the agents that are known."""
        return tuple(agent.id for agent in await self._engine().agents())

    def limits(self) -> "RunLimits":
        """Return the limits that the settings give a run."""
        return self._engine().settings.runtime.limits

    async def memories(self, memory_ids: Sequence[str]) -> "tuple[ListedMemory, ...]":
        """Return those of these memories that are there, in this order."""
        found = {row.id: row for row in await self._engine().desk.entries(memory_ids)}
        return tuple(found[each] for each in memory_ids if each in found)

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Call ``changed`` with the id of each run that changes; returns what ends that."""
        from synthorg_tui.runtime.service import RUN

        def heard(topic: str, data: object) -> None:
            if topic == RUN:
                changed(str(data))

        return self._engine().events.subscribe(heard)

    def _calls(self, *, agreed: bool = False) -> "RunCalls":
        from synthorg_tui.host.runs import RunCalls

        return RunCalls(self._engine().runs, agreed=agreed)


def _start_of(path: "Path") -> str:
    with path.open("rb") as file:
        start = file.read(MAX_PATCH + 1)
    rest = "\n… the rest is in the file" if len(start) > MAX_PATCH else ""
    return start[:MAX_PATCH].decode("utf-8", "replace") + rest


def _require_person(request: "RunRequest | None" = None) -> None:
    """Raise ``DecisionRefusedError`` where an agent runs the app, unless the run only reads."""
    from synthorg_tui.approvals.person import require_no_agent
    from synthorg_tui.runtime.models import RunProfile

    if request is None or request.profile is not RunProfile.READ_ONLY:
        require_no_agent()
