"""Builds the service that runs agents here, of the engine's services."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.core.enums import ToolAccessLevel
from synthorg_tui.curation.shared_skills import WrittenCopies
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.strategies.service import MAX_QUERY
from synthorg_tui.memory.tools import ToolRegistry
from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.factory import model_name
from synthorg_tui.providers.completion.usage import Prices
from synthorg_tui.providers.models import ToolUse
from synthorg_tui.runtime.engine import (
    AgentEngine,
    EngineParts,
    GivenMemories,
    RunMemory,
)
from synthorg_tui.runtime.executors.executor import ClientParts, installed_executors
from synthorg_tui.runtime.executors.patches import KeptPatches
from synthorg_tui.runtime.interceptors import CallInterceptor, ForbiddenCalls, WorkspaceBounds
from synthorg_tui.runtime.invoker import Invocation, ToolInvoker
from synthorg_tui.runtime.loop import LoopSettings, RunTools
from synthorg_tui.runtime.models import BUILT_IN, AgentRun, RunProfile, RunRequest
from synthorg_tui.runtime.parking import CallParking
from synthorg_tui.runtime.pipeline import RunPipeline
from synthorg_tui.runtime.protocol import RunExecutor
from synthorg_tui.runtime.record import RunRecords
from synthorg_tui.runtime.runs import RunStore
from synthorg_tui.runtime.service import RunRules, RunService
from synthorg_tui.runtime.tools import workspace_tools
from synthorg_tui.runtime.tools.knowledge import hints_of, knowledge_tools
from synthorg_tui.wiring.foundation import Foundation

if TYPE_CHECKING:
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.session import AgentSession
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportReport
    from synthorg_tui.knowledge.service import KnowledgeService
    from synthorg_tui.learning.service import LearnService
    from synthorg_tui.memory.org.protocol import OrgMemoryBackend
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.persistence.operational import DuckDBPersistence
    from synthorg_tui.providers.completion.protocol import CompletionProvider

CLIENT: Final = "run"
"""The client as which a run is connected to the memory of its agent."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """Functions that return services of the engine, each built when it is first needed.

    ``model_named`` returns the model, or another one of its server.
    """

    approvals: "Callable[[], ApprovalQueue]"
    executions: "Callable[[], ExecutionStore]"
    gateway: "Callable[[], AgentGateway]"
    injection: "Callable[[], InjectionService]"
    knowledge: "Callable[[], KnowledgeService]"
    learning: "Callable[[], LearnService]"
    model: "Callable[[], CompletionProvider | None]"
    operations: "Callable[[], DuckDBPersistence]"
    org: "Callable[[], OrgMemoryBackend]"
    model_named: "Callable[[str | None], CompletionProvider | None]"


def build_runs(base: Foundation, parts: RunParts) -> RunService:
    """Build the service of runs, which is closed before the services that its runs use."""
    store = RunStore(base.database, parts.operations(), base.clock)
    wired = _Wired(base, parts)
    config, completion = base.settings.runtime, base.settings.providers.completion
    prices = Prices()
    if isinstance(completion, OpenAIModelConfig):
        prices = Prices(completion.prompt_price, completion.completion_price)
    engine = AgentEngine(
        EngineParts(
            model=parts.model_named,
            registry=wired.registry,
            tools=wired.tools,
            store=store,
            settings=LoopSettings(
                base.clock, prices, config.max_format_errors, refusal=wired.refusal
            ),
            memory=wired.memory,
            stages=wired.pipeline().stages(),
            memory_tokens=config.memory_tokens,
        )
    )
    parts.model()  # made now, so that it is closed after the runs that are asking it
    place = WrittenCopies(base.data_dir).place if base.is_shared else ""
    rules = RunRules(wired.refusal, wired.is_waiting, wired.give_up, wired.model_name, place)
    service = RunService(store, engine, wired.others(), rules, events=base.events, clock=base.clock)
    base.closing.push_async_callback(wired.sweep, store)
    base.closing.push_async_callback(service.close)
    return service


class _Wired:
    """The functions that the runtime calls, implemented with the engine's services."""

    def __init__(self, base: Foundation, parts: RunParts) -> None:
        self._base = base
        self._parts = parts
        self._sessions: dict[str, AgentSession] = {}
        """Those of runs that work with memory, by run."""
        self.patches = KeptPatches(base.data_dir)

    async def sweep(self, store: RunStore) -> None:
        """Delete the patches of runs that were erased."""
        await asyncio.to_thread(self.patches.sweep, await store.ids())

    def others(self) -> Mapping[str, RunExecutor]:
        """The executors besides our own: agents of others, where they are installed."""
        return installed_executors(
            ClientParts(
                clock=self._base.clock,
                brief=self.brief,
                importer=self.import_records,
                patches=self.patches,
            )
        )

    def model_name(self, request: RunRequest) -> str:
        if request.model or request.executor != BUILT_IN:
            return request.model or ""
        return model_name(self._base.settings.providers.completion)

    async def refusal(self, agent_id: str) -> str:
        self._base.local(Feature.RUNS)
        if not self._base.settings.runtime.enabled:
            return "runtime.enabled is off: no agent runs here"
        rights = (await self._parts.gateway().restrictions()).get(agent_id)
        return f"the agent {agent_id} is paused" if rights is not None and rights.paused else ""

    async def registry(self, run_id: str, request: RunRequest) -> ToolRegistry:
        session = self._sessions.get(run_id)
        known = knowledge_tools(session) if session is not None else ()
        return ToolRegistry((*workspace_tools(request.workspace, request.profile), *known))

    def tools(self, run_id: str, request: RunRequest, registry: ToolRegistry) -> RunTools:
        """What invokes the tools of a run, within its profile and the organisation's policies."""
        interceptors: list[CallInterceptor] = [ForbiddenCalls(self._policies, request.workspace)]
        if request.profile is RunProfile.UNATTENDED:
            interceptors.append(WorkspaceBounds(request.workspace))
        session = self._sessions.get(run_id)
        hint = hints_of(session, request.workspace) if session is not None else None
        invoker = ToolInvoker(
            registry, request.profile, interceptors, limits=request.limits, hint=hint
        )

        async def invoke(use: ToolUse, has_leave: bool) -> Invocation:
            return await invoker.invoke(use, has_leave=has_leave)

        def is_harmless(name: str) -> bool:
            # A tool that doesn't exist does nothing.
            return name not in registry or registry.get(name).access is ToolAccessLevel.SANDBOXED

        parking = self._parking

        async def park(use: ToolUse, why: str, turn: int) -> str:
            where = request.workspace
            return await parking.park(
                run_id, request.agent_id, use, workspace=where, why=why, turn=turn
            )

        return RunTools(
            invoker.definitions(), invoke, is_harmless, park, parking.decided, parking.used
        )

    async def _policies(self) -> Sequence[str]:
        return [policy.content for policy in await self._parts.org().list_policies()]

    @cached_property
    def _parking(self) -> CallParking:
        return CallParking(self._parts.approvals(), self._base.clock)

    async def is_waiting(self, item_id: str) -> bool:
        """Return whether an approval item still waits for a person."""
        item = await self._parts.approvals().get(item_id)
        return item is not None and item.status is ApprovalStatus.PENDING

    async def give_up(self, item_id: str) -> None:
        """Expire the approval item of a run that ended."""
        await self._parking.expire(item_id)

    def memory(self, run_id: str, request: RunRequest) -> RunMemory:
        """Return memory as a connected agent has it: its digest, its tools, its rights."""
        stack = ExitStack()
        session = stack.enter_context(self._session(run_id, request))
        stack.callback(self._sessions.pop, run_id, None)
        brief = partial(self._digest, session, request.task)
        view = Visibility(run_id, str(request.workspace))
        strategy = self._parts.injection().tools(request.agent_id, view, session.remember)
        self._sessions[run_id] = session
        return RunMemory(brief, strategy, stack.close)

    async def brief(self, run_id: str, request: RunRequest) -> GivenMemories:
        """Return the digest that a run of another program is given."""
        with self._session(run_id, request) as session:
            return await self._digest(session, request.task)

    async def _digest(self, session: "AgentSession", task: str) -> GivenMemories:
        budget = self._base.settings.runtime.memory_tokens
        served = await session.digest(task[:MAX_QUERY], budget)
        return GivenMemories(served.text, memory_ids=served.included)

    async def import_records(self, paths: Sequence[Path]) -> "ImportReport":
        """Import transcripts of runs, without drawing lessons from them."""
        from synthorg_tui.ingest.service import ImportService

        importer = ImportService(
            backend=self._base.local(Feature.RUNS),
            executions=self._parts.executions(),
            clock=self._base.clock,
        )
        return await importer.run(paths)

    @contextmanager
    def _session(self, run_id: str, request: RunRequest) -> "Iterator[AgentSession]":
        """Connect the run to its agent's memory for the length of a ``with``."""
        identity = AgentIdentity(
            request.agent_id, str(request.workspace), session_id=run_id, client=CLIENT
        )
        session = self._parts.gateway().connect(identity)
        try:
            yield session
        finally:
            self._parts.gateway().disconnect(session)

    async def end_session(self, run: AgentRun) -> int:
        """Delete the memories limited to the run's session; return their number."""
        with self._session(run.id, run.request) as session:
            return await session.end_session()

    def pipeline(self) -> RunPipeline:
        base, parts = self._base, self._parts

        async def learn(execution_id: str) -> int:
            from synthorg_tui.learning.models import LearnVerdict

            report = await parts.learning().learn_from([execution_id])
            return report.count(LearnVerdict.PROPOSED)

        async def refresh() -> None:
            await parts.knowledge().refresh()

        learns = base.settings.memory.procedural.enabled
        return RunPipeline(
            records=RunRecords(base.data_dir, self.import_records),
            operations=parts.operations,
            clock=base.clock,
            store=partial(base.local, Feature.RUNS),
            level=base.settings.level,
            learn=learn if learns else None,
            refresh=refresh,
            end_session=self.end_session,
        )
