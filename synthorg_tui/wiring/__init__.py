"""Builds what an engine offers: the one module that knows the concrete class of everything.

Each builder takes the ``Foundation`` and what else it needs, and returns one service; which is
built when, and only once, is for ``engine``. A service's modules are imported inside its builder:
an agent waits for the first digest, and most of that time would be imports it has no use for. So
nothing but settings, clock, database and memory may be imported at the top. What needs closing is
pushed on ``Foundation.closing`` by its builder.
"""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence import EVALUATIONS_DIR, SCRATCH_DIR
from synthorg_tui.persistence.settings_kv import former_roots, has_open
from synthorg_tui.wiring.foundation import Foundation as Foundation
from synthorg_tui.wiring.foundation import open_foundation as open_foundation

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.agents.administration import AdminServices
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.toolbox import ToolServices
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.figures.service import FigureService
    from synthorg_tui.ingest.service import ImportService, Learner
    from synthorg_tui.jobs.scheduler import JobScheduler
    from synthorg_tui.learning.promotion import EvolutionService
    from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.organisation.service import OrganisationService
    from synthorg_tui.persistence.operational import DuckDBPersistence
    from synthorg_tui.persistence.port import Connection
    from synthorg_tui.persistence.usage import UsageStore
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder


async def finish_decisions(base: Foundation, part: Callable[[str], Any]) -> None:
    """Finish decisions that were interrupted when the program last stopped.

    ``part`` returns a service of the engine by its name.
    When the data directory has been moved, the registered paths are changed to the new place first.
    Files of evaluations go whose results were erased, and what an interrupted one left.
    """
    is_open, was_elsewhere = await base.database.read(
        lambda db: (has_open(db), former_roots(db, str(base.own_skills)))
    )
    if was_elsewhere and not base.is_shared:  # then it is another machine's
        from synthorg_tui.curation.relocation import relocate

        await relocate(base.database, base.own_skills)
    if is_open:
        from synthorg_tui.curation.administration import AdminActs
        from synthorg_tui.curation.journal import Journal

        acts = AdminActs(lambda: part("memory_service"))
        journal = Journal(base.database, part("approvals"), acts.perform, base.has_skills_in)
        await journal.roll_forward()
    if (scratch := base.data_dir / SCRATCH_DIR).is_dir():  # a process was killed at its work
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    if (evaluations := base.data_dir / EVALUATIONS_DIR).is_dir():
        from synthorg_tui.evaluation.folders import remove_unnamed
        from synthorg_tui.evaluation.store import EvaluationStore

        named = await EvaluationStore(base.database).folders()
        await asyncio.to_thread(remove_unnamed, evaluations, named)


def build_model(
    base: Foundation, usage: "UsageStore", *, name: str | None = None
) -> "CompletionProvider | None":
    """Build the configured language model, which loads with its first use; ``None`` without one.

    ``name`` selects another model of the same server. What it uses is recorded in ``usage``.
    """
    from synthorg_tui.providers.completion.factory import create_metered_provider

    completion = base.settings.providers.completion
    if name is not None:
        completion = completion.model_copy(update={"model": name})
    model = create_metered_provider(
        completion, record=usage.add, used_since=usage.tokens_since, clock=base.clock
    )
    if model is not None:
        base.closing.push_async_callback(model.close)
    return model


def build_operations(base: Foundation) -> "DuckDBPersistence":
    """Build the repositories of operational data, which are connected as long as the store is."""
    from synthorg_tui.persistence.operational import DuckDBPersistence

    return DuckDBPersistence(base.database)


def other_model(
    base: Foundation, usage: "UsageStore", name: str | None
) -> "CompletionProvider | None":
    """Build another model of the configured server; ``None`` where ``name`` stands for the same."""
    from synthorg_tui.memory.config import ANY_MODEL
    from synthorg_tui.providers.completion.config import OpenAIModelConfig

    config = base.settings.providers.completion
    if not isinstance(config, OpenAIModelConfig) or name in (None, ANY_MODEL, config.model):
        return None
    return build_model(base, usage, name=name)


async def warm_up(base: Foundation) -> None:
    """Load the index and the embedding model and embed what has no vector; errors are ignored."""
    if not isinstance(base.memory, LocalMemoryBackend):
        return
    core = base.memory.core
    with suppress(DomainError):
        # The model loads outside the interpreter's lock for most of its time, the index inside.
        await asyncio.gather(
            core.embedder.embed_query("warm up"), core.indexed(), core.unembedded()
        )


