"""Choose lessons to remove by age, by usefulness, or both. They return ids and delete nothing."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from synthorg_tui.memory.procedural.config import PruningConfig


@dataclass(frozen=True, slots=True)
class PruningCandidate:
    """A lesson with what speaks for keeping it.

    ``relevance`` is in [0, 1]. ``fresh_at`` is when it was last of use: when it was learnt or,
    later, applied.
    """

    id: str
    relevance: float
    fresh_at: datetime


class PruningStrategy(Protocol):
    """Chooses among the lessons of one owner."""

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        """Ids of what can go, sorted."""
        ...


class TtlPruningStrategy:
    """What was of no use for more than ``max_age_days`` can go."""

    def __init__(self, max_age_days: int = 90) -> None:
        self._max_age = timedelta(days=max_age_days)

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        return _ids(each for each in candidates if now - each.fresh_at > self._max_age)


class ParetoPruningStrategy:
    """Beyond ``max_entries``, what others beat in both relevance and freshness can go.

    Candidates are kept frontier by frontier: first those that none beats, then those that only
    the first beat, and so on. Of the frontier that no longer fits whole, the freshest are kept.
    So exactly ``max_entries`` stay; keeping the first frontier alone would leave a handful of a
    hundred.
    """

    def __init__(self, max_entries: int = 100) -> None:
        self._max_entries = max_entries

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        if len(candidates) <= self._max_entries:
            return ()
        # Fresh first: whatever beats a candidate comes before it.
        ordered = sorted(
            candidates, key=lambda each: (-each.fresh_at.timestamp(), -each.relevance, each.id)
        )
        ranks = _frontiers(ordered)
        kept = sorted(range(len(ordered)), key=lambda place: (ranks[place], place))
        return _ids(ordered[place] for place in kept[self._max_entries :])


class HybridPruningStrategy:
    """First by age, then by usefulness among the rest."""

    def __init__(self, max_age_days: int = 90, max_entries: int = 100) -> None:
        self._by_age = TtlPruningStrategy(max_age_days)
        self._by_use = ParetoPruningStrategy(max_entries)

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        old = self._by_age.prune(candidates, now=now)
        rest = [each for each in candidates if each.id not in set(old)]
        return tuple(sorted({*old, *self._by_use.prune(rest, now=now)}))


def create_pruning_strategy(config: PruningConfig) -> PruningStrategy:
    """The strategy that is configured."""
    if config.type == "ttl":
        return TtlPruningStrategy(config.max_age_days)
    if config.type == "pareto":
        return ParetoPruningStrategy(config.max_entries)
    return HybridPruningStrategy(config.max_age_days, config.max_entries)


def _frontiers(ordered: Sequence[PruningCandidate]) -> list[int]:
    """The frontier of each candidate, from 0; equal ones share theirs.

    In this order the last of a frontier has its highest relevance, so that one look tells
    whether the frontier beats a candidate.
    """
    ranks: list[int] = []
    highest: list[float] = []  # of each frontier, negated: ascending
    previous: PruningCandidate | None = None
    for each in ordered:
        is_repeat = previous is not None and (each.fresh_at, each.relevance) == (
            previous.fresh_at,
            previous.relevance,
        )
        rank = ranks[-1] if is_repeat else bisect_right(highest, -each.relevance)
        highest[rank : rank + 1] = [-each.relevance]
        ranks.append(rank)
        previous = each
    return ranks


def _ids(candidates: Iterable[PruningCandidate]) -> tuple[str, ...]:
    return tuple(sorted(each.id for each in candidates))
