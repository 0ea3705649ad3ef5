"""Checks that a text states nothing beyond the evidence it was written from.

A paraphrase is welcome, an invention isn't. So no words are counted: every command, path, flag,
number, identifier and quotation of the text has to stand in the sources, and what is done or not
done has to stay so. What is refused is told in words, for the person who decides.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from synthorg_tui.learning.telling_words import (
    EDGES,
    FLAG,
    PLAIN_VERB,
    SMALL_WORDS,
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

_SPAN = re.compile(r"`([^`]+)`")
_QUOTE = re.compile(
    r"“([^”]*)”|\"([^\"]*)\"|(?<!\w)'([^']+)'(?!\w)|(?<!\w)\u2018([^\u2019]+)\u2019(?!\w)"
)
_PLACEHOLDER = re.compile(r"<([a-z][a-z-]*)>")
_SPACES = re.compile(r"\s+")
_NEGATOR = re.compile(
    r"(?:not|never|no|none|neither|nor|without|cannot|avoid|avoids|lacks?|\w+n['\u2019]t)"
)
_WENT_WELL = re.compile(
    r"\b(?:without|no|not) (?:the |an |any |that |this |more )?(?:\w+ ){0,2}?"
    r"(?:errors?|failures?|warnings?|longer|fail)\b",
    re.IGNORECASE,
)
"""Negations that only say that what failed doesn't any more."""
_STATE = re.compile(
    r"\b(?:(?:was|were|is|are|has|have|had) not|(?:was|were|is|are|has|have|had)n['\u2019]t)"
    r"(?: yet)?(?: been)?(?: yet)? ([a-z]+)|\bcan(?:not|['\u2019]t) be ([a-z]+)",
    re.IGNORECASE,
)
"""What wasn't so before it was put right; only what was said of that time can speak against it."""
_NEGATED_VERB = re.compile(r"(?:not|never|cannot|avoid|avoids|\w+n['\u2019]t)")
_TURNED = re.compile(
    r"\b(?:instead of|rather than|not|never|without|avoid|remove|removing|leave out|leaving out"
    r"|drop|dropping|omit|omitting|skip|skipping|stop|exclude|excluding|do not|don['\u2019]t)\b",
    re.IGNORECASE,
)
_SITUATION = re.compile(
    r"\b(?:when|if|before|after|because|since|once|unless|as|for|fails?|failed|failing|to fix"
    r"|to avoid)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"(?:^[a-z]+ing|\b(?:before|after|when|if|unless|until|instead of|rather than))\b[^,;.]*",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:,!?]|\.(?:\s|$)|\s[—–-]\s|\b(?:but|then|and|so)\b")
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
_DONE_WITH = re.compile(
    rf"\b{_CHANGES} (?:`[^`]*`|(?!\. )[^`;:,])*?\bwith `([^`]+)`", re.IGNORECASE
)
"""What a text has somebody do with a command."""
_NEEDS = re.compile(
    r"(?:`([^`]+)`|(\S+)) (?:needs?|needed|requires?|required|expects?|expected)\b(?! to be\b)"
)
"""What a text says that something needs; of commands that is the one that failed."""
_ASKED = re.compile(r"^([a-z]{2,}ing)\b|\b(?:asked|wants?|wanted|told)(?: \w+){0,2}? to ([a-z]+)")
_SAYS_MUCH: Final = 7
"""From so many words that mean something on, half of them have to be about the evidence."""
_TELLS_NOTHING: Final = frozenset("error again here instea name exampl file path comma".split())  # noqa: SIM905
_REACH: Final = 3
"""How many words that mean something a negation reaches."""
_ALLOWED_NAME_WORDS: Final = frozenset(
    """
    no not missing without failed failing failure fails error errors before after first again wrong
    unknown invalid needs need required requires setup stale absent broken blocked rejected rule
    habit check checks command commands file files path paths order instead outside inside in on
    for with from to of and unset undefined empty new old run running use using fix
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class FactCheck:
    """Judges texts by the sources that they were written from.

    ``sources`` is all that a text may state: the evidence, and what code wrote from it.
    ``failed`` and ``worked`` are the call that failed and the one that worked, where there are
    such: an instruction mustn't recommend what failed. ``stated`` is what a program or a person
    said of it, as far as that is a source.
    """

    sources: tuple[str, ...]
    failed: str = ""
    worked: str = ""
    stated: str = ""

    def refusal(self, text: str, *, instructs: bool = False, remedy: str = "") -> str:
        """Return why the text is refused, as goes on after its name; empty when it isn't.

        ``instructs`` is for a text that says what to do: it may forbid only what sources forbid.
        Of one that is to say what helped, ``remedy`` is that: they must have something in common.
        """
        if unknown := self.unknown(text):
            return f"has {unknown}, which the evidence doesn't"
        if turned := self._polarity(text, instructs=instructs):
            return turned
        if remedy and not self._helps(text, remedy):
            return "doesn't say what helped"
        if remedy and _Polarity.of([remedy]).forbidden and not _TURNED.search(text):
            return "leaves out what is not to be done"
        if instructs:
            return self._advice(text) or self._unlike((), text)
        return self._did(text) or self._asked(text) or self._from_nowhere(text)

    def name_refusal(self, name: str) -> str:
        """Return why a name of words joined by hyphens is refused; empty when it isn't."""
        for word in name.split("-"):
            if word not in _ALLOWED_NAME_WORDS and not self._has_form_of(word):
                return f"has '{word}', which the evidence doesn't"
        return ""

    def unknown(self, text: str) -> str:
        """Return the first thing in the text that the sources don't have, quoted; else empty."""
        for span in _SPAN.findall(text):
            if not self._has_command(span):
                return f"`{span}`"
        prose = PLAIN_VERB.sub(" ", _SPAN.sub(" `` ", text))
        for groups in _QUOTE.findall(prose):
            said = next(filter(None, groups), "")
            if said.strip() and _flat(said).strip(EDGES) not in self._flat:
                return f"“{said}”"
        return next((f"'{word}'" for word in special_words(prose) if not self._has(word)), "")

    @cached_property
    def _exact(self) -> str:
        return _SPACES.sub(" ", "\n".join(self.sources))

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
        if placeholder := _PLACEHOLDER.fullmatch(word):
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
        words = _SPACES.sub(" ", span.strip().strip("…").removesuffix("...")).strip()
        if not words:
            return False
        parts = _PLACEHOLDER.split(words)
        if any(name not in PLACEHOLDERS and f"<{name}>" not in self._exact for name in parts[1::2]):
            return False
        if not "".join(parts[0::2]).strip():
            return True
        pattern = r"(?!-)\S+".join(re.escape(part) for part in parts[0::2])
        before = r"(?<![\w-])" if words[0].isalnum() or words[0] == "-" else ""
        after = r"(?![\w-]|\.\w)" if words[-1].isalnum() else ""
        return re.search(f"{before}{pattern}{after}", self._exact, re.IGNORECASE) is not None

    def _polarity(self, text: str, *, instructs: bool) -> str:
        """Say which negation was added or lost; empty when neither."""
        text = _WENT_WELL.sub(" ", text)
        theirs = _Polarity.of(self.sources)
        was = _Polarity.of([self.stated]) if self.stated else theirs
        if not instructs:
            for found in _STATE.findall(text):
                verb = stem_of("".join(found).casefold())
                if verb in was.affirmed and not was.denies((verb,)):
                    return f"negates '{whole_word(verb, text)}', which the evidence doesn't"
            text = _STATE.sub(" ", text)
        return self._added(text, theirs, instructs=instructs) or self._lost(text, theirs, was)

    def _added(self, text: str, theirs: "_Polarity", *, instructs: bool) -> str:
        for scope in _Polarity.of([text]).denied:
            if scope and scope[0] in theirs.affirmed and not theirs.denies(scope):
                return f"negates '{whole_word(scope[0], text)}', which the evidence doesn't"
            if instructs and not theirs.denied:
                return "has a negation, which the evidence doesn't"
        return ""

    def _lost(self, text: str, theirs: "_Polarity", was: "_Polarity") -> str:
        done = _Polarity.of([_SUBORDINATE.sub(" ", text)])
        for scope in theirs.forbidden:
            if done.does(scope) and not was.does(scope):
                lost = whole_word(scope[0], " ".join(self.sources))
                return f"says '{lost}', which the evidence negates"
        return ""

    def _helps(self, text: str, remedy: str) -> bool:
        """Whether a text has a word of the remedy that isn't one of what failed."""
        failed = set(telling_stems(words_of(self.failed)))
        telling = set(telling_stems(words_of(remedy))) - failed - _TELLS_NOTHING
        return not telling or bool(telling & set(telling_stems(words_of(text))))

    def _from_nowhere(self, text: str) -> str:
        """Say when a text speaks mostly of what the sources don't; in any words it may."""
        said = set(telling_stems(words_of(text)))
        known = len(said & self._stems)
        is_far = len(said) >= _SAYS_MUCH and 2 * known < len(said)
        return "speaks mostly of what the evidence doesn't" if is_far else ""

    def _asked(self, text: str) -> str:
        """Say what a text has somebody ask for, or do, that the sources don't speak of."""
        for groups in _ASKED.findall(text.casefold()):
            verb = "".join(groups)
            if verb not in _NEUTRAL and not self._has_form_of(verb):
                return f"has '{verb}', which the evidence doesn't"
        return ""

    def _did(self, text: str) -> str:
        """Say what a text has a command change that neither its name nor a source says."""
        active, passive = _DONE_BY
        told = [*active.findall(text), *((span, verb) for verb, span in passive.findall(text))]
        return self._unlike(told, text) or self._needed(text)

    def _unlike(self, told: Sequence[tuple[str, str]], text: str) -> str:
        """Say which command is told to change what neither its name nor a source says."""
        asked = ((span, verb.casefold()) for verb, span in _DONE_WITH.findall(text))
        for span, verb in (*told, *asked):
            said = re.search(rf"`{re.escape(span)}` {verb}", self._exact)
            if verb not in span.casefold() and said is None:
                return f"says what `{span}` did, which the evidence doesn't"
        return ""

    def _needed(self, text: str) -> str:
        """Say when a text has something need what only the one that failed can have needed."""
        lacking = _flat(f"{self.failed}\n{self.stated}")
        for span, word in _NEEDS.findall(text if self.failed else ""):
            is_named = bool(span) or SYMBOL.search(word) is not None
            if is_named and _flat(span or word).strip(EDGES) not in lacking:
                return f"says what '{span or word}' needs, which the evidence doesn't"
        return ""

    def _advice(self, text: str) -> str:
        """Say what a text asks for that failed or that nobody did, or advises against for nothing.

        An instruction begins with its verb.
        """
        failed, worked = set(self.failed.split()), set(self.worked.split())
        bad = {word for word in failed - worked if _tells(word)}
        good = {word for word in worked - failed if _tells(word)}
        for clause, turned in _clauses(text):
            words = set(clause.replace("`", " ").split())
            if turned and words & good:
                return f"advises against '{min(words & good)}', which worked"
            if not turned and words & bad:
                return f"recommends '{min(words & bad)}', which failed"
        verb = next((word.casefold() for word in WORD.findall(text)), "")
        if not verb or verb in _NEUTRAL or _TURNED.match(text) or self._has_form_of(verb):
            return ""
        return f"asks to '{verb}', which the evidence doesn't"


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
        for clause in (part for text in texts for part in _CLAUSE.split(_SPAN.sub(" ", text))):
            words = [word.lower() for word in WORD.findall(clause)]
            at = [at for at, word in enumerate(words) if _NEGATOR.fullmatch(word)]
            said = telling_stems(words[: at[0]] if at else words)
            affirmed.update(said)
            order.append(said)
            for place in at:
                scope = telling_stems(words[place + 1 :])[:_REACH]
                denied.append(scope)
                if _NEGATED_VERB.fullmatch(words[place]) and scope:
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


def _clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text that advise, each with whether it advises against what it names."""
    for part in re.split(r"[;,]|\.(?:\s|$)|\b(?:but|then)\b", text):
        advice = _SITUATION.split(part, maxsplit=1)[0]
        turn = _TURNED.search(advice)
        if turn is None:
            yield advice, False
        else:
            yield advice[: turn.start()], False
            yield advice[turn.end() :], True


def _tells(word: str) -> bool:
    """Whether a word of a command is one by which two calls can be told apart."""
    return (
        len(word) > 1
        and word.casefold() not in SMALL_WORDS
        and not re.fullmatch(r"\d?>.*|&&|\|\|?|;", word)
    )


def _flat(text: str) -> str:
    return _SPACES.sub(" ", text).casefold()
