"""What stands before and after a hit in its session, which often is the answer to it.

A hit lends part of its score to its neighbours, most to what follows a question. Whether a question
is answered is decided before, by the hits alone, so nothing is found that stands beside nonsense.
How much is lent was measured; see docs/decisions/0002-fusion-and-cutoff.md and
docs/decisions/0038-models-that-fit.md.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from synthorg_tui.memory.ranking import ScoredMemory

MAX_LENDERS: Final = 20
"""Hits that lend, best first: what stands beside a weak one is no evidence."""
NEIGHBOUR_FACTOR: Final = 0.3
"""The share of its score that a hit of a search lends; that of a digest is a setting."""
AFTER_A_QUESTION: Final = 2.0
"""How many times as much is lent to what follows a question: it tends to be the answer."""

_AROUND: Final = " \t\r\n\"'`)]}*_\u201d\u2019"
"""What may stand after the question mark of a text that asks."""


class Beside(NamedTuple):
    """The ids of what stands before and after a memory in its session."""

    before: str | None = None
    after: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(filter(None, self))


Neighbours = Mapping[str, Beside]
"""What stands beside a memory, by its id."""


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
    return frozenset(key for lender in ids for key in neighbours.get(lender, Beside()).ids)


def asks(text: str) -> bool:
    """Return whether a text ends with a question."""
    return text.rstrip(_AROUND).endswith("?")


def loans_of(
    scores: Mapping[str, float],
    lenders: Mapping[str, str],
    neighbours: Neighbours,
    *,
    factor: float,
) -> dict[str, Loan]:
    """Return what each memory is lent by the best hit beside it, by its id.

    The share is ``factor`` times what the borrower lacks to 1, so that no score exceeds it;
    ``AFTER_A_QUESTION`` as much for what follows a hit that asks. Only the first ``MAX_LENDERS`` of
    ``lenders``, texts by id, lend, by the scores that they had before. What has no score borrows
    nothing.
    """
    loans: dict[str, Loan] = {}
    for lender, text in list(lenders.items())[:MAX_LENDERS] if factor else ():
        near = neighbours.get(lender, Beside())
        answer = min(1.0, AFTER_A_QUESTION * factor) if asks(text) else factor
        for key, share in ((near.before, factor), (near.after, answer)):
            if key is None:
                continue
            amount = share * scores[lender] * (1.0 - scores.get(key, 1.0))
            if amount > loans.get(key, Loan(0.0, "")).amount:
                loans[key] = Loan(amount, lender)
    return loans


def lend(
    ranked: Sequence[ScoredMemory],
    lenders: Collection[str],
    neighbours: Neighbours,
    *,
    factor: float,
) -> Lent:
    """Add to the score of each memory what is lent to it, and rank anew; ties keep their order."""
    scores = {memory.entry.id: memory.combined_score for memory in ranked}
    texts = {m.entry.id: m.entry.content for m in ranked if m.entry.id in lenders}
    loans = loans_of(scores, texts, neighbours, factor=factor)
    changed = {memory.entry.id: memory for memory in ranked}
    for key, loan in loans.items():
        score = min(1.0, scores[key] + loan.amount)
        changed[key] = changed[key].model_copy(update={"combined_score": score})
    ordered = sorted(changed.values(), key=lambda memory: -memory.combined_score)
    return Lent(tuple(ordered), loans)
