"""Keeps account of what becomes of each candidate, from the search to the packed text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.explanation import Candidate, Verdict
from synthorg_tui.memory.ranking import DiversePick, ScoredMemory
from synthorg_tui.memory.searching import SearchHit


@dataclass(slots=True)
class _Account:
    hit: SearchHit
    scored: ScoredMemory | None = None
    rank: int = 0
    boost: float = 0.0
    pick: DiversePick | None = None
    tokens: int = 0
    verdict: Verdict | None = None
    reason: str = ""


class Ledger:
    """One account for each candidate; the first verdict on it stands."""

    def __init__(self, hits: Iterable[SearchHit]) -> None:
        self._accounts = {hit.entry.id: _Account(hit) for hit in hits}

    def ranked(self, memories: Sequence[ScoredMemory], *, boost: float) -> None:
        """Note scores and places; ``boost`` is what private ones got, unless fused by rank."""
        for rank, memory in enumerate(memories, start=1):
            account = self._accounts[memory.entry.id]
            account.scored, account.rank = memory, rank
            boosted = memory.scoring_strategy is not FusionStrategy.RRF and not memory.is_shared
            account.boost = boost if boosted else 0.0

    def rank(self, memory_id: str) -> int:
        """The place by score, 0 when it has none."""
        return self._accounts[memory_id].rank

    def diversified(self, picks: Iterable[DiversePick]) -> None:
        """Note what each memory was compared with."""
        for pick in picks:
            self._accounts[pick.memory.entry.id].pick = pick

    def costs(self, memory_id: str, tokens: int) -> None:
        """Note how many tokens its block has."""
        self._accounts[memory_id].tokens = tokens

    def judge(self, memory_id: str, verdict: Verdict, reason: str) -> None:
        """Note why a candidate is in or out."""
        account = self._accounts[memory_id]
        if account.verdict is None:
            account.verdict, account.reason = verdict, reason

    def candidates(self, given: Sequence[str]) -> tuple[Candidate, ...]:
        """Those given, in that order, then the others by place; all need a verdict by now."""
        place = {memory_id: number for number, memory_id in enumerate(given)}
        last = len(self._accounts)

        def order(account: _Account) -> tuple[int, int, float]:
            return (
                place.get(account.hit.entry.id, last),
                account.rank or last + 1,
                -account.hit.fused,
            )

        return tuple(_candidate(each) for each in sorted(self._accounts.values(), key=order))


def _candidate(account: _Account) -> Candidate:
    hit, scored, pick = account.hit, account.scored, account.pick
    if account.verdict is None:
        raise AssertionError(f"no verdict on memory {hit.entry.id}")
    return Candidate(
        entry=hit.entry,
        verdict=account.verdict,
        reason=account.reason,
        is_shared=hit.is_shared,
        dense=hit.dense,
        sparse=hit.sparse,
        relevance=scored.relevance_score if scored else 0.0,
        recency=scored.recency_score if scored else 0.0,
        boost=account.boost,
        combined=scored.combined_score if scored else 0.0,
        rank=account.rank,
        similarity=pick.similarity if pick else 0.0,
        similar_to=pick.similar_to.id if pick and pick.similar_to else None,
        tokens=account.tokens,
    )
