"""Finds the candidates of a query and traces what becomes of each until the text is packed.

The search asks a backend for whatever it can do and goes on with what is left when a part fails.
The trace is the only source of an explanation's verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from synthorg_tui.core.failsafe import safely, together
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import DiversePick, ScoredMemory
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.retrieval.hits import (
    CandidateSource,
    SearchHit,
    SearchResult,
    SparseSearch,
)
from synthorg_tui.memory.retrieval.neighbours import Loan
from synthorg_tui.memory.retrieval.relevance import fuse_hits
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore


class Reordered(NamedTuple):
    """The place of a memory before and after a model reordered those at the top, from 1."""

    before: int
    after: int


@dataclass(slots=True)
class _Account:
    hit: SearchHit
    scored: ScoredMemory | None = None
    rank: int = 0
    boost: float = 0.0
    loan: Loan | None = None
    reordered: Reordered | None = None
    pick: DiversePick | None = None
    tokens: int = 0
    members: tuple[str, ...] = ()
    seen: str = ""
    verdict: Verdict | None = None
    reason: str = ""


class CandidateTrace:
    """Record of what happens to each candidate; the first verdict on a candidate is final."""

    def __init__(self, hits: Iterable[SearchHit]) -> None:
        self._accounts = {hit.entry.id: _Account(hit) for hit in hits}

    def ranked(self, memories: Sequence[ScoredMemory], *, boost: float) -> None:
        """Record scores and ranks; ``boost`` is what own memories got, unless fused by rank."""
        for rank, memory in enumerate(memories, start=1):
            account = self._accounts[memory.entry.id]
            account.scored, account.rank = memory, rank
            boosted = memory.scoring_strategy is not FusionStrategy.RRF and not memory.is_shared
            account.boost = boost if boosted else 0.0

    def lent(self, loans: Mapping[str, Loan]) -> None:
        """Record what memories were lent by hits beside them."""
        for memory_id, loan in loans.items():
            self._accounts[memory_id].loan = loan

    def reordered(self, before: Sequence[ScoredMemory], after: Sequence[ScoredMemory]) -> None:
        """Record the places of the same memories before and after they were reordered."""
        places = {memory.entry.id: place for place, memory in enumerate(before, start=1)}
        for place, memory in enumerate(after, start=1):
            key = memory.entry.id
            self._accounts[key].reordered = Reordered(places[key], place)

    def place(self, memory_id: str) -> str:
        """Return the candidate's place by score, and where reordering moved it, in words."""
        account = self._accounts[memory_id]
        told = f"place {account.rank} by score"
        moved = account.reordered
        if moved is None or moved.before == moved.after:
            return told
        return f"{told}, {moved.after} by reranking"

    def rank(self, memory_id: str) -> int:
        """Return the candidate's rank by score, from 1; 0 when it wasn't ranked."""
        return self._accounts[memory_id].rank

    def loan(self, memory_id: str) -> Loan | None:
        """Return what the candidate was lent, if it was."""
        return self._accounts[memory_id].loan

    def diversified(self, picks: Iterable[DiversePick]) -> None:
        """Record each memory's similarity to an earlier pick."""
        for pick in picks:
            self._accounts[pick.memory.entry.id].pick = pick

    def stands_for(self, members: Mapping[str, tuple[str, ...]], seen: Mapping[str, str]) -> None:
        """Record of which other memories a candidate is the one line, and how often it was seen."""
        for memory_id, others in members.items():
            account = self._accounts[memory_id]
            account.members, account.seen = others, seen.get(memory_id, "")

    def costs(self, memory_id: str, tokens: int) -> None:
        """Record the size of a candidate's text block in tokens."""
        self._accounts[memory_id].tokens = tokens

    def judge(self, memory_id: str, verdict: Verdict, reason: str) -> None:
        """Record why a candidate is included or left out, unless it has a verdict already."""
        account = self._accounts[memory_id]
        if account.verdict is None:
            account.verdict, account.reason = verdict, reason

    def candidates(self, given: Sequence[str]) -> tuple[Candidate, ...]:
        """Return all candidates: those in ``given`` in that order, then the others by rank.

        Call it last: every candidate must have a verdict.
        """
        place = {memory_id: number for number, memory_id in enumerate(given)}
        last = len(self._accounts)

        def order(account: _Account) -> tuple[int, int, float]:
            return (
                place.get(account.hit.entry.id, last),
                account.rank or last + 1,
                -account.hit.fused,
            )

        return tuple(_candidate(account) for account in sorted(self._accounts.values(), key=order))


def _candidate(account: _Account) -> Candidate:
    hit, scored, pick = account.hit, account.scored, account.pick
    if account.verdict is None:
        raise AssertionError(f"no verdict on memory {hit.entry.id}")
    return Candidate(
        entry=hit.entry.listed(),
        verdict=account.verdict,
        reason=account.reason,
        is_shared=hit.is_shared,
        dense=hit.dense,
        sparse=hit.sparse,
        relevance=scored.relevance_score if scored else 0.0,
        recency=scored.recency_score if scored else 0.0,
        boost=account.boost,
        combined=scored.combined_score if scored else 0.0,
        lent=account.loan.amount if account.loan else 0.0,
        beside=account.loan.lender if account.loan else None,
        rank=account.rank,
        reordered=account.reordered.after if account.reordered else 0,
        similarity=pick.similarity if pick else 0.0,
        similar_to=pick.similar_to.id if pick and pick.similar_to else None,
        tokens=account.tokens,
        members=account.members,
        seen=account.seen,
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
