"""Questions that memories of work hold nothing about: agents should be given nothing."""

import random
from collections.abc import Iterable
from typing import Final

from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer

OTHER_FIELDS: Final = tuple(
    """
sourdough starter hydration ratio
best time of year to prune apple trees
how do I remove red wine from a carpet
champions league final penalty shootout
symptoms of vitamin D deficiency
history of the ottoman empire janissaries
chord progression of a twelve bar blues
mortgage interest rates for first time buyers
how tall is mount kilimanjaro
knitting pattern for toddler mittens
recipe for vegan lasagna with lentils
lunar eclipse visibility in australia
how to fix a leaking kitchen faucet
treatment of plantar fasciitis
breeding season of emperor penguins
tax deduction for electric vehicles
photosynthesis in cactus plants
what causes thunder and lightning
impressionist painters of the nineteenth century
how to train a puppy not to bite
aircraft wing flutter aerodynamics
roman aqueduct construction techniques
calories in a banana smoothie
marathon training plan for beginners
opening hours of the louvre museum
quantum chromodynamics gluon confinement
shakespeare sonnet rhyme scheme
bicycle chain lubricant for rain
cheese fondue with gruyere
volcanic eruption in iceland
""".strip().splitlines()
)
_RANDOM: Final = 15
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_KNOWN: Final = 2
"""Words of a question in one memory from which on it may be about what is known here."""


def nonsense_for(contents: Iterable[str]) -> tuple[str, ...]:
    """Return nonsense to ask among these texts: of other fields, and random words and letters.

    What a text may be about, because it has two of its words, is left out: somebody's memories are
    of bicycles.
    """
    tokenizer = BM25Tokenizer()
    terms = {query: frozenset(tokenizer.tokenize(query)) for query in OTHER_FIELDS}
    known: set[str] = set()
    for content in contents:
        words = frozenset(tokenizer.tokenize(content))
        known.update(query for query in terms if len(terms[query] & words) >= _KNOWN)
    return (*(query for query in OTHER_FIELDS if query not in known), *_random_ones())


def _random_ones() -> list[str]:
    rng = random.Random(7)
    words = sorted({word for query in OTHER_FIELDS for word in query.split()})
    mixed = [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(_RANDOM)]
    letters = [
        " ".join("".join(rng.choices(_LETTERS, k=rng.randint(4, 9))) for _ in range(2))
        for _ in range(_RANDOM)
    ]
    return [*mixed, *letters]
