"""The store as one agent's programs see it: with or without a session and a project."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
    translate_errors,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval.hits import SearchResult
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core, entry_of, require_agent_id
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import LISTED, StoredMemory, content_hash
from synthorg_tui.memory.store.search import Search, SearchScope

if TYPE_CHECKING:
    from synthorg_tui.memory.digest.models import DigestSource
    from synthorg_tui.memory.store.writer import MemoryWriter
    from synthorg_tui.memory.store.writes import Changes


class ScopedMemory:
    """Memory operations from inside a session and a project; ``None`` sees all of them.

    Opening and closing act on the whole store.
    """

    def __init__(self, core: Core, visibility: Visibility | None) -> None:
        self._core = core
        self._visibility = visibility
        self._search = Search(core)

    @cached_property
    def _keeper(self) -> "MemoryWriter":
        from synthorg_tui.memory.store.writer import MemoryWriter

        return MemoryWriter(self._core)

    async def connect(self) -> None:
        """Open the store and bring its index up to date; raises ``MemoryConnectionError``.

        A damaged or locked database raises ``StoreCorruptError`` or ``StoreLockedError``.
        """
        with translate_errors(MemoryConnectionError, "connecting"):
            await self._core.open()

    async def disconnect(self) -> None:
        """Close the store; closing a closed one does nothing."""
        await self._core.close()

    async def health_check(self) -> bool:
        """Whether the database answers."""
        return await self._core.answers()

    @property
    def is_connected(self) -> bool:
        """Whether the store is open."""
        return self._core.is_open

    @property
    def backend_name(self) -> NotBlankStr:
        """``local``."""
        return "local"

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """All of them."""
        return frozenset(MemoryCategory)

    @property
    def supports_graph(self) -> bool:
        """No."""
        return False

    @property
    def supports_temporal(self) -> bool:
        """Yes."""
        return True

    @property
    def supports_vector_search(self) -> bool:
        """Yes."""
        return True

    @property
    def supports_shared_access(self) -> bool:
        """Yes."""
        return True

    @property
    def max_memories_per_agent(self) -> int | None:
        """As the policy says."""
        return self._core.policy.max_memories_per_agent

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Keep a memory; without an embedding it is kept too, and embedded later."""
        require_agent_id(agent_id, MemoryStoreError)
        with translate_errors(MemoryStoreError, "storing"):
            return await self._keeper.store(agent_id, request, visibility=self._visibility)

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """The agent's own memories that match; the relevance is the fused score."""
        require_agent_id(agent_id, MemoryRetrievalError)
        with translate_errors(MemoryRetrievalError, "retrieving"):
            return await self._search.matching(query, self._own(agent_id))

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """The agent's own memories by BM25, best first."""
        require_agent_id(agent_id, MemoryRetrievalError)
        with translate_errors(MemoryRetrievalError, "keyword search"):
            return await self._search.sparse(query, self._own(agent_id))

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """All that a query brings up, own and shared, to be ranked and explained."""
        require_agent_id(agent_id, MemoryRetrievalError)
        shared = SearchScope(shared=True, exclude_agent=agent_id) if include_shared else None
        with translate_errors(MemoryRetrievalError, "retrieving"):
            return await self._search.candidates(query, self._own(agent_id), shared)

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """The agent's memory with this id; ``None`` for another's, a shared or an expired one."""
        require_agent_id(agent_id, MemoryRetrievalError)
        where = self._live(agent_id)
        with translate_errors(MemoryRetrievalError, "reading"):
            rows = await self._core.read(lambda db: queries.of_ids(db, where, [memory_id], LISTED))
        return entry_of(rows[0]) if rows else None

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """An own memory that says the same, in the same category with at least the same tags."""
        require_agent_id(agent_id, MemoryRetrievalError)
        where = self._live(agent_id)
        where.add("m.content_hash = ?", content_hash(request.content, self._core.salt))
        where.add("m.category = ?", request.category.value)
        where.add("list_has_all(m.tags, ?::VARCHAR[])", list(request.metadata.tags))
        with translate_errors(MemoryRetrievalError, "reading"):
            return await self._core.read(lambda db: queries.first_id(db, where))

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Soft-delete an own memory.

        Raises ``MemoryStoreError`` for a shared memory and for another agent's.
        """
        require_agent_id(agent_id, MemoryStoreError)

        def check(row: StoredMemory) -> None:
            if row.shared:
                raise MemoryStoreError(f"memory {row.id} is shared: retract it instead")
            if row.agent_id != agent_id:
                raise MemoryStoreError(f"memory {row.id} belongs to another agent")

        with translate_errors(MemoryStoreError, "deleting"):
            return await self._core.change(lambda c: self._drop(c, agent_id, memory_id, check))

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """How many live memories of its own the agent has."""
        require_agent_id(agent_id, MemoryRetrievalError)
        where = self._live(agent_id)
        if category is not None:
            where.add("m.category = ?", category.value)
        with translate_errors(MemoryRetrievalError, "counting"):
            return await self._core.read(lambda db: queries.total(db, where))

    def digest_items(self) -> "DigestSource":
        """What a digest is made from, as seen from here."""
        from synthorg_tui.memory.store.digest_source import LocalDigestSource

        return LocalDigestSource(self._core, self._visibility)

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share a memory with all agents, whatever their session and project."""
        require_agent_id(agent_id, MemoryStoreError)
        with translate_errors(MemoryStoreError, "publishing"):
            return await self._keeper.store(agent_id, request, shared=True)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Shared memories that match; ``exclude_agent`` applies before the limit."""
        with translate_errors(MemoryRetrievalError, "searching"):
            return await self._search.matching(
                query, SearchScope(shared=True, exclude_agent=exclude_agent)
            )

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw an own publication; it can be restored like any deleted memory."""
        require_agent_id(agent_id, MemoryStoreError)

        def check(row: StoredMemory) -> None:
            if not row.shared:
                raise MemoryStoreError(f"memory {row.id} is private, not shared")
            if row.agent_id != agent_id:
                raise MemoryStoreError(f"memory {row.id} was published by another agent")

        with translate_errors(MemoryStoreError, "retracting"):
            return await self._core.change(lambda c: self._drop(c, agent_id, memory_id, check))

    def _drop(
        self,
        changes: "Changes",
        agent_id: str,
        memory_id: str,
        check: Callable[[StoredMemory], None],
    ) -> bool:
        row = queries.row_by_id(changes.db, memory_id)
        if row is None or row.deleted_at is not None:
            return False
        check(row)
        if not row.shared and not _sees(self._visibility, row):
            return False
        changes.mark([row], deleted=True, actor=agent_id)
        return True

    def _own(self, agent_id: str) -> SearchScope:
        agents = frozenset({agent_id})
        return SearchScope(agents=agents, shared=False, visibility=self._visibility)

    def _live(self, agent_id: str) -> WhereClause:
        return queries.live_where(
            now=self._core.clock.now(),
            agent=agent_id,
            shared=False,
            visibility=self._visibility,
        )


def _sees(visibility: Visibility | None, row: StoredMemory) -> bool:
    if visibility is None or row.level == "persistent":
        return True
    if row.level == "project":
        return row.project is not None and row.project == visibility.project
    return row.session_id is not None and row.session_id == visibility.session_id
