"""The sentences of a memory that answer a search, and where its words are in them.

People are shown a result by the sentence that matched, agents are given an excerpt of a long
memory. Both look at words alone, as stems; of what was found by its meaning it is the beginning.
Texts are as hostile as any memory: what is returned has to be made safe by who prints it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from synthorg_tui.memory.kinds import ENDINGS, FRAME
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer

MAX_READ: Final = 50_000
"""Characters of a text that are looked at: some 20 ms, however long the text is."""
MAX_PASSAGE: Final = 320
"""Characters of a passage; of a longer sentence the part around its first match is taken."""
_LEAD: Final = 60
"""Characters shown before the first match of a long sentence."""
_MAX_KNOWN: Final = 20_000

CUT: Final = "…"
"""Stands where something was left out."""
_BETWEEN: Final = f" {CUT} "
_MAX_TITLE_SHARE: Final = 0.5
"""Share of an excerpt that the first sentence may take, since it says what a memory is about."""
_MIN_PART: Final = 16
"""Characters below which a part of a sentence says nothing."""
_NEW: Final = 2.0
_FOLLOWS: Final = 0.5
_PRECEDES: Final = 0.25
"""What a sentence is worth: a searched word that none has told yet on top of its own words, one of
the sentence that it follows, and one of the sentence after it."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+")
_WORD: Final = re.compile(r"[^\W_]+")
_BLANKS: Final = re.compile(r"\s+")
_MARKS: Final = re.compile(rf"{CUT}(?:\s{CUT})+")


class Passage(NamedTuple):
    """A part of a text in one line, and the (start, end) of each word in it that was asked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """The text in pieces, each with whether it was asked for."""
        pieces, at = [], 0
        for start, end in self.marks:
            pieces += [(self.text[at:start], False), (self.text[start:end], True)]
            at = end
        pieces.append((self.text[at:], False))
        return [piece for piece in pieces if piece[0]]


class TextExcerpt(NamedTuple):
    """What is told of a text: the whole, or sentences of it with ``CUT`` where others are missing.

    ``is_cut`` is whether anything is missing.
    """

    text: str
    is_cut: bool = False


class PassageFinder:
    """Finds the words of one search in texts; not for use by two threads at once."""

    def __init__(self, query: str) -> None:
        self._tokenizer = BM25Tokenizer()
        self._terms = frozenset(self._tokenizer.tokenize(query[:MAX_READ]))
        self._known: dict[str, str] = {}

    def best(self, text: str) -> Passage:
        """Return the sentence with most of the different words; without any, the first one."""
        best, most = "", 0
        for sentence in _sentences(text):
            found = len(self._found(sentence.text))
            if not best or found > most:
                best, most = sentence.text, found
        return self._shortened(best, MAX_PASSAGE + 4)

    def excerpt(self, text: str, limit: int) -> TextExcerpt:
        """Return the text, or if it is longer than ``limit`` characters, the parts that answer.

        These are its first sentence, then those with most of the words that no chosen one has, with
        what stands around them and what tells how it ended, and then the others for which there is
        room; in the order of the text. They have at most ``limit`` characters together, marks
        included.
        """
        whole = text.strip()
        if len(whole) <= limit:
            return TextExcerpt(whole)
        sentences = _sentences(whole)
        chosen: dict[int, str] = {}
        room = limit - len(_BETWEEN)
        for place in self._order(sentences):
            most = int(limit * _MAX_TITLE_SHARE) if not chosen else room
            if most < _MIN_PART:
                break
            part = self._shortened(sentences[place].text, most).text
            if len(part) > room:
                break
            chosen[place] = part
            room -= len(part) + len(_BETWEEN)
        return TextExcerpt(_put_together(chosen, sentences), is_cut=True)

    def _order(self, sentences: "Sequence[_Sentence]") -> Iterator[int]:
        """Places of sentences, the first one first, then what tells most that wasn't told."""
        found = [
            frozenset() if sentence.is_frame else self._found(sentence.text)
            for sentence in sentences
        ]
        count = [*map(len, found), 0]  # the last stands before the first, too
        worth = [
            count[place]
            + _FOLLOWS * count[place - 1]
            + _PRECEDES * count[place + 1]
            + sentence.ending
            for place, sentence in enumerate(sentences)
        ]
        told, new, places = found[0], set(range(1, len(sentences))), [0]
        yield 0
        while new := {place for place in new if found[place] - told}:
            best = max(
                new, key=lambda place: (_NEW * len(found[place] - told) + worth[place], -place)
            )
            told |= found[best]
            places.append(best)
            yield best
        rest = set(range(len(sentences))).difference(places)
        yield from sorted(rest, key=lambda place: (-worth[place], place))

    def _found(self, sentence: str) -> frozenset[str]:
        """The searched terms in a sentence."""
        terms = (self._term(match[0]) for match in _WORD.finditer(sentence))
        return frozenset(term for term in terms if term)

    def marked(self, text: str) -> Passage:
        """Return a short text as it is, in one line, with its words marked."""
        shown = _BLANKS.sub(" ", text[:MAX_READ]).strip()
        return Passage(shown, self._marks(shown))

    def _shortened(self, sentence: str, limit: int) -> Passage:
        """The sentence, or the part around its first mark, in at most ``limit`` characters."""
        marks = self._marks(sentence)
        if len(sentence) <= limit:
            return Passage(sentence, marks)
        size = max(0, limit - 4)
        start = max(marks[0][0] - min(_LEAD, size // 3), 0) if marks else 0
        start = sentence.find(" ", start, start + _LEAD) + 1 or start if start else 0
        end = "" if start + size >= len(sentence) else f" {CUT}"
        shown = (f"{CUT} " if start else "") + sentence[start : start + size].rstrip() + end
        return Passage(shown, self._marks(shown))

    def _marks(self, text: str) -> tuple[tuple[int, int], ...]:
        return tuple(match.span() for match in _WORD.finditer(text) if self._term(match[0]))

    def _term(self, word: str) -> str:
        """The searched term that a word is a form of; empty for other words."""
        term = self._known.get(word)
        if term is None:
            found = self._tokenizer.found(self._terms, word[:MAX_PASSAGE])
            term = next(iter(found), "")
            if len(self._known) < _MAX_KNOWN:
                self._known[word] = term
        return term


class _Sentence(NamedTuple):
    """A sentence in one line.

    ``is_first`` is whether it begins a line of the text, ``ending`` how much that line tells of how
    something ended, and ``is_frame`` whether it only tells what it was about.
    """

    text: str
    is_first: bool
    ending: float
    is_frame: bool


def _sentences(text: str) -> list[_Sentence]:
    """The sentences of a text's beginning."""
    found: list[_Sentence] = []
    for line in text[:MAX_READ].splitlines():
        ending = next((worth for start, worth in ENDINGS.items() if line.startswith(start)), 0.0)
        for place, part in enumerate(_SENTENCE_END.split(line)):
            if shown := _BLANKS.sub(" ", part).strip():
                found.append(_Sentence(shown, not place, ending, line.startswith(FRAME)))
    return found


def _put_together(chosen: Mapping[int, str], sentences: Sequence[_Sentence]) -> str:
    """Sentences by their places, with a mark where one is missing."""
    text, last = "", -1
    for place in sorted(chosen):
        if text:
            beside = "\n" if sentences[place].is_first else " "
            text += beside if place == last + 1 else _BETWEEN
        text, last = text + chosen[place], place
    text += "" if last == len(sentences) - 1 else _BETWEEN.rstrip()
    return _MARKS.sub(CUT, text)
