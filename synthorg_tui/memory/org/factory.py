"""Makes the backend of organisation memory that the settings name; the caller connects it.

The only place that knows which there are. All of them stand on the same log, so that changing the
setting loses nothing.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryConfigError
from synthorg_tui.memory.org.hybrid import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.protocol import OrgMemoryBackend
from synthorg_tui.memory.org.store import OrgStore

OrgBuilder: TypeAlias = Callable[[OrgMemoryConfig, OrgStore], OrgMemoryBackend]


def _hybrid(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    return HybridPromptRetrievalBackend(
        core_policies=config.core_policies, store=store, access_config=config.write_access
    )


_BUILDERS: Final[Mapping[str, OrgBuilder]] = {"hybrid_prompt_retrieval": _hybrid}


def create_org_backend(config: OrgMemoryConfig, store: OrgStore) -> OrgMemoryBackend:
    """Create the configured backend, not connected yet.

    Raises ``OrgMemoryConfigError`` for a name that is none.
    """
    builder = _BUILDERS.get(config.backend)
    if builder is None:
        known = sorted(_BUILDERS)
        raise OrgMemoryConfigError(f"Unknown backend {config.backend!r}. Valid backends: {known}")
    return builder(config, store)
