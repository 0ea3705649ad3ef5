"""Makes the memory backend that the settings name; the caller connects it.

The only place that knows which backends there are. Parts that exist already, such as an open
database, come in a ``BackendContext``.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.memory.config import CompanyMemoryConfig, MemoryStorageConfig
from synthorg_tui.memory.errors import MemoryConfigError
from synthorg_tui.memory.index.protocol import VectorIndex
from synthorg_tui.memory.mem0_config import Mem0EmbedderConfig
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.embedding.config import EmbeddingConfig, MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder

if TYPE_CHECKING:
    from synthorg_tui.providers.completion.usage import UsageRecord

MEM0_DIR: Final = "mem0"
"""The folder of Mem0's files in a data directory."""
OPENAI_URL: Final = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class BackendContext:
    """Existing parts that a new backend uses; a part that is ``None`` is created from the settings.

    This process must own ``data_dir`` (see ``DataDirLock``) before a backend on it connects.
    ``record`` takes what embeddings cost, where the settings want that recorded.
    """

    data_dir: Path | None = None
    embedder: Embedder | None = None
    clock: Clock = field(default_factory=SystemClock)
    database: StoreDatabase | None = None
    index: VectorIndex | None = None
    policy: StorePolicy | None = None
    record: "Callable[[UsageRecord], Awaitable[None]] | None" = None


Builder: TypeAlias = Callable[[CompanyMemoryConfig, BackendContext], MemoryBackend]


