"""A person's access to the memories of all agents in a backend without a database of its own.

Each question reads all memories; operations that need a record of changes are refused.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol, runtime_checkable

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.memory.errors import MemoryNotFoundError
from synthorg_tui.memory.listing import (
    SHARED_OWNER,
    AgentPlaces,
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    MemoryUse,
    SortOrder,
    UndoneAct,
)
from synthorg_tui.memory.models import (
    MAX_QUERY_LIMIT,
    MemoryEdit,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.hits import CandidateSource, SearchHit
from synthorg_tui.memory.retrieval.relevance import relevant_hits
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.store.browsing import Cell, is_in_groups, summed
from synthorg_tui.memory.store.search import NEARLY_THE_SAME

MAX_PAGE: Final = 1_000_000


@runtime_checkable
class ListableMemories(MemoryBackend, Protocol):
    """Backend that lists all memories of all agents for a person."""

    async def everything(self) -> Sequence[ListedMemory]:
        """Return all live memories; raises ``MemoryRetrievalError``."""

    async def history(self, memory_id: str) -> Sequence[MemoryRevision]:
        """Return all recorded changes to a memory, newest first; empty where none is recorded."""


async def all_listed(backend: MemoryBackend) -> Sequence[ListedMemory]:
    """Return all live memories of a backend; raises ``MemoryCapabilityError`` if it can't."""
    from synthorg_tui.memory.store.backend import LocalMemoryBackend

    if isinstance(backend, ListableMemories):
        return await backend.everything()
    if isinstance(backend, LocalMemoryBackend):
        return (await backend.admin.browse(BrowseFilter(), limit=MAX_PAGE)).entries
    raise Feature.MAINTENANCE.refused_by(backend.backend_name)


