"""Supersession: whether a lesson replaces an active one, stays beside it, or contradicts it.

Compared are the words that carry meaning: function words and those of the templates that
lessons are generated from are left out, since two lessons would be alike by them alone. An option
of a command (``--all``) is a word. A word right after a negation is another word, so that doing
and not doing differ.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from synthorg_tui.core.text import jaccard
from synthorg_tui.curation.models import ProceduralMemoryProposal
from synthorg_tui.memory.retrieval.sparse import STOP_WORDS

SAME_CONDITION: Final = 0.5
"""Jaccard similarity of conditions from which on two lessons are about the same situation."""
COVERED_CONDITION: Final = 0.8
"""Share of the existing condition that a lesson must cover to replace it."""
COMPATIBLE_ACTION: Final = 0.5
"""Jaccard similarity of actions from which on they don't contradict each other."""
SAME_LESSON: Final = 0.9
"""Jaccard similarity of conditions and of actions from which on two lessons say the same."""

_WORD: Final = re.compile(r"(?<![\w-])--?\w[\w-]*|\w+(?:'\w+)?")
_TEMPLATES: Final = """
running working pushing staging fetching committing bringing managing building checking
fails failed exit code error errors run again instead example here name names question
add write path leading leave change finished committed passes followed first
"""
"""Words that conditions and actions share because code wrote them from templates."""
_NEGATIONS: Final = frozenset({"not", "no", "never", "without", "cannot", "avoid"})
_MEANINGLESS: Final = STOP_WORDS.union(_TEMPLATES.split()) - _NEGATIONS


class SupersessionVerdict(StrEnum):
    """The relation of a new lesson to an active one."""

    FULL = "full"
    """It says all that the other says, with more certainty: it replaces it."""
    PARTIAL = "partial"
    """Both stay."""
    CONFLICT = "conflict"
    """Another action in the same situation: a person has to choose."""


@dataclass(frozen=True, slots=True)
class ExistingSkill:
    """An active lesson to compare with; ``id`` is that of its memory."""

    id: str
    proposal: ProceduralMemoryProposal


@dataclass(frozen=True, slots=True)
class Supersession:
    """The comparison of a lesson with an active one: the verdict, and figures in [0, 1] behind it.

    ``condition_similarity`` and ``action_similarity`` are Jaccard similarities;
    ``condition_coverage`` is the share of the existing condition that the lesson covers.
    """

    existing: ExistingSkill
    verdict: SupersessionVerdict
    condition_similarity: float
    condition_coverage: float
    action_similarity: float

    @property
    def is_repeat(self) -> bool:
        """True when the lesson adds nothing: both say the same and it is no more certain."""
        return (
            self.verdict is SupersessionVerdict.PARTIAL
            and self.condition_similarity >= SAME_LESSON
            and self.action_similarity >= SAME_LESSON
        )


def compare(candidate: ProceduralMemoryProposal, existing: ExistingSkill) -> Supersession:
    """Compare a new lesson with an active one.

    A conflict takes precedence over a replacement. When a condition has no words that carry
    meaning, the verdict is ``PARTIAL``: both stay.
    """
    other = existing.proposal
    conditions = new, known = _terms(candidate.condition), _terms(other.condition)
    similarity, coverage = jaccard(new, known), len(new & known) / len(known) if known else 1.0
    actions = action_similarity(candidate.action, other.action)
    if not all(conditions):
        verdict = SupersessionVerdict.PARTIAL
    elif similarity >= SAME_CONDITION and actions < COMPATIBLE_ACTION:
        verdict = SupersessionVerdict.CONFLICT
    elif (
        coverage >= COVERED_CONDITION
        and actions >= COMPATIBLE_ACTION
        and candidate.confidence > other.confidence
    ):
        verdict = SupersessionVerdict.FULL
    else:
        verdict = SupersessionVerdict.PARTIAL
    return Supersession(existing, verdict, similarity, coverage, actions)


def compare_all(
    candidate: ProceduralMemoryProposal, existing: Iterable[ExistingSkill]
) -> tuple[Supersession, ...]:
    """Compare a new lesson with each active one; conflicts come first, then full, then partial.

    Within a verdict the most similar condition comes first.
    """
    order = (
        SupersessionVerdict.CONFLICT,
        SupersessionVerdict.FULL,
        SupersessionVerdict.PARTIAL,
    )
    verdicts = [compare(candidate, skill) for skill in existing]
    return tuple(sorted(verdicts, key=lambda s: (order.index(s.verdict), -s.condition_similarity)))


def action_similarity(first: str, second: str) -> float:
    """Return the Jaccard similarity of the words that carry meaning in two actions, in [0, 1]."""
    return jaccard(_terms(first), _terms(second))


def _terms(text: str) -> frozenset[str]:
    terms: set[str] = set()
    is_negated = False
    for word in _WORD.findall(text.casefold().replace("\u2019", "'")):
        if word in _NEGATIONS or word.endswith("n't"):
            is_negated = True
        elif len(word) > 1 and word not in _MEANINGLESS:
            terms.add(f"not {word}" if is_negated else word)
            is_negated = False
    return frozenset(terms)
