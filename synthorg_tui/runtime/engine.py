"""The agent engine: the messages a run begins with, its loop, and the stages after it.

A run is given, in this order: the system prompt, the policies and memories of its agent, and the
task. Memory tools are added to the registry of each run. The loop itself is in ``loop``; which runs
may start, and which are alive, is known to ``service``.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal, surviving
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.formatter import TAG_MEMORY_ENTRY
from synthorg_tui.memory.injection import MemoryInjectionStrategy
from synthorg_tui.memory.strategies.replies import TAG_TOOL_RESULT
from synthorg_tui.memory.tools import ToolRegistry, registry_with_memory_tools
from synthorg_tui.providers.completion.protocol import CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage
from synthorg_tui.runtime.loop import AgentLoop, LoopSettings, RunSteps, RunTools
from synthorg_tui.runtime.models import (
    BUILT_IN,
    AgentRun,
    ExecutionResult,
    RunProfile,
    RunRequest,
    RunStep,
    StepKind,
)
from synthorg_tui.runtime.pipeline import FinishedRun, RunStage
from synthorg_tui.runtime.protocol import OnStep
from synthorg_tui.runtime.recovery import recovery_of
from synthorg_tui.runtime.runs import RunStore
from synthorg_tui.runtime.steps import RESUMED, result_of

_log = logging.getLogger(__name__)

TAG_SKILL: Final = "skill"
_ROLE: Final = "role"
_PROMPT: Final = (
    "You are the agent {agent}. You work on the task that follows, in the folder {workspace}, by "
    "calling tools; paths are relative to that folder. What a file holds or a command does "
    "you know only from a tool: never guess it. Do what the task asks and nothing else, look at "
    "what a call came to before the next one, and say at the end in a few sentences what you did. "
    "Nobody answers questions while you work."
)
_MAY: Final = {
    RunProfile.READ_ONLY: "You may only read: nothing can be changed or run.",
    RunProfile.ASK: "What writes or runs something waits until a person has allowed it.",
    RunProfile.UNATTENDED: "You may write and run what the task needs inside the folder.",
}


@dataclass(frozen=True, slots=True)
class GivenMemories:
    """The digest of a run: its text, the role of its message, and the memories in it."""

    text: str = ""
    role: MessageRole = MessageRole.SYSTEM
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory of one run: its digest, and the strategy whose tools it has.

    Both are ``None`` for a run without memory.
    ``close`` is called when the run doesn't work any more.
    """

    brief: Callable[[], Awaitable[GivenMemories]] | None = None
    strategy: MemoryInjectionStrategy | None = None
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The services of the agent engine.

    ``model`` returns the language model of a name, or the configured one for ``None``, if there is
    any; ``registry`` the tools of a run besides those of memory, ``tools`` the invoker of those in
    a registry. ``memory`` returns the memory of a run, ``stages`` are called in order after it.
    """

    model: Callable[[str | None], CompletionProvider | None]
    registry: Callable[[str, RunRequest], Awaitable[ToolRegistry]]
    tools: Callable[[str, RunRequest, ToolRegistry], RunTools]
    store: RunStore
    settings: LoopSettings
    memory: Callable[[str, RunRequest], RunMemory] | None = None
    stages: Mapping[str, RunStage] = field(default_factory=dict)
    memory_tokens: int = 1500


class AgentEngine:
    """Runs agents with the configured model; the executor ``builtin``.

    Args:
        parts: What it works with.
        memory_injection_strategy: Gives each run its memories and memory tools, where ``parts``
            has no memory of its own; without both a run has neither.
    """

    def __init__(
        self,
        parts: EngineParts,
        *,
        memory_injection_strategy: MemoryInjectionStrategy | None = None,
    ) -> None:
        self._parts = parts
        self._strategy = memory_injection_strategy

    @property
    def name(self) -> str:
        """The name by which a request chooses it."""
        return BUILT_IN

    async def unavailable(self) -> str:
        """Return why it can't run; empty when it can."""
        if self._parts.model(None) is None:
            return "there is no language model: set providers.completion"
        return ""

    async def run(
        self, run_id: str, request: RunRequest, *, steps: Sequence[RunStep], on_step: OnStep
    ) -> ExecutionResult:
        """Carry out a run behind its stored steps, to its end or until it is parked."""
        parts = self._parts
        taken = self._steps(run_id, request, on_step, steps)
        model = parts.model(request.model)
        if model is None:
            why = await self.unavailable()
            return result_of(run_id, request, taken.steps, TerminationReason.ERROR, why)
        memory = self._memory(run_id, request)
        try:
            given = await self._given(request, memory, taken)
            registry = await parts.registry(run_id, request)
            registry = registry_with_memory_tools(registry, memory.strategy, request.agent_id)
            tools = parts.tools(run_id, request, registry)
            end = await AgentLoop(request, model, tools, taken, given, parts.settings).run()
        finally:
            memory.close()
        is_done = end.reason in (TerminationReason.COMPLETED, TerminationReason.PARKED)
        error = "" if is_done else end.told
        return result_of(run_id, request, taken.steps, end.reason, error)

    async def finish(
        self, run: AgentRun, result: ExecutionResult, on_step: OnStep
    ) -> ExecutionResult:
        """Do the stages that follow a run of any executor; raises fatal errors alone.

        Returns the result with the id of the run's record.
        """
        steps = await self._parts.store.steps(run.id)
        taken = self._steps(run.id, run.request, on_step, steps)
        finished = FinishedRun(run, steps, result, execution_id=result.execution_id)
        await self._post_execution_pipeline(finished, taken)
        return result.model_copy(update={"execution_id": finished.execution_id})

    async def _post_execution_pipeline(self, finished: FinishedRun, taken: RunSteps) -> None:
        """Do the stages in order; each adds a note, and a failing one doesn't stop the others."""
        finished.recovery = recovery_of(
            finished.steps,
            finished.run.request.limits.retries,
            finished.result.termination_reason,
        )
        for name, stage in self._parts.stages.items():
            if told := await _attempted(name, finished, stage):
                await taken.add(StepKind.NOTE, text=f"{name}: {told}")

    def _steps(
        self, run_id: str, request: RunRequest, on_step: OnStep, steps: Sequence[RunStep]
    ) -> RunSteps:
        parts = self._parts
        return RunSteps(
            run_id, request.agent_id, parts.store, on_step, parts.settings.clock, list(steps)
        )

    def _memory(self, run_id: str, request: RunRequest) -> RunMemory:
        strategy = self._strategy
        if request.memory and self._parts.memory is not None:
            return self._parts.memory(run_id, request)
        if not request.memory or strategy is None:
            return RunMemory()

        async def brief() -> GivenMemories:
            prepared = await strategy.prepare_messages(
                request.agent_id, request.task, self._parts.memory_tokens
            )
            return given_by(prepared)

        return RunMemory(brief, strategy)

    async def _given(
        self, request: RunRequest, memory: RunMemory, taken: RunSteps
    ) -> tuple[ChatMessage, ...]:
        """The messages before the task; the digest is made once and stored as the first step."""
        first = next((step for step in taken.steps if step.kind is StepKind.GIVEN), None)
        if first is None:
            given = GivenMemories()
            if memory.brief is not None:
                with surviving("reading what memory gives", _log):
                    given = await memory.brief()
            first = await taken.add(
                StepKind.GIVEN,
                text=given.text,
                memory_ids=given.memory_ids,
                arguments={_ROLE: given.role.value} if given.text else {},
            )
        else:
            await taken.add(StepKind.NOTE, text=f"{RESUMED}it goes on behind its last step")
        system = ChatMessage(role=MessageRole.SYSTEM, content=system_prompt(request))
        if not first.text:
            return (system,)
        role = MessageRole(first.arguments.get(_ROLE, MessageRole.SYSTEM))
        return (system, ChatMessage(role=role, content=first.text))


