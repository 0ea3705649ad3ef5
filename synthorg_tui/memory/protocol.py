"""The memory backend contract: lifecycle and memory operations, exactly ten members."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest


@runtime_checkable
class MemoryBackend(Protocol):
    """Stores and retrieves the memories of agents.

    Every memory operation raises ``MemoryConnectionError`` unless connected. Further abilities of a
    backend are separate protocols in ``memory.extensions``, to be checked with ``isinstance``.
    """

    async def connect(self) -> None:
        """Open the backend for use; raises ``MemoryConnectionError``."""

    async def disconnect(self) -> None:
        """Close the backend; do nothing when it is closed already."""

    async def health_check(self) -> bool:
        """Return whether the backend responds; connection failures are logged, not raised."""

    @property
    def is_connected(self) -> bool:
        """Whether the backend is connected, without asking it."""

    @property
    def backend_name(self) -> NotBlankStr:
        """Name of the backend in the settings."""

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory for an agent and return its new id; raises ``MemoryStoreError``."""

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories that match the query, at most ``query.limit``.

        Best match first; without a query text newest first, ties by id. Raises
        ``MemoryRetrievalError``.
        """

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the agent's memory with this id, or ``None`` if it has no such live memory.

        Raises ``MemoryRetrievalError``.
        """

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete the agent's memory and return ``True``, or ``False`` if there is no such memory.

        Raises ``MemoryStoreError``.
        """

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's live memories, optionally of one category only.

        Raises ``MemoryRetrievalError``.
        """
