"""Memories that live as long as the process: for trying things out and for tests.

Also the orders in which backends return memories; they are total, so that paging and tests can
rely on them.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime

from pydantic import ValidationError

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.models import (
    MemoryEntry,
    MemoryQuery,
    MemoryStoreRequest,
    is_short_id,
)
from synthorg_tui.memory.shared import require_agent_id, require_namespace

DEFAULT_MAX_MEMORIES = 10_000


class InMemoryBackend:
    """``MemoryBackend``, ``MemoryCapabilities`` and ``ContentLookup`` on a dictionary.

    A query text matches by substring, ignoring case; results are newest first and have no score.
    Expired memories are removed when a new one is stored. Memories survive ``disconnect`` but not
    the process.

    Args:
        max_memories_per_agent: Maximum number of live memories; beyond it ``store`` is refused.
        clock: Current time, for creation times and expiry.
    """

    backend_name: NotBlankStr = "inmemory"
    supported_categories: frozenset[MemoryCategory] = frozenset(MemoryCategory)
    supports_graph: bool = False
    supports_temporal: bool = True
    supports_vector_search: bool = False
    supports_shared_access: bool = False

    def __init__(
        self,
        *,
        max_memories_per_agent: int = DEFAULT_MAX_MEMORIES,
        clock: Clock | None = None,
    ) -> None:
        self._max = max_memories_per_agent
        self._clock = clock or SystemClock()
        self._agents: dict[str, dict[str, MemoryEntry]] = {}
        self._connected = False

    async def connect(self) -> None:
        """Allow operations; always succeeds."""
        self._connected = True

    async def disconnect(self) -> None:
        """Refuse operations until connected again; no memory is lost."""
        self._connected = False

    async def health_check(self) -> bool:
        """Return whether the backend is connected."""
        return self._connected

    @property
    def is_connected(self) -> bool:
        return self._connected

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory and return its id; raises ``MemoryStoreError`` at the agent's limit."""
        self._require_connection()
        require_agent_id(agent_id, MemoryStoreError)
        require_namespace(request.namespace)
        now = self._clock.now()
        self._prune(now)
        memories = self._agents.setdefault(agent_id, {})
        if len(memories) >= self._max:
            raise MemoryStoreError(
                f"agent {agent_id!r} has {len(memories)} memories, the maximum",
                remedy="Delete some, or raise max_memories_per_agent.",
            )
        entry = _entry(agent_id, request, now)
        memories[entry.id] = entry
        return entry.id

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories that match, newest first, at most ``query.limit``."""
        matching = (entry for entry in self._live(agent_id) if matches(entry, query))
        return newest_first(matching)[: query.limit]

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the agent's memory with this id, or with an id that alone begins so.

        ``None`` if it is missing or expired.
        """
        live = self._live(agent_id)
        if is_short_id(memory_id):
            found = [entry for entry in live if entry.id.startswith(memory_id.lower())]
            return found[0] if len(found) == 1 else None
        return next((entry for entry in live if entry.id == memory_id), None)

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """The agent's newest memory that says the same, with at least the same tags."""
        same = (
            entry
            for entry in newest_first(self._live(agent_id))
            if entry.content.strip() == request.content.strip()
            and entry.category is request.category
            and set(request.metadata.tags) <= set(entry.metadata.tags)
        )
        return next((entry.id for entry in same), None)

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete the agent's memory; return ``False`` when there is none.

        Raises ``MemoryStoreError`` for another agent's memory.
        """
        self._require_connection()
        require_agent_id(agent_id, MemoryStoreError)
        self._prune(self._clock.now())
        if any(
            memory_id in memories for owner, memories in self._agents.items() if owner != agent_id
        ):
            raise MemoryStoreError(f"memory {memory_id} belongs to another agent")
        return self._agents.get(agent_id, {}).pop(memory_id, None) is not None

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's live memories, optionally of one category only."""
        live = self._live(agent_id)
        return sum(category is None or entry.category is category for entry in live)

    @property
    def max_memories_per_agent(self) -> int | None:
        """Maximum number of live memories of one agent."""
        return self._max

    async def given_alike(self, agent_id: NotBlankStr) -> frozenset[str]:
        """Return the ids of all of the agent's memories: none is for one project only."""
        return frozenset(entry.id for entry in self._live(agent_id))

    def _live(self, agent_id: str) -> list[MemoryEntry]:
        self._require_connection()
        require_agent_id(agent_id, MemoryRetrievalError)
        now = self._clock.now()
        return [e for e in self._agents.get(agent_id, {}).values() if not _expired(e, now)]

    def _prune(self, now: datetime) -> None:
        for memories in self._agents.values():
            for memory_id in [e.id for e in memories.values() if _expired(e, now)]:
                del memories[memory_id]

    def _require_connection(self) -> None:
        if not self._connected:
            raise MemoryConnectionError("the inmemory backend is not connected")


def _entry(agent_id: str, request: MemoryStoreRequest, now: datetime) -> MemoryEntry:
    try:
        return MemoryEntry(
            id=str(uuid.uuid4()),
            agent_id=agent_id,
            namespace=request.namespace,
            category=request.category,
            content=request.content,
            metadata=request.metadata,
            created_at=now,
            expires_at=request.expires_at,
        )
    except ValidationError as error:
        reasons = "; ".join(str(problem["msg"]) for problem in error.errors())
        raise MemoryStoreError(f"the memory can't be stored: {reasons}") from error


def _expired(entry: MemoryEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def matches(entry: MemoryEntry, query: MemoryQuery) -> bool:
    """Return whether a memory passes a query's filters and contains its text, ignoring case."""
    return (
        (query.text is None or query.text.casefold() in entry.content.casefold())
        and (not query.namespaces or entry.namespace in query.namespaces)
        and (not query.categories or entry.category in query.categories)
        and set(query.tags) <= set(entry.metadata.tags)
        and (query.since is None or entry.created_at >= query.since)
        and (query.until is None or entry.created_at < query.until)
    )


def newest_first(entries: Iterable[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Return the memories ordered by creation time, latest first; ties by id."""
    by_id = sorted(entries, key=lambda entry: entry.id)
    return tuple(sorted(by_id, key=lambda entry: entry.created_at, reverse=True))


def by_relevance(entries: Iterable[MemoryEntry], *, default: float) -> tuple[MemoryEntry, ...]:
    """Return the memories ordered by relevance score, best first; ties newest first.

    Memories without a score are treated as having the score ``default``.
    """

    def relevance(entry: MemoryEntry) -> float:
        return default if entry.relevance_score is None else entry.relevance_score

    return tuple(sorted(newest_first(entries), key=relevance, reverse=True))
