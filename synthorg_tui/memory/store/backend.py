"""The local backend: everything a program and the person at the desk do with memories."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.errors import (
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
    translate_errors,
)
from synthorg_tui.memory.index.protocol import VectorIndex, Visibility
from synthorg_tui.memory.models import BatchOutcome, MemoryDraft, MemoryEntry, MemoryQuery
from synthorg_tui.memory.retrieval.hits import SearchResult
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES, retagged, tags_with
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import (
    Core,
    StorePolicy,
    UniformPolicy,
    entry_from_row,
    require_agent_id,
)
from synthorg_tui.memory.store.rows import MemoryRow, canonical_project, content_hash, with_tags
from synthorg_tui.memory.store.scoped import ScopedMemory
from synthorg_tui.memory.store.search import SearchScope
from synthorg_tui.persistence.database import Database
from synthorg_tui.providers.embedding.protocol import Embedder

if TYPE_CHECKING:  # loaded by those who use it; searching needs none of it
    from duckdb import DuckDBPyConnection

    from synthorg_tui.memory.extensions import (
        BrowseFilter,
        BundleOutcome,
        Facets,
        MemoryBundle,
        MemoryEdit,
        MemoryPage,
        MemoryRevision,
        SortOrder,
    )
    from synthorg_tui.memory.store.reader import StoreReader
    from synthorg_tui.memory.store.writes import Changes

T = TypeVar("T")


class LocalMemoryBackend(ScopedMemory):
    """Memories in DuckDB, found through a vector index that can be rebuilt at any time.

    It is ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore``, ``ContentLookup``,
    ``SparseSearch``, ``BatchStore``, ``BundleStore`` and ``Desk``. Used directly it sees all
    sessions and projects; ``scoped`` gives the view from inside one.

    Args:
        database: Where memories are kept; opened with the backend unless it is open already.
        index: The projection; this backend then owns it.
        embedder: Turns contents and queries into vectors.
        clock: Decides creation times and what has expired.
        policy: Levels, retention and the bound on an agent's memories.
    """

    def __init__(
        self,
        *,
        database: Database,
        index: VectorIndex,
        embedder: Embedder,
        clock: Clock | None = None,
        policy: StorePolicy | None = None,
    ) -> None:
        core = Core(
            database=database,
            index=index,
            embedder=embedder,
            clock=clock or SystemClock(),
            policy=policy or UniformPolicy(),
        )
        super().__init__(core, None)
        self.core = core

    @cached_property
    def reader(self) -> "StoreReader":
        """Looks through the memories of all agents."""
        from synthorg_tui.memory.store.reader import StoreReader

        return StoreReader(self.core, self.core.clock)

    def scoped(self, visibility: Visibility) -> ScopedMemory:
        """What an agent in that session and project sees; what it stores belongs to them."""
        project = canonical_project(visibility.project)
        return ScopedMemory(self.core, replace(visibility, project=project))

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store a batch in one transaction, without repeating what is known by key or content."""
        require_agent_id(agent_id, MemoryStoreError)
        with translate_errors(MemoryStoreError, "storing"):
            return await self._keeper.store_many(agent_id, drafts, actor=actor)

    async def change_together(
        self,
        bundle: "MemoryBundle",
        within: "Callable[[DuckDBPyConnection, BundleOutcome], T]",
        *,
        actor: str,
    ) -> T:
        """Memories that come and go in one transaction with what ``within`` writes."""
        from synthorg_tui.memory.store.writer import change_together

        for memory in bundle.add:
            require_agent_id(memory.agent_id, MemoryStoreError)
        with translate_errors(MemoryStoreError, "storing"):
            return await change_together(self.core, self._keeper, bundle, within, actor=actor)

    async def find(
        self, query: MemoryQuery, *, agents: frozenset[str] | None = None
    ) -> SearchResult:
        """Hybrid search over private and shared memories."""
        with translate_errors(MemoryRetrievalError, "searching"):
            return await self._search.hybrid(query, SearchScope(agents=agents))

    async def browse(
        self,
        what: "BrowseFilter",
        *,
        sort: "SortOrder" = "newest",
        offset: int = 0,
        limit: int = 300,
    ) -> "MemoryPage":
        """A window on the memories that match; ties come by id."""
        from synthorg_tui.memory.extensions import MemoryPage

        found = await self.reader.page(what, sort=sort, offset=offset, limit=limit)
        entries = tuple(map(entry_from_row, found.rows))
        return MemoryPage(entries=entries, offset=offset, total=found.total)

    async def lookup(
        self, id_start: NotBlankStr, *, deleted: bool = False, limit: int = 10
    ) -> tuple[MemoryEntry, ...]:
        """Memories of whichever agent, expired ones included, whose id starts so."""
        where = queries.WhereClause() if deleted else queries.WhereClause(queries.LIVE)
        where.add("starts_with(m.id::VARCHAR, ?)", id_start.lower())
        with translate_errors(MemoryRetrievalError, "reading"):
            rows = await self.core.read(
                lambda db: queries.listing(db, where, order="m.id", limit=limit)
            )
        return tuple(map(entry_from_row, rows))

    async def entries(
        self, memory_ids: Sequence[NotBlankStr], *, deleted: bool = False
    ) -> tuple[MemoryEntry, ...]:
        """Memories of whichever agent, expired ones included, with exactly these ids."""
        with translate_errors(MemoryRetrievalError, "reading"):
            rows = await self.core.read(lambda db: queries.rows_by_id(db, memory_ids))
        listed = (rows[each] for each in queries.known_ids(memory_ids) if each in rows)
        return tuple(entry_from_row(row) for row in listed if deleted or row.deleted_at is None)

    async def facets(self) -> "Facets":
        """Live counts, agents with most memories first, categories in their own order."""
        return await self.reader.facets()

    async def edit(
        self, memory_id: NotBlankStr, change: "MemoryEdit", *, actor: str
    ) -> MemoryEntry:
        """Change a live memory; what the same import brings later doesn't undo it."""
        vector = None
        with translate_errors(MemoryStoreError, "editing"):
            if change.content is not None:
                (vector,) = await self.core.embed([change.content])

            def work(changes: "Changes") -> MemoryRow:
                before = queries.row_by_id(changes.db, memory_id)
                if before is None or before.deleted_at is not None:
                    raise MemoryNotFoundError(f"there is no memory {memory_id}")
                after = self._edited(before, change, changes)
                if after == before:
                    return before
                return changes.edit(before, after, vector, actor=actor)

            return entry_from_row(await self.core.change(work))

    async def remove(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Soft-delete; it can be undone until purged."""
        return await self._mark(memory_ids, deleted=True, actor=actor)

    async def restore(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Undo soft deletes."""
        return await self._mark(memory_ids, deleted=False, actor=actor)

    async def purge(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Erase live and soft-deleted memories from rows, vectors, history and index.

        The memories alone: what was made of them goes by ``Erasure``.
        """

        def work(changes: "Changes") -> int:
            rows = queries.rows_by_id(changes.db, memory_ids)
            if rows:
                changes.purge(list(rows.values()), actor=actor)
            return len(rows)

        with translate_errors(MemoryStoreError, "purging"):
            return await self.core.change(work)

    async def history(self, memory_id: NotBlankStr) -> "tuple[MemoryRevision, ...]":
        """Every change, newest first; of a purged memory only who did what, and when."""
        return await self.reader.history(memory_id)

    async def _mark(self, memory_ids: Sequence[str], *, deleted: bool, actor: str) -> int:
        def work(changes: "Changes") -> int:
            rows = queries.rows_by_id(changes.db, memory_ids).values()
            concerned = [row for row in rows if (row.deleted_at is None) == deleted]
            if concerned:
                changes.mark(concerned, deleted=deleted, actor=actor)
            return len(concerned)

        with translate_errors(MemoryStoreError, "deleting" if deleted else "restoring"):
            return await self.core.change(work)

    def _edited(self, before: MemoryRow, change: "MemoryEdit", changes: "Changes") -> MemoryRow:
        after = before
        if change.content is not None:
            digest = content_hash(change.content, self.core.salt)
            after = after._replace(content=change.content, content_hash=digest)
        if change.category is not None:
            after = after._replace(category=change.category.value)
        after = with_tags(after, _edited_tags(before, change))
        if change.confidence is not None:
            if not 0 <= change.confidence <= 1:
                raise MemoryStoreError(f"confidence {change.confidence} must be from 0 to 1")
            after = after._replace(confidence=change.confidence)
        if after == before:
            return before
        if after.fact_key not in (None, before.fact_key) and after.category not in FACT_CATEGORIES:
            raise MemoryStoreError(
                f"{after.category} memories can't be facts",
                remedy=f"Only {', '.join(sorted(FACT_CATEGORIES))} ones can.",
            )
        return after._replace(edited=True, updated_at=max(changes.now, before.created_at))


def _edited_tags(before: MemoryRow, change: "MemoryEdit") -> tuple[str, ...]:
    tags = before.tags if change.tags is None else retagged(before.tags, change.tags)
    return tags_with(tags, fact_key=change.fact_key, sensitivity=change.sensitivity)
