"""Measures a wording against what is known: a model's is taken only where it is better."""

import re
from collections import Counter
from dataclasses import dataclass

from synthorg_tui.core.text import has_hidden

_CODE = re.compile(r"`([^`]+)`")
_QUOTED = re.compile(r"“([^”]*)”")
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_SPECIAL = re.compile(r"--?[A-Za-z][\w-]*|\S*[/\\=@{}<>$]\S*|\b\S*\d\S*\b")
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|without|avoid|cannot|nor|unless|refrain|stop)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:discovery|condition|action|rationale|rewritten|answer|sure|note|line|output)\b"
    r"[^.]{0,20}:",
    re.IGNORECASE,
)
_SMALL = frozenset(
    """
    a an and are as at be because been before but by can do does for from had has have if in into
    is it its make must of on or out over should so than that the their them then there these this
    to up use used using was were what when where which while will with would you your run running
    command need needs needed after again always already also first
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
_MIN_WORDS = 6
_ROOM = 1.3
"""How much longer than the grounded text a wording may be, and at least this many characters."""
_ROOM_AT_LEAST = 40
_STEM = 5
_BREVITY = 400
"""A text of so many characters counts half as much for its length as an empty one."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges wordings of one field.

    ``grounded`` is the text that code made of the evidence; ``source`` is everything that may be
    said: all grounded fields and the evidence itself.
    """

    grounded: str
    source: str

    def better(self, wording: str) -> bool:
        """Whether ``wording`` measures higher than the grounded text."""
        return self.measure(wording) > self.measure(self.grounded)

    def measure(self, text: str) -> float:
        """How good a text is, 0 to 1; 0 for one that can't stand.

        The product of the share of its words that the source supports, of the facts of the
        grounded text that it keeps (commands six parts, words of the error four), of the share
        of its phrases that aren't repetition, and of a brevity that falls with its length.
        """
        if self._is_unfit(text):
            return 0.0
        brevity = _BREVITY / (_BREVITY + len(text))
        return self._support(text) * self._facts(text) * _distinct(text) * brevity

    def _is_unfit(self, text: str) -> bool:
        longest = max(len(self.grounded) * _ROOM, len(self.grounded) + _ROOM_AT_LEAST)
        bare = text.strip()
        if not bare or len(text) > longest or "\n" in text or has_hidden(text):
            return True
        prose = _WORD.findall(_CODE.sub(" ", text))
        if len(prose) < min(_MIN_WORDS, len(_WORD.findall(_CODE.sub(" ", self.grounded)))):
            return True
        if _LABEL.match(text) or bare[-1] not in ".!”\"'`" or not _starts_well(bare):
            return True
        return bare.count("`") % 2 == 1 or self._says_otherwise(text)

    def _says_otherwise(self, text: str) -> bool:
        """Whether it has names or commands of its own, or a negation that wasn't there."""
        special = (each.strip(".,;:`'\"()“”") for each in _SPECIAL.findall(text))
        unknown = [each for each in special if each not in self.source]
        negations = len(_NEGATION.findall(_QUOTED.sub(" ", text)))
        allowed = len(_NEGATION.findall(self.grounded))
        spans = set(_CODE.findall(text)) - set(_CODE.findall(self.grounded))
        return bool(unknown or spans) or negations > allowed

    def _support(self, text: str) -> float:
        words = _content(text)
        known = _content(self.source)
        return sum(word in known for word in words) / len(words) if words else 1.0

    def _facts(self, text: str) -> float:
        spans = set(_CODE.findall(self.grounded))
        kept = len(spans & set(_CODE.findall(text))) / len(spans) if spans else 1.0
        told = set().union(*(_content(quote) for quote in _QUOTED.findall(self.grounded)))
        said = len(told & _content(text)) / len(told) if told else 1.0
        return 0.6 * kept + 0.4 * said


def _content(text: str) -> set[str]:
    """The words that carry meaning, cut to their first letters so that forms compare equal."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word[:_STEM] for word in words if word not in _SMALL and len(word) > 2}


def _distinct(text: str) -> float:
    """The share of its runs of three words that occur for the first time."""
    words = text.casefold().split()
    runs = [tuple(words[place : place + 3]) for place in range(len(words) - 2)]
    if not runs:
        return 1.0
    repeated = sum(count - 1 for count in Counter(runs).values())
    return 1.0 - repeated / len(runs)


def _starts_well(text: str) -> bool:
    return text[0].isupper() or text[0] in '`“"'
