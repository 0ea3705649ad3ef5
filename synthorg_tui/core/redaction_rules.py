"""What a rule of redaction is, and the tests that a value must pass to be a secret.

The rules themselves are in ``redaction_tokens`` (known by their own shape), ``redaction_commands``
(known by what they are given to) and ``redaction_assignments`` (known by the name of a variable).
Each needs an example and a counter-example in ``tests/core/secret_kit.py``.
"""

import base64
import binascii
from collections.abc import Callable
from typing import NamedTuple

from synthorg_tui.core.text import compiled


class Rule(NamedTuple):
    """A secret of known shape.

    The pattern is tried ``before`` characters ahead of each of the ``anchors``, and ``group`` of a
    match is replaced when ``accept`` (if there is one) says so. A rule that ``floats`` is searched
    for in any text that has one of the anchors. No pattern may take more than bounded time for one
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
