"""The memory settings: which backend, where its data is, how it behaves, and how lessons are drawn.

Every field has a reader. The settings of lessons are here and not in ``learning``, since a store
opens with all memory settings checked.
"""

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from synthorg_tui.core.enums import ConsolidationInterval, MemoryLevel
from synthorg_tui.core.paths import expand_home, user_data_dir
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject, warn
from synthorg_tui.memory.consolidation.config import (
    DEFAULT_MAX_MEMORIES,
    ConsolidationConfig,
    mirrored_sections,
    renamed,
)
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.mem0_config import Mem0BackendConfig
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig, SelfEditingMemoryConfig

ANY_MODEL: Final = "example-small-001"
"""The documented default, which names no model in particular."""


class CaptureConfig(FrozenModel):
    """Selection of the runs that lessons are drawn from: failures, successes, or both.

    ``hybrid`` also draws them from what a person corrected and from the commands of a project. A
    successful run qualifies when its quality (confidence times ten) reaches ``min_quality_score``.
    ``success_quality_percentile`` is checked and has no effect: what two sessions show decides, not
    how successes compare.
    """

    type: Literal["failure", "success", "hybrid"] = "hybrid"
    min_quality_score: float = Field(default=8.0, ge=0.0, le=10.0)
    success_quality_percentile: float = Field(default=75.0, ge=0.0, le=100.0)


class PruningConfig(FrozenModel):
    """Rule by which lessons are proposed for removal: by age (``ttl``), by number, or by both."""

    type: Literal["ttl", "pareto", "hybrid"] = "ttl"
    max_age_days: int = Field(default=90, ge=1)
    max_entries: int = Field(default=100, ge=1)


class PropagationConfig(FrozenModel):
    """Rule by which an approved lesson is copied to other agents, and to how many at most."""

    type: Literal["none", "role_scoped", "department_scoped"] = "none"
    max_propagation_targets: int = Field(default=10, ge=1)


class EvolverConfig(FrozenModel):
    """Settings for proposing lessons of several agents to the whole organisation.

    Nothing is promoted without a person's approval.
    """

    enabled: bool = False
    requires_human_approval: Literal[True] = True
    window_days: int = Field(default=30, ge=1)
    min_confidence_for_org_promotion: float = Field(default=0.8, ge=0.0, le=1.0)
    min_agents_seen_pattern: int = Field(default=3, ge=1)
    max_proposals_per_cycle: int = Field(default=10, ge=1)
    max_org_entries: int = Field(default=10_000, ge=1)


class ProceduralMemoryConfig(FrozenModel):
    """Settings for drawing lessons from runs and proposing them as skills.

    ``model`` selects the model that words a lesson, when a server with several models is
    configured; the default stands for the configured model. One lesson may cost it ``max_seconds``
    and an answer of ``max_tokens``, one run of learning ``run_seconds`` and ``run_tokens`` read and
    written; lessons left over are worded by the next run. Approved skills are written to
    ``skill_md_directory``, or when that is ``None`` to ``skills`` in the data directory.
    """

    enabled: bool = True
    model: NotBlankStr = ANY_MODEL
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    max_tokens: int = Field(default=1500, ge=1)
    max_seconds: float = Field(default=90.0, gt=0.0, le=3600.0)
    run_tokens: int = Field(default=100_000, ge=1)
    run_seconds: float = Field(default=600.0, gt=0.0, le=86_400.0)
    min_confidence: float = Field(default=0.5, ge=0.0, le=1.0)
    skill_md_directory: Path | None = None
    require_approval: bool = True
    capture: CaptureConfig = CaptureConfig.model_construct()
    pruning: PruningConfig = PruningConfig.model_construct()
    propagation: PropagationConfig = PropagationConfig.model_construct()
    evolver: EvolverConfig = EvolverConfig.model_construct()


BACKENDS: Final = frozenset({"composite", "inmemory", "local", "mem0"})
VECTOR_STORES: Final = frozenset({"qdrant", "qdrant-external"})
MAX_DAILY_BACKUPS: Final = 30
MAX_IDLE_SECONDS: Final = 86_400
MAX_SHARDS: Final = 1_000
MAX_REPLICAS: Final = 16
CopiesRead: TypeAlias = Annotated[int, Field(ge=1, le=MAX_REPLICAS)]
HISTORY_STORES: Final = frozenset({"postgresql", "sqlite"})


