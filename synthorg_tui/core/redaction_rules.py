"""What a rule of redaction is, and the tests that a value must pass to be a secret.

The rules themselves are in ``redaction_tokens`` (known by their own shape), ``redaction_commands``
(known by what they are given to) and ``redaction_assignments`` (known by the name of a variable).
Each needs an example and a counter-example in ``tests/core/secret_kit.py``.
"""

import base64
import binascii
import itertools
import re
import string
from collections.abc import Callable
from typing import NamedTuple

from synthorg_tui.core.text import compiled


class Rule(NamedTuple):
    """A secret of known shape.

    The pattern is tried ``before`` characters ahead of each of the ``anchors``, and ``group`` of a
    match is replaced when ``accept`` (if there is one) says so. A rule that ``floats`` is searched
    for in any text that has one of the anchors. A text that
    has a match has a word that begins with one of ``starts``, if there are any, in small or capital
    letters. No pattern may take more than bounded time for one
    anchor.
    """

    name: str
    kind: str
    anchors: tuple[str, ...]
    pattern: str
    group: int | str = 0
    before: int = 0
    accept: Callable[[str], bool] | None = None
    floats: bool = False
    starts: tuple[str, ...] = ()


LONGEST_START = 4
_LETTERS = string.ascii_lowercase + string.digits
_ENDS_WORDS = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() and code < 128 else 32 for code in range(256)
)


def word_starts(text: str) -> set[bytes]:
    """Return what the words of a text begin with: their first four letters, made small.

    A letter or digit after anything else begins a word; so does one after an escape.
    """
    data = text.encode("utf-8", "replace")
    if b"\\" in data:
        for escape in (b"\\n", b"\\t", b"\\r"):
            data = data.replace(escape, b" ")
    for sign, escape in (
        (b"%", rb"%[0-9A-Fa-f]{2}"),
        (b"\\u", rb"\\u[0-9A-Fa-f]{4}(?:\[[0-9;]*m)?"),
        (b"\x1b", rb"\x1b\[[0-9;]*m"),
    ):
        if sign in data:
            data = re.sub(escape, b" ", data)
    return {word[:LONGEST_START] for word in set(data.translate(_ENDS_WORDS).split())}


def start_keys(start: str) -> list[bytes]:
    """Return what ``word_starts`` may give for a word that begins with ``start``.

    A start shorter than ``LONGEST_START`` is a whole word unless it ends with ``*``.
    """
    plain = start.rstrip("*").lower()[:LONGEST_START]
    more = itertools.product(_LETTERS, repeat=LONGEST_START - len(plain))
    parts = (*more, ()) if start.endswith("*") else ((),)
    return [(plain + "".join(part)).encode() for part in parts]


_ALPHABETS = {
    "A": "A-Za-z0-9",
    "h": "a-f0-9",
    "x": "A-Fa-f0-9",
    "U": "A-Z0-9",
    "D": "0-9",
    "W": "a-z0-9",
    "B": "A-Za-z0-9+/",
    "T": "A-Za-z0-9_-",
    "G": "A-Za-z0-9_",
    "E": "A-Za-z0-9_.-",
    "V": "A-Za-z0-9_.=-",
    "F": "A-Za-z0-9+/=_-",
    "Q": "A-Za-z0-9%+/=_.-",
}
"""By the letter that stands for it in a shape; base64 may end in ``=``."""


def shape_pattern(shape: str) -> str:
    """Return the pattern of a shape: ``{A20}``, ``{A20+}``, ``{A20-24}`` and what stands there."""
    parts = re.split(r"\{(\w)(\d+)(\+|-\d+|)\}", shape)
    pattern = re.escape(parts[0])
    for alphabet, least, most, rest in zip(*[iter(parts[1:])] * 4, strict=True):
        bound = f",{most.lstrip('+-')}" if most else ""
        pattern += f"[{_ALPHABETS[alphabet]}]{{{least}{bound}}}{'+' if most == '+' else ''}"
        pattern += ("={0,2}" if alphabet == "B" else "") + re.escape(rest)
    return pattern if shape.endswith("+}") else rf"{pattern}(?![A-Za-z0-9])"


AFTER_ESCAPE = (
    r"(?<=\\[nrtbfv])|(?<=[\[;]\dm)|(?<=[\[;]\d\dm)|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
)
"""Letters that end an escape don't belong to the next word: ``\\n``, colours, ``%3D``."""

EDGE = rf"(?:(?<![A-Za-z0-9])|{AFTER_ESCAPE})"
"""Where a word begins."""

QUOTE = r"(?:\\*[\"'`]|\\+u002[27]|&quot;|&#3[49];|%2[27])"
"""A quotation mark, however often it was escaped on its way into a text."""

ARGUMENT = (
    rf"(?P<quote>{QUOTE})?(?![$\[<{{-])"
    r"(?P<value>(?(quote)[^\"'`\\\n]{4,200}|[^\s\"'`\\;&|<>()]{4,256}))"
)
"""A word, or several in quotes."""

_PLACEHOLDER = (
    r"(?i)\[REDACTED:.*|\$.*|[<{%].*|\*+|x+|\.+|-+|(?:your|my|the|change|example|dummy|fake|test|replace"
    r"|placeholder|insert|sample)[-_ ]?[a-z_-]*|null|none|nil|true|false|undefined|string|str|text"
    r"|bytes|optional|required|password|passwd|secret|token|self|todo|redacted|env|int|any|key"
)
_FILLER = r"[xX]{8,}|[*.]{8,}|0{16,}|(?i:example|placeholder|your[-_])"


_COOKIE_VALUE = r"=(?=[A-Za-z_.%-]{0,60}\d)[A-Za-z0-9%._~+/|:!*-]{12,}"


def is_placeholder(value: str) -> bool:
    """Return whether a value stands for a secret rather than being one: ``$TOKEN``, ``<key>``."""
    return compiled(_PLACEHOLDER).fullmatch(value) is not None


def is_filler(value: str) -> bool:
    """Return whether something in the shape of a secret is an example: ``ghp_xxxxxxxx``."""
    return compiled(_FILLER).search(value, 0, 400) is not None


def holds_login(value: str) -> bool:
    """Return whether a value is the base64 of ``user:password``."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (ValueError, binascii.Error):
        return False
    return ":" in text[1:-1] and text.isprintable()


def holds_cookie(value: str) -> bool:
    """Return whether a cookie header has a value that is long and random enough for a session."""
    return compiled(_COOKIE_VALUE).search(value, 0, 4096) is not None


def is_password(value: str) -> bool:
    """Return whether a command's argument is a password: no placeholder, path or port."""
    is_path = value.startswith(("/", "./", "../", "~/"))
    return not (is_path or is_placeholder(value) or compiled(r"[\d.]+:\d+.*").fullmatch(value))
