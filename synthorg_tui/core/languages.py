"""Languages: which one a text is in, and what its words about work are in English.

Readers of what people and programs say look for English words. Every other language has a book
(``books/<code>.toml``): English phrases, each with those of the language that mean it. One reader
so serves all of them, and knows on which side of a word a thing stands where the book says so.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_BOOKS: Final = Path(__file__).with_name("books")
_READ: Final = 400
"""Words of a text that tell its language."""
_HEAD: Final = 500
_LATIN: Final = ("en", "tr", "de", "fr", "es", "pt", "it", "nl", "pl")
_SCRIPTS: Final = (
    (re.compile("[\u3040-\u30ff]"), "ja"),
    (re.compile("[\uac00-\ud7af]"), "ko"),
    (re.compile("[\u3400-\u9fff]"), "zh"),
    (re.compile("[\u0400-\u04ff]"), "ru"),
)
"""Letters that tell a language, the most telling first."""
_CYRILLIC: Final = ("ru", "uk")
_UNSPACED: Final = frozenset({"ja", "ko", "zh"})
_EDGES: Final = {
    "": (r"(?<![\w./@=`-])", r"(?:(?<=[\s'])|(?![\w/@=`(]|\.\w))"),
    "ko": (r"(?<!\w)", ""),
    "ja": ("", ""),
    "zh": ("", ""),
}
"""Where a phrase begins and ends: never in a name; in some scripts words aren't parted."""
_MARKS: Final = "\u2019\u2018\u3002\u3001\uff0c\uff1a\uff1b\uff01\uff1f"
_PLAIN: Final = str.maketrans(
    dict(zip(_MARKS, ["'", "'", *(f"{mark} " for mark in ".,,:;!?")], strict=True))
)
_LOOSE: Final = re.compile(r"\s+(?=[,.;:!?](?:\s|$))")


class Language(NamedTuple):
    """What is known of a language: its stemmer, whether it builds compounds, function words."""

    stemmer: str
    is_compounding: bool
    words: frozenset[str]


class _Book(NamedTuple):
    """A language's phrases as one pattern, by number of its group the English and its gaps."""

    pattern: re.Pattern[str]
    english: dict[int, tuple[str, int]]
    words: frozenset[str]

    def put(self, found: re.Match[str]) -> str:
        at = found.lastindex or 0
        english, gaps = self.english[at]
        return f" {english.format(*found.groups()[at : at + gaps])} "


@lru_cache(maxsize=1)
def languages() -> dict[str, Language]:
    """Return the languages by their codes, English first; a data file has their words."""
    text = (_BOOKS / "languages.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {
        code: Language(stemmer, traits == "compounds", frozenset(words.split()))
        for code, stemmer, traits, words in rows
    }


@lru_cache(maxsize=1)
def _codes() -> dict[str, list[str]]:
    codes: dict[str, list[str]] = {}
    for code, language in languages().items():
        for word in language.words:
            codes.setdefault(word, []).append(code)
    return codes


def _counts(words: Sequence[str]) -> Counter[str]:
    codes = _codes()
    return Counter(code for word in words[:_READ] for code in codes.get(word, ()))


def most_spoken(words: Sequence[str]) -> tuple[str, int]:
    """Return the language that most function words are of, and their number; "" without any."""
    known = _counts(words)
    best, count = known.most_common(1)[0] if known else ("", 0)
    return (best, count) if count > known["en"] else ("en" if known else "", known["en"])


@lru_cache(maxsize=4_096)
def in_english(text: str) -> str:
    """Return a text with its language's phrases about work in English, others as they are.

    Function words are left out. English, and a language without a book, stay as they are.
    """
    plain = unicodedata.normalize("NFC", text).translate(_PLAIN)
    code = _language(plain)
    if code in {"", "en"}:
        return text
    book = _book(code)
    return _LOOSE.sub("", " ".join(book.pattern.sub(book.put, plain).split()))


def error_in_english(line: str) -> str:
    """Return a line of a program's output with its localised messages in English.

    Which language it is in doesn't matter: programs' catalogues are one book. Of a long line the
    beginning is read.
    """
    book = _book("tools")
    if line.isascii() and book.words.isdisjoint(line.casefold().split()):
        return line
    head = book.pattern.sub(book.put, line[:_HEAD].translate(_PLAIN))
    return " ".join(head.split()) + line[_HEAD:]


def _language(text: str) -> str:
    """Return the language of a text that has a book: of several the one that knows most of it."""
    words = re.findall(r"\w+", text.replace("\u0130", "i").casefold())[:_READ]
    known = _counts(words)
    script = next((code for sign, code in _SCRIPTS if sign.search(text)), "")
    others = max((count for code, count in known.items() if code != "en"), default=0)
    if known["en"] > max(1, others):
        return "en"
    if script in _UNSPACED:
        return script
    told = _CYRILLIC if script else _LATIN
    least = max(known[code] for code in told) - 1
    held = {code: [word for word in words if word in _book(code).words] for code in told}
    is_plain = "".join(words).isascii()
    near = [code for code in told if known[code] >= least and (is_plain or code != "en")]
    best = max(near, key=lambda code: (len("".join(held[code])), known[code]))
    own = {*held[best]}.difference(held.get("en", ()) if is_plain else ())
    return best if script or len(own) >= min(1 + is_plain, len(words)) else "en"


@lru_cache(maxsize=len(_LATIN) + len(_SCRIPTS))
def _book(code: str) -> _Book:
    phrases = tomllib.loads((_BOOKS / f"{code}.toml").read_text(encoding="utf-8"))
    small = languages()[code].words if code in languages() and code not in _UNSPACED else ()
    phrases[""] = [*phrases.get("", ()), *sorted(small)]
    start, end = _EDGES.get(code, _EDGES[""])
    english: dict[int, tuple[str, int]] = {}
    parts: dict[str, list[str]] = {start: [], "": []}
    told = [(phrase, way) for phrase, ways in phrases.items() for way in ways]
    group = 1
    for phrase, way in sorted(told, key=lambda each: each[1].startswith("~")):
        english[group] = phrase, phrase.count("{}")
        group += 1 + phrase.count("{}")
        plain = way.removeprefix("~").replace(" ?", r"\s*").replace(" ", r"\s+")
        plain = plain.replace("{x}", r"([^\s,.;:!?]+)")
        close = "" if plain[-1] in "*'" or way.startswith("~") else end
        parts["" if way.startswith("~") else start].append(f"((?:{plain}){close})")
    pattern = "|".join(f"{before}(?:{'|'.join(ways)})" for before, ways in parts.items() if ways)
    words = re.findall(r"[^\W\d_]{2,}", re.sub(r"\\\w", " ", " ".join(way for _, way in told)))
    return _Book(re.compile(pattern, re.IGNORECASE), english, frozenset(words))
