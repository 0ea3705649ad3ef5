"""Executors whose runs a test writes, and skills to evaluate."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.evaluation.models import SkillUnderTest
from synthorg_tui.runtime.models import ExecutionResult, RunRequest, RunStep, StepKind
from synthorg_tui.runtime.protocol import OnStep

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Call = tuple[str, str]
"""A command with the error that it fails with, empty when it goes well."""
Behaviour = Callable[[RunRequest, int], Sequence[Call]]


class ScriptedExecutor:
    """Runs what a behaviour says for a request; keeps the requests."""

    name = "scripted"

    def __init__(self, behaviour: Behaviour, *, why_not: str = "") -> None:
        self._behaviour = behaviour
        self._why_not = why_not
        self.requests: list[RunRequest] = []
        self.stopped = 0
        self.waits = False
        self.breaks = False

    async def unavailable(self) -> str:
        return self._why_not

    async def run(
        self, run_id: str, request: RunRequest, *, steps: Sequence[RunStep], on_step: OnStep
    ) -> ExecutionResult:
        assert not steps
        self.requests.append(request)
        try:
            if self.waits:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        if self.breaks:
            raise RuntimeError("the program is gone")
        for number, (command, error) in enumerate(self._behaviour(request, len(self.requests)), 1):
            on_step(step_of(number, command, error))
        return ExecutionResult(
            run_id=run_id,
            agent_id=request.agent_id,
            task_id=run_id,
            termination_reason=TerminationReason.COMPLETED,
            text="Done.",
            prompt_tokens=1000,
            completion_tokens=100,
        )


def step_of(number: int, command: str, error: str = "") -> RunStep:
    return RunStep(
        number=number,
        at=NOW,
        kind=StepKind.CALL,
        tool="bash",
        arguments={"command": command},
        outcome=CallOutcome.FAILED if error else CallOutcome.OK,
        text=error,
    )


@asynccontextmanager
async def same_folder(source: Path, _ref: str | None) -> AsyncIterator[Path]:
    """Stands for a clean copy: a scripted executor writes nothing."""
    yield source


def skill(**fields: object) -> SkillUnderTest:
    """A skill about pushing a branch; ``fields`` replace what a test is about."""
    given: dict[str, object] = {
        "name": "push-new-branch",
        "path": "/skills/push-new-branch/SKILL.md",
        "text": "---\nname: push-new-branch\ndescription: Use when you push.\n---\n\nDo it.\n",
        "sha256": "a" * 64,
        "agent_id": "claude-code",
        "kind": LessonKind.FAILURE,
        "description": "Use when you push a new branch.",
        "evidence": (seen(),),
    }
    return SkillUnderTest.model_validate(given | fields)


def seen(execution: str = "claude_code:s1", first: int = 2, last: int = 7) -> Evidence:
    return Evidence(
        execution=execution,
        lines=f"{execution}#L{first}-L{last}",
        agent_id="claude-code",
        failed="git push 2>&1",
        error="The current branch retry-fetch has no upstream branch",
        resolved_by="git push --set-upstream origin retry-fetch 2>&1",
        project="/srv/tidepool",
    )
