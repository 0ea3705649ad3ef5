"""Knowledge that agents share with each other, and the owner id that is reserved for it."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import MemoryError
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest

SHARED_OWNER = "__synthorg_shared__"
"""Reserved owner of shared memories; no agent may use it as its id."""


def require_agent_id(agent_id: str, kind: type[MemoryError]) -> None:
    """Raise ``kind`` for the owner id that no agent may use."""
    if agent_id == SHARED_OWNER:
        raise kind(f"{SHARED_OWNER} is reserved for shared memories and can't be an agent's id")


@runtime_checkable
class SharedKnowledgeStore(Protocol):
    """Publish to all agents, search what was published, take it back.

    A documented protocol; probed for, since not every backend lets agents share.
    """

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share a memory in the agent's name and return its id; raises ``MemoryStoreError``."""
        ...

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Shared memories that match, each with its publisher as ``agent_id``.

        ``exclude_agent`` leaves out what that agent published itself.
        Raises ``MemoryRetrievalError``.
        """
        ...

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw an own publication; ``False`` when there is none.

        Raises ``MemoryStoreError`` when the memory is private or another agent's.
        """
        ...
