"""How retrieved memories are scored, fused and diversified."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.ranking import (
    FusionStrategy,
    ScoredMemory,
    apply_diversity_penalty,
    bigram_jaccard,
    compute_combined_score,
    compute_recency_score,
    fuse_ranked_lists,
    rank_memories,
)
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from tests.tables import rows

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def memory(
    key: str, relevance: float | None = None, *, hours: float = 0, content: str = "text"
) -> MemoryEntry:
    return MemoryEntry(
        id=key,
        agent_id="agent",
        category=MemoryCategory.EPISODIC,
        content=content,
        created_at=NOW - timedelta(hours=hours),
        relevance_score=relevance,
    )


def scored(key: str, score: float, content: str) -> ScoredMemory:
    return ScoredMemory(
        entry=memory(key, content=content),
        relevance_score=score,
        recency_score=0.0,
        combined_score=score,
    )


def ids(items: tuple[ScoredMemory, ...]) -> str:
    return "".join(item.entry.id for item in items)


# Recency and the combined score


@rows("hours", [0, -1, -1000])
def test_what_is_new_or_from_the_future_is_fully_recent(hours: float) -> None:
    assert compute_recency_score(NOW - timedelta(hours=hours), NOW, 0.5) == 1.0


def test_recency_decays_exponentially_by_the_hour() -> None:
    day_old = NOW - timedelta(hours=24)
    assert compute_recency_score(day_old, NOW, 0.01) == pytest.approx(math.exp(-0.24))


def test_without_decay_age_does_not_count() -> None:
    assert compute_recency_score(NOW - timedelta(days=9999), NOW, 0.0) == 1.0


@given(st.floats(0, 1e6), st.floats(0, 10))
def test_recency_stays_in_range(hours: float, rate: float) -> None:
    assert 0.0 <= compute_recency_score(NOW - timedelta(hours=hours), NOW, rate) <= 1.0


def test_the_combined_score_is_the_weighted_sum_capped_at_one() -> None:
    assert compute_combined_score(0.8, 0.4, 0.7, 0.3) == pytest.approx(0.68)
    assert compute_combined_score(1.0, 1.0, 0.8, 0.8) == 1.0


# rank_memories


def test_memories_rank_by_relevance_and_recency() -> None:
    config = MemoryRetrievalConfig(personal_boost=0.0, min_relevance=0.0)
    old, new = memory("o", 0.6, hours=2000), memory("n", 0.5)
    assert ids(rank_memories((old, new), config=config, now=NOW)) == "no"


def test_personal_memories_are_boosted_up_to_one_and_shared_ones_are_not() -> None:
    config = MemoryRetrievalConfig(personal_boost=0.2)
    ranked = rank_memories(
        (memory("m", 0.5), memory("h", 0.9)),
        config=config,
        now=NOW,
        shared_entries=(memory("t", 0.5),),
    )
    high, mine, theirs = ranked
    assert mine.relevance_score == pytest.approx(0.7)
    assert high.relevance_score == 1.0
    assert (theirs.relevance_score, theirs.is_shared, mine.is_shared) == (0.5, True, False)


def test_a_memory_without_a_score_gets_the_default_relevance() -> None:
    config = MemoryRetrievalConfig(default_relevance=0.4, personal_boost=0.0)
    (item,) = rank_memories((memory("a"),), config=config, now=NOW)
    assert item.relevance_score == 0.4
    assert item.scoring_strategy is FusionStrategy.LINEAR


def test_a_score_at_the_minimum_stays_and_one_below_it_goes() -> None:
    config = MemoryRetrievalConfig(
        relevance_weight=1.0, recency_weight=0.0, personal_boost=0.0, min_relevance=0.5
    )
    entries = (memory("a", 0.5), memory("b", 0.499))
    assert ids(rank_memories(entries, config=config, now=NOW)) == "a"


def test_ties_keep_the_input_order_with_personal_before_shared() -> None:
    config = MemoryRetrievalConfig(personal_boost=0.0)
    personal, shared = (memory("b", 0.5), memory("a", 0.5)), (memory("z", 0.5), memory("c", 0.5))
    ranked = rank_memories(personal, config=config, now=NOW, shared_entries=shared)
    assert ids(ranked) == "bazc"


def test_ranking_cuts_to_the_maximum() -> None:
    config = MemoryRetrievalConfig(max_memories=2)
    entries = tuple(memory(key, 0.9) for key in "abc")
    assert ids(rank_memories(entries, config=config, now=NOW)) == "ab"


# Reciprocal rank fusion


def test_fusing_nothing_gives_nothing() -> None:
    assert fuse_ranked_lists(()) == ()
    assert fuse_ranked_lists(((), ())) == ()


@rows("arguments", [{"k": 0}, {"max_results": 0}, {"k": -5}])
def test_fusion_refuses_parameters_below_one(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be >= 1"):
        fuse_ranked_lists((), **arguments)


def test_what_two_lists_agree_on_comes_first() -> None:
    one = tuple(memory(key) for key in "abc")
    other = tuple(memory(key) for key in "bd")
    assert ids(fuse_ranked_lists((one, other))) == "badc"


def test_the_best_scores_one_and_the_last_hit_scores_zero() -> None:
    fused = fuse_ranked_lists((tuple(memory(key) for key in "abc"),), k=1)
    first, second, last = (item.combined_score for item in fused)
    assert (first, last) == (1.0, 0.0)
    assert second == pytest.approx((1 / 3 - 1 / 4) / (1 / 2 - 1 / 4))


def test_equal_scores_all_count_as_one() -> None:
    fused = fuse_ranked_lists(((memory("a"),), (memory("b"),)))
    assert [(item.entry.id, item.combined_score) for item in fused] == [("a", 1.0), ("b", 1.0)]


def test_scores_are_normalised_before_the_cut() -> None:
    fused = fuse_ranked_lists((tuple(memory(key) for key in "abc"),), max_results=2)
    assert ids(fused) == "ab"
    assert fused[-1].combined_score > 0


def test_a_repeated_memory_counts_once_and_takes_no_rank() -> None:
    repeated = fuse_ranked_lists((tuple(memory(key) for key in "aabcd"),))
    assert repeated == fuse_ranked_lists((tuple(memory(key) for key in "abcd"),))


def test_fusion_keeps_the_first_object_and_its_raw_relevance() -> None:
    first, again = memory("a", 0.9), memory("a", 0.2)
    (item,) = fuse_ranked_lists(((first, again), (again,)))
    assert item.entry is first
    assert (item.relevance_score, item.recency_score) == (0.9, 0.0)
    assert item.scoring_strategy is FusionStrategy.RRF
    (unscored,) = fuse_ranked_lists(((memory("b"),),))
    assert unscored.relevance_score == 0.0


ranked_lists = st.lists(
    st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda ks: tuple(map(memory, ks))),
    max_size=4,
).map(tuple)


@given(ranked_lists, st.integers(1, 200), st.integers(1, 10))
def test_fusion_is_ordered_stable_and_complete(
    lists: tuple[tuple[MemoryEntry, ...], ...], k: int, limit: int
) -> None:
    everything = fuse_ranked_lists(lists, k=k, max_results=100)
    seen = list(dict.fromkeys(entry.id for ranked in lists for entry in ranked))
    assert sorted(ids(everything)) == sorted(seen)
    keys = [(-item.combined_score, seen.index(item.entry.id)) for item in everything]
    assert keys == sorted(keys)
    assert fuse_ranked_lists(lists, k=k, max_results=limit) == everything[:limit]


# Diversity


@rows(
    ("one", "other", "similarity"),
    [
        ("git push origin", "GIT push  origin", 1.0),
        ("git push origin", "git push upstream", 1 / 3),
        ("git push", "cargo build", 0.0),
        ("git", "git", 0.0),
        ("", "git push", 0.0),
    ],
)
def test_bigram_jaccard_is_the_share_of_common_word_pairs(
    one: str, other: str, similarity: float
) -> None:
    assert bigram_jaccard(one, other) == pytest.approx(similarity)


@given(st.text(max_size=40), st.text(max_size=40))
def test_bigram_jaccard_is_symmetric_and_in_range(one: str, other: str) -> None:
    assert 0.0 <= bigram_jaccard(one, other) == bigram_jaccard(other, one) <= 1.0


def test_what_repeats_an_earlier_memory_comes_later() -> None:
    items = (
        scored("a", 0.9, "push the branch with upstream"),
        scored("b", 0.85, "push the branch with upstream"),
        scored("c", 0.6, "the parser fails on tabs"),
    )
    assert ids(apply_diversity_penalty(items)) == "acb"


def test_lambda_one_keeps_the_order_of_scores() -> None:
    items = (scored("a", 0.9, "x y"), scored("b", 0.8, "x y"), scored("c", 0.1, "p q"))
    assert apply_diversity_penalty(items, diversity_lambda=1.0) == items


def test_lambda_zero_looks_at_diversity_only_and_ties_go_to_the_earlier() -> None:
    items = (scored("a", 0.1, "x y"), scored("b", 0.9, "x y"), scored("c", 0.5, "p q"))
    assert ids(apply_diversity_penalty(items, diversity_lambda=0.0)) == "acb"


def test_a_custom_similarity_gets_the_contents() -> None:
    items = (scored("a", 0.9, "one"), scored("b", 0.8, "two"), scored("c", 0.7, "three"))

    def alike(one: str, other: str) -> float:
        return float({one, other} == {"one", "two"})

    assert ids(apply_diversity_penalty(items, similarity_fn=alike)) == "acb"


@rows("value", [-0.01, 1.01, math.nan, math.inf])
def test_lambda_outside_zero_to_one_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="diversity_lambda"):
        apply_diversity_penalty((), diversity_lambda=value)


def test_none_or_one_memory_comes_back_as_it_is() -> None:
    one = (scored("a", 0.9, "one"),)
    assert apply_diversity_penalty(()) == ()
    assert apply_diversity_penalty(one) is one


candidates = st.lists(
    st.tuples(st.floats(0, 1), st.lists(st.sampled_from("xyz"), max_size=6).map(" ".join)),
    max_size=9,
).map(
    lambda rows: tuple(
        scored(str(n), score, f"memory {words}") for n, (score, words) in enumerate(rows)
    )
)


@given(candidates, st.floats(0, 1))
def test_diversity_only_reorders(items: tuple[ScoredMemory, ...], weight: float) -> None:
    result = apply_diversity_penalty(items, diversity_lambda=weight)
    assert sorted(ids(result)) == sorted(ids(items))


@given(candidates.filter(bool), st.floats(0.01, 1))
def test_the_first_pick_is_the_best_score(items: tuple[ScoredMemory, ...], weight: float) -> None:
    first = apply_diversity_penalty(items, diversity_lambda=weight)[0]
    assert first.combined_score == pytest.approx(max(item.combined_score for item in items))


# ScoredMemory


@rows("score", [-0.1, 1.1, math.nan])
def test_scores_outside_zero_to_one_are_refused(score: float) -> None:
    with pytest.raises(ValidationError):
        scored("a", score, "x")
