"""What several agents went through alike, and how certain that makes it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synthorg_tui.learning.patterns import (
    Trajectory,
    TrajectoryAggregator,
    TrajectoryOutcome,
    Z,
    certainty_of_pattern,
    worth,
)
from tests.learning.evolver_kit import ADA, BOB, CYD, DAN, EVE, FIVE, NOW, draft, failure, success
from tests.tables import rows


def made(outcome: TrajectoryOutcome, category: str | None) -> Trajectory:
    return Trajectory(
        agent_id=ADA,
        situation="s",
        outcome=outcome,
        error_category=category,
        at=NOW,
        draft=draft("c", "a"),
    )


def test_a_failure_needs_a_category_and_a_success_has_none() -> None:
    assert made(TrajectoryOutcome.FAILURE, "x").pattern == "failure:x"
    assert made(TrajectoryOutcome.SUCCESS, None).pattern == "success:[]"
    for outcome, category in ((TrajectoryOutcome.FAILURE, None), (TrajectoryOutcome.SUCCESS, "x")):
        with pytest.raises(ValidationError, match="error_category"):
            made(outcome, category)


def test_the_order_of_the_tools_makes_another_pattern() -> None:
    assert success(ADA, "s", "a", "b").pattern == 'success:["a", "b"]'
    assert success(ADA, "s", "a", "b").pattern != success(ADA, "s", "b", "a").pattern


def test_too_few_agents_make_no_pattern_however_often_they_met_it() -> None:
    aggregator = TrajectoryAggregator(3)
    assert aggregator.aggregate([failure(a, "push", "u") for a in (ADA, BOB) * 5]) == ()
    assert aggregator.last_skipped_count == 1
    (found,) = aggregator.aggregate([failure(a, "push", "u") for a in (ADA, BOB, CYD)])
    assert found.agents == (ADA, BOB, CYD)
    assert aggregator.last_skipped_count == 0


@rows("bound", [0, -1])
def test_a_pattern_needs_an_agent(bound: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        TrajectoryAggregator(bound)


def test_the_most_frequent_pattern_comes_first_and_equals_as_they_appeared() -> None:
    runs = [failure(a, s, "u") for s, n in (("b", 2), ("a", 2), ("c", 3)) for a in FIVE[:n]]
    found = TrajectoryAggregator(2).aggregate(runs)
    assert [each.key for each in found] == [f"failure:{s} -> u" for s in "cba"]


def test_all_who_faced_the_situation_count() -> None:
    runs = [failure(a, "push", "u") for a in (ADA, BOB, CYD)]
    runs += [failure(DAN, "push", "v"), failure(EVE, "other", "u")]
    (found,) = TrajectoryAggregator(3).aggregate(runs)
    assert (found.occurrences, found.attempts) == (3, 4)
    assert found.by_agent == ((1, 1), (1, 1), (1, 1), (0, 1))


@rows(("runs", "counted"), [(1, 1.0), (3, 1.5), (100, 100 / 50.5)])
def test_further_runs_of_an_agent_are_worth_less(runs: int, counted: float) -> None:
    assert worth(runs) == pytest.approx(counted)


@rows(
    ("agents", "expected"),
    [
        ([(1, 1)] * 3, 0.809),
        ([(1, 1)] * 5, 0.876),
        ([(3, 3)] * 3, 0.864),
        ([(4, 4)] * 5, 0.919),
        ([(1, 1)] * 4 + [(0, 1)], 0.617),
        ([(1, 1)] * 3 + [(0, 10)], 0.433),  # what one agent does often doesn't decide alone
        ([(0, 1)] * 3, 0.0),
        ([], 0.0),
    ],
)
def test_certainty_by_wilson_and_kish(agents: list[tuple[int, int]], expected: float) -> None:
    assert certainty_of_pattern(agents) == pytest.approx(expected, abs=0.001)


def test_when_all_went_the_same_way_it_is_n_by_n_plus_z_squared() -> None:
    assert math.isclose(certainty_of_pattern([(1, 1)] * 7), 7 / (7 + Z * Z))


def _runs(faced: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, faced), st.just(faced))


AGENTS = st.lists(st.integers(1, 20).flatmap(_runs), min_size=1, max_size=10)


@given(AGENTS)
def test_certainty_is_a_fraction_below_one(agents: list[tuple[int, int]]) -> None:
    assert 0 <= certainty_of_pattern(agents) < 1


@given(AGENTS)
def test_one_more_run_this_way_is_more_certain(agents: list[tuple[int, int]]) -> None:
    (went, faced), *others = agents
    before = certainty_of_pattern([(min(went, faced - 1), faced), *others])
    assert certainty_of_pattern([(min(went, faced - 1) + 1, faced), *others]) >= before - 1e-9


@given(AGENTS)
def test_one_more_agent_that_went_this_way_is_more_certain(agents: list[tuple[int, int]]) -> None:
    assert certainty_of_pattern([*agents, (1, 1)]) > certainty_of_pattern(agents) - 1e-9


@given(st.integers(1, 20), st.integers(1, 9))
def test_more_runs_of_each_agent_are_more_certain(runs: int, agents: int) -> None:
    assert certainty_of_pattern([(runs + 1, runs + 1)] * agents) > certainty_of_pattern(
        [(runs, runs)] * agents
    )
