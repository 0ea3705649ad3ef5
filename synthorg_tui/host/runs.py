"""What programs of a person may ask of runs, in this process or over the wire: paged and bounded.

A run may have thousands of steps with megabytes of output, so steps are asked for behind a number.
What runs is decided here by nobody but a person: a run that asks for nothing is started only by
whoever says that a person agreed to it, which no call over the wire can say.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.host.errors import RefusedError
from synthorg_tui.runtime.models import AgentRun, RunProfile, RunRequest, RunStatus, RunStep

if TYPE_CHECKING:
    from synthorg_tui.runtime.service import RunService

UNNAMED_AGENT: Final = "desk"
"""The agent of a run for which nobody named one, and the settings don't have exactly one."""
MAX_STEPS: Final = 200
"""Most steps of a page."""
MAX_RUNS: Final = 500
"""Most runs of a page."""
MAX_PAGE_CHARS: Final = 4_000_000
"""Characters of text after which a page of steps ends; its first step is always whole."""


class StepPage(NamedTuple):
    """Steps of a run in their order; ``last`` is the number of the newest one that is stored."""

    steps: tuple[RunStep, ...]
    last: int


class RunCalls:
    """The runs of the open engine, for commands, other processes and screens.

    ``agreed`` says that a person at this process agreed to runs that ask for nothing.
    """

    def __init__(self, runs: "RunService", *, agreed: bool = False) -> None:
        self._runs = runs
        self._agreed = agreed

    async def start(self, request: RunRequest) -> AgentRun:
        """Start a run and return it; raises ``RefusedError``, or what the start meets."""
        self._require_agreed(request)
        return await self._runs.start(request)

    async def list(
        self, *, limit: int = 100, offset: int = 0, status: RunStatus | None = None
    ) -> tuple[AgentRun, ...]:
        """Return runs, newest first; at most ``MAX_RUNS``."""
        return await self._runs.list(limit=min(limit, MAX_RUNS), offset=offset, status=status)

    async def show(self, run_id: str) -> AgentRun:
        """Return the run whose id begins so; raises ``DomainError`` if it isn't exactly one."""
        return await self._runs.show(run_id)

    async def steps(self, run_id: str, *, after: int = 0, limit: int = MAX_STEPS) -> StepPage:
        """Return the steps behind the one numbered ``after``, as many as a page takes.

        ``run_id`` is the whole id.
        """
        most = min(limit, MAX_STEPS)
        steps, last = await self._runs.page(run_id, after=after, limit=most)
        return StepPage(_bounded(steps), last)

    async def cancel(self, run_id: str) -> AgentRun:
        """Stop a run and return it; what it did stays done, and its record is kept."""
        return await self._runs.cancel((await self._runs.show(run_id)).id)

    async def resume(self, run_id: str) -> AgentRun:
        """Go on with a run behind its last complete step, and return it."""
        run = await self._runs.show(run_id)
        self._require_agreed(run.request)
        return await self._runs.resume(run.id)

    async def executors(self) -> tuple[tuple[str, str], ...]:
        """Return the name of each executor, and why it can't run here, empty when it can."""
        return await self._runs.executors()

    def _require_agreed(self, request: RunRequest) -> None:
        if request.profile is RunProfile.UNATTENDED and not self._agreed:
            raise RefusedError(
                "a run that asks for nothing is started by a person only",
                remedy="Start or resume it in the app, or at a terminal while the app is closed.",
            )


def _bounded(steps: tuple[RunStep, ...]) -> tuple[RunStep, ...]:
    size, kept = 0, 0
    for step in steps:
        size += len(step.text) + sum(len(str(value)) for value in step.arguments.values())
        if kept and size > MAX_PAGE_CHARS:
            break
        kept += 1
    return steps[:kept]