def default_data_dir() -> str:
    """Return the platform's standard directory for this user's application data."""
    return str(user_data_dir())


def _fill_data_dir(value: object) -> object:
    if value is None:
        return default_data_dir()
    if isinstance(value, str) and value.startswith("~"):
        return str(expand_home(value))
    return value


class QdrantServerConfig(FrozenModel):
    """Connection to a Qdrant server or cluster, for ``vector_store: qdrant-external``.

    ``collection`` is a prefix: each embedding model has a collection of its own. A new one is made
    of ``shards`` parts with ``replication_factor`` copies each; a write is done once
    ``write_consistency_factor`` copies have it, and a search asks as many as ``read_consistency``
    says. What is ``None`` is the server's default.
    """

    url: NotBlankStr
    api_key: SecretStr | None = None
    collection: NotBlankStr = "synthorg_memories"
    shards: int | None = Field(default=None, ge=1, le=MAX_SHARDS)
    replication_factor: int | None = Field(default=None, ge=1, le=MAX_REPLICAS)
    write_consistency_factor: int | None = Field(default=None, ge=1, le=MAX_REPLICAS)
    read_consistency: Literal["majority", "quorum", "all"] | CopiesRead | None = None

    @field_validator("url")
    @classmethod
    def _validate_url(cls, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        if scheme.lower() not in {"http", "https"} or not separator or not rest.strip("/"):
            reject("url", url, "must be like http://localhost:6333 or https://host:6333")
        return url

    @model_validator(mode="after")
    def _validate_copies(self) -> Self:
        copies = self.replication_factor or 1
        asked = {
            "write_consistency_factor": self.write_consistency_factor,
            "read_consistency": self.read_consistency,
        }
        for name, number in asked.items():
            if isinstance(number, int) and number > copies:
                reject(name, number, f"is more than the {copies} of replication_factor")
        return self


class MemoryStorageConfig(FrozenModel):
    """Location and storage engines of memories.

    ``data_dir`` defaults to the platform's user data directory. ``server`` is required for
    ``vector_store: qdrant-external`` and has no effect otherwise. ``daily_backups`` is how many of
    the backups that are made once a day stay; with 0 none is made. ``max_session_days`` is the age
    at which imported sessions are deleted, without what was made of them; ``None`` is never. Model
    and index leave memory after ``unload_after_seconds`` without a search or change, and are loaded
    again by the next one; ``None`` keeps them in memory.
    """

    data_dir: Annotated[NotBlankStr, BeforeValidator(_fill_data_dir)] = Field(
        default_factory=default_data_dir
    )
    vector_store: NotBlankStr = "qdrant"
    history_store: NotBlankStr = "sqlite"
    daily_backups: Annotated[int, Field(ge=0, le=MAX_DAILY_BACKUPS)] = 3
    max_session_days: int | None = Field(default=None, ge=1)
    unload_after_seconds: Annotated[int, Field(ge=1, le=MAX_IDLE_SECONDS)] | None = 180
    server: QdrantServerConfig | None = None

    @field_validator("vector_store")
    @classmethod
    def _validate_vector_store(cls, name: str) -> str:
        return _one_of("vector_store", name, VECTOR_STORES, plural="stores")

    @field_validator("history_store")
    @classmethod
    def _validate_history_store(cls, name: str) -> str:
        return _one_of("history_store", name, HISTORY_STORES, plural="stores")

    @field_validator("data_dir")
    @classmethod
    def _reject_traversal(cls, path: str) -> str:
        if ".." in PurePosixPath(path).parts or ".." in PureWindowsPath(path).parts:
            reject("data_dir", path, "must not contain '..' as a path segment")
        if "\0" in path:
            reject("data_dir", path, "must not contain a null byte")
        return path

    @model_validator(mode="after")
    def _validate_server(self) -> Self:
        external = self.vector_store == "qdrant-external"
        if external and self.server is None:
            reject("server", None, "server.url is required when vector_store is 'qdrant-external'")
        if not external and self.server is not None:
            warn("server", self.server.url, "has no effect unless vector_store is qdrant-external")
        return self


class MemoryOptionsConfig(FrozenModel):
    """Retention, limits and sharing of memories.

    ``retention_days`` ``None`` means that memories don't expire by age. The bound and the interval
    are those of ``ConsolidationConfig``, too: one setting with two names.
    """

    retention_days: int | None = Field(default=None, ge=1)
    max_memories_per_agent: int = Field(default=DEFAULT_MAX_MEMORIES, ge=1)
    consolidation_interval: ConsolidationInterval = ConsolidationInterval.DAILY
    shared_knowledge_base: bool = True


class EmbedderOverrideConfig(FrozenModel):
    """Overrides of the configured embedder; fields that are ``None`` leave it unchanged.

    ``model`` and ``dims`` (the vector length) must be set together.
    """

    provider: NotBlankStr | None = None
    model: NotBlankStr | None = None
    dims: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _model_requires_dims(self) -> Self:
        if self.model is not None and self.dims is None:
            reject("dims", None, "dims is required when model is set")
        if self.dims is not None and self.model is None:
            reject("model", None, "model is required when dims is set")
        return self


class CompositeBackendConfig(FrozenModel):
    """Routing of namespaces to backends, by name; other namespaces use ``default``."""

    routes: dict[NotBlankStr, NotBlankStr] = Field(default_factory=dict)
    default: NotBlankStr = "inmemory"


class CompanyMemoryConfig(FrozenModel):
    """All settings of memory; they apply to every agent.

    ``level`` is how far an agent's memories are visible by default; it can also be written as
    ``default_level``. ``injection_enabled`` false gives agents no memories of themselves, neither
    a digest nor hints; what they ask for with a tool they still get.
    """

    backend: NotBlankStr = "local"
    level: MemoryLevel = MemoryLevel.SESSION
    injection_enabled: bool = True
    storage: MemoryStorageConfig = Field(default_factory=MemoryStorageConfig.model_construct)
    options: MemoryOptionsConfig = MemoryOptionsConfig.model_construct()
    retrieval: MemoryRetrievalConfig = MemoryRetrievalConfig.model_construct()
    self_editing: SelfEditingMemoryConfig = SelfEditingMemoryConfig.model_construct()
    # On only where somebody asks for it: it would take the place of the retrieval above.
    v1: MemoryV1Config = MemoryV1Config.model_construct(enabled=False)
    consolidation: ConsolidationConfig = ConsolidationConfig.model_construct()
    procedural: ProceduralMemoryConfig = ProceduralMemoryConfig.model_construct()
    fine_tune: EmbeddingFineTuneConfig = EmbeddingFineTuneConfig.model_construct()
    embedder: EmbedderOverrideConfig | None = None
    composite: CompositeBackendConfig | None = None
    mem0: Mem0BackendConfig = Mem0BackendConfig.model_construct()

    @model_validator(mode="before")
    @classmethod
    def _apply_mirrors(cls, data: Any) -> Any:
        return mirrored_sections(renamed(data, {"default_level": "level"}))

    @field_validator("backend")
    @classmethod
    def _validate_backend_name(cls, name: str) -> str:
        return _one_of("backend", name, BACKENDS, plural="backends")

    @model_validator(mode="after")
    def _validate_composite_config(self) -> Self:
        if self.backend == "composite" and self.composite is None:
            reject("composite", None, "composite is required when backend is 'composite'")
        if self.backend != "composite" and self.composite is not None:
            reject(
                "composite",
                self.composite,
                f"composite is only allowed when backend is 'composite', not {self.backend!r}",
            )
        return self

    @model_validator(mode="after")
    def _warn_about_what_is_kept(self) -> Self:
        if self.backend == "inmemory":
            warn("backend", self.backend, "memories are gone when the program that has them ends")
        if self.storage.history_store != "sqlite":
            where = "in SQLite" if self.backend == "mem0" else "in its own database"
            reason = f"backend {self.backend!r} keeps its history {where}"
            warn("storage.history_store", self.storage.history_store, reason)
        return self


def _one_of(field: str, value: str, valid: frozenset[str], *, plural: str) -> str:
    if value not in valid:
        reject(field, value, f"Unknown {field} {value!r}. Valid {plural}: {sorted(valid)}")
    return value
