"""Checks that a text states nothing beyond the evidence it was written from.

A paraphrase is welcome, an invention isn't. So no words are counted: every command, path, flag,
number, identifier and quotation of the text has to stand in the sources, and what is done or not
done has to stay so. What is refused is told in words, for the person who decides.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from synthorg_tui.learning.failure_words import REASONS
from synthorg_tui.learning.telling_words import (
    EDGES,
    FLAG,
    PLAIN_VERB,
    SYMBOL,
    WORD,
    is_weighty,
    special_words,
    stem_of,
    telling_stems,
    whole_word,
    words_of,
)

PLACEHOLDERS: Final = frozenset(
    """
    branch path file message text url email script package home remote tag commit directory folder
    container image user host port project name version
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
"""What may stand in angle brackets although the sources don't have it."""

_NEUTRAL: Final = frozenset(
    """
    use using keep keeping check checking see look verify verifying make making ensure confirm do
    doing work working
    """.split()  # noqa: SIM905
)
"""Verbs that ask for nothing of their own."""
_CHANGES: Final = (
    r"(add|chang|clear|configur|creat|delet|edit|ensur|fix|generat|ignor|overwrit|remov|replac"
    r"|resolv|restor|set|updat|writ|wrot)(?:e|es|s|ed|d|ted|ten)?\b"
)
_DONE_BY = (
    re.compile(rf"`([^`]+)`(?: then| also| already| now| (?:needs?|has|had) to| must)? {_CHANGES}"),
    re.compile(rf"\b{_CHANGES} by (?:running |the )*`([^`]+)`"),
)
"""What a text says that a command did, before it and after it."""
_SAYS_MUCH: Final = 7
"""From so many words that mean something on, half of them have to be about the evidence."""
_REACH: Final = 3
"""How many words that mean something a negation reaches."""


@dataclass(frozen=True)
class FactCheck:
    """Judges texts by the sources that they were written from.

    ``sources`` is all that a text may state: the evidence, and what code wrote from it.
    ``failed`` is the call that failed, ``stated`` what a program said of it, as far as that is a
    source.
    """

    sources: tuple[str, ...]
    failed: str = ""
    stated: str = ""

    def refusal(self, text: str) -> str:
        """Return why the text is refused, as goes on after its name; empty when it isn't."""
        if unknown := self.unknown(text):
            return f"has {unknown}, which the evidence doesn't"
        return (
            self._polarity(text) or self._did(text) or self._asked(text) or self._from_nowhere(text)
        )

    def unknown(self, text: str) -> str:
        """Return the first thing in the text that the sources don't have, quoted; else empty."""
        for span in REASONS["span"].findall(text):
            if not self._has_command(span):
                return f"`{span}`"
        prose = PLAIN_VERB.sub(" ", REASONS["span"].sub(" `` ", text))
        for groups in REASONS["quote"].findall(prose):
            said = next(filter(None, groups), "")
            if said.strip() and _flat(said).strip(EDGES) not in self._flat:
                return f"“{said}”"
        return next((f"'{word}'" for word in special_words(prose) if not self._has(word)), "")

    @cached_property
    def _exact(self) -> str:
        return REASONS["spaces"].sub(" ", "\n".join(self.sources))

    @cached_property
    def _flat(self) -> str:
        return _flat("\n".join(self.sources))

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem_of(word) for word in re.findall(r"[a-z]+|\d+", self._flat))

    def _has_form_of(self, word: str) -> bool:
        return stem_of(word) in self._stems if word.isalpha() else self._has(word)

    def _has(self, word: str) -> bool:
        """Whether a word stands in the sources by itself, or only its form there differs."""
        if placeholder := REASONS["placeholder"].fullmatch(word):
            return placeholder[1] in PLACEHOLDERS or word in self._exact
        if is_weighty(word.casefold()):
            return stem_of(word.casefold()) in self._stems
        exact = FLAG.match(word) is not None
        text, wanted = (self._exact, word) if exact else (self._flat, word.casefold())
        after = r"(?![\w-]|\.\d)" if wanted[-1].isalnum() else ""
        before = r"(?<![\w-])(?<!\d\.)" if wanted[0].isalnum() or exact else ""
        return re.search(f"{before}{re.escape(wanted)}{after}", text) is not None

    def _has_command(self, span: str) -> bool:
        """Whether a source has these words one after the other; a placeholder is one of them."""
        words = REASONS["spaces"].sub(" ", span.strip().strip("…").removesuffix("...")).strip()
        if not words:
            return False
        parts = REASONS["placeholder"].split(words)
        if any(name not in PLACEHOLDERS and f"<{name}>" not in self._exact for name in parts[1::2]):
            return False
        if not "".join(parts[0::2]).strip():
            return True
        pattern = r"(?!-)\S+".join(re.escape(part) for part in parts[0::2])
        before = r"(?<![\w-])" if words[0].isalnum() or words[0] == "-" else ""
        after = r"(?![\w-]|\.\w)" if words[-1].isalnum() else ""
        return re.search(f"{before}{pattern}{after}", self._exact, re.IGNORECASE) is not None

    def _polarity(self, text: str) -> str:
        """Say which negation was added or lost; empty when neither."""
        text = REASONS["went_well"].sub(" ", text)
        theirs = _Polarity.of(self.sources)
        was = _Polarity.of([self.stated]) if self.stated else theirs
        for found in REASONS["state"].findall(text):
            verb = stem_of("".join(found).casefold())
            if verb in was.affirmed and not was.denies((verb,)):
                return f"negates '{whole_word(verb, text)}', which the evidence doesn't"
        text = REASONS["state"].sub(" ", text)
        for scope in _Polarity.of([text]).denied:
            if scope and scope[0] in theirs.affirmed and not theirs.denies(scope):
                return f"negates '{whole_word(scope[0], text)}', which the evidence doesn't"
        return self._lost(text, theirs, was)

    def _lost(self, text: str, theirs: "_Polarity", was: "_Polarity") -> str:
        done = _Polarity.of([REASONS["subordinate"].sub(" ", text)])
        for scope in theirs.forbidden:
            if done.does(scope) and not was.does(scope):
                lost = whole_word(scope[0], " ".join(self.sources))
                return f"says '{lost}', which the evidence negates"
        return ""

    def _from_nowhere(self, text: str) -> str:
        """Say when a text speaks mostly of what the sources don't; in any words it may."""
        said = set(telling_stems(words_of(text)))
        known = len(said & self._stems)
        is_far = len(said) >= _SAYS_MUCH and 2 * known < len(said)
        return "speaks mostly of what the evidence doesn't" if is_far else ""

    def _asked(self, text: str) -> str:
        """Say what a text has somebody ask for, or do, that the sources don't speak of."""
        for groups in REASONS["asked"].findall(text.casefold()):
            verb = "".join(groups)
            if verb not in _NEUTRAL and not self._has_form_of(verb):
                return f"has '{verb}', which the evidence doesn't"
        return ""

    def _did(self, text: str) -> str:
        """Say what a text has a command change that neither its name nor a source says."""
        active, passive = _DONE_BY
        told = [*active.findall(text), *((span, verb) for verb, span in passive.findall(text))]
        asked = ((span, verb.casefold()) for verb, span in REASONS["done_with"].findall(text))
        for span, verb in (*told, *asked):
            said = re.search(rf"`{re.escape(span)}` {verb}", self._exact)
            if verb not in span.casefold() and said is None:
                return f"says what `{span}` did, which the evidence doesn't"
        return self._needed(text)

    def _needed(self, text: str) -> str:
        """Say when a text has something need what only the one that failed can have needed."""
        lacking = _flat(f"{self.failed}\n{self.stated}")
        for span, word in REASONS["needs"].findall(text if self.failed else ""):
            is_named = bool(span) or SYMBOL.search(word) is not None
            if is_named and _flat(span or word).strip(EDGES) not in lacking:
                return f"says what '{span or word}' needs, which the evidence doesn't"
        return ""