def index_progress(base: Foundation) -> float | None:
    """The progress of building the index, 0 to 1; ``None`` without one, or when none is built."""
    local = base.memory if isinstance(base.memory, LocalMemoryBackend) else None
    return local.core.index_progress if local else None


def build_queue(base: Foundation) -> "ApprovalQueue":
    """Build the approval queue; it emits ``approval.expired`` for each item that expires."""
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.approvals.roles import DecisionRights

    def department_of(agent_id: str) -> str | None:
        declared = base.settings.agent(agent_id)
        return declared.department if declared else None

    config = base.settings.approvals
    days = config.expire_after_days
    return ApprovalQueue(
        base.database,
        clock=base.clock,
        expire_after=timedelta(days=days) if days is not None else None,
        on_expire=lambda item: base.events.emit("approval.expired", item.id),
        rights=DecisionRights(config, department_of, is_shared=base.is_shared),
    )


def build_injection(
    base: Foundation,
    model: "Callable[[], CompletionProvider | None]",
    organisation: "Callable[[], OrganisationService]",
) -> "InjectionService":
    """Build the service that prepares what agents are given; ``model`` may rerank it."""
    from synthorg_tui.curation.applications import Applications
    from synthorg_tui.memory.injection import DefaultTokenEstimator
    from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.organisation.service import build_briefing
    from synthorg_tui.providers.completion.factory import create_token_estimator

    memory, completion = base.settings.memory, base.settings.providers.completion
    return InjectionService(
        memory=base.memory,
        retrieval=memory.retrieval,
        digest=memory.v1,
        shares=memory.options.shared_knowledge_base,
        self_editing=memory.self_editing,
        estimator=create_token_estimator(completion) or DefaultTokenEstimator(),
        clock=base.clock,
        model=model,
        cross_encoder=_build_cross_encoder(base),
        rerank_cache=RerankCache(
            ttl_seconds=memory.retrieval.rerank_cache_ttl_seconds, clock=base.clock
        ),
        applications=Applications(base.database),
        organisation=build_briefing(base.settings.org_memory, base.memory, organisation),
        agents=base.settings.own_settings(),
        enabled=memory.injection_enabled,
    )


def _build_cross_encoder(base: Foundation) -> "CrossEncoder | None":
    """Build what reorders memories by the settings; it rests and is closed with the embedder."""
    from synthorg_tui.providers.reranking.config import NoRerankerConfig

    config = base.settings.providers.reranking
    if isinstance(config, NoRerankerConfig):  # nearly always: then nothing of it is loaded
        return None
    from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

    encoder = CrossEncoder(config)
    if isinstance(base.memory, LocalMemoryBackend):
        base.memory.core.idle.also(encoder.unload)
    base.closing.push_async_callback(encoder.close)
    return encoder


def build_gateway(
    base: Foundation, injection: "InjectionService", tools: "Callable[[], ToolServices]"
) -> "AgentGateway":
    """Build the service that agents connect to; ``tools`` is called with the first tool call."""
    from synthorg_tui.agents.audit import AuditTrail
    from synthorg_tui.agents.client_sessions import ClientSessions
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.session import Services

    config = base.settings.agent_access
    gateway = AgentGateway(
        Services(
            config=config,
            prepare=injection.serve,
            tools=tools,
            audit=AuditTrail(base.database, keep=config.audit_calls),
            sessions=ClientSessions(base.database, clock=base.clock, memories=base.admin),
            events=base.events,
            clock=base.clock,
            applications=injection.applications,
        ),
        memories=base.admin,
    )
    base.closing.push_async_callback(gateway.close)
    return gateway


def build_tools(
    base: Foundation,
    *,
    injection: "InjectionService",
    queue: "ApprovalQueue",
    registry: "SkillRegistry",
    imports: "Callable[[BatchStore], ImportService]",
    organisation: "Callable[[], OrganisationService]",
    memory_service: "Callable[[], MemoryService]",
) -> "ToolServices":
    """Build what agents' tools use; where settings want approval, writes go to the queue."""
    from synthorg_tui.agents.organisation import OrgServices
    from synthorg_tui.agents.own_memories import OwnStores
    from synthorg_tui.agents.pending import PendingWrites, PendingWriteStore
    from synthorg_tui.agents.recall import Recall
    from synthorg_tui.agents.reports import Reports
    from synthorg_tui.agents.silenced import SilencedHints
    from synthorg_tui.agents.toolbox import ApprovedSkills, ToolServices

    settings, pending = base.settings, None
    store: Callable[[], BatchStore] = base.batches
    if settings.agent_access.writes == "approval":
        pending = PendingWrites(queue, clock=base.clock, level=settings.level)
        store = partial(PendingWriteStore, pending, base.memory)
    return ToolServices(
        injection=injection,
        reports=Reports(store, imports, queue=queue, data_dir=base.data_dir, clock=base.clock),
        skills=ApprovedSkills(registry),
        own=OwnStores(lambda: guarded_desk(base), store, base.settings.level, pending),
        recall=Recall(registry, injection, SilencedHints(base.database, clock=base.clock)),
        org=lambda: OrgServices(
            organisation().reads, queue, settings.org_memory, settings.seniority
        ),
        admin=partial(_admin, base, queue, memory_service, {}),
        administrator=lambda: base.settings.agent_access.administrator,
        pending=pending,
    )


