"""The local backend: the memories of agents in DuckDB, searched through a vector index.

The operations of agents' programs, on all memories or on those visible from one session and
project. Operations that only a person may do, such as reading the memories of all agents, are in
``admin`` and must not move here: a view of the store is handed to agents.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryError,
    MemoryRetrievalError,
    MemoryStoreError,
    translate_errors,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import (
    BatchOutcome,
    MemoryDraft,
    MemoryEntry,
    MemoryQuery,
    MemoryStoreRequest,
    is_short_id,
)
from synthorg_tui.memory.retrieval.hits import SearchResult
from synthorg_tui.memory.shared import require_agent_id, require_own
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import LISTED, canonical_project, content_hash
from synthorg_tui.memory.store.search import Search, SearchScope

if TYPE_CHECKING:  # loaded when first used; searching needs none of it
    from synthorg_tui.memory.digest.models import DigestSource
    from synthorg_tui.memory.store.admin import StoreAdmin
    from synthorg_tui.memory.store.writer import MemoryWriter
    from synthorg_tui.memory.store.writes import Changes

ALL_CATEGORIES: Final = frozenset(MemoryCategory)


class LocalMemoryBackend:
    """Memory backend on the local store, a DuckDB database with a vector index.

    Implements ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore``,
    ``ContentLookup``, ``CandidateSource``, ``SparseSearch``, ``ScopedViews`` and ``BatchStore``.
    Several instances may be views of one store; connecting or disconnecting any of them opens or
    closes that store.

    Args:
        core: The store that this backend opens and closes.
        visibility: Session and project that the store is seen from; ``None`` sees the memories of
            all sessions and projects.
    """

    backend_name: NotBlankStr = "local"
    supported_categories: frozenset[MemoryCategory] = ALL_CATEGORIES
    supports_graph: bool = False
    supports_temporal: bool = True
    supports_vector_search: bool = True
    supports_shared_access: bool = True

    def __init__(self, core: Core, visibility: Visibility | None = None) -> None:
        self.core = core
        self._visibility = visibility
        self._search = Search(core)

    @cached_property
    def admin(self) -> "StoreAdmin":
        """Access to the memories of all agents, for a person; must not be given to agents."""
        from synthorg_tui.memory.store.admin import StoreAdmin

        return StoreAdmin(self.core)

    @cached_property
    def _writer(self) -> "MemoryWriter":
        from synthorg_tui.memory.store.writer import MemoryWriter

        return MemoryWriter(self.core)

    def scoped(self, visibility: Visibility) -> "LocalMemoryBackend":
        """Return a view of the store as seen by an agent in that session and project.

        Memories stored through the view belong to that session and project.
        """
        project = canonical_project(visibility.project)
        return LocalMemoryBackend(self.core, replace(visibility, project=project))

    def as_of(self, at: datetime, visibility: Visibility | None) -> "LocalMemoryBackend":
        """Return the store as it was at a time; ``visibility`` ``None`` sees all of it."""
        if visibility is not None:
            visibility = replace(visibility, project=canonical_project(visibility.project))
        return PastMemories(self.core, visibility, at)

    async def connect(self) -> None:
        """Open the store and update its index; raises ``MemoryConnectionError``.

        A damaged database raises ``StoreCorruptError``, one in use by another process
        ``StoreLockedError``.
        """
        with translate_errors(MemoryConnectionError, "connecting"):
            await self.core.open()

    async def disconnect(self) -> None:
        """Close the store; do nothing when it is closed already."""
        await self.core.close()

    async def health_check(self) -> bool:
        """Return whether the database answers a query; a failure is logged."""
        return await self.core.answers()

    @property
    def is_connected(self) -> bool:
        """Whether the store is open."""
        return self.core.is_open

    @property
    def max_memories_per_agent(self) -> int | None:
        """Maximum number of an agent's private memories, or ``None`` for no limit."""
        return self.core.policy.max_memories_per_agent

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory and return its id.

        If embedding fails, the memory is stored all the same and embedded later. Raises
        ``MemoryStoreError``.
        """
        with _for_agent(agent_id, MemoryStoreError, "storing"):
            return await self._writer.store(agent_id, request, visibility=self._visibility)

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store a batch in one transaction, skipping memories that are stored already.

        They are recognised by key or content. ``actor`` is recorded in the history. Raises
        ``MemoryStoreError``.
        """
        with _for_agent(agent_id, MemoryStoreError, "storing"):
            return await self._writer.store_many(agent_id, drafts, actor=actor)

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the agent's own memories that match, with the fused score as their relevance."""
        with _for_agent(agent_id, MemoryRetrievalError, "retrieving"):
            return await self._search.matching(query, self._own(agent_id))

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """Return the agent's own memories that match by keywords (BM25), best first."""
        with _for_agent(agent_id, MemoryRetrievalError, "keyword search"):
            return await self._search.sparse(query, self._own(agent_id))

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """Return all memories that a query matches, own and optionally shared, for ranking.

        Hits carry raw scores, and irrelevant ones are included; see ``CandidateSource.candidates``.
        """
        foreign = SearchScope(shared=True, exclude_agent=agent_id, visibility=self._visibility)
        shared = foreign if include_shared else None
        with _for_agent(agent_id, MemoryRetrievalError, "retrieving"):
            return await self._search.candidates(query, self._own(agent_id), shared)

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the agent's memory with this id, or with an id that alone begins so.

        ``None`` if it doesn't exist, has expired, is shared, or belongs to another agent.
        """
        where = self._live(agent_id)
        with _for_agent(agent_id, MemoryRetrievalError, "reading"):
            if is_short_id(memory_id):
                where.add("starts_with(m.id::VARCHAR, ?)", memory_id.lower())
                known = await self.core.read(lambda db: queries.matching_ids(db, where, "LIMIT 2"))
                memory_id = known[0] if len(known) == 1 else ""
            rows = await self.core.read(lambda db: queries.in_order(db, where, [memory_id], LISTED))
        return entry_of(self.core.ages.shown(rows[0])) if rows else None

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """Return the id of the agent's memory with the same content, or ``None``.

        The memory must have the same category and at least the same tags as the request.
        """
        where = self._live(agent_id)
        where.add("m.content_hash = ?", content_hash(request.content, self.core.salt))
        where.add("m.category = ?", request.category.value)
        where.add("list_has_all(m.tags, ?::VARCHAR[])", list(request.metadata.tags))
        with _for_agent(agent_id, MemoryRetrievalError, "reading"):
            found = await self.core.read(lambda db: queries.matching_ids(db, where, "LIMIT 1"))
            return next(iter(found), None)

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Soft-delete the agent's memory; return ``False`` when there is no such live memory.

        One that is archived has left the agent already: it stays in the archive, and this returns
        ``True``. Raises ``MemoryStoreError`` for a shared memory and for another agent's.
        """
        with _for_agent(agent_id, MemoryStoreError, "deleting"):
            return await self.core.change(
                lambda c: self._drop(c, agent_id, memory_id, retracts=False)
            )

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's own live memories, optionally of one category only."""
        where = self._live(agent_id)
        if category is not None:
            where.add("m.category = ?", category.value)
        with _for_agent(agent_id, MemoryRetrievalError, "counting"):
            return await self.core.read(lambda db: queries.total(db, where))

    def digest_items(self) -> "DigestSource":
        """Return the source from which a digest of the memories visible here is built."""
        from synthorg_tui.memory.store.digest_source import LocalDigestSource

        return LocalDigestSource(self.core, self._visibility)

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share a memory with all agents, in any session and project, and return its id."""
        with _for_agent(agent_id, MemoryStoreError, "publishing"):
            return await self._writer.store(agent_id, request, shared=True)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return the shared memories that match.

        Memories of ``exclude_agent`` are left out before ``query.limit`` is applied.
        """
        scope = SearchScope(shared=True, exclude_agent=exclude_agent, visibility=self._visibility)
        with translate_errors(MemoryRetrievalError, "searching"):
            return await self._search.matching(query, scope)

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Soft-delete a memory that the agent published; return ``False`` when there is none.

        A person can restore it. Raises ``MemoryStoreError`` when it is private or another agent's.
        """
        with _for_agent(agent_id, MemoryStoreError, "retracting"):
            return await self.core.change(
                lambda c: self._drop(c, agent_id, memory_id, retracts=True)
            )

    def _drop(self, changes: "Changes", agent_id: str, memory_id: str, *, retracts: bool) -> bool:
        row = queries.row_by_id(changes.db, memory_id)
        if row is None or row.deleted_at is not None:
            return False
        require_own(row.id, agent_id, owner=row.agent_id, is_shared=row.shared, retracts=retracts)
        if not row.shared and not (
            self._visibility is None
            or self._visibility.sees(row.level, row.session_id, row.project)
        ):
            return False
        if row.archived_at is not None:
            return True
        changes.remove([row.id], actor=agent_id)
        return True

    async def given_alike(self, agent_id: NotBlankStr) -> frozenset[str]:
        """Return the ids of the agent's memories that are given where a new one here would be.

        These have its level, its project, and with level ``session`` its session.
        """
        view = self._visibility or Visibility(session_id=None, project=None)
        level = self.core.policy.level(agent_id)
        where = self._live(agent_id)
        where.add("m.level = ?", level.value)
        if view.project is None:
            where.add("m.project IS NULL")
        else:
            where.add("list_contains(?::VARCHAR[], m.project)", list(view.projects))
        if level is MemoryLevel.SESSION:
            where.add("m.session_id IS NOT DISTINCT FROM ?", view.session_id)
        with _for_agent(agent_id, MemoryRetrievalError, "looking where memories are given"):
            return frozenset(await self.core.read(lambda db: queries.matching_ids(db, where)))

    def _own(self, agent_id: str) -> SearchScope:
        agents = frozenset({agent_id})
        return SearchScope(agents=agents, shared=False, visibility=self._visibility)

    def _live(self, agent_id: str) -> WhereClause:
        return self.core.live_where(agent=agent_id, shared=False, visibility=self._visibility)


class PastMemories(LocalMemoryBackend):
    """The store as an agent would have been given it at a time; reading only its candidates."""

    def __init__(self, core: Core, visibility: Visibility | None, at: datetime) -> None:
        super().__init__(core, visibility)
        self._at, self._seen_from = at, visibility

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """Return all memories of that time that a query matches."""
        from synthorg_tui.memory.store.as_of import candidates_as_of

        with translate_errors(MemoryRetrievalError, "looking back"):
            return await candidates_as_of(
                self.core,
                agent_id,
                query,
                self._at,
                include_shared=include_shared,
                visibility=self._seen_from,
            )


@contextmanager
def _for_agent(agent_id: str, kind: type[MemoryError], action: str) -> Iterator[None]:
    """Run an operation in an agent's name; whatever the store raises becomes ``kind``."""
    require_agent_id(agent_id, kind)
    with translate_errors(kind, action):
        yield
