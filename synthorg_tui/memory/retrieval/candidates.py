"""Finds the candidates of a query and traces what becomes of each until the text is packed.

The search asks a backend for whatever it can do and goes on with what is left when a part fails.
The trace is the only source of an explanation's verdicts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from synthorg_tui.core.failsafe import safely, together
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.retrieval.hits import (
    CandidateSource,
    SearchHit,
    SearchResult,
    SparseSearch,
)
from synthorg_tui.memory.retrieval.relevance import fuse_hits
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore


class CandidateTrace:
    """Record of what happens to each candidate; the first verdict on a candidate is final."""

    def __init__(self, hits: Iterable[SearchHit]) -> None:
        self._hits = {hit.entry.id: hit for hit in hits}
        self._noted: dict[str, dict[str, Any]] = {key: {} for key in self._hits}
        self._moved: dict[str, str] = {}

    def note(self, memory_id: str, **fields: Any) -> None:
        """Record fields of the explanation of a candidate, by their names in ``Candidate``."""
        self._noted[memory_id].update(fields)

    def ranked(self, memories: Sequence[ScoredMemory], *, boost: float) -> None:
        """Record scores and ranks; ``boost`` is what own memories got, unless fused by rank."""
        for rank, memory in enumerate(memories, start=1):
            boosted = memory.scoring_strategy is not FusionStrategy.RRF and not memory.is_shared
            self.note(
                memory.entry.id,
                relevance=memory.relevance_score,
                recency=memory.recency_score,
                combined=memory.combined_score,
                rank=rank,
                boost=boost if boosted else 0.0,
            )

    def reordered(self, before: Sequence[ScoredMemory], after: Sequence[ScoredMemory]) -> None:
        """Record the places of the same memories before and after they were reordered."""
        places = {memory.entry.id: place for place, memory in enumerate(before, start=1)}
        for place, memory in enumerate(after, start=1):
            key = memory.entry.id
            self.note(key, reordered=place)
            self._moved[key] = f", {place} by reranking" if place != places[key] else ""

    def place(self, memory_id: str) -> str:
        """Return the candidate's place by score, and where reordering moved it, in words."""
        rank = self._noted[memory_id].get("rank", 0)
        return f"place {rank} by score{self._moved.get(memory_id, '')}"

    def loan(self, memory_id: str) -> str:
        """Return what the candidate was lent and by what, in words; empty when it wasn't."""
        noted = self._noted[memory_id]
        lender = noted.get("beside")
        return f", {noted['lent']:.2f} of it lent by {lender} beside it" if lender else ""

    def judge(self, memory_id: str, verdict: Verdict, reason: str) -> None:
        """Record why a candidate is included or left out, unless it has a verdict already."""
        if "verdict" not in self._noted[memory_id]:
            self.note(memory_id, verdict=verdict, reason=reason)

    def candidates(self, given: Sequence[str]) -> tuple[Candidate, ...]:
        """Return all candidates: those in ``given`` in that order, then the others by rank.

        Call it last: every candidate must have a verdict.
        """
        place = {memory_id: number for number, memory_id in enumerate(given)}
        last = len(self._hits)

        def order(hit: SearchHit) -> tuple[int, int, float]:
            key = hit.entry.id
            return (place.get(key, last), self._noted[key].get("rank", last + 1), -hit.fused)

        return tuple(
            Candidate(
                entry=hit.entry.listed(),
                is_shared=hit.is_shared,
                dense=hit.dense,
                sparse=hit.sparse,
                **self._noted[hit.entry.id],
            )
            for hit in sorted(self._hits.values(), key=order)
        )


class CandidateSet(NamedTuple):
    """Candidates of a query, best first.

    With ``has_raw_scores``, ``dense`` is a cosine and ``sparse`` a BM25 score, from which relevance
    can be judged; otherwise they are whatever the backend gave. ``degraded`` says in words which
    source was missing; empty when none was. ``found`` is what the backend's own search returned,
    with what it knows of the hits; empty without one.
    """

    hits: tuple[SearchHit, ...]
    has_raw_scores: bool
    degraded: str
    found: SearchResult = SearchResult(())


class CandidateSearch:
    """Collects candidates from a backend and a shared store; if one fails, uses the other."""

    def __init__(
        self,
        backend: MemoryBackend,
        shared_store: SharedKnowledgeStore | None,
        config: MemoryRetrievalConfig,
    ) -> None:
        self._backend = backend
        self._shared = shared_store if config.include_shared else None
        self._config = config

    async def gather(self, agent_id: str, query: MemoryQuery) -> CandidateSet:
        """Return all private and shared memories that a query matches, searching concurrently."""
        backend, shared = self._backend, self._shared
        one_store = shared is None or id(shared) == id(backend)
        if one_store and isinstance(backend, CandidateSource):
            return await self._from_source(backend, agent_id, query)
        return await self._from_lists(agent_id, query)

    async def _from_source(
        self, source: CandidateSource, agent_id: str, query: MemoryQuery
    ) -> CandidateSet:
        notes: list[str] = []
        search = source.candidates(agent_id, query, include_shared=self._shared is not None)
        found = await safely(search, what="the search", notes=notes)
        if found is None:
            return CandidateSet((), True, notes[0])
        return CandidateSet(found.hits, True, found.degraded, found)

    async def _from_lists(self, agent_id: str, query: MemoryQuery) -> CandidateSet:
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
        return CandidateSet(hits, False, "; ".join(notes))


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
