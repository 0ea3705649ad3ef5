"""Figures of rankings, and how far they can be trusted: intervals by resampling the questions.

Pure functions of ids and numbers. Two embedders are compared question by question, since some
questions are hard for both: the spread of the differences is much smaller than that of the figures.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

RESAMPLES = 2000
"""Samples drawn of the questions; the limits of an interval then vary by hundredths."""

_SEED = 20
_SHARE_OUTSIDE = 0.05
_AT_ONCE = 200


class Interval(NamedTuple):
    """A mean, and the limits between which it lies in 95 of 100 samples of such questions."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval is above or below 0, so that it is hardly noise."""
        return self.low > 0 or self.high < 0

    @property
    def spread(self) -> float:
        """Half of the width."""
        return (self.high - self.low) / 2


def recall_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the share of ``relevant`` among the first ``k`` of ``ranked``.

    Raises ``ValueError`` when nothing is relevant: such a question has no answer to find.
    """
    wanted = _wanted(relevant)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the normalised discounted gain of the first ``k``; 1 when all relevant come first.

    A relevant id counts ``1 / log2(rank + 1)``. Raises ``ValueError`` when nothing is relevant.
    """
    wanted = _wanted(relevant)
    gained = sum(_gain(rank) for rank, key in enumerate(ranked[:k], 1) if key in wanted)
    best = sum(_gain(rank) for rank in range(1, min(k, len(wanted)) + 1))
    return gained / best


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / the rank of the first relevant id, 0 when there is none in ``ranked``.

    Raises ``ValueError`` when nothing is relevant.
    """
    wanted = _wanted(relevant)
    return next((1 / rank for rank, key in enumerate(ranked, 1) if key in wanted), 0.0)


def mean_interval(values: Sequence[float], *, seed: int = _SEED) -> Interval:
    """Return the mean of a figure over questions with its 95 % interval, by bootstrap.

    ``values`` has one number for each question; none at all gives zeros. The same values give the
    same interval.
    """
    if not values:
        return Interval(0.0, 0.0, 0.0)
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)
    count = len(numbers)
    rng = np.random.default_rng(seed)
    means = np.concatenate(
        [
            numbers[rng.integers(0, count, size=(_AT_ONCE, count))].mean(axis=1)
            for _ in range(RESAMPLES // _AT_ONCE)
        ]
    )
    low, high = np.quantile(means, [_SHARE_OUTSIDE / 2, 1 - _SHARE_OUTSIDE / 2])
    return Interval(float(numbers.mean()), float(low), float(high))


def paired_difference(
    values: Sequence[float], base: Sequence[float], *, seed: int = _SEED
) -> Interval:
    """Return how much better ``values`` are than ``base``, with the 95 % interval of that.

    Both have the figure of the same questions in the same order; another length raises
    ``ValueError``. Above 0 is better than the base; an interval with 0 in it may be noise.
    """
    if len(values) != len(base):
        raise ValueError("both must have the figure of the same questions")
    differences = [value - other for value, other in zip(values, base, strict=True)]
    return mean_interval(differences, seed=seed)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of ``values`` don't exceed, 0 without any."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _wanted(relevant: Collection[str]) -> frozenset[str]:
    if not relevant:
        raise ValueError("a question needs at least one relevant memory")
    return frozenset(relevant)
