"""Text to sparse keyword vectors. The index weighs terms by rarity (IDF) when it searches.

A unit is a word or a name of a program. Its spellings are tried one after another: as it stands,
without accents, by its stem in the language of the text. A name counts as found where its parts
are; a run of a script without spaces is taken in pairs of characters.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from synthorg_tui.core.languages import languages, most_spoken
from synthorg_tui.memory.index.protocol import SparseVector

if TYPE_CHECKING:
    from Stemmer import Stemmer

SATURATION = 1.2
"""BM25's k1: how soon more of the same term stops to count."""

_WORD = re.compile(
    # A letter of an Indic script goes on with its signs, which aren't letters to Python.
    "(?:[\\w\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff](?<!_))+"
    "|[\u0e00-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_UNSPACED = re.compile(
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u1049\u1780-\u17dd\u3005-\u3007\u3040-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_HUMPS = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_NUMBERED = re.compile(r"([a-z]{3,})(\d{1,3})")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_STROKES = str.maketrans(
    "\u0142\u00f8\u0111\u0131", "lodi"
)  # letters that aren't a base and a mark
_JOIN, _OR = " ", "|"
_SHORTEST_PIECE, _SHORTEST_REST, _SHORTEST_COMPOUND = 6, 3, 11


STOP_WORDS = languages()["en"].words
"""English function words, and what is left of contractions once the apostrophe is split off."""
_LATIN = ("de", "fr", "es", "it", "pt", "nl", "sv", "pl", "tr")
"""Languages that a query without a function word may be in."""
_SCRIPTS = (
    ("\u0400", "\u0530", "ru"),
    ("\u0370", "\u0400", "el"),
    ("\u0530", "\u0590", "hy"),
    ("\u0600", "\u0700", "ar"),
    ("\u0900", "\u0980", "hi"),
    ("\u0b80", "\u0c00", "ta"),
)
"""Scripts that tell the language, or one whose stemmer is the best guess."""


def is_in_english(text: str) -> bool:
    """Return whether a query may be English, and a model that knows no other language any use."""
    plain = unicodedata.normalize("NFKC", text)
    code, count = most_spoken([word.casefold() for word in _WORD.findall(plain)])
    has_others = any(char.isalpha() and not char.isascii() for char in plain)
    return code == "en" or not (has_others or count > 1)


def _script(word: str) -> str:
    return next((code for first, last, code in _SCRIPTS if first <= word[0] < last), "")


def _folded(word: str) -> str:
    """Return a word without accents; letters of scripts where marks are letters keep theirs."""
    if word.isascii() or word[0] >= "\u0400":
        return word.replace("\u0451", "\u0435")
    plain = unicodedata.normalize("NFKD", word.translate(_STROKES))
    return "".join(char for char in plain if not unicodedata.combining(char)).strip() or word


def _parts(word: str, small: str) -> list[str]:
    """Return the parts of a name such as ``getUserById`` or ``sha256``; others are one part."""
    numbered = _NUMBERED.fullmatch(small)
    if numbered is not None:
        return list(numbered.groups())
    if _HUMPS.search(word) is None or sum(char.isdigit() for char in word) > 2:
        return [small]
    return [part.lower() for part in _PARTS.findall(word)]


def _pairs(run: str, is_document: bool) -> Iterator[str]:
    """Yield the pairs of characters of a run without spaces, of a document its characters, too.

    In a query function words and the endings between other characters say nothing.
    """
    if is_document:
        yield from run
        pieces = [run]
    else:
        asked = _UNSPACED_STOPS.sub(" ", run)
        pieces = asked.split()
    for piece in pieces:
        if len(piece) == 1 and not is_document:
            yield piece
        yield from (piece[place : place + 2] for place in range(len(piece) - 1))


_UNSPACED_STOPS = re.compile(
    "|".join(sorted(languages()["zh"].words, key=len, reverse=True)) + "|[\u3041-\u309f]+"
)


def _pieces(word: str) -> Iterator[str]:
    """Yield the beginnings and ends of a long word, one of which may be a word by itself."""
    if len(word) >= _SHORTEST_COMPOUND:
        for length in range(_SHORTEST_PIECE, len(word) - _SHORTEST_REST + 1):
            yield word[-length:]
            yield word[:length]


def _terms(unit: str) -> list[str]:
    return unit.replace(_JOIN, _OR).split(_OR)


def _share_in(unit: str, held: Collection[str]) -> float:
    """Return 1 if a unit is among the terms of a text, else the share of its parts that are.

    A name with a number is there whole or not at all: ``sha512`` is no half of ``sha256``.
    """
    whole, *parts = unit.split(_JOIN)
    if parts and whole not in held:
        shared = [part for part in parts if part in held]
        is_whole = len(shared) == len(parts)
        return 0.0 if parts[-1].isdigit() and not is_whole else len(shared) / len(parts)
    return float(any(spelling in held for spelling in whole.split(_OR)))


def _vector(terms: Iterator[str]) -> SparseVector:
    import mmh3

    counts = Counter(mmh3.hash(term, signed=False) for term in terms)
    ordered = sorted(counts.items())
    return SparseVector(
        indices=tuple(index for index, _ in ordered),
        values=tuple(float(count) for _, count in ordered),
    )


@lru_cache(maxsize=50_000)
def _units_of(word: str, code: str, is_document: bool) -> tuple[str, ...]:
    """Return the units of one word: more than one where it has runs without spaces."""
    if word.isascii() or _UNSPACED.search(word) is None:
        return (_unit(word, code, is_document),)
    units: list[str] = []
    done = 0
    for run in _UNSPACED.finditer(word):
        if before := word[done : run.start()]:
            units.append(_unit(before, code, is_document))
        units += _pairs(run[0], is_document)
        done = run.end()
    if rest := word[done:]:
        units.append(_unit(rest, code, is_document))
    return tuple(units)


def _unit(word: str, code: str, is_document: bool) -> str:
    small = word.casefold()
    parts = _parts(word, small)
    if len(parts) > 1:
        kept = [part for part in parts if part not in STOP_WORDS] or parts
        return _JOIN.join(_stem(part, "en") for part in (small, *kept))
    if small.isascii() and (code == "en" or not small.isalpha()):
        return _stem(small, "en")
    return _OR.join(dict.fromkeys(_spellings(small, code, is_document)))


def _spellings(small: str, code: str, is_document: bool) -> Iterator[str]:
    """Yield the terms of a word, as if it were English first, which any text has."""
    folded = _folded(small)
    yield _stem(folded, "en")
    script = _script(folded)
    for other in (script,) if script else (code,) if code else _LATIN:
        yield _stem(folded, other)
    if is_document and not script and not small.isascii():
        yield _stem(small.translate(_UMLAUTS), "en")
    if is_document and code and languages()[code].is_compounding:
        yield from _pieces(_stem(folded, code))


# A stemmer keeps a cache that must not be used by two threads at once.
_LOCAL = threading.local()


def _stem(word: str, code: str) -> str:
    stemmers: dict[str, Stemmer] = _LOCAL.__dict__.setdefault("stemmers", {})
    if code not in stemmers:
        from Stemmer import Stemmer as Snowball

        stemmers[code] = Snowball(languages()[code].stemmer)
    return str(stemmers[code].stemWord(word))


class BM25Tokenizer:
    """Converts text into terms and sparse vectors for BM25; thread-safe."""

    def tokenize(self, text: str) -> tuple[str, ...]:
        """Return the units of a text in order, with repeats and without function words.

        A unit is a term; or a term and others that mean the same, between ``|``; or a name of a
        program and its parts, between spaces.
        """
        return tuple(self._units(text, is_document=False))

    def stems(self, text: str) -> tuple[str, ...]:
        """Return what the words of a text begin with as they are written, accents and all."""
        return tuple(
            stem
            for word, code in _kept(text)
            for stem in (
                _units_of(word, code, False)
                if _UNSPACED.search(word)
                else (_stem(word.casefold(), "en"),)
            )
        )

    def encode(self, text: str) -> SparseVector:
        """Return the sparse vector of a query: counts of terms hashed by murmurhash3.

        The hash is x86, 32 bit, unsigned; counts of colliding terms are summed.
        """
        return _vector(term for unit in self.tokenize(text) for term in _terms(unit))

    def encode_document(self, text: str) -> SparseVector:
        """Return the sparse vector of a text to be indexed: like ``encode``, with saturated counts.

        The weight of a term is 1 for one occurrence and stays below 1 + ``SATURATION``, so that a
        text doesn't rank high by repeating one word of the query.
        """
        counts = _vector(self._document_terms(text))
        saturated = ((SATURATION + 1) * n / (n + SATURATION) for n in counts.values)
        return SparseVector(indices=counts.indices, values=tuple(saturated))

    def coverage(self, terms: Collection[str], text: str) -> float:
        """Return the share of distinct units of a query that are in ``text``; 0 without units."""
        units, held = set(terms), set(self._document_terms(text))
        return sum(_share_in(unit, held) for unit in units) / len(units) if units else 0.0

    def found(self, terms: Collection[str], text: str) -> frozenset[str]:
        """Return those units of a query that are in ``text``, at least by half their parts."""
        held = set(self._document_terms(text))
        return frozenset(unit for unit in terms if _share_in(unit, held) >= 0.5)

    def _document_terms(self, text: str) -> Iterator[str]:
        for unit in self._units(text, is_document=True):
            yield from _terms(unit)

    def _units(self, text: str, *, is_document: bool) -> Iterator[str]:
        for word, code in _kept(text):
            yield from _units_of(word, code, is_document)


def _kept(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text that aren't function words, with the language of the text."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    small = [word.casefold() for word in words]
    code, _ = most_spoken(small)
    stops = languages()[code or "en"].words
    for word, lowered in zip(words, small, strict=True):
        if lowered not in stops:
            yield word, code
