"""Secrets that a sentence names: "the password is ...", "Passwort: ...", "use ... as the token".

Words for secrets in many languages are data, ``secret_words.tsv``. What stands beside such a word
is a secret by its characters: directly after the word and "is" or ":" little is asked for,
elsewhere in the sentence it has to look random.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from synthorg_tui.core.redaction_rules import is_password, is_placeholder
from synthorg_tui.core.text import compiled

PASSWORD = "password"
NAMED_SECRET = "secret"
LANGUAGES = Path(__file__).with_name("secret_words.tsv")
"""A line a language: words for a password, words for other secrets, "is", "as"."""
_WITHOUT_SPACES = "\u0e00"
"""From here on scripts don't part their words, or write "is" at the end of one."""


_FIRST_LETTERS = 6


class SecretWord(NamedTuple):
    """A word that names a secret: the kind, and how "is" and "as" are said beside it."""

    kind: str
    is_said: str
    as_said: str
    is_both: bool
    is_english: bool


def _cells(line: str) -> list[list[str]]:
    return [[word.strip() for word in cell.split(",")] for cell in line.split("\t")[1:]]


def _any_of(words: set[str]) -> str:
    """Return a pattern of words, the longest first, each whole where its script has spaces."""
    edged = (
        rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])"
        if word[0].isalpha() and word < _WITHOUT_SPACES
        else re.escape(word)
        for word in sorted(words, key=lambda word: (-len(word), word))
    )
    return "|".join(edged)


@cache
def secret_words() -> dict[str, SecretWord]:
    """Return the words for secrets in all languages, by the word in small letters."""
    lines = LANGUAGES.read_text(encoding="utf-8").splitlines()
    languages = [_cells(line) for line in lines if not line.startswith("#")]
    said: dict[str, tuple[set[str], set[str], set[str]]] = {}
    english = {word for cell in languages[0][:2] for word in cell}
    for passwords, others, is_said, as_said in languages:
        for kind, words in ((PASSWORD, passwords), (NAMED_SECRET, others)):
            for word in words:
                kinds, verbs, roles = said.setdefault(word, (set(), set(), set()))
                kinds.add(kind)
                verbs.update(is_said)
                roles.update(as_said)
    return {
        word: SecretWord(
            PASSWORD if PASSWORD in kinds else NAMED_SECRET,
            _any_of(verbs),
            _any_of(roles),
            len(kinds) > 1,
            word in english,
        )
        for word, (kinds, verbs, roles) in said.items()
    }


@cache
def _label() -> str:
    """Return the pattern of all words, with what their languages append to them."""
    words = sorted(secret_words(), key=lambda word: -len(word))
    any_word = "|".join(map(re.escape, words))
    return rf"(?P<word>{any_word})(?:-?[a-z\u00df-\u024f\u0370-\u04ff]{{1,10}})?+"