class PlainDesk:
    """``MemoryAdmin`` over any backend that can list its memories.

    Deleting is final. Changing, archiving, restoring and undoing raise
    ``MemoryCapabilityError``.
    """

    def __init__(self, backend: ListableMemories) -> None:
        self._backend = backend
        self._tokenizer = BM25Tokenizer()

    async def find(
        self,
        query: MemoryQuery,
        *,
        agents: frozenset[str] | None = None,
        within: BrowseFilter | None = None,
        as_of: datetime | None = None,
    ) -> FoundMemories:
        """Search as the backend does, each agent's memories and what is shared; best first."""
        if as_of is not None:
            raise self._lacks(Feature.PAST)
        known = {memory.id: memory for memory in await self._listed(within)}
        wide = query.model_copy(update={"limit": MAX_QUERY_LIMIT, "min_relevance": 0.0})
        hits, notes = await self._hits(wide, known.values(), agents)
        found = [hit for hit in hits if hit.entry.id in known]
        terms = frozenset(self._tokenizer.tokenize(query.text or ""))
        relevant = relevant_hits(
            found,
            coverage=lambda hit: self._tokenizer.coverage(terms, hit.entry.content),
            limit=query.limit,
        )
        return FoundMemories(tuple(_scored(known[h.entry.id], h) for h in relevant), notes)

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder = "newest", offset: int = 0, limit: int = 300
    ) -> MemoryPage:
        """Return one page of the memories that match a filter."""
        found = sorted(await self._listed(what), key=lambda memory: memory.id)
        found.sort(key=lambda memory: memory.created_at, reverse=sort != "oldest")
        if key := _SORTED_BY.get(sort):
            found.sort(key=key)
        return MemoryPage(tuple(found[offset : offset + limit]), offset, len(found))

    async def lookup(
        self, id_start: NotBlankStr, *, deleted: bool = False, limit: int = 10
    ) -> tuple[ListedMemory, ...]:
        """Return memories whose id starts with ``id_start``; none that is deleted is known."""
        start = id_start.lower()
        found = [m for m in await self._listed() if m.id.lower().startswith(start)]
        return tuple(sorted(found, key=lambda memory: memory.id)[:limit])

    async def entries(
        self, memory_ids: Sequence[NotBlankStr], *, deleted: bool = False
    ) -> tuple[ListedMemory, ...]:
        """Return the memories with exactly these ids; none that is deleted is known."""
        known = {memory.id: memory for memory in await self._listed()}
        return tuple(known[key] for key in memory_ids if key in known)

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the numbers of memories by group that a filter lists."""
        wanted = what or BrowseFilter()
        cells = Counter(map(_cell, await self._listed(_without_groups(wanted))))
        found = summed(list(cells), list(cells.values()), wanted)
        limit = getattr(self._backend, "max_memories_per_agent", None)
        kinds = found.kinds if what is not None else ()
        return replace(found, kinds=kinds, limit=limit, final=True)

    async def places(self, agent_id: NotBlankStr) -> AgentPlaces:
        """Return the projects and sessions of an agent's live memories, the latest first."""
        own = [memory for memory in await self._listed() if memory.agent_id == agent_id]
        own.sort(key=lambda memory: memory.created_at, reverse=True)
        return AgentPlaces(
            tuple(dict.fromkeys(m.project for m in own if m.project)),
            tuple(dict.fromkeys(m.session_id for m in own if m.session_id)),
        )

    async def agents(self) -> tuple[str, ...]:
        """Return the ids of the agents that have private memories."""
        return tuple(dict.fromkeys(m.agent_id for m in await self._listed() if not m.shared))

    async def remove(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Delete memories for good and return how many."""
        removed = 0
        for memory in await self.entries(memory_ids):
            if memory.shared:
                removed += await self._sharing().retract(memory.agent_id, memory.id)
            else:
                removed += await self._backend.delete(memory.agent_id, memory.id)
        return removed

    async def publish(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Publish private memories to all agents and return the ids of the published copies."""
        made, texts = [], {m.content for m in await self._listed() if m.shared}
        for memory in await self._required(memory_ids):
            if not memory.shared and memory.content not in texts:
                made.append(await self._sharing().publish(memory.agent_id, _request(memory)))
        return tuple(made)

    async def retract(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Withdraw published memories, named by the copy or by what it was made of."""
        named = await self._required(memory_ids)
        texts = {(memory.agent_id, memory.content) for memory in named}
        shared = [m for m in await self._listed() if m.shared]
        gone = [m for m in shared if (m.agent_id, m.content) in texts]
        return tuple([m.id for m in gone if await self._sharing().retract(m.agent_id, m.id)])

    async def similar(self, memory_id: NotBlankStr, *, limit: int = 5) -> tuple[ListedMemory, ...]:
        """Return live memories of any agent that say nearly the same, most similar first."""
        known = {memory.id: memory for memory in await self._listed()}
        if memory_id not in known:
            return ()
        query = MemoryQuery(text=known[memory_id].content, limit=MAX_QUERY_LIMIT)
        hits, _ = await self._hits(query, known.values(), None)
        near = [h for h in hits if (h.dense or 0.0) >= NEARLY_THE_SAME and h.entry.id != memory_id]
        near.sort(key=lambda hit: -(hit.dense or 0.0))
        return tuple(_scored(known[h.entry.id], h) for h in near[:limit] if h.entry.id in known)

    async def uses(self, memory_id: NotBlankStr, *, limit: int = 20) -> tuple[MemoryUse, ...]:
        """Return nothing: which calls were given a memory is recorded with the local backend."""
        return ()

    async def stands_for(self, memory_id: NotBlankStr) -> ListedMemory | None:
        """Return nothing: there is no archive."""
        return None

    async def authors(self, memory_ids: Sequence[NotBlankStr]) -> dict[str, str]:
        """Return nothing: who wrote what isn't recorded."""
        return {}

    async def history(self, memory_id: NotBlankStr) -> tuple[MemoryRevision, ...]:
        """Return the recorded changes to a memory where the backend records any."""
        return tuple(await self._backend.history(memory_id))

    async def edit(self, memory_id: NotBlankStr, change: MemoryEdit, *, actor: str) -> ListedMemory:
        """Refuse: see ``Feature.EDITING``."""
        raise self._lacks(Feature.EDITING)

    async def undo(self, *, actor: str) -> UndoneAct | None:
        """Refuse: see ``Feature.UNDO``."""
        raise self._lacks(Feature.UNDO)

    async def redo(self, *, actor: str) -> UndoneAct | None:
        """Refuse: see ``Feature.UNDO``."""
        raise self._lacks(Feature.UNDO)

    async def restore_version(
        self, memory_id: NotBlankStr, revision: int, *, actor: str
    ) -> ListedMemory:
        """Refuse: see ``Feature.EDITING``."""
        raise self._lacks(Feature.EDITING)

    async def archive(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Refuse: see ``Feature.ARCHIVE``."""
        raise self._lacks(Feature.ARCHIVE)

    async def restore(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Refuse: see ``Feature.DELETED``."""
        raise self._lacks(Feature.DELETED)

    async def _listed(self, what: BrowseFilter | None = None) -> list[ListedMemory]:
        if what is not None and "archived" in what.states:
            raise self._lacks(Feature.ARCHIVE)
        if what is not None and (what.deleted or "expired" in what.states):
            raise self._lacks(Feature.DELETED)
        memories = await self._backend.everything()
        return [memory for memory in memories if what is None or is_listed(memory, what)]

    async def _hits(
        self, query: MemoryQuery, among: Iterable[ListedMemory], agents: frozenset[str] | None
    ) -> tuple[list[SearchHit], str]:
        """What each agent's search and that of all agents' returns, by fused score, each once."""
        backend, hits, notes = self._backend, dict[str, SearchHit](), dict[str, None]()
        if not isinstance(backend, CandidateSource):
            raise self._lacks(Feature.MAINTENANCE)
        owners = dict.fromkeys(m.agent_id for m in among)
        for agent in [owner for owner in owners if agents is None or owner in agents]:
            if agent == SHARED_OWNER:
                continue
            for shared in (False, True):
                found = await backend.candidates(agent, query, include_shared=shared)
                hits |= {hit.entry.id: hit for hit in found.hits if hit.entry.id not in hits}
                notes |= {found.degraded: None} if found.degraded else {}
        wanted = [h for h in hits.values() if agents is None or h.entry.agent_id in agents]
        return sorted(wanted, key=lambda hit: -hit.fused), "; ".join(notes)

    async def _required(self, memory_ids: Sequence[str]) -> tuple[ListedMemory, ...]:
        found = await self.entries(memory_ids)
        for memory_id in memory_ids:
            if memory_id not in {memory.id for memory in found}:
                raise MemoryNotFoundError(f"there is no live memory {memory_id}")
        return found

    def _sharing(self) -> SharedKnowledgeStore:
        if isinstance(self._backend, SharedKnowledgeStore):
            return self._backend
        raise self._lacks(Feature.MAINTENANCE)

    def _lacks(self, feature: Feature) -> Exception:
        return feature.refused_by(self._backend.backend_name)


def is_listed(memory: ListedMemory, what: BrowseFilter) -> bool:
    """Return whether a live memory passes a filter."""
    text, tags = memory.content.lower(), {tag.lower() for tag in memory.tags}
    return (
        is_in_groups(_cell(memory), what)
        and (not what.sessions or any(map(memory.is_of, what.sessions)))
        and not any(map(memory.is_of, what.unwanted.sessions))
        and all(tag.lower() in tags for tag in what.tags)
        and not any(tag.lower() in tags for tag in what.unwanted.tags)
        and all(word.lower() in text for word in what.words)
        and not any(word.lower() in text for word in what.without)
        and (what.since is None or memory.created_at >= what.since)
        and (what.until is None or memory.created_at < what.until)
        and all(_has_state(memory, state) for state in what.states)
        and not what.archived_for
    )


def _cell(memory: ListedMemory) -> Cell:
    return Cell(memory.agent_id, memory.category, memory.project, memory.kind)


def _has_state(memory: ListedMemory, state: str) -> bool:
    if state == "shared":
        return memory.shared
    return state == "expiring" and memory.expires_at is not None


_SORTED_BY: Final[dict[str, Callable[[ListedMemory], Any]]] = {
    "agent": lambda memory: memory.agent_id,
    "category": lambda memory: memory.category.value,
    "confidence": lambda memory: -memory.confidence,
}


def _without_groups(what: BrowseFilter) -> BrowseFilter:
    """The filter without its parts on groups, which ``summed`` applies."""
    empty: dict[str, Any] = dict.fromkeys(Cell._fields, ())
    return replace(what, unwanted=replace(what.unwanted, **empty), **empty)


def _scored(memory: ListedMemory, hit: SearchHit) -> ListedMemory:
    return replace(memory, dense=hit.dense, sparse=hit.sparse, fused=hit.fused)


def _request(memory: ListedMemory) -> MemoryStoreRequest:
    about = MemoryMetadata(source=memory.source, confidence=memory.confidence, tags=memory.tags)
    return MemoryStoreRequest(
        category=memory.category,
        namespace=memory.namespace,
        content=memory.content,
        metadata=about,
        expires_at=memory.expires_at,
    )
