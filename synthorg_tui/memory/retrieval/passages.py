"""The sentence of a memory that answers a search, and where its words are in it.

For people: a result is shown by what matched, not by how its text begins. It looks at words alone,
as stems; what was found by its meaning is shown by its first sentence. Texts are as hostile as any
memory: what is returned has to be made safe by who prints it.
"""

import re
from typing import Final, NamedTuple

from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer

MAX_READ: Final = 50_000
"""Characters of a text that are looked at: some 20 ms, however long the text is."""
MAX_PASSAGE: Final = 320
"""Characters of a passage; of a longer sentence the part around its first match is taken."""
_LEAD: Final = 60
"""Characters shown before the first match of a long sentence."""
_MAX_KNOWN: Final = 20_000

_SENTENCE_END: Final = re.compile(r"\n+|(?<=[.!?;])\s+")
_WORD: Final = re.compile(r"[^\W_]+")
_BLANKS: Final = re.compile(r"\s+")


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


class PassageFinder:
    """Finds the words of one search in texts; not for use by two threads at once."""

    def __init__(self, query: str) -> None:
        self._tokenizer = BM25Tokenizer()
        self._terms = frozenset(self._tokenizer.tokenize(query[:MAX_READ]))
        self._known: dict[str, str] = {}

    def best(self, text: str) -> Passage:
        """Return the sentence with most of the different words; without any, the first one."""
        best, most = "", 0
        for sentence in _SENTENCE_END.split(text[:MAX_READ]):
            if not sentence.strip():
                continue
            found = len(
                {term for match in _WORD.finditer(sentence) if (term := self._term(match[0]))}
            )
            if not best or found > most:
                best, most = sentence, found
        return self._shortened(_BLANKS.sub(" ", best).strip())

    def marked(self, text: str) -> Passage:
        """Return a short text as it is, in one line, with its words marked."""
        shown = _BLANKS.sub(" ", text[:MAX_READ]).strip()
        return Passage(shown, self._marks(shown))

    def _shortened(self, sentence: str) -> Passage:
        marks = self._marks(sentence)
        if len(sentence) <= MAX_PASSAGE:
            return Passage(sentence, marks)
        start = max(marks[0][0] - _LEAD, 0) if marks else 0
        start = sentence.find(" ", start, start + _LEAD) + 1 or start if start else 0
        shown = ("… " if start else "") + sentence[start : start + MAX_PASSAGE].rstrip() + " …"
        return Passage(shown, self._marks(shown))

    def _marks(self, text: str) -> tuple[tuple[int, int], ...]:
        return tuple(match.span() for match in _WORD.finditer(text) if self._term(match[0]))

    def _term(self, word: str) -> str:
        """The searched term that a word is a form of; empty for other words."""
        term = self._known.get(word)
        if term is None:
            found = self._terms.intersection(self._tokenizer.tokenize(word[:MAX_PASSAGE]))
            term = next(iter(found), "")
            if len(self._known) < _MAX_KNOWN:
                self._known[word] = term
        return term
