"""What a backend supports, so that callers can ask before they try."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory


@runtime_checkable
class MemoryCapabilities(Protocol):
    """Capabilities of a memory backend."""

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Categories that can be stored."""
        ...

    @property
    def supports_graph(self) -> bool:
        """Whether relations between memories can be queried."""
        ...

    @property
    def supports_temporal(self) -> bool:
        """Whether ``since``, ``until`` and expiry are honoured."""
        ...

    @property
    def supports_vector_search(self) -> bool:
        """Whether a query text is matched by meaning."""
        ...

    @property
    def supports_shared_access(self) -> bool:
        """Whether the backend is also a ``SharedKnowledgeStore``."""
        ...

    @property
    def max_memories_per_agent(self) -> int | None:
        """Upper bound on an agent's memories, or ``None``."""
        ...
