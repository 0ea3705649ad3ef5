"""Ranks retrieved memories. Pure functions: the same arguments give the same order.

The documented formulas: recency, the weighted sum, reciprocal rank fusion and maximal marginal
relevance. Fusion of raw scores, which needs an index, is in ``retrieval.relevance``.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from pydantic import Field

from synthorg_tui.core.text import jaccard
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig

__all__ = [
    "FusionStrategy",
    "ScoredMemory",
    "apply_diversity_penalty",
    "bigram_jaccard",
    "compute_combined_score",
    "compute_recency_score",
    "fuse_ranked_lists",
    "rank_memories",
]

DEFAULT_RRF_K = 60
DEFAULT_MAX_RESULTS = 20
DEFAULT_DIVERSITY_LAMBDA = 0.7

_SECONDS_PER_HOUR = 3600.0
_Bigrams: TypeAlias = frozenset[tuple[str, str]]


class ScoredMemory(FrozenModel):
    """A memory with the scores that it was ranked by, all in [0, 1].

    ``scoring_strategy`` says how they were computed. ``rank_memories`` sets ``relevance_score``
    including the boost for the agent's own memories, ``recency_score``, and ``combined_score`` as
    their weighted sum. ``fuse_ranked_lists`` sets ``combined_score`` to the normalised rank fusion,
    ``relevance_score`` to the source's score (0 if it gave none), and ``recency_score`` to 0.
    """

    entry: MemoryEntry
    relevance_score: float = Field(ge=0.0, le=1.0)
    recency_score: float = Field(ge=0.0, le=1.0)
    combined_score: float = Field(ge=0.0, le=1.0)
    is_shared: bool = False
    scoring_strategy: FusionStrategy | None = None


def compute_recency_score(created_at: datetime, now: datetime, decay_rate: float) -> float:
    """Return a score that decays exponentially with age: 1 for age 0 or a future time.

    Args:
        created_at: When the memory was created.
        now: The current time.
        decay_rate: Decay per hour; 0 disables the decay.
    """
    hours = (now - created_at).total_seconds() / _SECONDS_PER_HOUR
    return 1.0 if hours <= 0 else math.exp(-decay_rate * hours)


def compute_combined_score(
    relevance: float, recency: float, relevance_weight: float, recency_weight: float
) -> float:
    """Return the weighted sum of relevance and recency, capped at 1."""
    return min(1.0, relevance_weight * relevance + recency_weight * recency)


def rank_memories(
    entries: tuple[MemoryEntry, ...],
    *,
    config: MemoryRetrievalConfig,
    now: datetime,
    shared_entries: tuple[MemoryEntry, ...] = (),
) -> tuple[ScoredMemory, ...]:
    """Score an agent's own and shared memories by relevance and recency; return them best first.

    The agent's own memories (``entries``) get ``config.personal_boost``. Memories whose combined
    score is below ``config.min_relevance`` are dropped, and at most ``config.max_memories`` are
    returned. Ties keep the order of the input, own memories before shared ones.
    """
    scored = [
        *(_score(entry, config, now, is_shared=False) for entry in entries),
        *(_score(entry, config, now, is_shared=True) for entry in shared_entries),
    ]
    relevant = [item for item in scored if item.combined_score >= config.min_relevance]
    relevant.sort(key=lambda item: -item.combined_score)
    return tuple(relevant[: config.max_memories])


def _score(
    entry: MemoryEntry, config: MemoryRetrievalConfig, now: datetime, *, is_shared: bool
) -> ScoredMemory:
    found = entry.relevance_score
    relevance = config.default_relevance if found is None else found
    if not is_shared:
        relevance = min(1.0, relevance + config.personal_boost)
    recency = compute_recency_score(entry.created_at, now, config.recency_decay_rate)
    return ScoredMemory(
        entry=entry,
        relevance_score=relevance,
        recency_score=recency,
        combined_score=compute_combined_score(
            relevance, recency, config.relevance_weight, config.recency_weight
        ),
        is_shared=is_shared,
        scoring_strategy=FusionStrategy.LINEAR,
    )


def fuse_ranked_lists(
    ranked_lists: tuple[tuple[MemoryEntry, ...], ...],
    *,
    k: int = DEFAULT_RRF_K,
    max_results: int = DEFAULT_MAX_RESULTS,
) -> tuple[ScoredMemory, ...]:
    """Combine ranked lists by reciprocal rank fusion: the sum of 1 / (``k`` + rank) over all lists.

    Scores are min-max normalised over all fused memories before the result is cut to
    ``max_results``, so the lowest of them scores 0; all score 1 when they are equal. Repeats of a
    memory within one list are removed before ranks are counted. For each id, the first object seen
    is returned. Ties keep the order in which memories were first seen.

    Args:
        ranked_lists: Lists of memories, each best first.
        k: Smoothing constant, at least 1; smaller values give more weight to the top ranks.
        max_results: Maximum number of results, at least 1.

    Raises:
        ValueError: ``k`` or ``max_results`` is below 1.
    """
    if k < 1:
        raise ValueError(f"k must be >= 1, not {k}")
    if max_results < 1:
        raise ValueError(f"max_results must be >= 1, not {max_results}")
    scores: dict[str, float] = {}
    first_seen: dict[str, MemoryEntry] = {}
    for ranked in ranked_lists:
        unique = {entry.id: entry for entry in reversed(ranked)}
        order = dict.fromkeys(entry.id for entry in ranked)
        for rank, key in enumerate(order, start=1):
            first_seen.setdefault(key, unique[key])
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    normalised = _min_max(scores)
    best = sorted(normalised, key=lambda key: -normalised[key])[:max_results]
    return tuple(_fused(first_seen[key], normalised[key]) for key in best)


def _fused(entry: MemoryEntry, score: float) -> ScoredMemory:
    return ScoredMemory(
        entry=entry,
        relevance_score=entry.relevance_score or 0.0,
        recency_score=0.0,
        combined_score=score,
        scoring_strategy=FusionStrategy.RRF,
    )


def _min_max(scores: dict[str, float]) -> dict[str, float]:
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def bigram_jaccard(text_a: str, text_b: str) -> float:
    """Return the Jaccard similarity of two texts' word pairs (bigrams), in [0, 1].

    Case is ignored. The result is 0 when either text has fewer than two words.
    """
    return _bigram_share(_bigrams(text_a), _bigrams(text_b))


def _bigrams(text: str) -> _Bigrams:
    words = text.lower().split()
    return frozenset(pairwise(words))


def _bigram_share(one: _Bigrams, other: _Bigrams) -> float:
    return jaccard(one, other) if one and other else 0.0


def apply_diversity_penalty(
    scored: tuple[ScoredMemory, ...],
    *,
    diversity_lambda: float = DEFAULT_DIVERSITY_LAMBDA,
    similarity_fn: Callable[[str, str], float] | None = None,
) -> tuple[ScoredMemory, ...]:
    """Reorder memories by maximal marginal relevance, so that similar ones are further apart.

    Repeatedly picks the memory with the highest ``lambda * combined_score - (1 - lambda) *
    max_similarity_to_those_picked``; ties go to the earlier one. Nothing is dropped and no score is
    changed.

    Args:
        scored: Memories, best first.
        diversity_lambda: 1 considers scores only, 0 considers diversity only.
        similarity_fn: Returns the similarity of two contents in [0, 1]; by default the shared word
            pairs.

    Raises:
        ValueError: ``diversity_lambda`` is not a finite number in [0, 1].
    """
    picks = pick_diverse(scored, diversity_lambda=diversity_lambda, similarity_fn=similarity_fn)
    return tuple(pick.memory for pick in picks) if len(scored) > 1 else scored


class DiversePick(NamedTuple):
    """A memory picked for diversity, with its greatest similarity to an earlier pick.

    ``similar_to`` is that earlier pick, ``None`` if there is none.
    """

    memory: ScoredMemory
    similarity: float
    similar_to: MemoryEntry | None


def pick_diverse(
    scored: tuple[ScoredMemory, ...],
    *,
    diversity_lambda: float = DEFAULT_DIVERSITY_LAMBDA,
    similarity_fn: Callable[[str, str], float] | None = None,
    limit: int | None = None,
) -> tuple[DiversePick, ...]:
    """Reorder as ``apply_diversity_penalty`` does, and also return each memory's similarity.

    After ``limit`` picks the remaining memories follow in their original order, each compared with
    the picks only. Raises ``ValueError`` for an invalid ``diversity_lambda``.
    """
    if not (math.isfinite(diversity_lambda) and 0.0 <= diversity_lambda <= 1.0):
        raise ValueError(f"diversity_lambda must be in [0, 1], not {diversity_lambda}")
    similarity = _similarity_of([item.entry.content for item in scored], similarity_fn)
    relevance = [diversity_lambda * item.combined_score for item in scored]
    nearest: list[tuple[float, MemoryEntry | None]] = [(0.0, None)] * len(scored)
    remaining = list(range(len(scored)))
    picks: list[DiversePick] = []
    while remaining and (limit is None or len(picks) < limit):
        values = ((relevance[i] - (1.0 - diversity_lambda) * nearest[i][0], i) for i in remaining)
        picked = max(values, key=lambda value: value[0])[1]  # the first of equals
        remaining.remove(picked)
        memory = scored[picked]
        picks.append(DiversePick(memory, *nearest[picked]))
        for i in remaining:
            alike = similarity(i, picked)
            if alike > nearest[i][0]:
                nearest[i] = (alike, memory.entry)
    picks.extend(DiversePick(scored[i], *nearest[i]) for i in remaining)
    return tuple(picks)


def _similarity_of(
    contents: Sequence[str], similarity_fn: Callable[[str, str], float] | None
) -> Callable[[int, int], float]:
    """Similarity by position; word pairs are collected once per content."""
    if similarity_fn is not None:
        return lambda i, j: similarity_fn(contents[i], contents[j])
    bigrams = [_bigrams(content) for content in contents]
    return lambda i, j: _bigram_share(bigrams[i], bigrams[j])
