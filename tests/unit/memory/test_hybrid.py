"""Two rankings become one, and a search about nothing finds nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.retrieval.hybrid import DEFAULT_CUTOFF, RelevanceCutoff, fuse_hits

NO_CUTOFF = RelevanceCutoff(min_dense=-1.0, min_sparse=0.0)


def ranking(**scores: float) -> tuple[IndexHit, ...]:
    return tuple(IndexHit(id=key, score=score) for key, score in scores.items())


def test_nothing_in_gives_nothing_out() -> None:
    assert fuse_hits(IndexHits(), limit=5) == ()


def test_a_hit_both_sources_rate_highly_beats_one_that_only_one_source_found() -> None:
    hits = IndexHits(dense=ranking(a=0.9, b=0.8, c=0.1), sparse=ranking(b=20.0, d=18.0, e=2.0))
    fused = fuse_hits(hits, limit=10, cutoff=NO_CUTOFF)
    assert [hit.id for hit in fused] == ["b", "a", "d", "c", "e"]


def test_scores_are_the_mean_of_both_normalised_scores_and_raw_scores_are_kept() -> None:
    hits = IndexHits(dense=ranking(a=0.9, b=0.6, c=0.5), sparse=ranking(b=10.0, a=5.0))
    first, second, third = fuse_hits(hits, limit=3, cutoff=NO_CUTOFF)
    assert (second.id, second.dense, second.sparse) == ("a", 0.9, 5.0)
    assert second.fused == pytest.approx(0.5)
    assert first.id == "b"
    assert first.fused == pytest.approx(0.5 * 0.25 + 0.5)
    assert (third.id, third.sparse, third.fused) == ("c", None, 0.0)


def test_a_source_without_hits_does_not_halve_the_scores_of_the_other() -> None:
    fused = fuse_hits(IndexHits(dense=ranking(a=0.9, b=0.5)), limit=5, cutoff=NO_CUTOFF)
    assert [hit.fused for hit in fused] == [1.0, 0.0]


def test_equal_scores_count_as_the_best() -> None:
    fused = fuse_hits(IndexHits(sparse=ranking(a=3.0, b=3.0)), limit=5, cutoff=NO_CUTOFF)
    assert [(hit.id, hit.fused) for hit in fused] == [("a", 1.0), ("b", 1.0)]


def test_limit_cuts_after_fusion() -> None:
    hits = IndexHits(dense=ranking(a=0.9, b=0.8, x=0.1), sparse=ranking(c=9.0, b=8.5, y=1.0))
    assert [hit.id for hit in fuse_hits(hits, limit=1, cutoff=NO_CUTOFF)] == ["b"]


def test_hits_below_both_raw_thresholds_are_dropped_however_well_they_rank() -> None:
    cutoff = RelevanceCutoff(min_dense=0.4, min_sparse=3.0)
    hits = IndexHits(dense=ranking(a=0.39), sparse=ranking(a=5.9))
    assert fuse_hits(hits, limit=5, query_terms=2, cutoff=cutoff) == ()


@pytest.mark.parametrize(("dense", "sparse"), [(0.4, 0.1), (0.1, 6.0)])
def test_reaching_either_raw_threshold_keeps_a_hit(dense: float, sparse: float) -> None:
    cutoff = RelevanceCutoff(min_dense=0.4, min_sparse=3.0)
    hits = IndexHits(dense=ranking(a=dense), sparse=ranking(a=sparse))
    assert [h.id for h in fuse_hits(hits, limit=5, query_terms=2, cutoff=cutoff)] == ["a"]


def test_a_query_without_terms_is_judged_by_its_meaning_alone() -> None:
    hits = IndexHits(dense=ranking(a=0.99))
    assert [h.id for h in fuse_hits(hits, limit=5, query_terms=0)] == ["a"]


scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 30), max_size=8)


@given(dense=scores, sparse=scores, limit=st.integers(1, 10))
def test_fusion_returns_each_known_id_at_most_once_best_first(
    dense: dict[str, float], sparse: dict[str, float], limit: int
) -> None:
    hits = IndexHits(dense=ranking(**dense), sparse=ranking(**sparse))
    fused = fuse_hits(hits, limit=limit, cutoff=NO_CUTOFF)
    ids = [hit.id for hit in fused]
    assert len(ids) == len(set(ids)) == min(limit, len({*dense, *sparse}))
    assert all(0.0 <= hit.fused <= 1.0 for hit in fused)
    assert [hit.fused for hit in fused] == sorted((h.fused for h in fused), reverse=True)


@given(dense=scores, sparse=scores)
def test_the_default_cutoff_only_ever_removes_hits(
    dense: dict[str, float], sparse: dict[str, float]
) -> None:
    hits = IndexHits(dense=ranking(**dense), sparse=ranking(**sparse))
    everything = fuse_hits(hits, limit=20, cutoff=NO_CUTOFF)
    kept = fuse_hits(hits, limit=20, query_terms=3, cutoff=DEFAULT_CUTOFF)
    assert list(kept) == [hit for hit in everything if hit in kept]
