"""Asks backends for candidates: whatever they can do, and whatever fails."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.hybrid import fuse_hits
from synthorg_tui.memory.retrieval.safety import safely, together
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.searching import CandidateSource, SearchHit, SparseSearch
from synthorg_tui.memory.shared import SharedKnowledgeStore


class Gathered(NamedTuple):
    """Candidates, best first, and in words what is missing.

    ``has_raw_scores`` tells whether ``dense`` is a cosine and ``sparse`` a BM25 score, so that
    they say something about relevance; else they are whatever the backend gave.
    """

    hits: tuple[SearchHit, ...]
    has_raw_scores: bool
    degraded: str


class Gatherer:
    """Gathers candidates from a backend and a shared store; failures leave what is left."""

    def __init__(
        self,
        backend: MemoryBackend,
        shared_store: SharedKnowledgeStore | None,
        config: MemoryRetrievalConfig,
    ) -> None:
        self._backend = backend
        self._shared = shared_store if config.include_shared else None
        self._config = config

    async def gather(self, agent_id: str, query: MemoryQuery) -> Gathered:
        """Everything a query brings up, private and shared at the same time."""
        backend, shared = self._backend, self._shared
        one_store = shared is None or id(shared) == id(backend)
        if one_store and isinstance(backend, CandidateSource):
            return await self._from_source(backend, agent_id, query)
        return await self._from_lists(agent_id, query)

    async def _from_source(
        self, source: CandidateSource, agent_id: str, query: MemoryQuery
    ) -> Gathered:
        notes: list[str] = []
        search = source.candidates(agent_id, query, include_shared=self._shared is not None)
        found = await safely(search, what="the search", notes=notes)
        if found is None:
            return Gathered((), True, notes[0])
        return Gathered(found.hits, True, found.degraded)

    async def _from_lists(self, agent_id: str, query: MemoryQuery) -> Gathered:
        notes: list[str] = []
        calls = {"the search": self._backend.retrieve(agent_id, query)}
        if self._shared is not None:
            calls["the search of shared memories"] = self._shared.search_shared(
                query, exclude_agent=agent_id
            )
        linear = self._config.fusion_strategy is FusionStrategy.LINEAR
        if isinstance(self._backend, SparseSearch) and not linear:
            calls["the keyword search"] = self._backend.retrieve_sparse(agent_id, query)
        answers = await together(
            *(safely(call, what=what, notes=notes) for what, call in calls.items())
        )
        found = {what: answer or () for what, answer in zip(calls, answers, strict=True)}
        hits = _joined(
            found["the search"],
            found.get("the search of shared memories", ()),
            found.get("the keyword search", ()),
            default=self._config.default_relevance,
        )
        return Gathered(hits, False, "; ".join(notes))


def _joined(
    own: Sequence[MemoryEntry],
    shared: Sequence[MemoryEntry],
    sparse: Sequence[MemoryEntry],
    *,
    default: float,
) -> tuple[SearchHit, ...]:
    """Lists of entries as hits, scored by what each list says."""

    def ranking(entries: Iterable[MemoryEntry], missing: float) -> tuple[IndexHit, ...]:
        scored = (
            IndexHit(e.id, missing if e.relevance_score is None else e.relevance_score)
            for e in entries
        )
        return tuple(sorted(scored, key=lambda hit: -hit.score))

    foreign = {entry.id for entry in shared}
    listed = {entry.id: entry for entry in reversed((*own, *shared))}
    entries = {entry.id: entry for entry in sparse} | listed
    dense = ranking(reversed(listed.values()), default)
    if not sparse:
        return tuple(
            SearchHit(entries[hit.id], hit.score, None, hit.score, hit.id in foreign)
            for hit in dense
        )
    hits = IndexHits(dense=dense, sparse=ranking(sparse, 0.0))
    fused = {hit.id: hit for hit in fuse_hits(hits, limit=len(entries))}
    in_order = dict.fromkeys(hit.id for hit in (*hits.dense, *hits.sparse))  # where scores tie
    return tuple(
        SearchHit(entries[hit.id], hit.dense, hit.sparse, hit.fused, hit.id in foreign)
        for hit in map(fused.__getitem__, in_order)
    )
