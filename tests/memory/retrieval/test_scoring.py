"""Hits become ranked memories as the configuration says."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.extensions import SearchHit
from synthorg_tui.memory.ranking import (
    ScoredMemory,
    apply_diversity_penalty,
    fuse_ranked_lists,
    pick_diverse,
)
from synthorg_tui.memory.retrieval.relevance import pool_size, rank_hits
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from tests.memory.memory_kit import NOW, entry, ids
from tests.tables import rows


def config(**changes: object) -> MemoryRetrievalConfig:
    return MemoryRetrievalConfig.model_validate(changes)


def hit(
    key: str,
    dense: float | None,
    sparse: float | None = None,
    *,
    fused: float = 0.5,
    hours: float = 0,
    is_shared: bool = False,
) -> SearchHit:
    return SearchHit(entry(key, hours=hours), dense, sparse, fused, is_shared)


def ranked(hits: Sequence[SearchHit], **changes: object) -> tuple[ScoredMemory, ...]:
    return rank_hits(hits, config=config(**changes), now=NOW)


@rows(
    ("changes", "size"),
    [
        ({"max_memories": 7}, 7),
        ({"max_memories": 7, "diversity_penalty_enabled": True}, 21),
        (
            {
                "max_memories": 100,
                "diversity_penalty_enabled": True,
                "candidate_pool_multiplier": 10,
            },
            1000,
        ),
    ],
)
def test_the_pool_is_larger_than_what_is_given_only_for_variety(
    changes: dict[str, object], size: int
) -> None:
    assert pool_size(config(**changes)) == size


def test_nothing_is_dropped_or_cut_whatever_the_bounds() -> None:
    hits = [hit(str(n), 0.01) for n in range(30)]
    for fusion in (FusionStrategy.LINEAR, FusionStrategy.SCORE):
        assert len(ranked(hits, fusion_strategy=fusion, max_memories=1, min_relevance=1.0)) == 30


def test_linear_relevance_is_the_cosine_kept_in_bounds() -> None:
    first, second = ranked([hit("a", 1.2), hit("b", -0.5)], personal_boost=0.0)
    assert (first.relevance_score, second.relevance_score) == (1.0, 0.0)


def test_score_fusion_weighs_the_fused_score_with_recency() -> None:
    (only,) = ranked(
        [hit("a", 0.3, fused=0.8, hours=100)],
        fusion_strategy="score",
        relevance_weight=0.6,
        recency_weight=0.4,
        recency_decay_rate=0.01,
        personal_boost=0.0,
    )
    assert only.recency_score == pytest.approx(0.36788, abs=1e-5)
    assert only.combined_score == pytest.approx(0.6 * 0.8 + 0.4 * 0.36788, abs=1e-5)
    assert only.scoring_strategy is FusionStrategy.SCORE


def test_the_personal_boost_of_score_fusion_stays_in_bounds() -> None:
    hits = [hit("s", 0.5, fused=1.0, is_shared=True), hit("a", 0.5, fused=0.95)]
    first, second = ranked(hits, fusion_strategy="score", personal_boost=0.1)
    assert ids((first, second)) == ["a", "s"]
    assert first.relevance_score == pytest.approx(1.05 / 1.1)
    assert second.relevance_score == pytest.approx(1.0 / 1.1)


def test_rrf_is_the_fusion_of_both_rankings_by_raw_score() -> None:
    hits = [hit("a", 0.9, 1.0), hit("b", 0.8, 9.0), hit("c", None, 5.0)]
    expected = fuse_ranked_lists(
        ((hits[0].entry, hits[1].entry), (hits[1].entry, hits[2].entry, hits[0].entry))
    )
    found = ranked(hits, fusion_strategy="rrf")
    assert ids(found) == ids(expected)
    assert [m.combined_score for m in found] == [m.combined_score for m in expected]
    assert all(memory.recency_score == 0.0 for memory in found)


def test_rrf_normalises_so_that_the_last_hit_scores_0() -> None:
    """As documented; any ``min_relevance`` above 0 therefore drops it."""
    found = ranked([hit("a", 0.9, 9.0), hit("b", 0.8, 8.0)], fusion_strategy="rrf")
    assert [memory.combined_score for memory in found] == [1.0, 0.0]


def test_rrf_reads_each_ranking_as_deep_as_the_pool() -> None:
    hits = [hit(str(n), 0.9 - n / 100, 9.0 - n) for n in range(5)]
    assert len(ranked(hits, fusion_strategy="rrf", max_memories=3)) == 3


hit_lists = st.lists(
    st.tuples(
        st.none() | st.floats(-1, 1),
        st.none() | st.floats(0, 50),
        st.floats(0, 1),
        st.floats(-10, 10_000),
        st.booleans(),
    ),
    max_size=15,
)


@given(hit_lists, st.sampled_from(FusionStrategy))
def test_every_fusion_is_stable_sorted_and_in_bounds(
    raw: list[tuple[float | None, float | None, float, float, bool]], fusion: FusionStrategy
) -> None:
    hits = [
        hit(str(n), dense, sparse, fused=fused, hours=hours, is_shared=shared)
        for n, (dense, sparse, fused, hours, shared) in enumerate(raw)
    ]
    found = ranked(hits, fusion_strategy=fusion)
    assert found == ranked(hits, fusion_strategy=fusion)
    scores = [memory.combined_score for memory in found]
    assert scores == sorted(scores, reverse=True)
    known = {each.entry.id: each.is_shared for each in hits}
    assert len(set(ids(found))) == len(found)
    assert all(known[memory.entry.id] == memory.is_shared for memory in found)


@given(st.lists(st.text("ab c", min_size=1).filter(str.strip), max_size=10), st.floats(0, 1))
def test_picking_for_variety_tells_what_each_memory_is_most_like(
    contents: list[str], diversity_lambda: float
) -> None:
    scored = tuple(
        ScoredMemory(
            entry=entry(str(n), content),
            relevance_score=0.5,
            recency_score=0.0,
            combined_score=max(0.0, 0.9 - n / 20),
        )
        for n, content in enumerate(contents)
    )
    picks = pick_diverse(scored, diversity_lambda=diversity_lambda)
    memories = tuple(pick.memory for pick in picks)
    assert memories == apply_diversity_penalty(scored, diversity_lambda=diversity_lambda)
    assert sorted(ids(memories)) == sorted(ids(scored))
    for place, pick in enumerate(picks):
        before = {memory.entry.id for memory in memories[:place]}
        assert (pick.similar_to is None) == (pick.similarity == 0.0)
        assert pick.similar_to is None or pick.similar_to.id in before


@given(
    st.lists(st.text("ab c", min_size=1).filter(str.strip), max_size=10),
    st.floats(0, 1),
    st.integers(0, 12),
)
def test_after_the_limit_the_rest_follows_as_it_was_compared_with_the_picks(
    contents: list[str], diversity_lambda: float, limit: int
) -> None:
    scored = tuple(
        ScoredMemory(
            entry=entry(str(n), content),
            relevance_score=0.5,
            recency_score=0.0,
            combined_score=max(0.0, 0.9 - n / 20),
        )
        for n, content in enumerate(contents)
    )
    picks = pick_diverse(scored, diversity_lambda=diversity_lambda, limit=limit)
    every = pick_diverse(scored, diversity_lambda=diversity_lambda)
    assert picks[:limit] == every[:limit]
    chosen = {pick.memory.entry.id for pick in picks[:limit]}
    rest = [pick.memory for pick in picks[limit:]]
    assert rest == [memory for memory in scored if memory.entry.id not in chosen]
    assert all(p.similar_to is None or p.similar_to.id in chosen for p in picks[limit:])
