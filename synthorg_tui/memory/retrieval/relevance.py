"""Relevance of hits: fusion of rankings, the cutoff, and the configured order.

Pure functions on scores, without a store or a model. Every number here was measured; see
docs/decisions/0002-fusion-and-cutoff.md. What is left out for another reason is decided in
``selection``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.ranking import (
    ScoredMemory,
    compute_combined_score,
    compute_recency_score,
    fuse_ranked_lists,
    rank_memories,
)
from synthorg_tui.memory.retrieval.hits import SearchHit
from synthorg_tui.memory.retrieval.sparse import STOP_WORDS
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig

SEARCH_DEPTH = 100
"""Hits to ask of each ranking at least, since the union is ranked anew."""

DENSE_WEIGHT = 0.5
SPARSE_WEIGHT = 0.5
SPARSE_STEEPNESS = 1.5
"""Power of a keyword share: what matches half as well as the best counts about a third."""


class FusedHit(NamedTuple):
    """A hit with its fused score and raw scores (``None`` where a ranking lacks it)."""

    id: str
    dense: float | None
    sparse: float | None
    fused: float


def fuse_hits(hits: IndexHits, *, limit: int) -> tuple[FusedHit, ...]:
    """Fuse the dense and the sparse ranking; return at most ``limit`` hits, best first.

    Scores are in [0, 1]. In each ranking a hit's score is divided by the best score there (the
    sparse share is then raised to a power), and the two shares are averaged with weights. A hit
    missing from the dense ranking gets the lowest dense share, since it may only have been cut off;
    one missing from the sparse ranking gets 0, since it shares no distinctive word with the query.
    An empty ranking is ignored. Ties keep the order dense first, then sparse.
    """
    dense, sparse = _shares(hits.dense), _shares(hits.sparse)
    if dense:
        sparse = {key: share**SPARSE_STEEPNESS for key, share in sparse.items()}
    unseen = min(dense.values(), default=0.0)
    dense_weight = DENSE_WEIGHT if sparse else 1.0
    sparse_weight = SPARSE_WEIGHT if dense else 1.0
    raw_dense = {hit.id: hit.score for hit in hits.dense}
    raw_sparse = {hit.id: hit.score for hit in hits.sparse}
    fused = [
        FusedHit(
            id=key,
            dense=raw_dense.get(key),
            sparse=raw_sparse.get(key),
            fused=min(
                1.0,
                dense_weight * dense.get(key, unseen) + sparse_weight * sparse.get(key, 0.0),
            ),
        )
        for key in dict.fromkeys((*dense, *sparse))
    ]
    fused.sort(key=lambda hit: -hit.fused)
    return tuple(fused[:limit])


def joined(rankings: Sequence[IndexHits]) -> IndexHits:
    """Merge the rankings of several searches for the same query, ordered by raw score."""

    def merged(parts: Iterable[Sequence[IndexHit]]) -> tuple[IndexHit, ...]:
        return tuple(sorted((hit for part in parts for hit in part), key=lambda hit: -hit.score))

    return IndexHits(
        dense=merged(hits.dense for hits in rankings),
        sparse=merged(hits.sparse for hits in rankings),
    )


def _shares(hits: Sequence[IndexHit]) -> dict[str, float]:
    """Scores as shares of the best one, 0 for negative ones; all 1 when none is positive."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return {hit.id: 1.0 for hit in hits}
    return {hit.id: max(0.0, hit.score / best) for hit in hits}


class RelevanceCutoff(NamedTuple):
    """Thresholds that decide whether a query is answered and which hits are relevant.

    The evidence for a hit is its cosine similarity plus ``coverage_weight`` times the share of the
    query's terms that its text contains. A query is answered only if some hit's evidence reaches
    ``convincing``; then every hit whose evidence reaches ``plausible`` is relevant.
    ``unknown_dense`` replaces an unknown similarity; it is the typical value for unrelated texts.
    """

    convincing: float = 0.55
    plausible: float = 0.30
    coverage_weight: float = 0.70
    unknown_dense: float = 0.20

    def evidence(self, dense: float | None, coverage: float) -> float:
        """Return the evidence for a hit, from about 0 to 1 + ``coverage_weight``."""
        known = self.unknown_dense if dense is None else dense
        return known + self.coverage_weight * coverage


DEFAULT_CUTOFF = RelevanceCutoff()


def moved_cutoff(by: float) -> RelevanceCutoff:
    """Return the default cutoffs for similarities that all lie ``by`` higher than the usual ones.

    So it is with a tuned embedder, whose checkpoint says by how much.
    """
    if not by:
        return DEFAULT_CUTOFF
    convincing, plausible, weight, unknown = DEFAULT_CUTOFF
    return RelevanceCutoff(convincing + by, plausible + by, weight, unknown + by)


