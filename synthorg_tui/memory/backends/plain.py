"""Base class of the backends without a database of ours.

A subclass stores memories and ranks them by a text; access, filters, levels, sharing and the
selection of hits are here.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Final, NamedTuple, Self

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.desk import PlainDesk
from synthorg_tui.memory.backends.digest_items import PlainDigestSource
from synthorg_tui.memory.backends.kept import (
    KeptMemory,
    kept_of,
    matches,
    newest_first,
    passes,
    says_the_same,
)
from synthorg_tui.memory.digest.models import DigestItem, DigestSource
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits, Visibility
from synthorg_tui.memory.listing import SHARED_OWNER, ListedMemory, MemoryRevision
from synthorg_tui.memory.models import (
    AGENT_IS_FULL,
    BatchOutcome,
    MemoryDraft,
    MemoryEntry,
    MemoryQuery,
    MemoryStoreRequest,
    is_short_id,
)
from synthorg_tui.memory.retrieval.hits import SearchHit, SearchResult
from synthorg_tui.memory.retrieval.relevance import SEARCH_DEPTH, fuse_hits, joined, relevant_hits
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.shared import require_agent_id, require_own
from synthorg_tui.memory.store.policy import StorePolicy

STORED_ALREADY: Final = "the agent has this memory already"


class Ranked(NamedTuple):
    """The best matches of a text: both rankings, and the memories in them by id.

    ``is_all`` means that there are no further matches.
    """

    hits: IndexHits
    memories: dict[str, KeptMemory]
    is_all: bool = True


class PlainBackend(ABC):
    """Memory backend over whatever a subclass keeps memories in.

    Implements ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore``,
    ``ContentLookup``, ``CandidateSource``, ``SparseSearch``, ``ScopedViews``, ``PlacedMemories``
    and ``BatchStore``. Several instances may be views of the same memories.

    Args:
        policy: The level of each agent's memories, how many it may have, and for how long.
        clock: Current time, for creation times and expiry.
    """

    backend_name: NotBlankStr
    supported_categories: frozenset[MemoryCategory] = frozenset(MemoryCategory)
    supports_graph: bool = False
    supports_temporal: bool = True
    supports_vector_search: bool = False
    supports_shared_access: bool = True

    def __init__(self, *, policy: StorePolicy | None = None, clock: Clock | None = None) -> None:
        self._policy = policy or StorePolicy()
        self._clock = clock or SystemClock()
        self._visibility: Visibility | None = None
        self.tokenizer = BM25Tokenizer()

    # -- what a subclass does

    @abstractmethod
    async def connect(self) -> None:
        """Open the backend for use; raises ``MemoryConnectionError``."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Close the backend; do nothing when it is closed already."""

    @abstractmethod
    async def health_check(self) -> bool:
        """Return whether the backend responds."""

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether the backend is connected."""

    @abstractmethod
    async def _kept(self, owner: str | None) -> Sequence[KeptMemory]:
        """An agent's private memories, or with the reserved owner all shared ones, or all."""

    @abstractmethod
    async def _kept_one(self, memory_id: str) -> KeptMemory | None:
        """The memory with this id, of any agent."""

    @abstractmethod
    async def _keep(self, memory: KeptMemory) -> str:
        """Keep a memory; returns its id, which may be another than it has."""

    @abstractmethod
    async def _drop(self, memory_id: str) -> None:
        """Forget a memory."""

    @abstractmethod
    async def _ranked(self, text: str, owner: str, query: MemoryQuery, *, depth: int) -> Ranked:
        """The best matches of a text among an owner's, live and expired ones, at most ``depth``.

        Filters of the query may be applied already.
        """

    # -- an agent's own memories

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory and return its id; raises ``MemoryStoreError`` at the agent's limit."""
        view = self._visibility
        draft = MemoryDraft(
            request=request,
            session_id=view.session_id if view else None,
            project=view.project if view else None,
            source_kind=SourceKind.TOOL,
        )
        return await self._store(agent_id, draft)

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store drafts one after another, skipping what the agent has already, by key or content.

        Unlike the local backend this one neither updates what changed under a key, nor knows what
        a person deleted, nor records ``actor``.
        """
        known = list(await self._of(agent_id, MemoryStoreError))
        keys = {memory.key for memory in known if memory.key}
        added, skipped = [], []
        for draft in drafts:
            if draft.key in keys or any(says_the_same(m.entry, draft.request) for m in known):
                skipped.append((draft.key, STORED_ALREADY))
                continue
            limit = self.max_memories_per_agent
            if limit is not None and len(known) >= limit:
                skipped.append((draft.key, AGENT_IS_FULL))
                continue
            memory_id = await self._store(agent_id, draft)
            added.append(memory_id)
            stored = await self._kept_one(memory_id)
            known += [stored] if stored is not None else []
            keys |= {draft.key} if draft.key else set()
        return BatchOutcome(added=tuple(added), skipped=tuple(skipped))

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories that match, at most ``query.limit``."""
        require_agent_id(agent_id, MemoryRetrievalError)
        return await self._matching(query, agent_id, exclude=None)

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories that match by keywords (BM25), best first."""
        if query.text is None:
            return await self.retrieve(agent_id, query)
        require_agent_id(agent_id, MemoryRetrievalError)
        found = await self._search(query, agent_id, exclude=None)
        best = max((hit.score for hit in found.hits.sparse), default=1.0)
        scores = [(hit, min(1.0, hit.score / best)) for hit in found.hits.sparse]
        wanted = [(hit.id, score) for hit, score in scores if score >= query.min_relevance]
        return tuple(
            _scored(found.memories[memory_id], score) for memory_id, score in wanted[: query.limit]
        )

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """Return all memories that a query matches, own and optionally shared, for ranking."""
        require_agent_id(agent_id, MemoryRetrievalError)
        parts = [await self._search(query, agent_id, exclude=None)]
        if include_shared:
            parts.append(await self._search(query, SHARED_OWNER, exclude=agent_id))
        memories = {key: kept for part in parts for key, kept in part.memories.items()}
        fused = fuse_hits(joined([part.hits for part in parts]), limit=len(memories))
        return SearchResult(
            tuple(
                SearchHit(memories[hit.id].entry, hit.dense, hit.sparse, hit.fused, shared)
                for hit in fused
                for shared in (memories[hit.id].shared,)
            )
        )

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the agent's memory with this id, or with an id that alone begins so.

        ``None`` if it is missing, expired, shared or another agent's.
        """
        require_agent_id(agent_id, MemoryRetrievalError)
        self._require_connection()
        if is_short_id(memory_id):
            own = await self._of(agent_id, MemoryRetrievalError)
            alike = [m.entry for m in own if m.entry.id.startswith(memory_id.lower())]
            return alike[0] if len(alike) == 1 else None
        kept = await self._kept_one(memory_id)
        if kept is None or kept.shared or kept.entry.agent_id != agent_id:
            return None
        return kept.entry if self._is_given(kept) else None

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """Return the id of the agent's newest memory that says the same, or ``None``."""
        own = await self._of(agent_id, MemoryRetrievalError)
        entries = newest_first(memory.entry for memory in own)
        return next((entry.id for entry in entries if says_the_same(entry, request)), None)

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete the agent's memory for good; return ``False`` when there is none.

        Raises ``MemoryStoreError`` for a shared memory and for another agent's.
        """
        return await self._delete(agent_id, memory_id, retracts=False)

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's live memories, optionally of one category only."""
        own = await self._of(agent_id, MemoryRetrievalError)
        return sum(category is None or memory.entry.category is category for memory in own)

    async def given_alike(self, agent_id: NotBlankStr) -> frozenset[str]:
        """Return the ids of the agent's memories that are given where a new one here would be."""
        view = self._visibility or Visibility(session_id=None, project=None)
        level = self._policy.level(agent_id)
        own = await self._of(agent_id, MemoryRetrievalError)
        return frozenset(m.entry.id for m in own if m.level is level and m.project == view.project)

    @property
    def max_memories_per_agent(self) -> int | None:
        """Maximum number of live memories of one agent."""
        return self._policy.max_memories_per_agent

    # -- what agents share

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share a memory with all agents, in any session and project, and return its id."""
        return await self._store(agent_id, MemoryDraft(request=request), shared=True)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return the shared memories that match, each with its publisher as ``agent_id``."""
        return await self._matching(query, SHARED_OWNER, exclude=exclude_agent)

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw a memory that the agent published; return ``False`` when there is none.

        Raises ``MemoryStoreError`` when it is private or another agent's.
        """
        return await self._delete(agent_id, memory_id, retracts=True)

    # -- views

    def scoped(self, visibility: Visibility) -> Self:
        """Return the backend as seen from that session and project; what it stores is of these."""
        view = copy.copy(self)
        view.__dict__.pop("admin", None)
        view._visibility = visibility
        return view

    def digest_items(self) -> DigestSource:
        """Return the source from which a digest of the memories visible here is built."""
        return PlainDigestSource(self._items, self)

    @cached_property
    def admin(self) -> PlainDesk:
        """Access to the memories of all agents, for a person; must not be given to agents."""
        return PlainDesk(self)

    async def everything(self) -> tuple[ListedMemory, ...]:
        """Return all live memories of all agents, for a person."""
        self._require_connection()
        now = self._clock.now()
        return tuple(memory.listed() for memory in await self._kept(None) if memory.is_live(now))

    async def history(self, memory_id: str) -> Sequence[MemoryRevision]:
        """Return the recorded changes to a memory; none here, unless a subclass records them."""
        return ()

    # -- inside

    async def _items(self, agent_id: str) -> list[DigestItem]:
        """What a digest is made of: what the agent sees of its own, and what it published."""
        own = await self._of(agent_id, MemoryRetrievalError)
        shared = [m for m in await self._kept(SHARED_OWNER) if m.entry.agent_id == agent_id]
        return [memory.item() for memory in (*own, *filter(self._is_given, shared))]

    async def _store(self, agent_id: str, draft: MemoryDraft, *, shared: bool = False) -> str:
        self._require_connection()
        require_agent_id(agent_id, MemoryStoreError)
        now, level = self._clock.now(), self._policy.level(agent_id)
        memory = kept_of(
            "new", agent_id, self._aged(agent_id, draft), now, level=level, shared=shared
        )
        limit = self.max_memories_per_agent
        if limit is not None and not shared:
            own = await self._kept(agent_id)
            live = sum(one.is_live(now) for one in own)
            if live >= limit:
                raise MemoryStoreError(
                    f"agent {agent_id!r} has {live} memories, the maximum",
                    remedy="Delete some, or raise max_memories_per_agent.",
                )
        return await self._keep(memory)

    def _aged(self, agent_id: str, draft: MemoryDraft) -> MemoryDraft:
        """The draft with the end that the settings give to memories without one."""
        request = draft.request
        days = self._policy.retention_days(agent_id, request.category)
        if days is None or request.expires_at is not None:
            return draft
        ends = (draft.created_at or self._clock.now()) + timedelta(days=days)
        return draft.model_copy(update={"request": request.model_copy(update={"expires_at": ends})})

    async def _delete(self, agent_id: str, memory_id: str, *, retracts: bool) -> bool:
        self._require_connection()
        require_agent_id(agent_id, MemoryStoreError)
        kept = await self._kept_one(memory_id)
        if kept is None or not kept.is_live(self._clock.now()):
            return False
        owner = kept.entry.agent_id
        require_own(memory_id, agent_id, owner=owner, is_shared=kept.shared, retracts=retracts)
        if not kept.is_seen(self._visibility):
            return False
        await self._drop(memory_id)
        return True

    async def _of(self, agent_id: str, kind: type[MemoryError]) -> list[KeptMemory]:
        """The agent's live memories that are visible here."""
        require_agent_id(agent_id, kind)
        self._require_connection()
        return [memory for memory in await self._kept(agent_id) if self._is_given(memory)]

    def _is_given(self, memory: KeptMemory) -> bool:
        return memory.is_live(self._clock.now()) and memory.is_seen(self._visibility)

    async def _matching(
        self, query: MemoryQuery, owner: str, *, exclude: str | None
    ) -> tuple[MemoryEntry, ...]:
        self._require_connection()
        if query.text is None:
            return await self._unranked(query, owner, exclude=exclude)
        return await self._by_text(query, owner, exclude=exclude)

    async def _unranked(
        self, query: MemoryQuery, owner: str, *, exclude: str | None
    ) -> tuple[MemoryEntry, ...]:
        """The memories that pass the filters and contain the text, newest first."""
        given = [m.entry for m in await self._kept(owner) if self._is_given(m)]
        wanted = (e for e in given if e.agent_id != exclude and matches(e, query))
        return newest_first(wanted)[: query.limit]

    async def _by_text(
        self, query: MemoryQuery, owner: str, *, exclude: str | None
    ) -> tuple[MemoryEntry, ...]:
        """The relevant matches of a text, best first, with their fused scores."""
        found = await self._search(query, owner, exclude=exclude)
        terms = frozenset(self.tokenizer.tokenize(query.text or ""))
        fused = fuse_hits(found.hits, limit=len(found.memories))
        relevant = relevant_hits(
            [hit._replace(sparse=hit.sparse or 0.0) for hit in fused],
            coverage=lambda h: self.tokenizer.coverage(terms, found.memories[h.id].entry.content),
            limit=query.limit,
        )
        entries = [_scored(found.memories[hit.id], hit.fused) for hit in relevant]
        return tuple(e for e in entries if (e.relevance_score or 0.0) >= query.min_relevance)

    async def _search(self, query: MemoryQuery, owner: str, *, exclude: str | None) -> Ranked:
        """Both rankings without what isn't given here or is filtered out; deeper where few stay."""
        self._require_connection()
        if query.text is None:
            raise MemoryRetrievalError("a search needs a text")
        depth = max(SEARCH_DEPTH, query.limit)
        while True:
            ranked = await self._ranked(query.text, owner, query, depth=depth)
            given = {
                key: kept
                for key, kept in ranked.memories.items()
                if self._is_given(kept)
                and kept.entry.agent_id != exclude
                and passes(kept.entry, query)
            }
            if ranked.is_all or len(given) >= query.limit:
                hits = ranked.hits
                return Ranked(
                    IndexHits(dense=_among(hits.dense, given), sparse=_among(hits.sparse, given)),
                    given,
                )
            depth *= 4

    def _require_connection(self) -> None:
        if not self.is_connected:
            raise MemoryConnectionError(f"the {self.backend_name} backend is not connected")


def _among(hits: Sequence[IndexHit], given: dict[str, KeptMemory]) -> tuple[IndexHit, ...]:
    return tuple(hit for hit in hits if hit.id in given)


def _scored(memory: KeptMemory, score: float) -> MemoryEntry:
    bounded = min(1.0, max(0.0, score))
    return memory.entry.model_copy(update={"relevance_score": bounded})