@cache
def word_triggers(known: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Return texts of which one is in each word for a secret, with how far before a word begins.

    Those in ``known`` are taken first, then the first letters of words.
    """
    triggers: dict[str, set[int]] = {trigger: set() for trigger in known}
    for word in sorted(secret_words(), key=lambda word: (len(word), word)):
        trigger = next((each for each in triggers if each in word), word[:_FIRST_LETTERS])
        triggers.setdefault(trigger, set()).add(word.index(trigger))
    return {trigger: tuple(sorted(offsets)) for trigger, offsets in triggers.items()}


@cache
def _name_end() -> str:
    """Return the pattern of names that end with a word, the English ones left to their own."""
    words = [word for word, about in secret_words().items() if not about.is_english]
    plain = {re.sub(r"[\W_]", "", word) for word in words if len(word) > 4 or not word.isascii()}
    return (
        rf"(?P<word>{'|'.join(sorted(plain, key=lambda word: (-len(word), word)))})[^\W\d_]{{0,2}}$"
    )


def kind_of_name(name: str) -> str | None:
    """Return the kind of secret that a name in any language ends with: ``MOT_DE_PASSE``."""
    plain = re.sub(r"[\W_]", "", name).lower()
    match = compiled(_name_end()).search(plain)
    if match is None:
        return None
    known = secret_words().get(match["word"])
    return NAMED_SECRET if known is not None and known.is_both else _kind_of_plain()[match["word"]]


@cache
def _kind_of_plain() -> dict[str, str]:
    return {re.sub(r"[\W_]", "", word): about.kind for word, about in secret_words().items()}


_SPOKEN_WORD = (
    r"(?i)(?:base|sha|md|utf|aes|rsa|ascii|latin|argon|pbkdf|iso|http|oauth|python|version|step|line"
    r"|field|option|part|arg|var)[-_]?\d.*|v\d[\d.]*|\d{1,5}"
    r"|\d+-?(?:bit|char|byte|word|digit|day|hour|min|sec|th|%|x|k|m)\w*|.*_\d|[a-z_]\w*(?:\.[a-z_]\w*)+"
)
_NOT_RANDOM = (
    r"(?i)[a-f0-9-]+|.*[/\\].*|[^@]+@[\w-]+\.[\w.-]+|[\w.-]+=[^=]*|(?:ctrl|cmd|alt|shift|meta|super|option)\+.*"
    r"|(?:[a-z]+:)?(?:[a-z]+[-_.]?)+\d{0,4}|.*\.(?:py|js|ts|md|json|ya?ml|toml|txt|sh|go|rs|java)"
)
_RUN = r"[A-Za-z0-9]+"
_SWITCH = r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|[A-Z][a-z](?=[A-Z])"


def is_weak(value: str) -> bool:
    """In prose only what has more than letters is a password: "the password is wrong" has none."""
    if is_placeholder(value) or compiled(_SPOKEN_WORD).fullmatch(value):
        return False
    return value.isdigit() or compiled(r"[\d@#$%&!*?^~+=]").search(value, 1) is not None


def _is_strong(value: str) -> bool:
    """Whether a word has letters, digits and signs mixed as no name has."""
    if len(value) < 8 or not is_weak(value) or compiled(_NOT_RANDOM).fullmatch(value):
        return False
    if not compiled(r"\d").search(value) or not compiled(r"[^\W\d_]").search(value):
        return False
    return compiled(r"[@#$%&!*?^~+=]").search(value, 1) is not None or _switches(value) > 3


def _switches(value: str) -> int:
    return len(compiled(_SWITCH).findall(re.sub(r"[\W_]", "", value)))


def is_random(value: str, shortest: int, *, hexadecimal: bool = False) -> bool:
    """Return whether a word has at least so many letters and digits without an order in one run."""
    run = max(compiled(_RUN).findall(value), key=len, default="")
    if len(run) < shortest or is_placeholder(value):
        return False
    if compiled(r"[a-f0-9]+|[A-F0-9]+").fullmatch(run):
        return hexadecimal and len(run) >= 32
    return compiled(r"\d").search(run) is not None and _switches(run) > 3


_APART = (
    "\u0900-\u0dff\u0e00-\u0e7f\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\ue000-\uf8ff\uff00-\uffef"
)
_VALUE = rf"[^\s\"'`\u2018\u2019<>(){{}}\[\],;|“”„«»\\…{_APART}]+"
_STOP = (
    r"[{}\[\]<>]|[.!?。\uff01\uff1f\uff1b|]\s|[。\uff01\uff1f\uff1b|]|;\s"
    r"|(?<![:=\uff1a])[ \t]*(?:\n|\\+[nr])"
    r"|(?:\n|\\+[nr])[^\S\n]*(?:\n|\\+[nr])"
)
_SIGN = r"[:\uff1a\uff1d→—–]|^\s*=(?!=)|[-=]>|\s-\s"
_OPENING = r"[^\S\n]*[\"'`*„“”«»\u2018\u2019「『(]*[^\S\n]*"
_QUOTED_BY = "\"'`“„"
_CLAUSE = r"\s*[:=\uff1a]?\s*(?:\\+[nr])?[^\"\\=|:]*"
_REACH = 90
_LONGEST = 256
_WORDS_AHEAD = 8


class Spoken(NamedTuple):
    """A secret in a sentence: its kind, and where it stands."""

    kind: str
    first: int
    last: int


def spoken_at(
    text: str, lowered: str, place: int, trigger_offsets: tuple[int, ...]
) -> Spoken | None:
    """Return the secret named by the word around ``place``, if there is one.

    Args:
        text: The whole text.
        lowered: The same in small letters, of equal length.
        place: Where a text of ``word_triggers`` stands.
        trigger_offsets: How far before it a word may begin.
    """
    if not trigger_offsets or not compiled(r"\d").search(text, max(0, place - 60), place + 130):
        return None
    for offset in trigger_offsets:
        label = compiled(_label()).match(lowered, place - offset) if offset <= place else None
        if label is not None:
            word = secret_words()[label["word"]]
            return _after(text, lowered, label, word) or _before(text, lowered, label, word)
    return None


def _after(text: str, lowered: str, label: re.Match[str], word: SecretWord) -> Spoken | None:
    end = label.end()
    is_short = label["word"].isascii() and len(label["word"]) < 5
    if is_short and not compiled(r"(?<![a-z])|(?<=\\[nrt])").match(lowered, label.start()):
        return None  # part of another word
    if compiled(r"[\w\-.(\[/$]").match(text, end) and text[end] < _APART[0]:
        return None
    stop = compiled(_STOP).search(lowered, end, end + _REACH)
    limit = stop.start() if stop else end + _REACH
    if not compiled(r"\d").search(text, end, limit + _LONGEST):
        return None
    shortest = 4 if word.kind == PASSWORD else 12
    for first, last in _values(text, end, limit):
        if last - first >= shortest and _fits(
            word, label["word"], lowered[end:first], text[first:last]
        ):
            return Spoken(word.kind, first, last)
    return None


def _values(text: str, start: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield where the next words begin and end, without the punctuation behind them."""
    for number, match in enumerate(compiled(_VALUE).finditer(text, start, limit + _LONGEST)):
        if number >= _WORDS_AHEAD or match.start() >= limit:
            return
        yield match.start(), match.start() + len(match[0].rstrip(".,:!?*"))


def _fits(word: SecretWord, label: str, gap: str, value: str) -> bool:
    """Whether a word is a secret: little is asked for beside ``label``, more within its clause."""
    is_quoted = gap != "" and gap[-1] in _QUOTED_BY
    if not compiled(r"\d").search(value) and not (is_quoted and word.kind == PASSWORD):
        return False
    beside = compiled(rf"(?:{_SIGN}|{word.is_said}){_OPENING}$").search(gap) is not None
    if not beside and not compiled(_CLAUSE).fullmatch(gap.rstrip(" " + _QUOTED_BY)):
        return False
    if word.kind != PASSWORD:
        return is_random(value, 12 if beside else 20, hexadecimal=beside and label != "key")
    if beside and (is_quoted or is_weak(value)) and is_password(value):
        return value[0] not in "$-"
    return _is_strong(value)


def _before(text: str, lowered: str, label: re.Match[str], word: SecretWord) -> Spoken | None:
    """The secret in "use ... as the password"."""
    start = max(0, label.start() - 40)
    if not compiled(r"\d").search(text, max(0, start - 20), label.start()):
        return None
    role = compiled(
        rf"[\s\"'`”»“\u2019」』]*(?:{word.as_said})\s?(?:[^\W\d_]{{1,12}}['\u2019]?\s?){{0,2}}$"
    ).search(lowered[start : label.start()])
    if role is None:
        return None
    last = start + role.start()
    begin = max(0, last - _LONGEST)
    match = compiled(rf"{_VALUE}$").search(text[begin:last])
    if match is None or not (
        _is_strong(match[0]) if word.kind == PASSWORD else is_random(match[0], 20)
    ):
        return None
    return Spoken(word.kind, begin + match.start(), begin + match.end())
