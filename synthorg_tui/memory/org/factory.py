"""Makes the backend of organisation memory that the settings name; the caller connects it.

The only place that knows which there are. All of them stand on the same log, so that changing the
setting loses nothing.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryConfigError
from synthorg_tui.memory.org.graph_rag import EXTRACTIONS, GraphRagBackend
from synthorg_tui.memory.org.hybrid import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.protocol import OrgMemoryBackend
from synthorg_tui.memory.org.search import OrgSearch
from synthorg_tui.memory.org.store import OrgStore
from synthorg_tui.memory.org.temporal import TemporalKnowledgeBackend

OrgBuilder: TypeAlias = Callable[[OrgMemoryConfig, OrgStore], OrgMemoryBackend]


def _hybrid(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    return HybridPromptRetrievalBackend(
        core_policies=config.core_policies,
        store=store,
        access_config=config.write_access,
        search=OrgSearch(store.core, store),
    )


def _temporal(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    return TemporalKnowledgeBackend(
        core_policies=config.core_policies,
        store=store,
        access_config=config.write_access,
        search=OrgSearch(store.core, store),
        temporal=config.temporal,
    )


def _graph(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    return GraphRagBackend(
        core_policies=config.core_policies,
        store=store,
        access_config=config.write_access,
        search=OrgSearch(store.core, store),
        extract=EXTRACTIONS[config.graph.entity_extraction],
    )


_BUILDERS: Final[Mapping[str, OrgBuilder]] = {
    "hybrid_prompt_retrieval": _hybrid,
    "temporal_kg": _temporal,
    "graph_rag": _graph,
}


def create_org_backend(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    """Create the configured backend, not connected yet.

    Raises ``OrgMemoryConfigError`` for a name that is none.
    """
    builder = _BUILDERS.get(config.backend)
    if builder is None:
        known = sorted(_BUILDERS)
        raise OrgMemoryConfigError(f"Unknown backend {config.backend!r}. Valid backends: {known}")
    return builder(config, store)
