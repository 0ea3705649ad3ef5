"""Finds memories in several steps: route, search, reflect, and search again."""

import logging
import time
from collections.abc import Collection, Iterable
from itertools import chain

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import safely, together
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.candidates import CandidateSearch
from synthorg_tui.memory.retrieval.hierarchical.supervisor import Attempt, Supervisor
from synthorg_tui.memory.retrieval.hierarchical.workers import (
    MAX_RESULTS,
    RetrievalQuery,
    RetrievalResult,
    SearchWorkers,
)
from synthorg_tui.memory.retrieval.hits import RankedMemories
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.providers.completion.protocol import CompletionProvider

_log = logging.getLogger(__name__)


class SupervisedRetriever:
    """``HierarchicalRetriever`` in which a language model routes a query to up to three searches.

    Poor results are retried with another wording or other searches. Hits lend nothing to what
    stands beside them in their session: scores of several searches, some by recency or tag alone,
    are no evidence to lend from, and the model itself asks again for what it misses.

    Args:
        backend: Holds the agent's own memories.
        config: Settings of ranking, number of searches and retries.
        provider: The model that routes queries; without one every search fails, and the caller
            falls back to the flat search.
        shared_store: Holds memories shared by other agents; ``None`` for none.
        clock: Current time, for recency.
        sensitivities: Sensitivities of memories that the model may read.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: MemoryRetrievalConfig,
        provider: CompletionProvider | None,
        shared_store: SharedKnowledgeStore | None = None,
        clock: Clock | None = None,
        sensitivities: Collection[Sensitivity] = GIVEN_BY_DEFAULT,
    ) -> None:
        search = CandidateSearch(backend, shared_store, config)
        self._workers = SearchWorkers(search, backend, config, clock or SystemClock())
        self._supervisor = Supervisor(provider, max_workers=config.max_workers_per_query)
        self._sensitivity = SensitivityFilter(sensitivities)
        self._retries = config.max_retry_count if config.reflective_retry_enabled else 0

    async def find_ranked(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        *,
        categories: frozenset[MemoryCategory] | None,
        limit: int,
    ) -> RankedMemories | None:
        """Return the best memories of all attempts, at most ``limit`` and never more than 100.

        Raises ``CompletionError`` when routing fails.
        """
        query = RetrievalQuery(
            agent_id=agent_id,
            text=query_text,
            categories=categories,
            max_results=min(limit, MAX_RESULTS),
        )
        result = await self.retrieve(query)
        return RankedMemories(result.candidates, result.degraded)

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return the merged results of all attempts.

        Raises ``CompletionError`` when routing fails.
        """
        started = time.perf_counter()
        attempt = await self._supervisor.route(query)
        notes: list[str] = []
        found = await self._attempt(query, attempt, notes)
        tried = {attempt}
        for _ in range(self._retries):
            shown = tuple(memory for memory in found if not self._sensitivity.refusal(memory.entry))
            reflection = self._supervisor.reflect(attempt, shown)
            better = await safely(reflection, what="the second look at the results", notes=notes)
            if better is None or better in tried:
                break
            tried.add(better)
            attempt = better
            more = await self._attempt(query, attempt, notes)
            found = merge_scored(found, more, limit=query.max_results)
        _log.debug("%d memories after %d attempts", len(found), len(tried))
        return RetrievalResult(
            candidates=found,
            execution_ms=(time.perf_counter() - started) * 1_000,
            retries_performed=len(tried) - 1,
            degraded="; ".join(dict.fromkeys(notes)),
        )

    async def _attempt(
        self, query: RetrievalQuery, attempt: Attempt, notes: list[str]
    ) -> tuple[ScoredMemory, ...]:
        asked = query.model_copy(update={"text": attempt.text})
        results = await together(*(self._workers.run(name, asked) for name in attempt.workers))
        notes.extend(result.degraded for result in results if result.degraded)
        return merge_scored(*(result.candidates for result in results), limit=query.max_results)


def merge_scored(*lists: Iterable[ScoredMemory], limit: int) -> tuple[ScoredMemory, ...]:
    """Merge lists of memories by id, with the higher score of each, best first.

    Ties keep the order in which memories were first seen.
    """
    best: dict[str, ScoredMemory] = {}
    for memory in chain.from_iterable(lists):
        known = best.get(memory.entry.id)
        if known is None or memory.combined_score > known.combined_score:
            best[memory.entry.id] = memory
    return tuple(sorted(best.values(), key=lambda memory: -memory.combined_score)[:limit])