class RawScores(Protocol):
    """Any object with the raw scores of a hit."""

    @property
    def dense(self) -> float | None:
        """Cosine similarity, or ``None`` when the dense ranking lacks the hit."""

    @property
    def sparse(self) -> float | None:
        """BM25 score, or ``None`` when the sparse ranking lacks the hit."""


HitT = TypeVar("HitT", bound=RawScores)


def relevant_hits(
    ranked: Iterable[HitT],
    *,
    coverage: Callable[[HitT], float],
    limit: int,
    cutoff: RelevanceCutoff = DEFAULT_CUTOFF,
) -> tuple[HitT, ...]:
    """Return the first ``limit`` relevant hits in order, or ``()`` when no hit is convincing.

    Args:
        ranked: Hits, best first.
        coverage: Returns the share of the query's terms in a hit's text; called for keyword hits
            only, and for no more of them than needed.
        limit: Maximum number of hits to return.
        cutoff: Thresholds of relevance.
    """
    relevant: list[HitT] = []
    convinced = False
    for hit in ranked:
        if convinced and len(relevant) >= limit:
            break
        evidence = cutoff.evidence(hit.dense, 0.0 if hit.sparse is None else coverage(hit))
        convinced = convinced or evidence >= cutoff.convincing
        if evidence >= cutoff.plausible and len(relevant) < limit:
            relevant.append(hit)
    return tuple(relevant) if convinced else ()


class Judgement(NamedTuple):
    """Whether a query is answered, and the evidence for each hit, in the order of the hits.

    A value in ``evidence`` is a lower bound where the cosine similarity alone was enough.
    """

    answered: bool
    evidence: tuple[float, ...]
    cutoff: RelevanceCutoff

    @property
    def best(self) -> float:
        """Highest evidence of any hit; 0 without hits."""
        return max(self.evidence, default=0.0)

    def is_relevant(self, position: int) -> bool:
        """Return whether the hit at a position (0-based) is relevant."""
        return self.answered and self.evidence[position] >= self.cutoff.plausible


def judge_hits(
    ranked: Sequence[HitT],
    *,
    coverage: Callable[[HitT], float],
    cutoff: RelevanceCutoff = DEFAULT_CUTOFF,
) -> Judgement:
    """Return the evidence for each hit, for listings that also show irrelevant ones.

    Args:
        ranked: Hits, best first.
        coverage: Returns the share of the query's terms in a hit's text; called where the cosine
            similarity isn't decisive.
        cutoff: Thresholds of relevance.
    """
    evidence: list[float] = []
    answered = False
    for hit in ranked:
        sure = cutoff.evidence(hit.dense, 0.0)
        enough = cutoff.plausible if answered else cutoff.convincing
        if hit.sparse is not None and (hit.dense is None or sure < enough):
            sure = cutoff.evidence(hit.dense, coverage(hit))
        answered = answered or sure >= cutoff.convincing
        evidence.append(sure)
    return Judgement(answered, tuple(evidence), cutoff)


_TOKENS = re.compile("\\w+(?:['\u2019]\\w+)?|\\W+")
_SENTENCE_ENDS = frozenset(".!?:\n")


def meaning_of(query: str) -> str:
    """Return the query without proper names, as the text to embed.

    A name dominates the vector of a short query, which then matches any text that mentions the
    name. Keyword search handles names better, since it knows how rare they are. A name is a
    capitalised word that doesn't begin a sentence. A query of nothing but names and function words
    is returned unchanged.
    """
    tokens: list[str] = []
    has_content = False
    at_start = True
    for token in _TOKENS.findall(query):
        if not token[0].isalnum():
            at_start = at_start or not _SENTENCE_ENDS.isdisjoint(token)
            tokens.append(token)
            continue
        word = re.split("['\u2019]", token, maxsplit=1)[0]
        is_function_word = word.casefold() in STOP_WORDS
        is_capitalised = word.isalpha() and word[0].isupper() and word[1:].islower()
        is_name = is_capitalised and not at_start and not is_function_word
        at_start = False
        if not is_name:
            tokens.append(token)
            has_content = has_content or not is_function_word
    return " ".join("".join(tokens).split()) if has_content else query


def rank_hits(
    hits: Sequence[SearchHit], *, config: MemoryRetrievalConfig, now: datetime
) -> tuple[ScoredMemory, ...]:
    """Rank hits by the configured fusion, best first; ties keep the order of ``hits``.

    Hits that the fusion doesn't use are omitted: ``linear`` uses the dense ranking only, ``rrf``
    the first ``pool_size(config)`` of each ranking.
    """
    if config.fusion_strategy is FusionStrategy.SCORE:
        return _by_score(hits, config, now)
    if config.fusion_strategy is FusionStrategy.RRF and any(h.sparse is not None for h in hits):
        return _by_rank(hits, config)
    return _linear(hits, config, now)


def pool_size(config: MemoryRetrievalConfig) -> int:
    """Return how many memories to rank: more than are given to the agent if diversity is on."""
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
