"""Figures of rankings and their intervals."""

import math

import pytest

from synthorg_tui.memory.evaluation.metrics import (
    mean_interval,
    ndcg_at,
    paired_difference,
    percentile,
    recall_at,
    reciprocal_rank,
)
from tests.tables import rows


def test_recall_is_the_share_of_what_is_relevant_among_the_first() -> None:
    assert recall_at(["a", "x", "b"], {"a", "b"}, 2) == 0.5
    assert recall_at(["a", "x", "b"], {"a", "b"}, 3) == 1.0
    assert recall_at([], {"a"}, 10) == 0.0


def test_ndcg_is_one_when_all_relevant_come_first_and_less_further_down() -> None:
    assert ndcg_at(["a", "b", "x"], {"a", "b"}, 10) == 1.0
    assert ndcg_at(["x", "a"], {"a"}, 10) == pytest.approx(1 / math.log2(3))
    assert ndcg_at(["x", "a"], {"a"}, 1) == 0.0
    assert ndcg_at(["a"], {"a", "b", "c"}, 1) == 1.0


def test_the_reciprocal_rank_is_of_the_first_relevant_id() -> None:
    assert reciprocal_rank(["x", "b", "a"], {"a", "b"}) == 0.5
    assert reciprocal_rank(["x"], {"a"}) == 0.0


@rows("figure", [lambda r: recall_at([], r, 1), lambda r: ndcg_at([], r, 1)])
def test_a_question_without_an_answer_has_no_figure(figure) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="at least one"):
        figure(frozenset())


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few = mean_interval([0.0, 1.0] * 10)
    many = mean_interval([0.0, 1.0] * 1000)
    assert few.mean == many.mean == 0.5
    assert few.low < many.low < 0.5 < many.high < few.high
    assert many.spread == pytest.approx(1.96 * 0.5 / math.sqrt(2000), rel=0.1)


def test_the_same_values_give_the_same_interval() -> None:
    assert mean_interval([0.2, 0.4, 0.9]) == mean_interval([0.2, 0.4, 0.9])


def test_nothing_asked_gives_zeros() -> None:
    assert mean_interval([]) == (0.0, 0.0, 0.0)
    assert percentile([], 0.95) == 0.0


def test_a_small_gain_on_each_question_is_seen_in_spite_of_hard_and_easy_ones() -> None:
    base = [0.0, 1.0] * 100
    better = [value + 0.01 for value in base]
    gain = paired_difference(better, base)
    assert gain.excludes_zero
    assert gain.mean == pytest.approx(0.01)
    assert mean_interval(better).low < mean_interval(base).mean  # alone they can't be told apart


def test_what_gains_here_and_loses_there_may_be_noise() -> None:
    assert not paired_difference([0.0, 1.0] * 20, [1.0, 0.0] * 20).excludes_zero


def test_figures_of_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="same questions"):
        paired_difference([1.0], [1.0, 0.0])


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0
