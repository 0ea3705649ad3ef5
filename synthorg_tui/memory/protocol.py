"""The memory backend contract: lifecycle and memory operations, exactly ten members."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest


@runtime_checkable
class MemoryBackend(Protocol):
    """Stores and finds the memories of agents.

    Every memory operation raises ``MemoryConnectionError`` before ``connect``. What a backend
    can do beyond these members is a protocol of its own in ``memory.extensions``.
    """

    async def connect(self) -> None:
        """Open the backend; raises ``MemoryConnectionError``."""
        ...

    async def disconnect(self) -> None:
        """Close the backend; closing a closed one does nothing."""
        ...

    async def health_check(self) -> bool:
        """Whether the backend answers; connection failures are logged and give ``False``."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether ``connect`` has succeeded and ``disconnect`` not been called since."""
        ...

    @property
    def backend_name(self) -> NotBlankStr:
        """The name the configuration uses for this backend."""
        ...

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory and return its id; raises ``MemoryStoreError``."""
        ...

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """The agent's memories that match, best first; raises ``MemoryRetrievalError``.

        Without a text the order is newest first (ties by id).
        """
        ...

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """The agent's memory with this id, or ``None``; raises ``MemoryRetrievalError``."""
        ...

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Remove a memory; ``False`` when there is none. Raises ``MemoryStoreError``."""
        ...

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """How many memories the agent has; raises ``MemoryRetrievalError``."""
        ...
