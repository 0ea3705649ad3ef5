"""Company-wide memory configuration: which backend, where it keeps its data, how it behaves."""

from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from synthorg_tui.core.enums import ConsolidationInterval, MemoryLevel
from synthorg_tui.core.paths import expand_home, user_data_dir
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.core.validation import reject, warn
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.procedural.config import ProceduralMemoryConfig
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.self_editing_config import SelfEditingMemoryConfig

BACKENDS: Final = frozenset({"composite", "inmemory", "local", "mem0"})
VECTOR_STORES: Final = frozenset({"qdrant", "qdrant-external"})
HISTORY_STORES: Final = frozenset({"postgresql", "sqlite"})


def default_data_dir() -> str:
    """The platform's directory for this user's application data."""
    return str(user_data_dir())


def _fill_data_dir(value: object) -> object:
    if value is None:
        return default_data_dir()
    if isinstance(value, str) and value.startswith("~"):
        return str(expand_home(value))
    return value


class QdrantServerConfig(FrozenModel):
    """A Qdrant server or cluster, for ``vector_store: qdrant-external``.

    ``collection`` is a prefix: there is one collection for each embedding model.
    """

    url: NotBlankStr
    api_key: SecretStr | None = None
    collection: NotBlankStr = "synthorg_memories"

    @field_validator("url")
    @classmethod
    def _validate_url(cls, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        if scheme.lower() not in {"http", "https"} or not separator or not rest.strip("/"):
            reject("url", url, "must be like http://localhost:6333 or https://host:6333")
        return url


class MemoryStorageConfig(FrozenModel):
    """Where memories are kept; ``data_dir`` ``None`` is the platform's user data directory."""

    data_dir: Annotated[NotBlankStr, BeforeValidator(_fill_data_dir)] = Field(
        default_factory=default_data_dir
    )
    vector_store: NotBlankStr = "qdrant"
    history_store: NotBlankStr = "sqlite"
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
    """How memories are kept; ``retention_days`` ``None`` keeps them for good."""

    retention_days: int | None = Field(default=None, ge=1)
    max_memories_per_agent: int = Field(default=10_000, ge=1)
    consolidation_interval: ConsolidationInterval = ConsolidationInterval.DAILY
    shared_knowledge_base: bool = True


class EmbedderOverrideConfig(FrozenModel):
    """Overrides parts of the chosen embedder; ``None`` keeps the choice."""

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
    """Which backend keeps which namespace; ``default`` keeps the rest."""

    routes: dict[NotBlankStr, NotBlankStr] = Field(default_factory=dict)
    default: NotBlankStr = "inmemory"


class CompanyMemoryConfig(FrozenModel):
    """Everything about memory that holds for all agents; ``level`` is their default."""

    backend: NotBlankStr = "local"
    level: MemoryLevel = MemoryLevel.SESSION
    storage: MemoryStorageConfig = Field(default_factory=MemoryStorageConfig.model_construct)
    options: MemoryOptionsConfig = MemoryOptionsConfig.model_construct()
    retrieval: MemoryRetrievalConfig = MemoryRetrievalConfig.model_construct()
    self_editing: SelfEditingMemoryConfig = SelfEditingMemoryConfig.model_construct()
    # On only where somebody asks for it: it would take the place of the retrieval above.
    v1: MemoryV1Config = MemoryV1Config.model_construct(enabled=False)
    consolidation: ConsolidationConfig = ConsolidationConfig.model_construct()
    procedural: ProceduralMemoryConfig = ProceduralMemoryConfig.model_construct()
    embedder: EmbedderOverrideConfig | None = None
    composite: CompositeBackendConfig | None = None

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
    def _warn_about_history_store(self) -> Self:
        if self.backend != "mem0" and self.storage.history_store != "sqlite":
            reason = f"backend {self.backend!r} keeps its history in its own database"
            warn("storage.history_store", self.storage.history_store, reason)
        return self


def _one_of(field: str, value: str, valid: frozenset[str], *, plural: str) -> str:
    if value not in valid:
        reject(field, value, f"Unknown {field} {value!r}. Valid {plural}: {sorted(valid)}")
    return value
