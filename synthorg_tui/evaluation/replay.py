"""Replay: the same case with a skill and without it, by an executor, in clean copies of a project.

Neither arm is given memories: the arms differ by the skill alone. A run happens outside the service
of runs, so no stages follow it. Whatever the executor recorded is erased at once, with a mark that
keeps imports from bringing it back: nothing may be learnt from an experiment.
"""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from uuid import uuid4

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import counted, duration, truncate
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.evaluation.assertions import grade
from synthorg_tui.evaluation.cases import EvalCase
from synthorg_tui.evaluation.models import (
    OLD_SKILL,
    WITH_SKILL,
    WITHOUT_SKILL,
    RunGrade,
    SkillUnderTest,
)
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, ToolCall, Turn, is_shell
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import (
    ExecutionResult,
    GivenSkill,
    RunProfile,
    RunRequest,
    RunStep,
    StepKind,
)
from synthorg_tui.runtime.protocol import RunExecutor
from synthorg_tui.runtime.steps import result_of

EVALUATOR: Final = "evaluation"
"""Id under which runs of evaluations are made and paid: no agent of the person's."""
MAX_RUNS: Final = 20
MAX_PLANNED: Final = 400
GRACE: Final = 30.0
"""Seconds beyond its limit after which a run is stopped from outside."""
_MAX_OUTPUT: Final = 20_000

Worktrees: TypeAlias = Callable[[Path, str | None], AbstractAsyncContextManager[Path]]
"""Makes a clean copy of a project, at a branch where that is known."""
Forget: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Forgets a run, and its execution if it names one, and keeps imports from bringing that back."""


class ReplayPlan(FrozenModel):
    """What a replay would run; ``baseline`` is the arm that the skill is compared with.

    ``cases_from`` is the file of the cases, empty when they were made of the evidence.
    """

    executor: NotBlankStr
    cases: tuple[EvalCase, ...]
    runs: int
    baseline: NotBlankStr = WITHOUT_SKILL
    limits: RunLimits = RunLimits.model_construct()
    model: str | None = None
    cases_from: str = ""

    @property
    def total(self) -> int:
        """The number of runs of both arms."""
        return len(self.cases) * self.runs * 2

    @property
    def cost_words(self) -> tuple[str, ...]:
        """What it takes at most, as sentences for a person who has to agree."""
        limits, cases = self.limits, counted(len(self.cases), "case")
        each = f"{limits.turns:,} turns, {limits.tokens:,} tokens, {duration(limits.seconds)}"
        money = "" if limits.cost is None else f", cost {limits.cost:g}"
        longest = duration(self.total * limits.seconds)
        versus = "the text it replaces" if self.baseline == OLD_SKILL else "no skill"
        return (
            f"{counted(self.total, 'run')} by {self.executor}: {cases}, "
            f"{counted(self.runs, 'run')} each with the skill and with {versus}",
            f"What they are asked comes from {self.cases_from or 'the sessions that taught it'}",
            f"Each run takes at most {each}{money}",
            f"Together at most {self.total * limits.tokens:,} tokens and {longest}",
            "They work in clean copies of the project without asking: nobody approves their calls",
        )


class ReplayStep(NamedTuple):
    """How far a replay is: runs done of how many, and which one comes now."""

    done: int
    total: int
    told: str


ReplayProgress: TypeAlias = Callable[[ReplayStep], None]


@dataclass(frozen=True, slots=True)
class GradedRun:
    """A graded run with its record."""

    grade: RunGrade
    execution: Execution
    answer: str


class EvaluationRefusedError(DomainError):
    """An evaluation can't be made as asked for."""


async def replayed(
    plan: ReplayPlan,
    skill: SkillUnderTest,
    executor: RunExecutor,
    worktrees: Worktrees,
    forget: Forget,
    *,
    progress: ReplayProgress | None = None,
    cancel: threading.Event | None = None,
) -> AsyncIterator[GradedRun]:
    """Yield each run of a plan once it is graded; ends early when it is cancelled.

    The arms take turns, so that whatever changes meanwhile concerns both.

    Args:
        plan: The cases, and how often each is run.
        skill: What one arm is given.
        executor: Carries the runs out.
        worktrees: Makes the clean copies they work in.
        forget: Forgets what the executor recorded.
        progress: Is told which run comes.
        cancel: Set it to stop.
    """
    order = product(range(1, plan.runs + 1), plan.cases, (WITH_SKILL, plan.baseline))
    for done, (number, case, arm) in enumerate(order):
        if cancel is not None and cancel.is_set():
            return
        if progress is not None:
            told = f"{case.name} {arm.replace('_', ' ')}, run {number} of {plan.runs}"
            progress(ReplayStep(done, plan.total, told))
        async with worktrees(Path(case.project), case.ref or None) as workspace:
            request = _request(plan, case, workspace, skill, arm)
            steps: list[RunStep] = []
            started = time.perf_counter()
            result = await _one(request, steps, executor, forget, cancel)
        if result is None and cancel is not None and cancel.is_set():
            return
        took = round((time.perf_counter() - started) * 1000)
        execution = record_of(request, steps, result)
        yield _graded(case, arm, number, execution, result, took)


