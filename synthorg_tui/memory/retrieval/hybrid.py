"""Joins the dense and the sparse ranking of one search. Pure: no store, no model."""

from collections.abc import Mapping
from dataclasses import dataclass

from synthorg_tui.memory.index.protocol import IndexHit, IndexHits

DENSE_WEIGHT = 0.5
SPARSE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class RelevanceCutoff:
    """Raw scores a hit needs to count as relevant at all; either one is enough.

    ``min_dense`` is a cosine similarity. ``min_sparse`` is the BM25 dot product divided by the
    number of distinct query terms, so that long questions aren't judged more kindly.
    How the defaults were measured: docs/decisions/0003-fusion-and-cutoff.md.
    """

    min_dense: float = 0.30
    min_sparse: float = 2.5

    def keeps(self, dense: float | None, sparse: float | None, *, query_terms: int) -> bool:
        """Whether a hit with these raw scores is relevant."""
        if dense is not None and dense >= self.min_dense:
            return True
        return sparse is not None and sparse / max(1, query_terms) >= self.min_sparse


DEFAULT_CUTOFF = RelevanceCutoff()


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A hit with its raw scores (``None`` where a source didn't return it) and the joint one."""

    id: str
    dense: float | None
    sparse: float | None
    fused: float


def fuse_hits(
    hits: IndexHits,
    *,
    limit: int,
    query_terms: int = 1,
    cutoff: RelevanceCutoff = DEFAULT_CUTOFF,
) -> tuple[FusedHit, ...]:
    """The relevant hits of both rankings, best first.

    Irrelevant hits are dropped by their raw scores, so a query about nothing in the store gives
    ``()``. The scores of each source are min-max normalised over all its hits and averaged; a
    source that didn't return a hit counts 0 for it, a source that returned nothing doesn't
    count. Ties keep the order dense first, then sparse.

    Args:
        hits: Both rankings; ask for more than ``limit`` of each, since the union is ranked anew.
        limit: How many hits to return at most.
        query_terms: Distinct terms of the query, the length of its sparse vector.
        cutoff: What counts as relevant.
    """
    dense, sparse = _by_id(hits.dense), _by_id(hits.sparse)
    dense_unit, sparse_unit = _min_max(dense), _min_max(sparse)
    weights = (DENSE_WEIGHT * bool(dense), SPARSE_WEIGHT * bool(sparse))
    total = sum(weights) or 1.0
    fused = [
        FusedHit(
            id=key,
            dense=dense.get(key),
            sparse=sparse.get(key),
            fused=min(
                1.0,
                (weights[0] * dense_unit.get(key, 0.0) + weights[1] * sparse_unit.get(key, 0.0))
                / total,
            ),
        )
        for key in dict.fromkeys((*dense, *sparse))
        if cutoff.keeps(dense.get(key), sparse.get(key), query_terms=query_terms)
    ]
    fused.sort(key=lambda hit: -hit.fused)
    return tuple(fused[:limit])


def _by_id(hits: tuple[IndexHit, ...]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def _min_max(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores scaled to [0, 1]; 1 for all of them when they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}
