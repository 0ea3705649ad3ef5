"""Ranks the hits of a search as the configuration says. Pure: nothing is dropped or cut."""

from collections.abc import Callable, Sequence
from datetime import datetime

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.ranking import (
    ScoredMemory,
    compute_combined_score,
    compute_recency_score,
    fuse_ranked_lists,
    rank_memories,
)
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.searching import SearchHit


def rank_hits(
    hits: Sequence[SearchHit], *, config: MemoryRetrievalConfig, now: datetime
) -> tuple[ScoredMemory, ...]:
    """Hits as ranked memories, best first; ties keep the order of ``hits``.

    Every hit is ranked except those that the configured fusion doesn't look at: ``linear`` reads
    the dense ranking only, ``rrf`` the first ``pool_size(config)`` of each ranking.
    """
    if config.fusion_strategy is FusionStrategy.SCORE:
        return _by_score(hits, config, now)
    if config.fusion_strategy is FusionStrategy.RRF and any(h.sparse is not None for h in hits):
        return _by_rank(hits, config)
    return _linear(hits, config, now)


def pool_size(config: MemoryRetrievalConfig) -> int:
    """How many memories to look at: more than are given, if variety is to choose among them."""
    if config.diversity_penalty_enabled:
        return config.max_memories * config.candidate_pool_multiplier
    return config.max_memories


def _linear(
    hits: Sequence[SearchHit], config: MemoryRetrievalConfig, now: datetime
) -> tuple[ScoredMemory, ...]:
    dense = [hit for hit in hits if hit.dense is not None]
    entries = (
        [(_with_relevance(h, h.dense), h.is_shared) for h in dense]
        if dense
        else [(_with_relevance(hit, hit.fused), hit.is_shared) for hit in hits]
    )
    unlimited = {"max_memories": max(1, len(entries)), "min_relevance": 0.0}
    return rank_memories(
        tuple(entry for entry, is_shared in entries if not is_shared),
        shared_entries=tuple(entry for entry, is_shared in entries if is_shared),
        config=config.model_copy(update=unlimited),
        now=now,
    )


def _by_score(
    hits: Sequence[SearchHit], config: MemoryRetrievalConfig, now: datetime
) -> tuple[ScoredMemory, ...]:
    """The fused score and the recency, weighed.

    Unlike with ``linear`` the personal boost never makes two different scores equal: the sum is
    scaled back to [0, 1] instead of being cut off at 1.
    """
    scored = []
    for hit in hits:
        boost = 0.0 if hit.is_shared else config.personal_boost
        relevance = (hit.fused + boost) / (1.0 + config.personal_boost)
        recency = compute_recency_score(hit.entry.created_at, now, config.recency_decay_rate)
        scored.append(
            ScoredMemory(
                entry=hit.entry,
                relevance_score=min(1.0, relevance),
                recency_score=recency,
                combined_score=compute_combined_score(
                    relevance, recency, config.relevance_weight, config.recency_weight
                ),
                is_shared=hit.is_shared,
                scoring_strategy=FusionStrategy.SCORE,
            )
        )
    return tuple(sorted(scored, key=lambda memory: -memory.combined_score))


def _by_rank(hits: Sequence[SearchHit], config: MemoryRetrievalConfig) -> tuple[ScoredMemory, ...]:
    depth = pool_size(config)
    lists = (
        _ranking(hits, lambda hit: hit.dense, depth),
        _ranking(hits, lambda hit: hit.sparse, depth),
    )
    shared = {hit.entry.id for hit in hits if hit.is_shared}
    fused = fuse_ranked_lists(lists, k=config.rrf_k, max_results=2 * depth)
    return tuple(
        memory.model_copy(update={"is_shared": True}) if memory.entry.id in shared else memory
        for memory in fused
    )


def _ranking(
    hits: Sequence[SearchHit], raw: Callable[[SearchHit], float | None], depth: int
) -> tuple[MemoryEntry, ...]:
    scored = [(score, hit) for hit in hits if (score := raw(hit)) is not None]
    scored.sort(key=lambda pair: -pair[0])
    best = scored[0][0] if scored else 0.0
    scale = max(1.0, best)  # BM25 has no upper bound
    return tuple(_with_relevance(hit, score / scale) for score, hit in scored[:depth])


def _with_relevance(hit: SearchHit, relevance: float | None) -> MemoryEntry:
    if relevance is None:
        return hit.entry
    return hit.entry.model_copy(update={"relevance_score": min(1.0, max(0.0, relevance))})
