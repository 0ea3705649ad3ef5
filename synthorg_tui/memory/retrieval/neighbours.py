"""What stands before and after a hit in its session, which often is the answer to it.

A hit lends part of its score to its neighbours. Whether a question is answered is decided before,
by the hits alone, so nothing is found that stands beside nonsense. How much is lent was measured;
see docs/decisions/0002-fusion-and-cutoff.md.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from synthorg_tui.memory.ranking import ScoredMemory

MAX_LENDERS: Final = 20
"""Hits that lend, best first: what stands beside a weak one is no evidence."""

Neighbours = Mapping[str, Collection[str]]
"""The ids of what stands before and after a memory in its session, by its own id."""


class Loan(NamedTuple):
    """What was added to the score of a memory, and the id of the hit beside it that lent it."""

    amount: float
    lender: str


class Lent(NamedTuple):
    """Memories in their new order, best first, and what each was lent, by id."""

    memories: tuple[ScoredMemory, ...]
    loans: Mapping[str, Loan]


def beside(ids: Collection[str], neighbours: Neighbours) -> frozenset[str]:
    """Return the ids of what stands beside these memories."""
    return frozenset(key for lender in ids for key in neighbours.get(lender, ()))


def lend(
    ranked: Sequence[ScoredMemory],
    lenders: Collection[str],
    neighbours: Neighbours,
    *,
    factor: float,
) -> Lent:
    """Add to the score of each memory a share of the best one beside it, and rank anew.

    The share is ``factor`` times what the borrower lacks to 1, so that no score exceeds it. Only
    the first ``MAX_LENDERS`` of ``lenders`` lend, by the scores that they had before. Ties keep
    their order.
    """
    scores = {memory.entry.id: memory.combined_score for memory in ranked}
    first = [memory.entry.id for memory in ranked if memory.entry.id in lenders][:MAX_LENDERS]
    loans: dict[str, Loan] = {}
    for lender in first if factor else ():
        for key in neighbours.get(lender, ()):
            amount = factor * scores[lender] * (1.0 - scores.get(key, 1.0))
            if amount > loans.get(key, Loan(0.0, "")).amount:
                loans[key] = Loan(amount, lender)
    changed = [_with_loan(memory, loans.get(memory.entry.id)) for memory in ranked]
    changed.sort(key=lambda memory: -memory.combined_score)
    return Lent(tuple(changed), loans)


def _with_loan(memory: ScoredMemory, loan: Loan | None) -> ScoredMemory:
    if loan is None:
        return memory
    score = min(1.0, memory.combined_score + loan.amount)
    return memory.model_copy(update={"combined_score": score})
