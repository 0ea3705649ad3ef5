"""The composition root: settings in, wired services out. Opens and closes the stores."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.memory.errors import MemoryCapabilityError
from synthorg_tui.memory.factory import BackendContext, create_memory_backend
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.settings_kv import former_roots, has_open
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.toolbox import ToolServices
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.overview import SkillOverview
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportService
    from synthorg_tui.learning.promotion import EvolutionService
    from synthorg_tui.learning.service import LearnService
    from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin
    from synthorg_tui.memory.scenarios import ScenarioService
    from synthorg_tui.memory.store.maintenance import Maintenance
    from synthorg_tui.memory.store.reader import StoreReader
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.persistence.usage import DuckDBUsageStore
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.skills.document import SkillRoot
    from synthorg_tui.skills.library import SkillLibrary
    from synthorg_tui.wiring import CurationServices


_PACK_AFTER: Final = 10.0
"""Seconds after which who opened the store has got what it opened it for."""


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent that is declared in the settings or has memories, or both."""

    id: str
    role: str | None
    department: str | None
    level: MemoryLevel
    declared: bool
    memories: int


class SettingsPolicy:
    """What the settings say about each agent, as the store asks for it."""

    def __init__(self, settings: RootConfig) -> None:
        self._settings = settings

    @property
    def max_memories_per_agent(self) -> int | None:
        """The company's bound."""
        return self._settings.memory.options.max_memories_per_agent

    def level(self, agent_id: str) -> MemoryLevel:
        """The agent's own level, or the company's."""
        return self._settings.level(agent_id)

    def retention(self, agent_id: str, category: MemoryCategory) -> timedelta | None:
        """How long the agent's memories of a category are kept; ``None`` is for good."""
        days = self._settings.retention_days(agent_id, category)
        return timedelta(days=days) if days is not None else None


