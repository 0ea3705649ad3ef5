"""When two texts say the same: by their words, in their order, and by what a failure was.

Vectors alone take a text for its opposite. So what may differ is named, and all else must be
equal: numbers, paths, options, names, words that turn a meaning, and the order of words.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from synthorg_tui.executions.output_lines import signature

MIN_COSINE: Final = 0.95
"""Cosine similarity of two texts from which on one may say a word or two more."""
MAX_MORE: Final = 0.15
"""Share of the words of the longer text that the shorter one may lack."""

_TOKEN = re.compile(
    r"[-.]*\w+(?:[^\s\w]+\w+)*"  # words, numbers, paths, options, `don't`, `a.b`
    # signs that may mean something
    r"|[^\s\w.,;:'\"`()\[\]\u201c\u201d\u2018\u2019\u2026\u2013\u2014-]"
)
_PLAIN = re.compile(r"[a-z]+", re.ASCII)
_TITLE_CASE = re.compile(r"[A-Z][a-z]+|[AI]", re.ASCII)
_DIGITS = re.compile(r"\d+")
_HARMLESS_WORDS = """
a an the this that these those it its is are am be been being
i me my we us our you your they them their there here please just of and
"""
_TURNING_WORDS = """
not no never none nobody nothing nowhere neither nor cannot without unless except but only always
hardly rarely seldom barely scarcely sometimes often usually mostly avoid refuse forbid forbidden
prohibit prohibited deny denied disallow stop instead rather until fail fails failed wrong false
true yes off on disable disabled enable enabled
"""
_RISKY_WORDS = """
or if when while where which who whose than then before after since during from to into in at by
for with about over under up down through between against out via per as so because may might must
shall should can could will would need needs was were had did does do have has got old new first
last next previous former latest current main default test staging production prod dev development
local remote public private internal external single double half twice once optional optionally
required all any some every each both few many more most less least other another own same left
right top bottom front back one two three four five six seven eight nine ten also too even still
yet already soon later now today tomorrow yesterday
"""
_HARMLESS: Final = frozenset(_HARMLESS_WORDS.split())
POLARITY: Final = frozenset(_TURNING_WORDS.split())
"""Words that turn the meaning of what stands beside them."""
_RISKY: Final = POLARITY | frozenset(_RISKY_WORDS.split())
"""Words that one of two texts that say the same can't have alone."""
_RISKY_START = ("un", "non", "dis", "anti", "mis", "in", "im", "ir", "pre", "post", "re", "de")

_CODE = re.compile(r" \(exit code -?\d+\): ")
_OWN_NAMES = re.compile(r"^In (\S+?)(?: on branch (\S+?))?\.?$")
_REPEATED = re.compile(r"<>(?: <>)+")
_TITLE_WORDS = 3
"""Words of the error in the title: where a tool fails in two lines, it names the other one."""
_FAILED, _WORKED = "Failed: ", "Then worked: "


def normal_space(text: str) -> str:
    """Return the text with every run of white space as one blank."""
    return " ".join(text.split())


def numbers_of(text: str) -> tuple[str, ...]:
    """Return the numbers of a text, as digits, in their order."""
    return tuple(_DIGITS.findall(text))


def words_of(text: str) -> tuple[str, ...]:
    """Return the words by which a text is compared.

    Articles and the like are left out, case matters only where a word isn't an ordinary one, and
    one and many of a thing are the same word.
    """
    return tuple(filter(None, map(_word, _TOKEN.findall(text.replace("**", " ")))))


def says_all_of(longer: Sequence[str], shorter: Sequence[str], written: str) -> bool:
    """Return whether the longer text has all words of the shorter, in order, and harmless others.

    The others are ordinary words, at most ``MAX_MORE`` of its own, and none that the longer text,
    as ``written``, has with a capital only: that may be a name.
    """
    if len(longer) - len(shorter) > MAX_MORE * len(longer):
        return False
    place = 0
    for word in longer:
        if place < len(shorter) and word == shorter[place]:
            place += 1
        elif (
            not _PLAIN.fullmatch(word)
            or word in _RISKY
            or word.startswith(_RISKY_START)
            or not re.search(rf"\b{word}", written)
        ):
            return False
    return place == len(shorter)


@lru_cache(maxsize=512)
def failure_of(content: str) -> str | None:
    """Return what a recovery is about: command, error and remedy; ``None`` for another text.

    What differs each time is left out: numbers, paths, and the names of project and branch. Two
    recoveries of one error by different means are not the same.
    """
    if _WORKED not in content:
        return None
    lines = content.splitlines()
    failed = [line[len(_FAILED) :] for line in lines if line.startswith(_FAILED)]
    worked = [line[len(_WORKED) :] for line in lines if line.startswith(_WORKED)]
    if not failed or not worked:
        return None
    own = next(filter(None, map(_OWN_NAMES.match, reversed(lines))), None)
    names = tuple(filter(None, own.groups())) if own else ()
    title = _signature(lines[0].partition(": ")[2], names).split()[:_TITLE_WORDS]
    parts = [_failure(line, names) for line in failed]
    if any(len(error.split()) < 2 for _, error in parts):
        return None
    between = sorted(line for line in lines if line.startswith("In between "))
    known = dict.fromkeys(f"{command}\n{error}" for command, error in parts)
    return "\n".join([*title, *known, *between, _signature(worked[-1], names)])


def _failure(line: str, names: Sequence[str]) -> tuple[str, str]:
    """Signatures of the command and of the first sentence of its error."""
    coded = _CODE.split(line, maxsplit=1)
    command, error = coded if len(coded) == 2 else line.partition(": ")[::2]
    return _signature(command, names), _signature(error.partition(". ")[0], names)


def _signature(text: str, names: Sequence[str]) -> str:
    return _REPEATED.sub("<>", signature(text, names))


def turns(word: str) -> bool:
    """Return whether a word turns the meaning of what stands beside it."""
    word = word.lower()
    return word in POLARITY or word.replace("\u2019", "'").endswith("n't")


@lru_cache(maxsize=16_384)
def _word(token: str) -> str:
    """The word that a token is compared as; empty for one that never matters."""
    word = token.lower() if _TITLE_CASE.fullmatch(token) else token
    return "" if word in _HARMLESS else _root(word)


def _root(word: str) -> str:
    """The word without what only tells one from many, or ``commit`` from ``committing``."""
    if len(word) < 5 or not _PLAIN.fullmatch(word) or word in _RISKY:
        return word
    if word.endswith("ing") and len(word) > 6:
        stem = word[:-3]
        return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
