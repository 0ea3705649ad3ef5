"""Two rankings become one, and a search about nothing finds nothing."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.retrieval.relevance import (
    DENSE_WEIGHT,
    SPARSE_STEEPNESS,
    SPARSE_WEIGHT,
    FusedHit,
    RelevanceCutoff,
    fuse_hits,
    joined,
    judge_hits,
    relevant_hits,
)
from tests.tables import rows

CUTOFF = RelevanceCutoff(convincing=0.5, plausible=0.3, coverage_weight=1.0, unknown_dense=0.1)


def ranking(**scores: float) -> tuple[IndexHit, ...]:
    return tuple(IndexHit(id=key, score=score) for key, score in scores.items())


def hit(key: str, dense: float | None, sparse: float | None = 1.0) -> FusedHit:
    return FusedHit(id=key, dense=dense, sparse=sparse, fused=1.0)


def ids(hits: tuple[FusedHit, ...]) -> str:
    return "".join(hit.id for hit in hits)


def covering(**shares: float) -> Callable[[FusedHit], float]:
    return lambda hit: shares.get(hit.id, 0.0)


def test_nothing_in_gives_nothing_out() -> None:
    assert fuse_hits(IndexHits(), limit=5) == ()


def test_a_hit_both_sources_rate_highly_beats_one_that_only_one_source_found() -> None:
    hits = IndexHits(dense=ranking(a=0.9, b=0.8, c=0.1), sparse=ranking(b=20.0, d=18.0, e=2.0))
    assert ids(fuse_hits(hits, limit=10))[0] == "b"


def test_a_score_is_the_weighted_mean_of_the_shares_of_the_best_with_keywords_steepened() -> None:
    hits = IndexHits(dense=ranking(a=0.8, b=0.4), sparse=ranking(b=10.0, a=5.0))
    first, second = fuse_hits(hits, limit=2)
    assert (first.id, first.dense, first.sparse) == ("b", 0.4, 10.0)
    assert first.fused == pytest.approx(DENSE_WEIGHT * 0.5 + SPARSE_WEIGHT)
    assert second.fused == pytest.approx(DENSE_WEIGHT + SPARSE_WEIGHT * 0.5**SPARSE_STEEPNESS)


def test_a_hit_beyond_the_dense_ranking_counts_there_like_its_last_one() -> None:
    hits = IndexHits(dense=ranking(a=0.8, b=0.4), sparse=ranking(c=10.0))
    fused = {hit.id: hit for hit in fuse_hits(hits, limit=3)}
    assert fused["c"].dense is None
    assert fused["c"].fused == pytest.approx(DENSE_WEIGHT * 0.5 + SPARSE_WEIGHT)


def test_a_hit_without_a_word_of_the_query_counts_nothing_in_the_sparse_ranking() -> None:
    hits = IndexHits(dense=ranking(a=0.8), sparse=ranking(c=10.0))
    fused = {hit.id: hit for hit in fuse_hits(hits, limit=3)}
    assert fused["a"].sparse is None
    assert fused["a"].fused == pytest.approx(DENSE_WEIGHT)


def test_a_source_without_hits_does_not_lower_the_scores_of_the_other() -> None:
    dense_only = fuse_hits(IndexHits(dense=ranking(a=0.8, b=0.4)), limit=5)
    assert [hit.fused for hit in dense_only] == [1.0, pytest.approx(0.5)]
    sparse_only = fuse_hits(IndexHits(sparse=ranking(a=8.0, b=4.0)), limit=5)
    assert [hit.fused for hit in sparse_only] == [1.0, pytest.approx(0.5)]


def test_negative_similarities_count_as_none() -> None:
    fused = fuse_hits(IndexHits(dense=ranking(a=0.8, b=-0.4)), limit=5)
    assert [hit.fused for hit in fused] == [1.0, 0.0]


def test_equal_scores_keep_the_order_of_the_ranking() -> None:
    fused = fuse_hits(IndexHits(sparse=ranking(b=3.0, a=3.0)), limit=5)
    assert [(hit.id, hit.fused) for hit in fused] == [("b", 1.0), ("a", 1.0)]


def test_limit_cuts_after_fusion() -> None:
    hits = IndexHits(dense=ranking(a=0.9, b=0.8, x=0.1), sparse=ranking(c=9.0, b=8.5, y=1.0))
    assert ids(fuse_hits(hits, limit=1)) == "b"


scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 30), max_size=8)


@given(dense=scores, sparse=scores, limit=st.integers(1, 10))
def test_fusion_returns_each_known_id_at_most_once_best_first(
    dense: dict[str, float], sparse: dict[str, float], limit: int
) -> None:
    hits = IndexHits(dense=ranking(**dense), sparse=ranking(**sparse))
    fused = fuse_hits(hits, limit=limit)
    keys = ids(fused)
    assert len(keys) == len(set(keys)) == min(limit, len({*dense, *sparse}))
    assert all(0.0 <= hit.fused <= 1.0 for hit in fused)
    assert [hit.fused for hit in fused] == sorted((h.fused for h in fused), reverse=True)


def test_a_search_without_convincing_evidence_is_not_answered() -> None:
    hits = [hit("a", 0.49), hit("b", 0.4)]
    assert relevant_hits(hits, coverage=covering(), limit=9, cutoff=CUTOFF) == ()


@rows(("dense", "coverage"), [(0.5, 0.0), (0.25, 0.25), (None, 0.4), (-0.5, 1.0)])
def test_meaning_and_words_add_up_to_convincing_evidence(
    dense: float | None, coverage: float
) -> None:
    found = relevant_hits([hit("a", dense)], coverage=covering(a=coverage), limit=9, cutoff=CUTOFF)
    assert ids(found) == "a"


def test_one_convincing_hit_brings_the_plausible_ones_with_it_in_their_order() -> None:
    hits = [hit("a", 0.3), hit("b", 0.29), hit("c", 0.5), hit("d", 0.4)]
    found = relevant_hits(hits, coverage=covering(), limit=9, cutoff=CUTOFF)
    assert ids(found) == "acd"


def test_a_convincing_hit_beyond_the_limit_still_answers_the_search() -> None:
    hits = [hit("a", 0.4), hit("b", 0.4), hit("c", 0.6)]
    assert ids(relevant_hits(hits, coverage=covering(), limit=2, cutoff=CUTOFF)) == "ab"


def test_texts_are_read_for_keyword_hits_only_and_no_more_than_needed() -> None:
    read: list[str] = []

    def coverage(hit: FusedHit) -> float:
        read.append(hit.id)
        return 1.0

    hits = [hit("a", 0.9, None), hit("b", 0.9), hit("c", 0.9)]
    assert ids(relevant_hits(hits, coverage=coverage, limit=2, cutoff=CUTOFF)) == "ab"
    assert read == ["b"]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), max_size=12), st.integers(1, 12))
def test_the_cutoff_only_ever_removes_hits(rows: list[tuple[float, float]], limit: int) -> None:
    hits = [hit(str(n), dense) for n, (dense, _) in enumerate(rows)]
    found = relevant_hits(hits, coverage=lambda h: rows[int(h.id)][1], limit=limit)
    assert list(found) == [h for h in hits if h in found]
    assert len(found) <= limit


def test_rankings_of_several_searches_become_one_by_raw_score() -> None:
    own = IndexHits(dense=ranking(a=0.9, b=0.2), sparse=ranking(a=3.0))
    shared = IndexHits(dense=ranking(c=0.5), sparse=ranking(c=7.0))
    both = joined([own, shared])
    assert [hit.id for hit in both.dense] == ["a", "c", "b"]
    assert [hit.id for hit in both.sparse] == ["c", "a"]


def test_a_judgement_lists_the_irrelevant_too() -> None:
    hits = (hit("a", 0.6), hit("b", 0.1), hit("c", 0.1))
    judgement = judge_hits(hits, coverage=covering(b=0.25), cutoff=CUTOFF)
    assert judgement.answered
    assert judgement.best == pytest.approx(0.6)
    assert judgement.evidence == pytest.approx((0.6, 0.35, 0.1))
    assert [judgement.is_relevant(n) for n in range(3)] == [True, True, False]


def test_without_one_convincing_hit_nothing_is_relevant() -> None:
    judgement = judge_hits((hit("a", 0.4), hit("b", 0.4)), coverage=covering(), cutoff=CUTOFF)
    assert not judgement.answered
    assert not judgement.is_relevant(0)


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1, 1), st.none() | st.floats(0, 30), st.sampled_from((0, 0.5, 1))
        ),
        max_size=30,
    )
)
def test_a_judgement_agrees_with_what_a_search_lists(
    raw: list[tuple[float | None, float | None, float]],
) -> None:
    hits = tuple(FusedHit(str(n), dense, sparse, 1.0) for n, (dense, sparse, _) in enumerate(raw))
    coverage = covering(**{str(n): share for n, (_, _, share) in enumerate(raw)})
    judgement = judge_hits(hits, coverage=coverage, cutoff=CUTOFF)
    kept = tuple(each for n, each in enumerate(hits) if judgement.is_relevant(n))
    assert kept == relevant_hits(hits, coverage=coverage, limit=len(hits), cutoff=CUTOFF)
