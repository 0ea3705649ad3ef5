"""Ranks retrieved memories. Pure functions: the same arguments give the same order.

The documented formulas: recency, the weighted sum, reciprocal rank fusion and maximal marginal
relevance. Fusion of raw scores, which needs an index, is in ``retrieval.relevance``.
"""

import math
from collections.abc import Callable, Iterable, Sequence
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
    """A memory with the scores that ranked it, all in [0, 1].

    From ``rank_memories``, ``relevance_score`` includes the personal boost and
    ``combined_score`` weighs it with ``recency_score``. From ``fuse_ranked_lists``,
    ``combined_score`` is the normalised rank fusion, ``relevance_score`` what the source said
    (0 when it said nothing), and ``recency_score`` is 0. ``scoring_strategy`` tells which.
    """

    entry: MemoryEntry
    relevance_score: float = Field(ge=0.0, le=1.0)
    recency_score: float = Field(ge=0.0, le=1.0)
    combined_score: float = Field(ge=0.0, le=1.0)
    is_shared: bool = False
    scoring_strategy: FusionStrategy | None = None


def compute_recency_score(created_at: datetime, now: datetime, decay_rate: float) -> float:
    """Exponential decay with age, 1 for something from now or the future.

    Args:
        created_at: When the memory was created.
        now: The current time.
        decay_rate: Decay per hour; 0 means that age doesn't count.
    """
    hours = (now - created_at).total_seconds() / _SECONDS_PER_HOUR
    return 1.0 if hours <= 0 else math.exp(-decay_rate * hours)


def compute_combined_score(
    relevance: float, recency: float, relevance_weight: float, recency_weight: float
) -> float:
    """The weighted sum of relevance and recency, at most 1."""
    return min(1.0, relevance_weight * relevance + recency_weight * recency)


def rank_memories(
    entries: tuple[MemoryEntry, ...],
    *,
    config: MemoryRetrievalConfig,
    now: datetime,
    shared_entries: tuple[MemoryEntry, ...] = (),
) -> tuple[ScoredMemory, ...]:
    """Personal and shared memories by relevance and recency, best first.

    Personal ones get ``config.personal_boost``. Those whose combined score is below
    ``config.min_relevance`` are dropped; at most ``config.max_memories`` remain. Ties keep the
    order of the input, personal before shared.
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
    """Reciprocal rank fusion: each list adds 1 / (``k`` + rank) to the score of its memories.

    Scores are min-max normalised over everything that was fused, before ``max_results`` cuts;
    so the last one always scores 0, and all score 1 when all are equal. A memory that repeats
    within a list counts once, at its first place, and the ranks after it close up. The first
    object seen for an id is kept. Ties keep the order in which memories were first seen.

    Args:
        ranked_lists: Each best first.
        k: Smoothing, at least 1; the smaller, the more the top ranks count.
        max_results: How many to return at most, at least 1.

    Raises:
        ValueError: If ``k`` or ``max_results`` is below 1.
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
    """The share of word pairs two texts have in common, in [0, 1].

    Case doesn't count. 0 when either text has fewer than two words.
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
    """All of ``scored``, reordered so that what repeats something above it comes later.

    Maximal marginal relevance: picks next whatever has the highest
    ``lambda * combined_score - (1 - lambda) * max_similarity_to_those_picked``; ties go to the
    earlier one.

    Args:
        scored: Memories, best first.
        diversity_lambda: 1 looks at scores only, 0 at diversity only.
        similarity_fn: How alike two contents are, in [0, 1]; word pairs in common by default.

    Raises:
        ValueError: If ``diversity_lambda`` is not a finite number in [0, 1].
    """
    picks = pick_diverse(scored, diversity_lambda=diversity_lambda, similarity_fn=similarity_fn)
    return tuple(pick.memory for pick in picks) if len(scored) > 1 else scored


class DiversePick(NamedTuple):
    """A memory, and the one most similar to it among those picked before it."""

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
    """As ``apply_diversity_penalty``, telling what each memory was compared with.

    After ``limit`` picks the rest follows as it was, compared with the picks only.
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
        picked = _first_best(values)
        remaining.remove(picked)
        memory = scored[picked]
        picks.append(DiversePick(memory, *nearest[picked]))
        for i in remaining:
            alike = similarity(i, picked)
            if alike > nearest[i][0]:
                nearest[i] = (alike, memory.entry)
    picks.extend(DiversePick(scored[i], *nearest[i]) for i in remaining)
    return tuple(picks)


def _first_best(values: Iterable[tuple[float, int]]) -> int:
    return max(values, key=lambda value: value[0])[1]  # the first of equals


def _similarity_of(
    contents: Sequence[str], similarity_fn: Callable[[str, str], float] | None
) -> Callable[[int, int], float]:
    """Similarity by position; word pairs are collected once per content."""
    if similarity_fn is not None:
        return lambda i, j: similarity_fn(contents[i], contents[j])
    bigrams = [_bigrams(content) for content in contents]
    return lambda i, j: _bigram_share(bigrams[i], bigrams[j])
