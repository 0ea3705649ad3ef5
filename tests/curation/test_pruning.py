"""Which lessons can go: by age, by usefulness, by both."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.curation.pruning import (
    HybridPruningStrategy,
    ParetoPruningStrategy,
    PruningCandidate,
    TtlPruningStrategy,
    create_pruning_strategy,
)
from synthorg_tui.memory.config import PruningConfig
from tests.tables import rows

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def lesson(id: str, *, days: float = 0, relevance: float = 0.5) -> PruningCandidate:
    return PruningCandidate(id, relevance, NOW - timedelta(days=days))


def test_what_is_older_than_the_bound_can_go_and_not_what_is_just_as_old() -> None:
    at = lesson("at", days=90)
    over = PruningCandidate("over", 1.0, at.fresh_at - timedelta(microseconds=1))
    assert TtlPruningStrategy(90).prune([at, over], now=NOW) == ("over",)


def test_a_lesson_from_the_future_stays() -> None:
    assert TtlPruningStrategy(1).prune([lesson("a", days=-3)], now=NOW) == ()


@rows(("bound", "pruned"), [(3, ()), (2, ("old",))])
def test_as_many_as_allowed_are_left_alone(bound: int, pruned: tuple[str, ...]) -> None:
    lessons = [lesson("a", days=1), lesson("b", days=2), lesson("old", days=3)]
    assert ParetoPruningStrategy(bound).prune(lessons, now=NOW) == pruned


def test_what_nothing_beats_stays_though_it_is_old_or_of_little_relevance() -> None:
    lessons = [
        lesson("fresh", days=0, relevance=0.1),
        lesson("relevant", days=80, relevance=0.9),
        lesson("beaten", days=81, relevance=0.8),
    ]
    assert ParetoPruningStrategy(2).prune(lessons, now=NOW) == ("beaten",)


def test_the_second_best_fill_up_what_the_best_leave() -> None:
    lessons = [lesson(str(day), days=day) for day in range(10)]  # each beats all that follow
    assert ParetoPruningStrategy(7).prune(lessons, now=NOW) == ("7", "8", "9")


def test_of_best_ones_that_are_too_many_the_freshest_stay() -> None:
    lessons = [lesson(str(day), days=day, relevance=day / 10) for day in range(10)]
    assert ParetoPruningStrategy(8).prune(lessons, now=NOW) == ("8", "9")


def test_equal_ones_do_not_beat_each_other() -> None:
    twins = [lesson("a"), lesson("b"), lesson("worse", days=1, relevance=0.4), lesson("c")]
    assert ParetoPruningStrategy(3).prune(twins, now=NOW) == ("worse",)


def test_hybrid_drops_the_old_first_and_then_beyond_the_bound() -> None:
    lessons = [
        lesson("z-old", days=91, relevance=1.0),
        lesson("b", days=3),
        lesson("a", days=2),
        lesson("c", days=1),
    ]
    assert HybridPruningStrategy(90, 2).prune(lessons, now=NOW) == ("b", "z-old")


@rows(("type", "pruned"), [("ttl", ("old",)), ("pareto", ("a", "old")), ("hybrid", ("a", "old"))])
def test_the_configuration_picks_the_strategy_and_its_bounds(
    type: str, pruned: tuple[str, ...]
) -> None:
    config = PruningConfig.model_validate({"type": type, "max_age_days": 10, "max_entries": 1})
    lessons = [lesson("old", days=11), lesson("a", days=1), lesson("b")]
    assert create_pruning_strategy(config).prune(lessons, now=NOW) == pruned


LESSONS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), max_size=30
)


@given(LESSONS, st.integers(1, 10))
def test_pareto_keeps_exactly_the_bound_and_nothing_that_what_goes_would_beat(
    points: list[tuple[int, float]], bound: int
) -> None:
    lessons = [lesson(str(n), days=d, relevance=r) for n, (d, r) in enumerate(points)]
    pruned = ParetoPruningStrategy(bound).prune(lessons, now=NOW)
    assert len(lessons) - len(pruned) == min(bound, len(lessons))
    gone = [each for each in lessons if each.id in pruned]
    for kept in (each for each in lessons if each.id not in pruned):
        assert not any(beats(each, kept) for each in gone)


def beats(one: PruningCandidate, other: PruningCandidate) -> bool:
    weakly = one.fresh_at >= other.fresh_at and one.relevance >= other.relevance
    return weakly and (one.fresh_at, one.relevance) != (other.fresh_at, other.relevance)


@given(LESSONS)
def test_the_order_of_the_lessons_does_not_matter(points: list[tuple[int, float]]) -> None:
    lessons = [lesson(str(n), days=d, relevance=r) for n, (d, r) in enumerate(points)]
    backwards = ParetoPruningStrategy(3).prune(lessons[::-1], now=NOW)
    assert ParetoPruningStrategy(3).prune(lessons, now=NOW) == backwards