def given_by(messages: Sequence[ChatMessage], memory_ids: Sequence[str] = ()) -> GivenMemories:
    """Return what a strategy prepared as one text."""
    text = "\n\n".join(message.content for message in messages)
    is_system = all(message.role is MessageRole.SYSTEM for message in messages)
    role = MessageRole.SYSTEM if is_system else MessageRole.USER
    return GivenMemories(text, role, tuple(memory_ids))


def system_prompt(request: RunRequest) -> str:
    """Return the system prompt of a run: its agent, its profile, and the meaning of fences.

    The skills that it is given come last, fenced.
    """
    tags = [TAG_TOOL_RESULT, TAG_MEMORY_ENTRY]
    intro = _PROMPT.format(
        agent=safe_text(request.agent_id), workspace=safe_text(str(request.workspace))
    )
    parts = [intro, _MAY[request.profile], untrusted_content_directive(tags)]
    for skill in request.skills:
        fenced = wrap_untrusted(TAG_SKILL, skill.text)
        parts.append(f"Follow this skill where it fits, {safe_text(skill.name)}:\n{fenced}")
    return "\n\n".join(parts)


async def _attempted(name: str, finished: FinishedRun, stage: RunStage) -> str:
    """Do a stage and return its words; a failure is logged and returned in words."""
    try:
        return await stage(finished)
    except Exception as error:
        raise_fatal(error)
        is_expected = isinstance(error, DomainError)
        reason = error.message if isinstance(error, DomainError) else type(error).__name__
        trace, run_id = None if is_expected else error, finished.run.id
        _log.warning("%s of the run %s failed: %s", name, run_id, reason, exc_info=trace)
        return f"failed: {reason}"
