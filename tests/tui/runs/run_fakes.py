"""Runs with fixed answers at the screen's port, and builders of runs and steps."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.runs import StepPage
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import (
    AgentRun,
    RunProfile,
    RunRequest,
    RunStatus,
    RunStep,
    StepKind,
)
from synthorg_tui.tui.runs.adapter import RunDesk
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.tui_fakes import NOW, rows

TASKS = (
    "Make the flaky test of the cart pass without a longer timeout",
    "Say in the README how the staging database is reached",
    "Find out why the nightly import takes twice as long since Tuesday",
    "Rename the option `--fast` to `--quick`, with its tests",
)
DIFF = """diff --git a/cart.py b/cart.py
--- a/cart.py
+++ b/cart.py
@@ -12,3 +12,3 @@
-    sleep(3)
+    wait_for(ready)
"""


def run(
    number: int = 0,
    status: RunStatus = RunStatus.ENDED,
    reason: TerminationReason | None = TerminationReason.COMPLETED,
    **fields: Any,
) -> AgentRun:
    """A run of one of the tasks, begun so many hours ago; a minute ago if it is the first."""
    began = NOW - timedelta(seconds=65) if not number else NOW - timedelta(hours=number * 5)
    request = RunRequest(
        task=fields.pop("task", TASKS[number % len(TASKS)]),
        agent_id=fields.pop("agent_id", ("ada", "reviewer")[number % 2]),
        workspace=Path("/home/ada/shop"),
        executor=fields.pop("executor", ("builtin", "builtin", "claude")[number % 3]),
        profile=fields.pop("profile", RunProfile.ASK),
    )
    given: dict[str, Any] = {
        "turns": 3 + number,
        "calls": 4 + number,
        "prompt_tokens": 11_900 + 100 * number,
        "completion_tokens": 480,
        "cost": 0.0213,
        "model": "small-model",
    }
    return AgentRun(
        id=f"run-{number:04}",
        request=request,
        status=status,
        started_at=began,
        ended_at=None if status is not RunStatus.ENDED else began + timedelta(minutes=4),
        reason=None if status is not RunStatus.ENDED else reason,
        **(given | fields),
    )


def step(number: int, kind: StepKind, text: str = "", **fields: Any) -> RunStep:
    """A step of the run, a few seconds behind the one before."""
    at: datetime = NOW - timedelta(seconds=max(60 - 4 * number, 0))
    return RunStep(number=number, kind=kind, text=text, at=at, **fields)


def steps() -> list[RunStep]:
    """A short run: given two memories, two calls, of which one failed, and an answer."""
    ok, failed = CallOutcome.OK, CallOutcome.FAILED
    return [
        step(1, StepKind.GIVEN, "Known of the cart.", memory_ids=("mem-00000", "mem-00001")),
        step(
            2, StepKind.ANSWER, "I look at the test first.", turn=1,
            prompt_tokens=2_140, completion_tokens=61, cost=0.0041,
        ),
        step(
            3, StepKind.CALL, "def test_cart():\n    sleep(3)\n", turn=1,
            tool="read_file", arguments={"path": "tests/test_cart.py"}, outcome=ok,
        ),
        step(
            4, StepKind.CALL, "1 failed, 12 passed\nTimeoutError", turn=2, tool="shell",
            arguments={"command": "pytest tests/test_cart.py", "seconds": 60}, outcome=failed,
            prompt_tokens=3_020, completion_tokens=88, cost=0.0055,
        ),
        step(5, StepKind.NOTE, "The model didn't answer in time; asked again (1 of 2)."),
    ]  # fmt: skip


PARKED = step(
    6, StepKind.PARKED, "", turn=3, tool="write_file", item_id="item-7",
    arguments={"path": "cart.py", "content": "wait_for(ready)\n"},
)  # fmt: skip


class FakeRunDesk(RunDesk):
    """Runs and steps that a test sets; what is asked for is in ``asked``."""

    def __init__(self, runs: Sequence[AgentRun] = (), stored: Sequence[RunStep] = ()) -> None:
        super().__init__(_no_engine)  # type: ignore[arg-type]
        self.runs = list(runs)
        self.stored: dict[str, list[RunStep]] = {each.id: [] for each in runs}
        if runs:
            self.stored[runs[0].id] = list(stored)
        self.asked: list[str] = []
        self.patches: dict[str, str] = {}
        self.read: list[tuple[str, int]] = []
        self.error: DomainError | None = None
        self.requests: list[RunRequest] = []
        self.listeners: list[Callable[[str], None]] = []
        self.reasons = (
            ("builtin", ""),
            ("claude", ""),
            ("codex", "codex isn't installed. npm install -g @openai/codex"),
        )

    async def list(self, limit: int) -> tuple[AgentRun, ...]:
        if self.error is not None:
            raise self.error
        return tuple(self.runs[:limit])

    async def working(self) -> tuple[AgentRun, ...]:
        return tuple(each for each in self.runs if each.status is RunStatus.RUNNING)

    async def steps(self, run_id: str, *, after: int, limit: int) -> StepPage:
        self.read.append((run_id, after))
        stored = self.stored[run_id]
        return StepPage(tuple(stored[after : after + limit]), len(stored))

    async def start(self, request: RunRequest) -> AgentRun:
        if self.error is not None:
            raise self.error
        self.requests.append(request)
        begun = run(0, RunStatus.RUNNING, None, task=request.task)
        begun = begun.model_copy(update={"id": f"run-new-{len(self.requests)}", "turns": 0})
        self.stored[begun.id] = []
        self.runs.insert(0, begun)
        self.tell(begun.id)
        return begun

    async def cancel(self, run_id: str) -> AgentRun:
        self.asked.append(f"cancel {run_id}")
        return self.runs[0]

    async def resume(self, run: AgentRun) -> AgentRun:
        self.asked.append(f"resume {run.id}")
        return run

    async def changes(self, run_id: str) -> str:
        return self.patches.get(run_id, "")

    async def executors(self) -> tuple[tuple[str, str], ...]:
        return self.reasons

    async def agents(self) -> tuple[str, ...]:
        return ("ada", "reviewer")

    def limits(self) -> RunLimits:
        return RunLimits()

    async def memories(self, memory_ids: Sequence[str]) -> tuple[ListedMemory, ...]:
        return tuple(row for row in rows(6) if row.id in memory_ids)

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        self.listeners.append(changed)
        return lambda: self.listeners.remove(changed)

    def tell(self, run_id: str) -> None:
        """Tell listeners that a run changed."""
        for listener in tuple(self.listeners):
            listener(run_id)


class RunsManagement(FakeManagement):
    """A management whose runs are these."""

    def __init__(self, desk: FakeRunDesk) -> None:
        super().__init__()
        self._run_desk = desk

    @property
    def runs(self) -> FakeRunDesk:
        return self._run_desk


def _no_engine() -> None:
    raise DomainError("there is no engine in this test")
