"""Capabilities of memory backends, so that callers can check a feature before they use it."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory


@runtime_checkable
class MemoryCapabilities(Protocol):
    """Features that a memory backend supports, so that callers can check before they use one."""

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Memory categories that the backend can store."""
        ...

    @property
    def supports_graph(self) -> bool:
        """Whether the backend can query relations between memories."""
        ...

    @property
    def supports_temporal(self) -> bool:
        """Whether the backend honours ``since``, ``until`` and expiry times."""
        ...

    @property
    def supports_vector_search(self) -> bool:
        """Whether query texts are matched by meaning (embeddings) instead of by words only."""
        ...

    @property
    def supports_shared_access(self) -> bool:
        """Whether the backend also implements ``SharedKnowledgeStore``."""
        ...

    @property
    def max_memories_per_agent(self) -> int | None:
        """Maximum number of live memories of one agent, or ``None`` for no limit."""
        ...