class MemoryBackendRegistry:
    """Constructors of memory backends by the name used in the settings."""

    def __init__(self, builders: Mapping[str, Builder]) -> None:
        self._builders = dict(builders)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all registered backends, sorted."""
        return tuple(sorted(self._builders))

    def build(
        self, name: str, config: CompanyMemoryConfig, context: BackendContext
    ) -> MemoryBackend:
        """Create the backend of this name, not connected yet.

        Raises ``MemoryConfigError`` when the name is unknown or the configuration doesn't fit.
        """
        builder = self._builders.get(name)
        if builder is None:
            raise MemoryConfigError(f"Unknown backend {name!r}. Valid backends: {list(self.names)}")
        return builder(config, context)


def default_registry() -> MemoryBackendRegistry:
    """Return a registry of the backends that come with the application."""
    children: dict[str, Builder] = {"inmemory": _inmemory, "local": _local, "mem0": _mem0}
    routable = MemoryBackendRegistry(children)
    return MemoryBackendRegistry({**children, "composite": partial(_composite, routable)})


def create_memory_backend(
    config: CompanyMemoryConfig,
    *,
    embedder: Embedder | Mem0EmbedderConfig | None = None,
    context: BackendContext | None = None,
    registry: MemoryBackendRegistry | None = None,
) -> MemoryBackend:
    """Create the configured backend, not connected yet; call ``connect`` before using it.

    Args:
        config: Names the backend and configures it.
        embedder: Overrides the embedder in ``context``; a ``Mem0EmbedderConfig`` describes it.
            Without either, the bundled embedding model is used, but not by ``mem0``, which needs
            one.
        context: Existing parts to use instead of new ones.
        registry: Available backends; by default those of the application.

    Raises:
        MemoryConfigError: The backend is unknown, not available, or lacks configuration.
    """
    context = context or BackendContext()
    if isinstance(embedder, Mem0EmbedderConfig):
        embedder = embedder_of(embedder)
    if embedder is not None:
        context = replace(context, embedder=embedder)
    return (registry or default_registry()).build(config.backend, config, context)


def create_vector_index(storage: MemoryStorageConfig, data_dir: Path) -> VectorIndex:
    """Create the configured vector index: embedded in ``data_dir``, or on a Qdrant server.

    It isn't opened yet. Raises ``MemoryConfigError`` when a server is configured without an
    address.
    """
    if storage.vector_store != "qdrant-external":
        from synthorg_tui.memory.index.edge import EdgeIndex

        return EdgeIndex(data_dir / INDEX_DIR)
    if storage.server is None:
        raise MemoryConfigError("storage.server is required for vector_store 'qdrant-external'")
    from synthorg_tui.memory.index.server import Placement, ServerIndex, server_at

    server = storage.server
    key = server.api_key
    connect = server_at(server.url, api_key=key.get_secret_value() if key else None)
    placement = Placement(
        server.shards,
        server.replication_factor,
        server.write_consistency_factor,
        server.read_consistency,
    )
    return ServerIndex(connect, collection=server.collection, placement=placement)


def embedder_of(config: Mem0EmbedderConfig) -> Embedder:
    """Return the embedder that such a configuration describes; raises ``MemoryConfigError``."""
    model: dict[str, object] = {"type": config.provider, "model": config.effective_model}
    if config.provider == "gguf":
        model = {"type": "gguf", "path": config.effective_model}
    elif config.provider == "minilm":
        model = {"type": "minilm"}
    elif config.provider == "openai":
        model |= {"dims": config.dims, "base_url": OPENAI_URL, "api_key_env": "OPENAI_API_KEY"}
    try:
        settings: EmbeddingConfig = TypeAdapter(EmbeddingConfig).validate_python(model)
    except ValidationError as error:
        reasons = "; ".join(str(problem["msg"]) for problem in error.errors())
        raise MemoryConfigError(
            f"there is no embedder of the provider {config.provider!r}: {reasons}",
            remedy="Pass the embedder itself, made by providers.embedding.factory.",
        ) from error
    return create_embedder(settings)


def _inmemory(config: CompanyMemoryConfig, context: BackendContext) -> MemoryBackend:
    from synthorg_tui.memory.backends.inmemory import InMemoryBackend

    return InMemoryBackend(clock=context.clock, policy=context.policy or _uniform_policy(config))


def _local(config: CompanyMemoryConfig, context: BackendContext) -> MemoryBackend:
    data_dir = context.data_dir or Path(config.storage.data_dir)
    ensure_private_dir(data_dir)
    idle = config.storage.unload_after_seconds
    core = Core(
        database=context.database or Database.in_dir(data_dir),
        index=context.index or create_vector_index(config.storage, data_dir),
        embedder=context.embedder or _bundled_embedder(config),
        clock=context.clock,
        policy=context.policy or _uniform_policy(config),
        unload_after=timedelta(seconds=idle) if idle is not None else None,
    )
    return LocalMemoryBackend(core)


def _composite(
    routable: MemoryBackendRegistry, config: CompanyMemoryConfig, context: BackendContext
) -> MemoryBackend:
    from synthorg_tui.memory.backends.composite import CompositeBackend

    composite = config.composite
    if composite is None:
        raise MemoryConfigError("composite is required when backend is 'composite'")
    names = sorted({composite.default, *composite.routes.values()})
    if "composite" in names:
        raise MemoryConfigError("a composite backend can't be part of a composite backend")
    return CompositeBackend(
        {name: routable.build(name, config, context) for name in names},
        routes=composite.routes,
        default=composite.default,
        default_relevance=config.retrieval.default_relevance,
    )


def _mem0(config: CompanyMemoryConfig, context: BackendContext) -> MemoryBackend:
    from synthorg_tui.memory.backends.mem0.backend import Mem0Backend

    if context.embedder is None:
        raise MemoryConfigError(
            "the mem0 backend needs an embedder",
            remedy="Pass embedder=Mem0EmbedderConfig(provider=..., model=..., dims=...).",
        )
    own = config.mem0.data_dir
    data_dir = context.data_dir or Path(config.storage.data_dir)
    return Mem0Backend(
        context.embedder,
        Path(own) if own is not None else data_dir / MEM0_DIR,
        config=config.mem0,
        record=context.record,
        policy=context.policy or _uniform_policy(config),
        clock=context.clock,
    )


def _bundled_embedder(config: CompanyMemoryConfig) -> Embedder:
    if config.embedder is not None:
        raise MemoryConfigError("memory.embedder is set: pass the embedder that it describes")
    return create_embedder(MiniLMConfig())


def _uniform_policy(config: CompanyMemoryConfig) -> StorePolicy:
    return StorePolicy(
        config.options.max_memories_per_agent,
        config.consolidation.enabled,
        lambda _: config.level,
        lambda *_: config.options.retention_days,
    )
