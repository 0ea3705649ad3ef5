"""The settings of one company as one model: memory, agents, providers, skills, approvals.

Each part is modelled in the package that uses it. Here are only the rules that concern several
parts, and the methods whose result depends on more than one.
"""

from pathlib import Path
from typing import Self

from pydantic import (
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from synthorg_tui.agents.models import AgentAccessConfig
from synthorg_tui.approvals import ApprovalsConfig
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel, SeniorityLevel
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.types import FrozenModel, reject
from synthorg_tui.ingest import IngestConfig
from synthorg_tui.jobs import JobsConfig
from synthorg_tui.memory.config import CompanyMemoryConfig
from synthorg_tui.memory.consolidation.models import retention_days
from synthorg_tui.memory.listing import AgentSummary, Facets
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.shared import SHARED_OWNER
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.strategies.service import OwnSettings
from synthorg_tui.persistence.config import PersistenceConfig
from synthorg_tui.providers.completion.config import AutoModelConfig, CompletionConfig
from synthorg_tui.providers.embedding.config import EmbeddingConfig, MiniLMConfig
from synthorg_tui.providers.reranking.config import NO_RERANKER, RerankingConfig
from synthorg_tui.runtime import RuntimeConfig
from synthorg_tui.settings.agents import SECTIONS, merged
from synthorg_tui.settings.agents import AgentConfig as AgentConfig
from synthorg_tui.settings.environment import Layers
from synthorg_tui.settings.safety import SafetyValues
from synthorg_tui.skills import SkillsConfig


class ProvidersConfig(FrozenModel):
    """The settings of the embedding model, of the language model, and of the re-ranker."""

    embedding: EmbeddingConfig = MiniLMConfig.model_construct()
    completion: CompletionConfig = AutoModelConfig.model_construct()
    reranking: RerankingConfig = NO_RERANKER


class RootConfig(FrozenModel):
    """All settings of one company, that is, of one data directory.

    Two are equal when their values are, wherever these were read.
    """

    memory: CompanyMemoryConfig = Field(default_factory=CompanyMemoryConfig.model_construct)
    org_memory: OrgMemoryConfig = Field(default_factory=OrgMemoryConfig.model_construct)
    agents: tuple[AgentConfig, ...] = ()
    providers: ProvidersConfig = ProvidersConfig.model_construct()
    skills: SkillsConfig = SkillsConfig.model_construct()
    approvals: ApprovalsConfig = ApprovalsConfig.model_construct()
    agent_access: AgentAccessConfig = AgentAccessConfig.model_construct()
    ingest: IngestConfig = IngestConfig.model_construct()
    jobs: JobsConfig = JobsConfig.model_construct()
    runtime: RuntimeConfig = RuntimeConfig.model_construct()
    persistence: PersistenceConfig = PersistenceConfig.model_construct()
    _own_safety: SafetyValues | None = PrivateAttr(default=None)
    _layers: Layers | None = PrivateAttr(default=None)
    _of_agents: dict[str, dict[str, FrozenModel]] = PrivateAttr(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RootConfig) and self.__dict__ == other.__dict__

    @property
    def own_safety(self) -> SafetyValues | None:
        """The safety settings of the person's own file; ``None`` for settings made by a program."""
        return self._own_safety

    def read_beside(self, own: SafetyValues) -> Self:
        """Return a copy whose ``own_safety`` is ``own``."""
        copy = self.model_copy()
        copy._own_safety = own
        return copy

    @property
    def layers(self) -> Layers | None:
        """What files and variables gave; ``None`` for settings made by a program."""
        return self._layers

    def read_from(self, layers: Layers) -> Self:
        """Return a copy whose ``layers`` are these."""
        copy = self.model_copy()
        copy._layers = layers
        return copy

    @field_validator("agents")
    @classmethod
    def _validate_unique_ids(cls, agents: tuple[AgentConfig, ...]) -> tuple[AgentConfig, ...]:
        ids = [agent.id for agent in agents]
        repeated = sorted({agent_id for agent_id in ids if ids.count(agent_id) > 1})
        if repeated:
            reject("agents", ids, f"Duplicate agent ids: {repeated}")
        return agents

    @model_validator(mode="after")
    def _validate_agents_overrides(self) -> Self:
        for at, agent in enumerate(self.agents):
            own: dict[str, FrozenModel] = {}
            for section, (name, _) in SECTIONS.items():
                named = getattr(agent, section)
                if named is None:
                    continue
                try:
                    own[name] = merged(getattr(self.memory, name), named)
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    field = "".join(f"{part}: " for part in first["loc"])
                    problem = f"{field}{first['msg'].removeprefix('Value error, ')}"
                    reason = f"agents[{at}].{section} doesn't fit memory.{name}: {problem}"
                    reject(f"agents[{at}].{section}", agent.id, reason)
            if own:
                self._of_agents[agent.id] = own
        return self

    @model_validator(mode="after")
    def _validate_embedder_override(self) -> Self:
        try:
            self.embedding()
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"][1:])) or "provider"
            reason = f"memory.embedder doesn't fit providers.embedding: {field}: {first['msg']}"
            reject("memory.embedder", self.memory.embedder, reason)
        return self

    def own_skills(self, data_dir: Path) -> Path:
        """Return the absolute path of the folder that holds the approved skills' SKILL.md files.

        Without a setting it is ``skills`` in ``data_dir``.
        """
        directory = self.memory.procedural.skill_md_directory
        own = expand_home(directory) if directory is not None else data_dir / "skills"
        return own.absolute()

    def embedding(self) -> EmbeddingConfig:
        """Return the embedding settings in force.

        These are ``providers.embedding``, overridden by ``memory.embedder``. If the latter names
        another provider, ``providers.embedding`` is ignored altogether.
        """
        base = self.providers.embedding
        override = self.memory.embedder
        if override is None:
            return base
        kind = override.provider or base.type
        data: dict[str, object] = base.model_dump() if kind == base.type else {"type": kind}
        if override.model is not None:
            is_file = kind in {"gguf", "onnx", "static"}
            data["path" if is_file else "model"] = override.model
            if kind == "openai":  # a file itself says how long its vectors are
                data["dims"] = override.dims
        return TypeAdapter[EmbeddingConfig](EmbeddingConfig).validate_python(data)

    def reranking(self) -> RerankingConfig:
        """Return the re-ranker that is switched on for the company; mostly none."""
        is_on = self.memory.retrieval.query_specific_rerank_enabled
        return self.providers.reranking if is_on else NO_RERANKER

    def agent(self, agent_id: str) -> AgentConfig | None:
        """Return an agent's entry in the settings, or ``None`` when it has none."""
        return next((agent for agent in self.agents if agent.id == agent_id), None)

    def seniority(self, agent_id: str) -> SeniorityLevel:
        """Return the seniority that the settings give an agent; nothing else can give it one."""
        declared = self.agent(agent_id)
        return declared.seniority if declared else SeniorityLevel.MID

    def memory_of(self, agent_id: str) -> CompanyMemoryConfig:
        """Return the settings of memory that hold for an agent: the company's, with its own."""
        own = self._of_agents.get(agent_id)
        return self.memory.model_copy(update=own) if own else self.memory

    def own_settings(self) -> dict[str, OwnSettings]:
        """Return the settings of memory of the agents that have some of their own, with names."""
        return {
            agent.id: OwnSettings(self.memory_of(agent.id), agent.overridden())
            for agent in self.agents
            if agent.id in self._of_agents
        }

    def summaries(self, facets: Facets) -> tuple[AgentSummary, ...]:
        """Return all agents that are declared or have memories, sorted by id."""
        ids = {agent.id for agent in self.agents} | dict(facets.agents).keys()
        ids -= {SHARED_OWNER}
        return tuple(self.summary(each, facets) for each in sorted(ids))

    def summary(self, agent_id: str, facets: Facets) -> AgentSummary:
        """Return what the settings say of an agent, and how many memories it has."""
        declared, memories = self.agent(agent_id), dict(facets.agents).get(agent_id, 0)
        return AgentSummary(
            id=agent_id,
            role=declared.role if declared else None,
            department=declared.department if declared else None,
            level=self.level(agent_id),
            declared=declared is not None,
            memories=memories,
            is_full=facets.is_full(memories),
        )

    def level(self, agent_id: str) -> MemoryLevel:
        """Return the memory level of an agent: its own, or else the company's."""
        agent = self.agent(agent_id)
        return agent.level if agent and agent.level else self.memory.level

    def retention_days(self, agent_id: str, category: MemoryCategory) -> int | None:
        """Return for how many days the agent's memories of a category are stored.

        ``None`` means for ever.

        The first that is set wins: the agent's override for the category, the company's rule for
        it, the agent's own days, the company's days.
        """
        agent = self.agent(agent_id)
        company = self.memory.consolidation.retention
        own = agent.retention_overrides if agent else ()
        days = retention_days(
            category,
            overrides={rule.category: rule.retention_days for rule in own},
            rules=company.rules,
            agent_default=agent.retention_days if agent else None,
            default=company.default_retention_days,
        )
        return days or self.memory.options.retention_days

    def store_policy(self) -> StorePolicy:
        """Return these settings in the form that the store asks for."""
        return StorePolicy(
            self.memory.options.max_memories_per_agent,
            self.memory.consolidation.enabled,
            self.level,
            self.retention_days,
            [
                agent.id
                for agent in self.agents
                if agent.retention_days is not None or agent.retention_overrides
            ],
        )
