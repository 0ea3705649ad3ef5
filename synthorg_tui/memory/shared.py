"""Knowledge that agents share with each other, and the owner id that is reserved for it."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import MemoryError
from synthorg_tui.memory.listing import SHARED_OWNER as SHARED_OWNER
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest


def require_agent_id(agent_id: str, kind: type[MemoryError]) -> None:
    """Raise ``kind`` if ``agent_id`` is the id reserved for shared memories."""
    if agent_id == SHARED_OWNER:
        raise kind(f"{SHARED_OWNER} is reserved for shared memories and can't be an agent's id")


@runtime_checkable
class SharedKnowledgeStore(Protocol):
    """Publishes memories to all agents, and searches and withdraws published ones.

    A protocol separate from ``MemoryBackend``, since not every backend lets agents share; check
    with ``isinstance``.
    """

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory readable by all agents and return its id; raises ``MemoryStoreError``.

        ``agent_id`` is recorded as the publisher.
        """
        ...

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return the shared memories that match, each with its publisher as ``agent_id``.

        Memories published by ``exclude_agent`` are left out. Raises ``MemoryRetrievalError``.
        """
        ...

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw a memory that the agent published; return ``False`` when there is none.

        Raises ``MemoryStoreError`` when the memory is private or another agent's.
        """
        ...
