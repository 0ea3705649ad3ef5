"""The searches that a supervisor sends a query to, each of which looks at memory in its own way.

A worker that fails gives an error and no memories; which workers are asked is not decided here.
"""

import time
from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import safely
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.candidates import CandidateSearch
from synthorg_tui.memory.retrieval.relevance import judge_hits, moved_cutoff, rank_hits
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig

MAX_RESULTS = 100


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


class WorkerResult(FrozenModel):
    """Result of one search, best first.

    ``error`` is the reason if the search failed, else ``None``. ``degraded`` says in words which of
    its sources was missing; empty when none was.
    """

    worker_name: WorkerName
    candidates: tuple[ScoredMemory, ...] = ()
    execution_ms: float = Field(default=0.0, ge=0.0)
    error: str | None = None
    degraded: str = ""


class RetrievalResult(FrozenModel):
    """Merged result of all searches, best first, with the number of retries and the duration."""

    candidates: tuple[ScoredMemory, ...]
    execution_ms: float = Field(ge=0.0)
    retries_performed: int = Field(default=0, ge=0)
    degraded: str = ""


EPISODIC_WINDOW = timedelta(hours=72)
_EPISODIC_POOL = 4
_EPISODIC_RELEVANCE_WEIGHT = 0.4
_EPISODIC_RECENCY_WEIGHT = 0.6
_MAX_LIMIT = 1000


class Worker(Protocol):
    """One kind of search over an agent's memories."""

    @property
    def name(self) -> WorkerName:
        """Name of the search."""
        ...

    async def find(self, query: RetrievalQuery) -> tuple[tuple[ScoredMemory, ...], str]:
        """Return at most ``query.max_results`` memories, best first, and which source was missing.

        The second value is a text for a person; empty when no source was missing.
        """
        ...


async def run_worker(worker: Worker, query: RetrievalQuery) -> WorkerResult:
    """Run a search and return its result; a failure is recorded in the result, not raised."""
    notes: list[str] = []
    started = time.perf_counter()
    found = await safely(worker.find(query), what=f"the {worker.name} search", notes=notes)
    candidates, degraded = found or ((), "")
    return WorkerResult(
        worker_name=worker.name,
        candidates=candidates[: query.max_results],
        execution_ms=(time.perf_counter() - started) * 1_000,
        error="; ".join(notes) or None,
        degraded=degraded,
    )


class SemanticWorker:
    """Search over private and shared memories, ranked as by the flat search."""

    name: WorkerName = WorkerName.SEMANTIC

    def __init__(
        self, search: CandidateSearch, config: MemoryRetrievalConfig, clock: Clock
    ) -> None:
        self._search = search
        self._config = config
        self._clock = clock
        self._tokenizer = BM25Tokenizer()

    async def find(self, query: RetrievalQuery) -> tuple[tuple[ScoredMemory, ...], str]:
        """Return memories of the requested categories that are relevant to the query."""
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
        return ranked, gathered.degraded


class EpisodicWorker:
    """Search over episodes of the last three days; recent ones rank higher."""

    name: WorkerName = WorkerName.EPISODIC

    def __init__(self, backend: MemoryBackend, config: MemoryRetrievalConfig, clock: Clock) -> None:
        self._backend = backend
        self._config = config
        self._clock = clock

    async def find(self, query: RetrievalQuery) -> tuple[tuple[ScoredMemory, ...], str]:
        """Return episodes by relevance and, with more weight, recency.

        None if the query excludes episodes.
        """
        if not _wants(query, MemoryCategory.EPISODIC):
            return (), ""
        asked = MemoryQuery(
            text=query.text,
            categories=frozenset({MemoryCategory.EPISODIC}),
            since=self._clock.now() - EPISODIC_WINDOW,
            limit=min(_MAX_LIMIT, query.max_results * _EPISODIC_POOL),
        )
        found = await self._backend.retrieve(query.agent_id, asked)
        return _best_first(map(self._scored, found)), ""

    def _scored(self, entry: MemoryEntry) -> ScoredMemory:
        age = self._clock.now() - entry.created_at
        recency = min(1.0, max(0.0, 1.0 - age / EPISODIC_WINDOW))
        relevance = _relevance(entry, self._config)
        combined = _EPISODIC_RELEVANCE_WEIGHT * relevance + _EPISODIC_RECENCY_WEIGHT * recency
        return ScoredMemory(
            entry=entry,
            relevance_score=relevance,
            recency_score=recency,
            combined_score=min(1.0, combined),
        )


class ProceduralWorker:
    """Search over procedures of any age."""

    name: WorkerName = WorkerName.PROCEDURAL

    def __init__(self, backend: MemoryBackend, config: MemoryRetrievalConfig) -> None:
        self._backend = backend
        self._config = config

    async def find(self, query: RetrievalQuery) -> tuple[tuple[ScoredMemory, ...], str]:
        """Return procedures by relevance alone; none if the query excludes procedures."""
        if not _wants(query, MemoryCategory.PROCEDURAL):
            return (), ""
        asked = MemoryQuery(
            text=query.text,
            categories=frozenset({MemoryCategory.PROCEDURAL}),
            limit=query.max_results,
        )
        found = await self._backend.retrieve(query.agent_id, asked)
        return _best_first(map(self._scored, found)), ""

    def _scored(self, entry: MemoryEntry) -> ScoredMemory:
        relevance = _relevance(entry, self._config)
        return ScoredMemory(
            entry=entry, relevance_score=relevance, recency_score=0.0, combined_score=relevance
        )


def _wants(query: RetrievalQuery, category: MemoryCategory) -> bool:
    return not query.categories or category in query.categories


def _relevance(entry: MemoryEntry, config: MemoryRetrievalConfig) -> float:
    found = entry.relevance_score
    return config.default_relevance if found is None else found


def _best_first(memories: Iterable[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    return tuple(sorted(memories, key=lambda memory: -memory.combined_score))
