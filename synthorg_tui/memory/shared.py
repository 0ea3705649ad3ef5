"""Knowledge that agents share with each other, and the names that no agent may use."""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import MemoryError, MemoryStoreError
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.memory.listing import SHARED_OWNER as SHARED_OWNER
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest


def require_agent_id(agent_id: str, kind: type[MemoryError]) -> None:
    """Raise ``kind`` if ``agent_id`` is reserved for shared memories or for the organisation's."""
    if agent_id == SHARED_OWNER:
        raise kind(f"{SHARED_OWNER} is reserved for shared memories and can't be an agent's id")
    if agent_id == ORG_OWNER:
        raise kind(f"{ORG_OWNER} is reserved for organisation memory and can't be an agent's id")


def require_namespace(namespace: str) -> None:
    """Raise ``MemoryStoreError`` for the namespace in which organisation memory is indexed."""
    if namespace == ORG_NAMESPACE:
        raise MemoryStoreError(
            f"the namespace {ORG_NAMESPACE} is reserved for organisation memory",
            remedy="Store the memory in another namespace; what the whole organisation should "
            "know is proposed to it, see `synthorg-tui org --help`.",
        )


def require_own(
    memory_id: str, agent_id: str, *, owner: str, is_shared: bool, retracts: bool
) -> None:
    """Raise ``MemoryStoreError`` unless the agent may delete the memory, or with ``retracts`` may
    withdraw it: only its own, and only private or published ones, respectively.
    """
    if is_shared is not retracts:
        how = "shared: retract it instead" if is_shared else "private, not shared"
        raise MemoryStoreError(f"memory {memory_id} is {how}")
    if owner != agent_id:
        whose = "was published by" if retracts else "belongs to"
        raise MemoryStoreError(f"memory {memory_id} {whose} another agent")


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

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return the shared memories that match, each with its publisher as ``agent_id``.

        Memories published by ``exclude_agent`` are left out. Raises ``MemoryRetrievalError``.
        """

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw a memory that the agent published; return ``False`` when there is none.

        Raises ``MemoryStoreError`` when the memory is private or another agent's.
        """
