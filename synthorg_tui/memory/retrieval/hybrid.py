"""Joins the dense and the sparse ranking of one search. Pure: no store, no model.

Every number here was measured; see docs/decisions/0003-fusion-and-cutoff.md.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from synthorg_tui.memory.index.protocol import IndexHit, IndexHits

SEARCH_DEPTH = 100
"""Hits to ask of each ranking at least, since the union is ranked anew."""

DENSE_WEIGHT = 0.5
SPARSE_WEIGHT = 0.5
SPARSE_STEEPNESS = 1.5
"""Power of a keyword share: what matches half as well as the best counts about a third."""


class FusedHit(NamedTuple):
    """A hit with its raw scores (``None`` where a source didn't return it) and the joint one."""

    id: str
    dense: float | None
    sparse: float | None
    fused: float


def fuse_hits(hits: IndexHits, *, limit: int) -> tuple[FusedHit, ...]:
    """At most ``limit`` hits of both rankings, best first, scores in [0, 1].

    Each source scores a hit by its share of the source's best score, and the shares are averaged,
    that of the sparse source steepened. A hit that the dense ranking was too short for counts
    there like its last one; a hit that the sparse ranking lacks counts 0, having no or only common
    words of the query. A source that returned nothing doesn't count. Ties keep the order dense
    first, then sparse.
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
    """The rankings of several searches for the same query as one, by raw score."""

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
    """When a search is answered, and with what.

    The evidence for a hit is its cosine similarity plus ``coverage_weight`` times the share of
    the query's terms that its text contains. A search is answered only if one hit has
    ``convincing`` evidence; then every hit with ``plausible`` evidence is listed.
    ``unknown_dense`` stands in for a similarity that isn't known; unrelated texts have it.
    """

    convincing: float = 0.55
    plausible: float = 0.30
    coverage_weight: float = 0.70
    unknown_dense: float = 0.20

    def evidence(self, dense: float | None, coverage: float) -> float:
        """How much speaks for a hit, from about 0 to 1 + ``coverage_weight``."""
        known = self.unknown_dense if dense is None else dense
        return known + self.coverage_weight * coverage


DEFAULT_CUTOFF = RelevanceCutoff()


class RawScores(Protocol):
    """Anything with the raw scores of a hit."""

    @property
    def dense(self) -> float | None:
        """Cosine similarity."""
        ...

    @property
    def sparse(self) -> float | None:
        """BM25 dot product."""
        ...


HitT = TypeVar("HitT", bound=RawScores)


def relevant_hits(
    ranked: Iterable[HitT],
    *,
    coverage: Callable[[HitT], float],
    limit: int,
    cutoff: RelevanceCutoff = DEFAULT_CUTOFF,
) -> tuple[HitT, ...]:
    """The first ``limit`` hits that are relevant, in order; ``()`` for a query about nothing.

    Args:
        ranked: Hits, best first.
        coverage: The share of the query's terms in a hit's text; asked for keyword hits only,
            and for no more of them than needed.
        limit: How many hits to return at most.
        cutoff: What counts as relevant.
    """
    kept: list[HitT] = []
    convinced = False
    for hit in ranked:
        if convinced and len(kept) >= limit:
            break
        evidence = cutoff.evidence(hit.dense, 0.0 if hit.sparse is None else coverage(hit))
        convinced = convinced or evidence >= cutoff.convincing
        if evidence >= cutoff.plausible and len(kept) < limit:
            kept.append(hit)
    return tuple(kept) if convinced else ()


class Judgement(NamedTuple):
    """Whether a query is answered, and the evidence for each hit, in the order of the hits.

    ``evidence`` is a lower bound where the cosine alone was enough.
    """

    answered: bool
    evidence: tuple[float, ...]
    cutoff: RelevanceCutoff

    @property
    def best(self) -> float:
        """The greatest evidence, 0 without hits."""
        return max(self.evidence, default=0.0)

    def is_relevant(self, position: int) -> bool:
        """Whether the hit at a position may be listed."""
        return self.answered and self.evidence[position] >= self.cutoff.plausible


def judge_hits(
    ranked: Sequence[HitT],
    *,
    coverage: Callable[[HitT], float],
    cutoff: RelevanceCutoff = DEFAULT_CUTOFF,
) -> Judgement:
    """What speaks for each hit, for a list that shows the irrelevant too.

    Args:
        ranked: Hits, best first.
        coverage: The share of the query's terms in a hit's text; asked where the cosine leaves
            the question open.
        cutoff: What counts as relevant.
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
