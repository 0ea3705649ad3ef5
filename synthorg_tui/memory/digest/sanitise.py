"""Memory text made harmless for a prompt: nothing in it can end its fence or pose as a turn.

What is matched never depends on what follows a match, so that a text that is cut afterwards
needs no second look.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import defused

MAX_CHARS: Final = 4_000
"""Characters of a memory that are looked at; a line shows a few hundred."""

_LOOK_ALIKES: Final = str.maketrans(
    "\u2039\u2329\u27e8\u3008\u276e\u276c\u02c2\u1438\u203a\u232a\u27e9\u3009\u276f\u276d\u02c3\u1433"
    "\u2044\u2215\u29f8\u0430\u03b1\u0251\u0501\u0442\u03c4\u0435\u043e\u03bf\u0440\u0441\u0455\u0443\u0456",
    "<<<<<<<<>>>>>>>>///aaadtteoopcsyi",
)
_EARLIER = "(?:previous|prior|above|earlier|preceding|foregoing)"
_ORDERS = "(?:instruction|prompt|rule|directive|message|command|guideline)s?"
_PATTERNS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"\b(?:ignore|disregard|forget) (?:(?:all|any|each|every|of|the|these|those|your|my|our"
            rf"|and) )*{_EARLIER} (?:\w+ ){{0,2}}?{_ORDERS}",
            "[blocked-override]",
        ),
        (
            r"\b(?:ignore|disregard|forget) (?:all|any|every|your)(?: of)?(?: the| your| these)?"
            r" (?:instruction|rule|guideline)s?",
            "[blocked-override]",
        ),
        (r"\byou are now", "[blocked-reidentity]"),
        (r"\bnew instructions? ?:", "[blocked-header]"),
        (
            r"\b(?:do not|don['\u2019]?t|never) (?:follow|obey|heed|comply with|listen to)"
            r" (?:\w+ ){0,3}?system",
            "[blocked-directive]",
        ),
        (
            r"\b(?:reveal|disclose|leak|expose) (?:\w+ ){0,3}?(?:prompt|instruction)s?",
            "[blocked-extraction]",
        ),
        (
            r"\b(?:show|print|repeat|output|display|tell)(?: me)? (?:your|the system)"
            r" (?:\w+ ){0,2}?(?:prompt|instruction)s?",
            "[blocked-extraction]",
        ),
    )
)
_ROLE: Final = re.compile(
    r"(?:^|(?<=[^\w\s])|(?<=[^\w\s] ))(system|assistant|developer|user)(?: ?:)+"
)
_WORD: Final = re.compile(r"\w+")
_DATA_TAG: Final = re.compile(r"<[ /\\]*data[^<>]*>?")


def sanitise(text: str) -> str:
    """Return memory text as one plain line without anything that could steer a model.

    Data tags, role prefixes and phrases that override instructions are removed, also when disguised
    by look-alike characters; no other tag is closed in it. Control, invisible and reordering
    characters are made visible, so that a person sees what the model gets.
    """
    lines = (safe_text(" ".join(line.split())) for line in text[:MAX_CHARS].splitlines())
    clean, before = " ".join(_replace(line, _ROLE, _role) for line in lines if line), ""
    while clean != before:  # taking something out, or joining lines, may make more of the kind
        before, clean = clean, _once(clean)
    return clean


def _once(line: str) -> str:
    """The line without what stands in it now; each removal leaves less that could match."""
    line = _replace(line, _ROLE, _role)
    for pattern, replacement in _PATTERNS:
        line = _replace(line, pattern, replacement)
    return defused(_replace(line, _DATA_TAG, _escaped))


def _role(original: str) -> str:
    """The word, marked, without the colons that made it look like a turn."""
    return f"[role-ref] {''.join(_WORD.findall(original))}"


def _escaped(original: str) -> str:
    closed = len(original) > 1 and _fold(original[-1]) == ">"
    return f"&lt;{original[1:-1]}&gt;" if closed else f"&lt;{original[1:]}"


def _replace(text: str, pattern: re.Pattern[str], replacement: str | Callable[[str], str]) -> str:
    """Replace what matches in the folded text, in the text itself."""
    parts: list[str] = []
    folded = _fold(text)
    while match := pattern.search(folded):
        original = text[match.start() : match.end()]
        new = replacement if isinstance(replacement, str) else replacement(original)
        parts += [text[: match.start()], new]
        # What follows a replacement begins anew, as it will stand: nothing before it counts.
        text, folded = text[match.end() :], folded[match.end() :]
    return "".join((*parts, text))


def _fold(text: str) -> str:
    """Lower case with look-alikes replaced, character by character: places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text)).translate(_LOOK_ALIKES)


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    folded = unicodedata.normalize("NFKC", character).casefold()
    return folded if len(folded) == 1 else character
