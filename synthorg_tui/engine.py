"""The engine: everything that programs, the command line and the screens work with.

``Engine.open`` owns a data directory for the length of an ``async with``; each property is a
service that is built when first used and closed with the engine. A service is put together in its
property, or in ``wiring`` if that takes more than a few lines; what it does belongs into a room of
its own, not here.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui import wiring
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.memory.listing import AgentSummary as AgentSummary
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.settings_kv import has_due
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    import threading

    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.toolbox import ToolServices
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.approvals.trail import DecisionTrail
    from synthorg_tui.curation.consolidating import ConsolidationRuns
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.overview import SkillOverview
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.secrets import SecretSearch
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.evaluation.service import EvaluationService
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.figures.service import FigureService
    from synthorg_tui.ingest.following import Following
    from synthorg_tui.ingest.service import ImportService
    from synthorg_tui.jobs.scheduler import JobScheduler
    from synthorg_tui.knowledge.service import KnowledgeService
    from synthorg_tui.learning.promotion import EvolutionService
    from synthorg_tui.learning.service import LearnService
    from synthorg_tui.memory.absences import Absences
    from synthorg_tui.memory.evaluation.comparing import EmbedderComparison
    from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin
    from synthorg_tui.memory.org.protocol import OrgMemoryBackend
    from synthorg_tui.memory.scenarios import ScenarioService
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.memory.store.maintenance import Maintenance
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.organisation.importing import OrgImports
    from synthorg_tui.organisation.service import OrganisationService
    from synthorg_tui.persistence.operational import DuckDBPersistence
    from synthorg_tui.persistence.usage import UsageStore
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.runtime.service import RunService
    from synthorg_tui.settings.agreed import AgreedSettings
    from synthorg_tui.settings.changes import SettingChanges
    from synthorg_tui.skills.library import SkillLibrary
    from synthorg_tui.wiring.curation import CurationServices


class Engine:
    """One open data directory with all services; use ``Engine.open`` to get one.

    ``memory`` is the configured backend; what that can't do raises ``MemoryCapabilityError``.
    ``events`` emits a notice of each change made through this engine.
    """

    def __init__(self, base: wiring.Foundation) -> None:
        self._base = base
        self.settings, self.data_dir = base.settings, base.data_dir
        self.memory = base.memory
        self.events = base.events
        self._database = base.database

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: RootConfig | None = None,
        *,
        data_dir: Path | None = None,
        clock: Clock | None = None,
        database: StoreDatabase | None = None,
        embedder: Embedder | None = None,
    ) -> AsyncIterator["Engine"]:
        """Own a data directory and open its stores for the length of an ``async with``.

        Args:
            settings: When ``None``, those of the usual file and the environment.
            data_dir: Takes precedence over the one in the settings.
            clock: Decides what "now" is; ``None`` is the system's.
            database: The directory's database if the caller owns and has opened it already; it
                stays open. ``None`` opens it.
            embedder: The embedder that the settings describe, if the caller has begun to load it
                already; it is closed with the engine. ``None`` creates it.

        Raises:
            ConfigError: The settings are invalid.
            StoreLockedError: Another process owns the directory.
            StoreCorruptError: The database can't be read.
        """
        async with wiring.open_foundation(
            settings or load_settings(),
            data_dir=data_dir,
            clock=clock,
            database=database,
            embedder=embedder,
        ) as base:
            engine = cls(base)
            await engine._prepare()
            yield engine

    async def _prepare(self) -> None:
        """Finish interrupted decisions and load the deployed model."""
        if self._base.may_be_tuned:
            from synthorg_tui.wiring.tuning import follow_deployed

            await follow_deployed(self._base)
        await wiring.finish_decisions(self._base, lambda: self._curation.journal)
        if await self._database.read(has_due):
            await self.consolidation.resume()
        if self._base.memory.backend_name == "local":
            await self.org.connect()
            _ = self._base.is_shared and self._curation  # has others' skills here from now on

    @cached_property
    def desk(self) -> "MemoryAdmin":
        """Memory administration across agents; the memories of a skill change by review only."""
        from synthorg_tui.curation.registry import require_no_skill
        from synthorg_tui.memory.store.admin import StoreAdmin

        if not isinstance(self.memory, LocalMemoryBackend):  # nor does it have any
            return self._base.admin()
        return StoreAdmin(self.memory.core, may_edit=require_no_skill)

    @cached_property
    def model(self) -> "CompletionProvider | None":
        """The configured language model, or ``None``; it loads with its first use.

        Tokens, time and cost of its answers are recorded in ``usage``.
        """
        return wiring.build_model(self._base, self.usage)

    @cached_property
    def wording_model(self) -> "CompletionProvider | None":
        """The model that words lessons: ``model``, or another of its server by the settings."""
        return self._model_named(self.settings.memory.procedural.model)

    def _model_named(self, name: str | None) -> "CompletionProvider | None":
        """Return ``model``, or another model of its server; a model file ignores the name."""
        from synthorg_tui.memory.config import ANY_MODEL
        from synthorg_tui.providers.completion.config import OpenAIModelConfig

        config = self.settings.providers.completion
        if not isinstance(config, OpenAIModelConfig) or name in (None, ANY_MODEL, config.model):
            return self.model
        return wiring.build_model(self._base, self.usage, name=name)

    @cached_property
    def executions(self) -> "ExecutionStore":
        """The store of executions: the imported sessions with their transcript lines."""
        from synthorg_tui.executions.store import ExecutionStore

        return ExecutionStore(self._database)

    @cached_property
    def usage(self) -> "UsageStore":
        """The record of what language models were used for, with tokens and cost."""
        from synthorg_tui.persistence.usage import UsageStore

        return UsageStore(self._database)

    @cached_property
    def operations(self) -> "DuckDBPersistence":
        """The repositories of operational data, on the store's own database."""
        from synthorg_tui.persistence.operational import DuckDBPersistence

        return DuckDBPersistence(self._database)

    @cached_property
    def kept(self) -> "SettingChanges":
        """The service by which a person changes settings; others take these where they can."""
        from synthorg_tui.wiring.mirrors import build_kept

        return build_kept(self._base, self.operations.settings, vars(self))

    @cached_property
    def approvals(self) -> "ApprovalQueue":
        """The queue of proposals that wait for a person's decision or have it."""
        return wiring.build_queue(self._base)

    @property
    def safety(self) -> "AgreedSettings":
        """The safety settings that the person agreed to, and those that wait for that."""
        from synthorg_tui.settings.agreed import AgreedSettings

        return AgreedSettings(self._database, self.settings.own_safety, clock=self._base.clock)

    @property
    def trail(self) -> "DecisionTrail":
        """The trail of decisions, and the number of the last one that was shown to the person."""
        from synthorg_tui.approvals.trail import DecisionTrail

        return DecisionTrail(self._database)

    @property
    def evolution(self) -> "EvolutionService":
        """The service that proposes lessons for all agents that several have learnt."""
        from synthorg_tui.learning.promotion import EvolutionService

        memory, clock = self.settings.memory, self._base.clock
        return EvolutionService(memory, self.executions, self.ledger, self.approvals, clock)

    @cached_property
    def pruning(self) -> "PruneService":
        """The service that proposes which skills to remove, and counts what came of each."""
        from synthorg_tui.curation.pruning import PruneService
        from synthorg_tui.learning.effects import LessonEffects

        clock, config = self._base.clock, self.settings.memory.procedural
        effects = LessonEffects(self._database, self.ledger, clock)
        return PruneService(config, self.ledger, self.approvals, clock, effects.all)

    @cached_property
    def injection(self) -> "InjectionService":
        """The service that prepares and explains the digests that agents are given."""
        return wiring.build_injection(self._base, lambda: self.model, lambda: self.organisation)

    @cached_property
    def evaluation(self) -> "EvaluationService":
        """The service that evaluates whether skills help, proposed or approved ones."""
        from synthorg_tui.wiring.evaluation import build_evaluation

        return build_evaluation(
            self._base,
            executions=self.executions,
            registry=self.ledger,
            overview=self.skills,
            injection=lambda: self.injection,
            pruning=lambda: self.pruning,
            reviews=lambda: self.reviews,
            runs=lambda: self.runs,
            sessions=lambda: self.sessions,
        )

    @cached_property
    def comparison(self) -> "EmbedderComparison":
        """The service that tries embedders side by side; needs the local backend."""
        from synthorg_tui.wiring.evaluation import build_comparison

        return build_comparison(self._base, self.injection, self.ledger)

    @cached_property
    def memory_service(self) -> "MemoryService":
        """The service of fine-tuning: runs, checkpoints, and which embedder is in force."""
        from synthorg_tui.wiring.tuning import build_memory_service

        ledger, kept, model = (lambda: self.ledger), (lambda: self.kept), (lambda: self.model)
        return build_memory_service(self._base, ledger, kept, model)

    @property
    def absences(self) -> "Absences":
        """The service that tells a person why a memory isn't among those an agent is given."""
        from synthorg_tui.memory.absences import Absences

        return Absences(self._base.local(Feature.ABSENCES).core, self.injection)

    @cached_property
    def gateway(self) -> "AgentGateway":
        """The service that agents connect to; open it before the first one does."""
        return wiring.build_gateway(self._base, self.injection, lambda: self._tools)

    @cached_property
    def _tools(self) -> "ToolServices":
        return wiring.build_tools(
            self._base,
            desk=lambda: self.desk,
            injection=self.injection,
            queue=self.approvals,
            registry=self.ledger,
            imports=self._imports_into,
            organisation=lambda: self.organisation,
            memory_service=lambda: self.memory_service,
        )

    @cached_property
    def skill_library(self) -> "SkillLibrary":
        """The skills on disk; those of projects are included once ``skills`` was asked for them."""
        from synthorg_tui.skills.library import SkillLibrary

        return SkillLibrary(self._base.skill_roots())

    @cached_property
    def ledger(self) -> "SkillRegistry":
        """The registry of skills that a person approved."""
        from synthorg_tui.curation.registry import SkillRegistry

        return SkillRegistry(self._database)

    @property
    def reviews(self) -> "ReviewService":
        """The service by which a person reviews, approves and rejects proposals."""
        return self._curation.reviews

    @property
    def erasure(self) -> "Erasure":
        """The service that purges memories, with the skills that were made of them."""
        return self._curation.erasure

    @property
    def sessions(self) -> "SessionErasure":
        """The service that lists imported sessions and erases them with their memories."""
        sessions = self._curation.sessions
        sessions.redraw = self._redraw
        return sessions

    async def _redraw(self) -> None:
        """Draw memories, lessons and knowledge from what is left of sessions."""
        await self.imports.catch_up()

    @cached_property
    def _curation(self) -> "CurationServices":
        from synthorg_tui.wiring.curation import curation_of

        parts = (self.approvals, self.ledger, self.skill_library, self.executions)
        return curation_of(self._base, *parts, lambda: self.memory_service)

    @cached_property
    def skills(self) -> "SkillOverview":
        """The overview of skills on disk next to the approved ones."""
        from synthorg_tui.curation.overview import SkillOverview

        return SkillOverview(
            self._curation.base,
            self._curation.file_changes,
            roots=lambda: self._base.all_skill_roots(self.executions),
            watches=self.settings.skills.watch,
        )

    @property
    def scenarios(self) -> "ScenarioService":
        """The service for saved questions, to be asked again after a change."""
        from synthorg_tui.memory.scenarios import ScenarioService

        return ScenarioService(self._database, self.injection, self.settings.memory_of)

    @cached_property
    def imports(self) -> "ImportService":
        """The service that imports transcripts, and learns from them if the settings say so.

        Needs the local backend, else raises ``MemoryCapabilityError``.
        """
        return self._imports_into(self._base.local(Feature.IMPORTS))

    def _imports_into(self, store: "BatchStore") -> "ImportService":
        from synthorg_tui.ingest.service import ImportService

        executions, clock = self.executions, self._base.clock
        service = ImportService(
            backend=store, executions=executions, clock=clock, learner=self._learn_from
        )
        service.absorb = self.sessions.absorb
        return service

    @cached_property
    def following(self) -> "Following":
        """The service that imports new transcripts automatically while its ``run`` is awaited."""
        from synthorg_tui.ingest.following import Following

        return Following(self.imports, self._database, self.settings.ingest, self.events)

    @cached_property
    def learning(self) -> "LearnService":
        """The service that draws lessons from imported executions and proposes them."""
        from synthorg_tui.learning.service import build_learning

        return build_learning(
            self.approvals,
            self._curation.evidence,
            executions=self.executions,
            config=self.settings.memory.procedural,
            clock=self._base.clock,
            provider=self.wording_model,
            adopt=self.reviews.adopt_by_policy,
            completion=self.settings.providers.completion,
        )

    @cached_property
    def knowledge(self) -> "KnowledgeService":
        """The service that updates the knowledge about projects; needs the local backend."""
        from synthorg_tui.knowledge.service import build_knowledge

        return build_knowledge(
            self._base.local(Feature.KNOWLEDGE), self.executions, self._base.clock
        )

    @cached_property
    def organisation(self) -> "OrganisationService":
        """What a person does with the organisation's knowledge; needs the local backend."""
        from synthorg_tui.organisation.service import build_organisation

        local, config = self._base.local(Feature.ORGANISATION), self.settings.org_memory
        return build_organisation(local, config, self.events, lambda: self.erasure)

    @property
    def org(self) -> "OrgMemoryBackend":
        """The connected backend of organisation memory that the settings name, as agents see it."""
        return self.organisation.backend

    @cached_property
    def org_imports(self) -> "OrgImports":
        """The service that imports rules and decisions from a project's files."""
        from synthorg_tui.organisation.importing import OrgImports

        return OrgImports(self.organisation)

    async def _learn_from(self, executions: Sequence[str], cancel: "threading.Event") -> int:
        """Learn from imported sessions; returns how many lessons were proposed."""
        from synthorg_tui.learning.models import LearnVerdict

        left = await self.executions.unlearnt()
        # In a thread: loading these takes long enough to keep a hook waiting.
        knowledge = await asyncio.to_thread(lambda: self.knowledge)
        await knowledge.refresh(cancel=cancel)
        await self._ask_about_contradictions()
        if not self.settings.memory.procedural.enabled:
            await self.executions.learnt({} if cancel.is_set() else left)
            return 0
        learning = await asyncio.to_thread(lambda: self.learning)
        report = await learning.learn_from(executions, cancel=cancel)
        return report.count(LearnVerdict.PROPOSED)

    async def _ask_about_contradictions(self) -> None:
        """Ask a person about what an import brought that contradicts what was there."""
        from synthorg_tui.curation.conflicts import find_conflicts
        from synthorg_tui.memory.errors import MemoryCapabilityError

        with suppress(MemoryCapabilityError):
            await find_conflicts(self._base.local(Feature.CONSOLIDATION).core, self.approvals)

    @cached_property
    def consolidation(self) -> "ConsolidationRuns":
        """The service that makes, applies and takes back plans; needs the local backend."""
        from synthorg_tui.curation.consolidating import ConsolidationRuns

        config, local = self.settings.memory.consolidation, self._base.local(Feature.CONSOLIDATION)
        return ConsolidationRuns(local, config, self.approvals, self._model_named)

    @property
    def maintenance(self) -> "Maintenance":
        """The service that checks, repairs, rebuilds and backs up the store.

        Needs the local backend, else raises ``MemoryCapabilityError``.
        """
        from synthorg_tui.memory.store.maintenance import Maintenance

        return Maintenance(self._base.local(), data_dir=self.data_dir)

    @cached_property
    def jobs(self) -> "JobScheduler":
        """The scheduler, which runs due jobs while its ``keep`` is awaited."""
        from synthorg_tui.jobs.registry import JOB_SERVICES, JobParts, build_jobs

        return build_jobs(
            self._database,
            JobParts(
                settings=self.settings,
                data_dir=self.data_dir,
                clock=self._base.clock,
                events=self.events,
                **{name: partial(getattr, self, name) for name in JOB_SERVICES},
            ),
            agent_waits=lambda: self.gateway.is_waited_for,
            tokens_since=self.usage.tokens_since,
        )

    @cached_property
    def runs(self) -> "RunService":
        """The service that runs agents here; needs the local backend."""
        from synthorg_tui.wiring.runs import RunParts, build_runs

        late: dict[str, Any] = {
            each.name: partial(getattr, self, each.name) for each in fields(RunParts)
        }
        return build_runs(self._base, RunParts(**late | {"model_named": self._model_named}))

    @cached_property
    def figures(self) -> "FigureService":
        """The service that counts what the overview shows."""
        return wiring.build_figures(self._base, lambda: self.jobs)

    @property
    def secrets(self) -> "SecretSearch":
        """The service that finds stored secrets and redacts them; needs the local backend."""
        from synthorg_tui.curation.secrets import SecretSearch

        return SecretSearch(self._base.local(Feature.SECRETS), self.maintenance, self._base.clock)

    def load_for_agents(self) -> None:
        """Build what the calls of agents need, and searches; for a thread, since it takes long.

        Otherwise the first calls do so on the event loop, while everything else waits.
        """
        import synthorg_tui.agents.recall
        import synthorg_tui.memory.digest.search
        import synthorg_tui.memory.retrieval.candidates
        import synthorg_tui.memory.retrieval.selection
        import synthorg_tui.memory.retriever  # noqa: F401

        _ = self.gateway, self._tools, self.desk

    async def warm_up(self) -> None:
        """Load index and model, and embed memories without a vector; searches report errors."""
        if not isinstance(self.memory, LocalMemoryBackend):
            return
        core = self.memory.core
        with suppress(DomainError):
            # The model loads outside the interpreter's lock for most of its time, the index inside.
            await asyncio.gather(
                core.embedder.embed_query("warm up"), core.indexed(), core.unembedded()
            )

    @property
    def index_progress(self) -> float | None:
        """The progress of building the search index, 0 to 1; ``None`` when it isn't being built."""
        local = self.memory if isinstance(self.memory, LocalMemoryBackend) else None
        return local.core.index_progress if local else None

    async def agents(self) -> tuple[AgentSummary, ...]:
        """Return all agents that are declared or have memories, sorted by id."""
        return self.settings.summaries(await self.desk.facets())
