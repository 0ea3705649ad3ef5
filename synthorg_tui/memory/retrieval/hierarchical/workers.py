"""The searches that a supervisor sends a query to, each of which looks at memory in its own way.

A search that fails gives a note and no memories; which searches are asked is not decided here.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pydantic import Field

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import safely
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.candidates import CandidateSearch
from synthorg_tui.memory.retrieval.hits import RankedMemories
from synthorg_tui.memory.retrieval.relevance import judge_hits, moved_cutoff, rank_hits
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig

MAX_RESULTS: Final = 100
EPISODIC_WINDOW: Final = timedelta(hours=72)


class WorkerName(StrEnum):
    """Names of the available searches."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class RetrievalQuery(FrozenModel):
    """Query of an agent; ``categories`` ``None`` doesn't filter."""

    agent_id: NotBlankStr
    text: NotBlankStr
    categories: frozenset[MemoryCategory] | None = None
    max_results: int = Field(default=20, ge=1, le=MAX_RESULTS)


class RetrievalResult(FrozenModel):
    """Result of one search, or of all of them merged, best first, and how long it took.

    ``worker_name`` is ``None`` for all. ``degraded`` says in words which source was missing or what
    failed; empty when nothing did.
    """

    candidates: tuple[ScoredMemory, ...] = ()
    worker_name: WorkerName | None = None
    execution_ms: float = Field(default=0.0, ge=0.0)
    retries_performed: int = Field(default=0, ge=0)
    degraded: str = ""


class SearchWorkers:
    """The searches over an agent's memories, by name.

    Args:
        search: Collects private and shared memories for the semantic search.
        backend: Holds the agent's own memories, for the other two.
        config: Settings of ranking.
        clock: Current time, for recency.
    """

    def __init__(
        self,
        search: CandidateSearch,
        backend: MemoryBackend,
        config: MemoryRetrievalConfig,
        clock: Clock,
    ) -> None:
        self._search = search
        self._backend = backend
        self._config = config
        self._clock = clock
        self._tokenizer = BM25Tokenizer()
        self._finders = {
            WorkerName.SEMANTIC: self._semantic,
            WorkerName.EPISODIC: self._episodic,
            WorkerName.PROCEDURAL: self._procedural,
        }

    async def run(self, name: WorkerName, query: RetrievalQuery) -> RetrievalResult:
        """Run a search; a failure is described in the result, not raised."""
        notes: list[str] = []
        started = time.perf_counter()
        found = await safely(self._finders[name](query), what=f"the {name} search", notes=notes)
        memories, degraded = found or RankedMemories((), "; ".join(notes))
        return RetrievalResult(
            candidates=memories[: query.max_results],
            worker_name=name,
            execution_ms=(time.perf_counter() - started) * 1_000,
            degraded=degraded,
        )

    async def _semantic(self, query: RetrievalQuery) -> RankedMemories:
        """Private and shared memories relevant to the query, ranked as by the flat search."""
        asked = MemoryQuery(text=query.text, categories=query.categories, limit=query.max_results)
        gathered = await self._search.gather(query.agent_id, asked)
        hits = gathered.hits
        if gathered.has_raw_scores:
            terms = frozenset(self._tokenizer.tokenize(query.text))
            judgement = judge_hits(
                hits,
                coverage=lambda hit: self._tokenizer.coverage(terms, hit.entry.content),
                cutoff=moved_cutoff(gathered.found.moved),
            )
            hits = tuple(hit for place, hit in enumerate(hits) if judgement.is_relevant(place))
        ranked = rank_hits(hits, config=self._config, now=self._clock.now())
        return RankedMemories(ranked, gathered.degraded)

    async def _episodic(self, query: RetrievalQuery) -> RankedMemories:
        """Episodes of the last three days by relevance and, with more weight, recency."""
        now = self._clock.now()
        limit = min(MAX_QUERY_LIMIT, query.max_results * 4)
        since = now - EPISODIC_WINDOW
        found = await self._of_category(query, MemoryCategory.EPISODIC, limit, since)
        return _best_first([self._episode(entry, now) for entry in found])

    def _episode(self, entry: MemoryEntry, now: datetime) -> ScoredMemory:
        age = now - entry.created_at
        recency = min(1.0, max(0.0, 1.0 - age / EPISODIC_WINDOW))
        relevance = self._relevance(entry)
        combined = 0.4 * relevance + 0.6 * recency
        return ScoredMemory(
            entry=entry,
            relevance_score=relevance,
            recency_score=recency,
            combined_score=min(1.0, combined),
        )

    async def _procedural(self, query: RetrievalQuery) -> RankedMemories:
        """Procedures of any age by relevance alone."""
        found = await self._of_category(query, MemoryCategory.PROCEDURAL, query.max_results)
        scored = [(entry, self._relevance(entry)) for entry in found]
        return _best_first(
            [
                ScoredMemory(entry=entry, relevance_score=s, recency_score=0.0, combined_score=s)
                for entry, s in scored
            ]
        )

    async def _of_category(
        self,
        query: RetrievalQuery,
        category: MemoryCategory,
        limit: int,
        since: datetime | None = None,
    ) -> tuple[MemoryEntry, ...]:
        """The agent's memories of one category; none if the query excludes it."""
        if query.categories and category not in query.categories:
            return ()
        wanted = frozenset({category})
        asked = MemoryQuery(text=query.text, categories=wanted, since=since, limit=limit)
        return await self._backend.retrieve(query.agent_id, asked)

    def _relevance(self, entry: MemoryEntry) -> float:
        found = entry.relevance_score
        return self._config.default_relevance if found is None else found


def _best_first(memories: Sequence[ScoredMemory]) -> RankedMemories:
    return RankedMemories(tuple(sorted(memories, key=lambda memory: -memory.combined_score)))