def _admin(
    base: Foundation,
    queue: "ApprovalQueue",
    memory_service: "Callable[[], MemoryService]",
    begun: dict[str, str],
) -> "AdminServices":
    """What the administrator's tools stand on; ``begun`` are the runs that it began."""
    from synthorg_tui.agents.administration import AdminServices
    from synthorg_tui.agents.pending import PendingWrites

    return AdminServices(
        service=memory_service,
        queue=queue,
        clock=base.clock,
        source_dir=str(base.data_dir.absolute()),
        pending=PendingWrites(queue, clock=base.clock, level=base.settings.level),
        begun=begun,
    )


def build_evolution(
    base: Foundation,
    executions: "ExecutionStore",
    registry: "SkillRegistry",
    queue: "ApprovalQueue",
) -> "EvolutionService":
    """Build the service that proposes for all agents what several have learnt."""
    from synthorg_tui.learning.promotion import EvolutionService

    return EvolutionService(base.settings.memory, executions, registry, queue, base.clock)


def build_pruning(
    base: Foundation, registry: "SkillRegistry", queue: "ApprovalQueue"
) -> "PruneService":
    """Build the service that proposes which skills to remove."""
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.learning.effects import LessonEffects

    effects = LessonEffects(base.database, registry, base.clock).all
    return PruneService(base.settings.memory.procedural, registry, queue, base.clock, effects)


def build_imports(
    base: Foundation, store: "BatchStore", executions: "ExecutionStore", learner: "Learner | None"
) -> "ImportService":
    """Build the service that imports sessions into ``store``; ``learner`` draws from them."""
    from synthorg_tui.ingest.service import ImportService

    return ImportService(backend=store, executions=executions, clock=base.clock, learner=learner)


def guarded_desk(base: Foundation) -> "MemoryAdmin":
    """Return the access to all agents' memories, which edits no memory of an approved skill."""
    if not isinstance(base.memory, LocalMemoryBackend):  # nor does it have any
        return base.admin()
    from synthorg_tui.curation.registry import require_no_skill
    from synthorg_tui.memory.store.admin import StoreAdmin

    return StoreAdmin(base.memory.core, may_edit=require_no_skill)


def build_scheduler(base: Foundation, service: Callable[[str], Any]) -> "JobScheduler":
    """Build the service that runs by itself what is due; ``service`` returns one by its name."""
    from synthorg_tui.jobs.registry import JOB_SERVICES, JobParts, build_jobs

    parts = JobParts(
        settings=base.settings,
        data_dir=base.data_dir,
        clock=base.clock,
        events=base.events,
        **{name: partial(service, name) for name in JOB_SERVICES},
    )
    return build_jobs(
        base.database,
        parts,
        agent_waits=lambda: service("gateway").is_waited_for,
        tokens_since=service("usage").tokens_since,
    )


def build_figures(base: Foundation, jobs: "Callable[[], JobScheduler]") -> "FigureService":
    """The service that counts what the overview shows, with any backend."""
    from synthorg_tui.figures.service import FigureService
    from synthorg_tui.memory.store.policy import AgeRules
    from synthorg_tui.memory.store.queries import count_unembedded, live_where

    if not isinstance(base.memory, LocalMemoryBackend):  # it has no memories of ours to count
        none = partial(live_where, now=base.clock.now(), ages=AgeRules())
        told = f"those that the {base.memory.backend_name} backend keeps aren't counted here"
        return FigureService(base.database, base.data_dir, none, lambda _: 0, jobs, uncounted=told)
    core = base.memory.core

    def waiting(db: "Connection") -> int:
        return count_unembedded(db, core.embedder.fingerprint)

    return FigureService(base.database, base.data_dir, core.live_where, waiting, jobs)