async def _one(
    request: RunRequest,
    steps: list[RunStep],
    executor: RunExecutor,
    forget: Forget,
    cancel: threading.Event | None,
) -> ExecutionResult | None:
    """Carry one run out; ``None`` when it was stopped or failed to give a result."""
    run_id, result = f"eval-{uuid4().hex}", None
    work = executor.run(run_id, request, steps=(), on_step=steps.append)
    try:
        result = await _within(work, request.limits.seconds + GRACE, cancel)
    except Exception as error:
        raise_fatal(error)
        told = str(error) or type(error).__name__
        return result_of(run_id, request, (), TerminationReason.ERROR, told)
    finally:
        await forget(run_id, result.execution_id if result else "")
    return result


async def _within(
    work: Coroutine[object, object, ExecutionResult],
    seconds: float,
    cancel: threading.Event | None,
) -> ExecutionResult | None:
    """Await ``work``; ``None`` when the time is up or it is cancelled, once it has ended."""
    task = asyncio.ensure_future(work)
    end = time.monotonic() + seconds
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=0.2)
            if time.monotonic() > end or (cancel is not None and cancel.is_set()):
                return None
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _request(
    plan: ReplayPlan, case: EvalCase, workspace: Path, skill: SkillUnderTest, arm: str
) -> RunRequest:
    text = {WITH_SKILL: skill.text, OLD_SKILL: skill.old_text}.get(arm, "")
    return RunRequest(
        task=case.prompt,
        agent_id=EVALUATOR,
        workspace=workspace,
        executor=plan.executor,
        profile=RunProfile.UNATTENDED,
        limits=plan.limits,
        model=plan.model,
        memory=False,
        skills=(GivenSkill(name=skill.name, text=text),) if text.strip() else (),
    )


def record_of(
    request: RunRequest, steps: Sequence[RunStep], result: ExecutionResult | None
) -> Execution:
    """Return a run's steps as the record of an execution, redacted; it is stored nowhere."""
    numbered = list(enumerate(steps, 1))
    said = [
        (line, _redacted(step.text))
        for line, step in numbered
        if step.kind is StepKind.ANSWER and step.text.strip()
    ]
    run_id = result.run_id if result else EVALUATOR
    return Execution(
        id=f"{EVALUATOR}:{run_id}",
        reader=EVALUATOR,
        session_id=run_id,
        agent_id=request.agent_id,
        project=str(request.workspace),
        task=request.task,
        error=_redacted(result.error_message) if result else "stopped",
        turns=tuple(
            Turn(role="assistant", text=text, first_line=line, last_line=line)
            for line, text in said
        ),
        calls=tuple(_call(step, line) for line, step in numbered if step.kind is StepKind.CALL),
        line_count=len(steps),
        reported=True,
    )


def _call(step: RunStep, line: int) -> ToolCall:
    command = str(step.arguments.get("command", "")) if is_shell(step.tool) else ""
    said = command or json.dumps(step.arguments, ensure_ascii=False, default=str)
    return ToolCall(
        id=f"step-{step.number}",
        tool=step.tool or "tool",
        intent=_redacted(call_intent(step.tool, step.arguments, command)),
        arguments=_redacted(truncate(said, _MAX_OUTPUT)),
        outcome=step.outcome or CallOutcome.UNKNOWN,
        output=_redacted(truncate(step.text, _MAX_OUTPUT)),
        at=step.at,
        call_line=line,
    )


def _redacted(text: str) -> str:
    return redact_text(text, RedactionTally())


def _graded(
    case: EvalCase,
    arm: str,
    number: int,
    execution: Execution,
    result: ExecutionResult | None,
    took: int,
) -> GradedRun:
    graded = RunGrade(
        case=case.name,
        arm=arm,
        number=number,
        results=grade(case.assertions, execution),
        tokens=result.prompt_tokens + result.completion_tokens if result else 0,
        milliseconds=took,
        cost=result.cost if result else 0.0,
        reason=result.termination_reason.value if result else "stopped",
    )
    return GradedRun(graded, execution, result.text if result else "")
