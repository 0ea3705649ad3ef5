"""Makes the backend of organisation memory that the settings name; the caller connects it.

The only place that knows which there are. All of them stand on the same log, so that changing the
setting loses nothing.
"""

from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryConfigError
from synthorg_tui.memory.org.hybrid_backend import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.search import OrgSearch
from synthorg_tui.memory.org.store import OrgStore

_NAMES = ("graph_rag", "hybrid_prompt_retrieval", "temporal_kg")


def create_org_backend(config: OrgMemoryConfig, store: OrgStore) -> HybridPromptRetrievalBackend:
    """Create the configured backend, not connected yet.

    Raises ``OrgMemoryConfigError`` for a name that is none.
    """
    return HybridPromptRetrievalBackend(
        core_policies=config.core_policies,
        store=store,
        access_config=config.write_access,
        search=_search(config, store),
        backend_name=config.backend,
    )


def _search(config: OrgMemoryConfig, store: OrgStore) -> OrgSearch:
    if config.backend == "hybrid_prompt_retrieval":
        return OrgSearch(store.core)
    if config.backend == "temporal_kg":
        from synthorg_tui.memory.org.temporal import SearchWithPast

        return SearchWithPast(store.core, config.temporal)
    if config.backend == "graph_rag":
        from synthorg_tui.memory.org.graph_rag import EXTRACTIONS, SearchByPaths

        return SearchByPaths(store.core, EXTRACTIONS[config.graph.entity_extraction])
    raise OrgMemoryConfigError(f"Unknown backend {config.backend!r}. Valid backends: {[*_NAMES]}")