class Engine:
    """Everything a program, the command line and the screens work with.

    ``memory`` is the configured backend. The desk, imports and maintenance stand on the local
    backend; with another one they raise ``MemoryCapabilityError``. ``events`` tells of what
    clients of this engine changed.
    """

    def __init__(
        self,
        *,
        settings: RootConfig,
        data_dir: Path,
        memory: MemoryBackend,
        database: Database,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.data_dir = data_dir
        self.memory = memory
        self.events = Events()
        self._database = database
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: RootConfig | None = None,
        *,
        data_dir: Path | None = None,
        clock: Clock | None = None,
        database: Database | None = None,
        embedder: Embedder | None = None,
    ) -> AsyncIterator["Engine"]:
        """Own a data directory and open its stores for the length of an ``async with``.

        Args:
            settings: Those of the usual file and the environment when missing.
            data_dir: Takes precedence over the one in the settings.
            clock: Decides what "now" is.
            database: That of the directory when the caller owns and has opened it already; it
                stays open.
            embedder: The one that the settings describe when the caller has begun to load it; it
                is closed with the rest.

        Raises:
            ConfigError: The settings are invalid.
            StoreLockedError: Another process owns the directory.
            StoreCorruptError: The database can't be read.
        """
        settings = settings or load_settings()
        directory = data_dir or Path(settings.memory.storage.data_dir)
        clock = clock or SystemClock()
        async with AsyncExitStack() as stack:
            if database is None:
                database = await stack.enter_async_context(own_database(directory))
            embedder = embedder or create_embedder(settings.embedding())
            stack.push_async_callback(embedder.close)
            context = BackendContext(
                data_dir=directory,
                database=database,
                embedder=embedder,
                clock=clock,
                policy=SettingsPolicy(settings),
            )
            memory = create_memory_backend(settings.memory, context=context)
            await memory.connect()
            stack.push_async_callback(memory.disconnect)
            engine = cls(
                settings=settings,
                data_dir=directory,
                memory=memory,
                database=database,
                clock=clock,
            )
            stack.push_async_callback(engine._close_parts)
            await engine._finish_decisions()
            yield engine

    @property
    def reader(self) -> "StoreReader":
        """Looks through the memories of all agents without their models."""
        return self._local().reader

    @property
    def desk(self) -> "MemoryAdmin":
        """What a person does with the memories of all agents."""
        return self._local()

    @cached_property
    def model(self) -> "CompletionProvider | None":
        """The configured language model, not loaded yet; what it uses is recorded."""
        from synthorg_tui.providers.completion.factory import create_metered_provider

        completion = self.settings.providers.completion
        return create_metered_provider(completion, log=self.usage, clock=self._clock)

    @cached_property
    def executions(self) -> "ExecutionStore":
        """The sessions that were imported."""
        from synthorg_tui.executions.store import DuckDBExecutionStore

        return DuckDBExecutionStore(self._database)

    @cached_property
    def usage(self) -> "DuckDBUsageStore":
        """What language models were used for."""
        from synthorg_tui.persistence.usage import DuckDBUsageStore

        return DuckDBUsageStore(self._database)

    @cached_property
    def approvals(self) -> "ApprovalQueue":
        """What waits for a person's decision, and what was decided."""
        from synthorg_tui.approvals.queue import ApprovalQueue

        days = self.settings.approvals.expire_after_days
        return ApprovalQueue(
            self._database,
            clock=self._clock,
            expire_after=timedelta(days=days) if days is not None else None,
            on_expire=lambda item: self.events.emit("approval.expired", item.id),
        )

    @property
    def evolution(self) -> "EvolutionService":
        """Proposes to give every agent what several have learnt."""
        from synthorg_tui.learning.promotion import EvolutionService
        from synthorg_tui.persistence.settings_kv import LastRuns

        memory = self.settings.memory
        return EvolutionService(
            config=memory.procedural,
            interval=memory.consolidation.interval,
            executions=self.executions,
            skills=self.ledger,
            queue=self.approvals,
            moments=LastRuns(self._database),
            clock=self._clock,
        )

    @property
    def pruning(self) -> "PruneService":
        """Proposes which skills can go."""
        from synthorg_tui.curation.pruning import PruneService

        return PruneService(
            config=self.settings.memory.procedural,
            skills=self.ledger,
            queue=self.approvals,
            clock=self._clock,
        )

    @cached_property
    def injection(self) -> "InjectionService":
        """Prepares what agents are given, and explains it."""
        from synthorg_tui.curation.applications import Applications
        from synthorg_tui.memory.injection import DefaultTokenEstimator
        from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
        from synthorg_tui.memory.strategies.service import InjectionService
        from synthorg_tui.providers.completion.factory import create_token_estimator

        memory, completion = self.settings.memory, self.settings.providers.completion
        return InjectionService(
            memory=self.memory,
            retrieval=memory.retrieval,
            digest=memory.v1,
            shares=memory.options.shared_knowledge_base,
            self_editing=memory.self_editing,
            estimator=create_token_estimator(completion) or DefaultTokenEstimator(),
            clock=self._clock,
            model=lambda: self.model,
            rerank_cache=RerankCache(
                ttl_seconds=memory.retrieval.rerank_cache_ttl_seconds, clock=self._clock
            ),
            applications=Applications(self._database),
        )

    @cached_property
    def gateway(self) -> "AgentGateway":
        """Where agents connect; who lets them in opens it first."""
        from synthorg_tui.agents.audit import AuditTrail
        from synthorg_tui.agents.gateway import AgentGateway
        from synthorg_tui.agents.session import Services

        config = self.settings.agent_access
        return AgentGateway(
            Services(
                config=config,
                prepare=self.injection.serve,
                tools=lambda: self._tool_services,
                audit=AuditTrail(self._database, keep=config.audit_calls),
                events=self.events,
                clock=self._clock,
            ),
            memories=lambda: self.desk,
        )

    @cached_property
    def _tool_services(self) -> "ToolServices":
        """What the tools of agents work with; who is only given a digest calls none."""
        from synthorg_tui.agents.pending import PendingWrites, PendingWriteStore
        from synthorg_tui.agents.reports import Reports
        from synthorg_tui.agents.toolbox import ApprovedSkills, ToolServices

        pending: PendingWrites | None = None
        store: Callable[[], BatchStore] = self._local
        if self.settings.agent_access.writes == "approval":
            pending = PendingWrites(self.approvals, clock=self._clock, level=self.settings.level)
            store = partial(PendingWriteStore, pending, self.memory)
        return ToolServices(
            injection=self.injection,
            reports=Reports(store, self._imports_into, data_dir=self.data_dir, clock=self._clock),
            skills=ApprovedSkills(self.ledger),
            pending=pending,
        )

    @cached_property
    def skill_library(self) -> "SkillLibrary":
        """The skills on disk; those of projects once somebody has asked which there are."""
        from synthorg_tui.skills.library import SkillLibrary

        return SkillLibrary(self._skill_roots(()))

    @cached_property
    def ledger(self) -> "SkillRegistry":
        """The skills that a person let count."""
        from synthorg_tui.curation.registry import SkillRegistry

        return SkillRegistry(self._database)

    @property
    def reviews(self) -> "ReviewService":
        """Where a person decides about what is proposed."""
        return self._office.reviews

    @property
    def erasure(self) -> "Erasure":
        """Purges memories, with the skills that were made of them."""
        return self._office.erasure

    @cached_property
    def _office(self) -> "CurationServices":
        from synthorg_tui.wiring import build_curation

        return build_curation(
            database=self._database,
            queue=self.approvals,
            ledger=self.ledger,
            store=self._local(),
            shelf=self.skill_library,
            own_root=self._own_skills,
            agents=lambda: self.settings.agents,
            executions=self.executions,
            config=self.settings.memory.procedural,
            clock=self._clock,
            on_decision=lambda decision: self.events.emit("skills", decision.title),
        )

    @cached_property
    def skills(self) -> "SkillOverview":
        """Skills on disk next to what the memory has of them."""
        from synthorg_tui.curation.overview import SkillOverview

        return SkillOverview(
            library=self.skill_library,
            roots=self._skill_roots,
            projects=self.executions,
            ledger=self.ledger,
            queue=self.approvals,
            changes=self._office.file_changes,
            found=self._office.found,
            watches=self.settings.skills.watch,
        )

    @property
    def scenarios(self) -> "ScenarioService":
        """Saved questions, to be asked again after a change."""
        from synthorg_tui.memory.scenarios import DuckDBScenarioStore, ScenarioService

        memory, saved = self.settings.memory, DuckDBScenarioStore(self._database)
        return ScenarioService(saved, self.injection, memory.retrieval, memory.v1)

    @property
    def imports(self) -> "ImportService":
        """Brings transcripts in."""
        return self._imports_into(self._local())

    def _imports_into(self, store: "BatchStore") -> "ImportService":
        from synthorg_tui.ingest.service import ImportService

        learns = self.settings.memory.procedural.enabled
        return ImportService(
            backend=store,
            executions=self.executions,
            clock=self._clock,
            learner=self._learn_from if learns else None,
        )

    @cached_property
    def learning(self) -> "LearnService":
        """Draws lessons from what was imported, and proposes them."""
        from synthorg_tui.learning.service import LearnService

        waits = self.settings.memory.procedural.require_approval
        return LearnService(
            queue=self.approvals,
            executions=self.executions,
            config=self.settings.memory.procedural,
            clock=self._clock,
            provider=self.wording_model,
            sink=self._office.recurrences,
            adopt=None if waits else self.reviews.adopt_by_policy,
        )

    @cached_property
    def wording_model(self) -> "CompletionProvider | None":
        """The model that words lessons: another one of the same server when one is named."""
        from synthorg_tui.memory.config import ANY_MODEL
        from synthorg_tui.providers.completion.config import OpenAIModelConfig
        from synthorg_tui.providers.completion.factory import create_metered_provider

        completion = self.settings.providers.completion
        name = self.settings.memory.procedural.model
        if not isinstance(completion, OpenAIModelConfig) or name in (ANY_MODEL, completion.model):
            return self.model
        other = completion.model_copy(update={"model": name})
        return create_metered_provider(other, log=self.usage, clock=self._clock)

    async def _learn_from(self, executions: Sequence[str], cancel: threading.Event) -> int:
        from synthorg_tui.learning.models import LearnVerdict

        report = await self.learning.learn_from(executions, cancel=cancel)
        await self.evolution.run_if_due()
        return report.count(LearnVerdict.PROPOSED)

    @property
    def maintenance(self) -> "Maintenance":
        """Examines, repairs, rebuilds and backs up."""
        from synthorg_tui.memory.store.maintenance import Maintenance

        return Maintenance(self._local(), data_dir=self.data_dir)

    async def warm_up(self) -> None:
        """Do now what the first search would wait for: index, embedding model, what lacks vectors.

        What fails here fails again, and is told, when it is needed.
        """
        local = self._local()
        with suppress(DomainError):
            # The model loads outside the interpreter's lock for most of its time, the index inside.
            await asyncio.gather(
                local.core.embedder.embed_query("warm up"),
                local.core.indexed(),
                local.core.unembedded(),
            )

    @property
    def index_progress(self) -> float | None:
        """How far the search index has come, from 0 to 1, while it is built; else ``None``."""
        return self._local().core.index_progress

    async def pack(self) -> None:
        """After a while, have the index packed for the next time when much has changed."""
        await asyncio.sleep(_PACK_AFTER)
        await self._local().core.pack()

    async def agents(self) -> tuple[AgentSummary, ...]:
        """Declared agents and those that came to be on import, by id."""
        counts = dict((await self.desk.facets()).agents)
        ids = sorted({agent.id for agent in self.settings.agents} | counts.keys())
        return tuple(self._summary(agent_id, counts.get(agent_id, 0)) for agent_id in ids)

    async def _finish_decisions(self) -> None:
        """Finish what was decided when the program was last stopped in the middle of it.

        Where the directory was moved, the files are looked for in the new place.
        """
        own = self._own_skills
        is_open, was_elsewhere = await self._database.read(
            lambda db: (has_open(db), former_roots(db, str(own)))
        )
        if was_elsewhere:
            from synthorg_tui.curation.relocation import relocate

            await relocate(self._database, own)
        if is_open:
            from synthorg_tui.curation.journal import Journal

            await Journal(self._database, self.approvals).roll_forward()

    @property
    def _own_skills(self) -> Path:
        """Where the SKILL.md files of approved lessons are."""
        return self.settings.own_skills(self.data_dir)

    def _skill_roots(self, projects: Sequence[Path]) -> "tuple[SkillRoot, ...]":
        from synthorg_tui.skills.library import skill_roots

        return skill_roots(self.settings.skills, own=self._own_skills, projects=projects)

    async def _close_parts(self) -> None:
        """Close what was made; parts are made only when used."""
        gateway: AgentGateway | None = self.__dict__.get("gateway")
        if gateway is not None:
            await gateway.close()
        models = (self.__dict__.get(name) for name in ("model", "wording_model"))
        for model in {id(each): each for each in models if each is not None}.values():
            await model.close()

    def _summary(self, agent_id: str, memories: int) -> AgentSummary:
        declared = self.settings.agent(agent_id)
        return AgentSummary(
            id=agent_id,
            role=declared.role if declared else None,
            department=declared.department if declared else None,
            level=self.settings.level(agent_id),
            declared=declared is not None,
            memories=memories,
        )

    def _local(self) -> LocalMemoryBackend:
        if not isinstance(self.memory, LocalMemoryBackend):
            raise MemoryCapabilityError(
                f"the {self.memory.backend_name} backend keeps nothing to list, import or repair",
                remedy="Set memory.backend to local.",
            )
        return self.memory
