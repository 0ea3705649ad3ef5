"""Text to sparse keyword vectors. The index weighs terms by rarity (IDF) when it searches."""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from synthorg_tui.memory.index.protocol import SparseVector

if TYPE_CHECKING:
    from Stemmer import Stemmer

SATURATION = 1.2
"""BM25's k1: how soon more of the same term stops to count."""

_SEPARATORS = re.compile(r"[\W_]+")

_FUNCTION_WORDS = """
a an the this that these those
i me my we us our you your he him his she her it its they them their
am is are was were be been being have has had having do does did doing done
will would shall should can could may might must
and or but if then so than as because while
of at by for with about into from to in on off out over under up down through
during before after between against
what which who whom whose when where why how
not no yes any some each every all both few more most other such only own same too very just
also there here
s t d ll m re ve don didn doesn isn wasn won
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words, and what is left of contractions once the apostrophe is split off."""


class BM25Tokenizer:
    """Converts text into stemmed English terms and sparse vectors for BM25; thread-safe."""

    def __init__(self) -> None:
        # A stemmer keeps a cache that must not be used by two threads at once.
        self._local = threading.local()

    def tokenize(self, text: str) -> tuple[str, ...]:
        """Return the stemmed terms in text order, with repeats and without stop words."""
        folded = unicodedata.normalize("NFKC", text).casefold()
        words = [w for w in _SEPARATORS.split(folded) if w and w not in STOP_WORDS]
        return tuple(self._stemmer().stemWords(words))

    def encode(self, text: str) -> SparseVector:
        """Return the sparse vector of a query: counts of terms hashed by murmurhash3.

        The hash is x86, 32 bit, unsigned; counts of colliding terms are summed.
        """
        import mmh3

        counts = Counter(mmh3.hash(term, signed=False) for term in self.tokenize(text))
        ordered = sorted(counts.items())
        return SparseVector(
            indices=tuple(index for index, _ in ordered),
            values=tuple(float(count) for _, count in ordered),
        )

    def encode_document(self, text: str) -> SparseVector:
        """Return the sparse vector of a text to be indexed: like ``encode``, with saturated counts.

        The weight of a term is 1 for one occurrence and stays below 1 + ``SATURATION``, so that a
        text doesn't rank high by repeating one word of the query.
        """
        counts = self.encode(text)
        saturated = ((SATURATION + 1) * n / (n + SATURATION) for n in counts.values)
        return SparseVector(indices=counts.indices, values=tuple(saturated))

    def coverage(self, terms: Collection[str], text: str) -> float:
        """Return the share of distinct query terms that occur in ``text``; 0 without terms."""
        wanted = set(terms)
        return len(wanted.intersection(self.tokenize(text))) / len(wanted) if wanted else 0.0

    def _stemmer(self) -> "Stemmer":
        stemmer = getattr(self._local, "stemmer", None)
        if stemmer is None:
            from Stemmer import Stemmer

            stemmer = self._local.stemmer = Stemmer("english")
        return stemmer
