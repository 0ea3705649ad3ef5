"""Small things done to text everywhere: made safe to show, cut, counted and compared.

``safe_text`` is the one boundary between strangers' text and a terminal. The rest has no opinion
about what a text means: what cuts or compares by words of a certain kind stays with its subject.
Regular expressions are compiled when they are first needed, since hooks import this.
"""

import operator
import re
import unicodedata
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from functools import cache

# Every character that steers a terminal, reorders a line, or takes no room: C0, DEL, C1, format
# characters (bidi, zero-width, tags), fillers that look like nothing, separators that break a
# line, variation selectors, lone surrogates and noncharacters.
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)
)

_SUSPECT = re.compile(
    f"[{_UNSAFE}\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_EMOJI_STYLE = "\ufe0e\ufe0f"
_MAX_STACKED_MARKS = 3
_UNSAFE_CHARACTER = f"[{_UNSAFE}]"


def safe_text(text: str, *, multiline: bool = False) -> str:
    """Return the text with control, invisible and reordering characters made visible as glyphs.

    Use it for any untrusted text before it reaches a terminal. Control characters become their
    Unicode pictures (``␛``), others their code point (``‹U+202E›``). An emoji presentation selector
    after a symbol is dropped, since terminals disagree about its width. More than three combining
    marks on one letter are shown as code points. ``multiline`` preserves newlines and tabs. Text
    without such characters is returned unchanged.
    """
    if text.isascii():  # of its characters those that aren't printable are the unsafe ones
        shown_as_is = text.replace("\n", "").replace("\t", "") if multiline else text
        if shown_as_is.isprintable():
            return text
    elif not _SUSPECT.search(text):
        return text
    if multiline:
        text = text.replace("\r\n", "\n")
    shown: list[str] = []
    previous = ""
    marks = 0
    for character in text:
        if _SUSPECT.match(character):
            marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
            shown.append(_visible(character, previous, marks, multiline))
        else:
            marks = 0
            shown.append(character)
        previous = character
    return "".join(shown)


def has_hidden(text: str) -> bool:
    """Return whether ``safe_text(text, multiline=True)`` would change the text."""
    return safe_text(text, multiline=True) != text


def is_utf8(name: str) -> bool:
    """Whether a name can be stored: Python keeps the bytes of others as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def truncate(text: str, limit: int, ellipsis: str = "...") -> str:
    """Cut ``text`` to at most ``limit`` characters, ending in ``ellipsis`` if it was cut.

    The ellipsis is part of the limit, and left out where the limit has no room for it.
    """
    if len(text) <= limit:
        return text
    if limit <= len(ellipsis):
        return text[: max(0, limit)]
    return text[: limit - len(ellipsis)] + ellipsis


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: ``1 memory``, ``1,234 memories``.

    Without ``plural`` an "s" is appended to the noun.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def size(count: float) -> str:
    """Return a number of bytes with a unit: ``812 B``, ``1.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def duration(seconds: float) -> str:
    """Format a number of seconds for display: ``12 s``, ``3 min``, ``1 h 20 min``.

    From one minute on, the remaining seconds are dropped.
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def jaccard(first: AbstractSet[Hashable], second: AbstractSet[Hashable]) -> float:
    """Return the Jaccard similarity of two sets, in [0, 1]; 1 when both are empty."""
    common = len(first & second)
    together = len(first) + len(second) - common
    return common / together if together else 1.0


def _visible(character: str, previous: str, marks: int, multiline: bool) -> str:
    code = ord(character)
    if multiline and character in "\n\t":
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if character in _EMOJI_STYLE and _takes_emoji_style(previous):
        return ""
    if marks and marks <= _MAX_STACKED_MARKS and not compiled(_UNSAFE_CHARACTER).match(character):
        return character
    return f"‹U+{code:04X}›"


def _takes_emoji_style(character: str) -> bool:
    return bool(character) and (
        character in "#*0123456789\u203c\u2049" or unicodedata.category(character) in ("So", "Sm")
    )


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """Compile a regular expression on first use and return it from a cache from then on.

    The cache has no limit, so use it for the program's own expressions only.
    """
    return re.compile(expression)


MAX_AGENT_ID = 128
"""Longest id of an agent, in characters."""


def agent_id_problem(text: str) -> str:
    """Return why a text can't be an agent's id, or an empty text when it can.

    The one rule for ids, wherever one is given. An id is taken as it is or refused, never made to
    fit: it decides whose memories are read, so it must look like itself and like no other. ``|``
    separates an agent from the rest in the keys of lessons.
    """
    if not 0 < len(text) <= MAX_AGENT_ID or text != text.strip():
        return f"an agent's id has 1 to {MAX_AGENT_ID} characters, none of them a space at an end"
    looks_like_itself = text == safe_text(text) == unicodedata.normalize("NFKC", text)
    if not looks_like_itself or not text.isprintable() or "|" in text:
        return "an agent's id has no |, no hidden characters and none that look like others"
    return "ids that begin with __ are reserved" if text.startswith("__") else ""


CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text`` from its length: 0 when empty, else at least 1."""
    return max(1, len(text) // CHARS_PER_TOKEN) if text else 0


def read_bound(text: str) -> Callable[[float], bool] | None:
    """Return a test of numbers from ``>0.8``, ``<=0.5`` or ``80%``; ``None`` for another text.

    A number alone means at least that.
    """
    match = re.fullmatch(r"(>=|<=|>|<|)(\d+(?:\.\d*)?|\.\d+)(%?)", text.strip())
    if match is None:
        return None
    bound = float(match[2]) / (100 if match[3] else 1)
    compare = {">": operator.gt, "<": operator.lt, "<=": operator.le}.get(match[1], operator.ge)
    return lambda number: bool(compare(number, bound))