@dataclass(frozen=True)
class _Polarity:
    """What a text says is so and what it says isn't, by the stems of the words."""

    affirmed: frozenset[str]
    denied: tuple[tuple[str, ...], ...]
    forbidden: tuple[tuple[str, ...], ...]
    order: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "_Polarity":
        affirmed: set[str] = set()
        denied: list[tuple[str, ...]] = []
        forbidden: list[tuple[str, ...]] = []
        order: list[tuple[str, ...]] = []
        for clause in (
            part
            for text in texts
            for part in REASONS["clause"].split(REASONS["span"].sub(" ", text))
        ):
            words = [word.lower() for word in WORD.findall(clause)]
            at = [at for at, word in enumerate(words) if REASONS["negator"].fullmatch(word)]
            said = telling_stems(words[: at[0]] if at else words)
            affirmed.update(said)
            order.append(said)
            for place in at:
                scope = telling_stems(words[place + 1 :])[:_REACH]
                denied.append(scope)
                if REASONS["negated_verb"].fullmatch(words[place]) and scope:
                    forbidden.append(scope)
        return cls(frozenset(affirmed), tuple(denied), tuple(forbidden), tuple(order))

    def denies(self, scope: tuple[str, ...]) -> bool:
        """Whether it says of a verb and what follows that it isn't done."""
        verb, things = scope[0], set(scope[1:])
        return any(
            verb in denied and (not things or bool(things & set(denied))) for denied in self.denied
        )

    def does(self, scope: tuple[str, ...]) -> bool:
        """Whether it says of a verb and what follows that it is done."""
        verb, things = scope[0], set(scope[1:])
        if not things:
            return verb in self.affirmed
        return any(
            verb in said and things & set(said[said.index(verb) + 1 :]) for said in self.order
        )


def _flat(text: str) -> str:
    return REASONS["spaces"].sub(" ", text).casefold()
