"""Secrets known by the name they are assigned to: ``.env`` lines, JSON, YAML, shell, flags."""

import re
from collections.abc import Callable
from functools import lru_cache

from synthorg_tui.core.text import compiled

AFTER_ESCAPE = r"(?<=\\[nrtbfv])|(?<=[\[;]\dm)|(?<=[\[;]\d\dm)|(?<=%[0-9A-Fa-f]{2})"
"""Letters that end an escape don't belong to the next word: ``\\n``, colour codes, ``%3D``."""

PASSWORD = "password"
NAMED_SECRET = "secret"

_PASSWORD_NAME = r"(?i)(?:^|[_.-])(?:passwd|password|passphrase|pwd|pass)$|password$"
_SECRET_NAME = (
    r"(?i)(?:secret|token|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|credentials?|client[_-]?secret)"
    r"(?:[_-]?(?:base|value|id|b64|base64))?$"
)
_ENV_SECRET_NAME = (
    r"(?:[A-Z0-9_]*_)?(?:[A-Z0-9]*(?:SECRET|TOKEN|PASSWORD|PASSWD|PWD|CREDENTIALS)"
    r"|(?:API|APP|AUTH|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)?KEY|PASS)"
)
_NOT_SECRET_NAME = (
    r"(?i)(?:max|min|num|next|page|continuation|input|output|total|count|csrf[_-]?param|primary|"
    r"foreign|public|sort|partition|cache|idempotency|stop|pad|eos|bos|mask|special)[_-]?[a-z]*"
    r"(?:token|key)s?$|(?:token|key)[_-]?id$"
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> str | None:
    """Return the kind of secret that a variable or key name indicates, or ``None``."""
    if len(name) > 80 or compiled(_NOT_SECRET_NAME).search(name):
        return None
    if compiled(_PASSWORD_NAME).search(name):
        return PASSWORD
    if compiled(_SECRET_NAME).search(name):
        return NAMED_SECRET
    return NAMED_SECRET if compiled(_ENV_SECRET_NAME).fullmatch(name) else None


_PLACEHOLDER = (
    r"(?i)\[REDACTED:.*|\$.*|[<{%].*|\*+|x+|\.+|-+|(?:your|my|the|change|example|dummy|fake|test|replace)"
    r"[-_ ]?[a-z_-]*|null|none|nil|true|false|undefined|string|str|text|bytes|optional|required|"
    r"password|secret|token|self|todo|redacted|env|int|any|key"
)
_RANDOM_ENOUGH = 10


def worth_hiding(value: str, kind: str) -> bool:
    """Return whether a value assigned to a secret's name looks like a real secret.

    Placeholders, file paths, plain words, and values that are very short or very long are not.
    """
    if len(value) < 4 or len(value) > 4096 or compiled(_PLACEHOLDER).fullmatch(value):
        return False
    if any(char.isspace() for char in value) or value.startswith(("/", "./", "../", "~/")):
        return False
    if kind == PASSWORD:
        return True
    return len(value) >= _RANDOM_ENOUGH and any(char.isdigit() for char in value)


_TRIGGERS = ("secret", "token", "pass", "pwd", "key", "credential")

_LIKELY = r"(?=[A-Za-z0-9_.-]{0,60}?(?i:secret|token|pass|pwd|key|credential))"
_ENV = (
    rf"(?:(?<![A-Za-z0-9_$.{{])|{AFTER_ESCAPE})(?P<name>{_LIKELY}[A-Z][A-Z0-9_]{{0,60}}+)"
    r"(?P<sep>[ \t]{0,4}=[ \t]{0,4}(?:\\?[\"'])?)"
    r"(?P<value>[^\s\"'\\;&|,`<>()\[\]{}]{4,4096}+)"
)
_QUOTED = (
    rf"(?:(?<![A-Za-z0-9_.-])|{AFTER_ESCAPE})(?P<name>{_LIKELY}[A-Za-z][A-Za-z0-9_.-]{{1,60}}+)"
    r"(?P<sep>(?:\\*[\"'])?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}\\*[\"'])"
    r"(?P<value>[^\s\"'\\]{4,4096}+)(?=\\*[\"'])"
)
_PLAIN = (
    rf"(?:(?<![A-Za-z0-9_.$-])|{AFTER_ESCAPE})(?P<name>{_LIKELY}[A-Za-z][A-Za-z0-9_.-]{{1,60}}+)"
    r"(?P<sep>[ \t]{0,4}[:=][ \t]{0,4})"
    r"(?P<value>[^\s\"'`\\;,(){}\[\]<>|&]{6,4096}+)(?![(\[{`])"
)
_FLAG = (
    rf"(?P<sep>--(?P<name>{_LIKELY}[a-z][a-z0-9-]{{1,40}}+)[ =][\"']?)"
    r"(?P<value>[^\s\"'\\;&|`<>()\[\]{}$-][^\s\"'\\;&|`<>()\[\]{}]{3,4096}+)"
)


def redact_assignments(text: str, mark: Callable[[str], str]) -> str:
    """Replace the values that ``text`` assigns to names of secrets, such as ``password=...``.

    ``mark`` is called with the kind of each secret and returns its replacement.
    """
    if not _triggered(text):
        return text
    if "\n" not in text:
        return _redact_line(text, mark)
    return "\n".join(
        _redact_line(line, mark) if _triggered(line) else line for line in text.split("\n")
    )


def _triggered(text: str) -> bool:
    if len(text) < _SHORTEST or ("=" not in text and ":" not in text and "--" not in text):
        return False
    lowered = text.lower()
    for trigger in _TRIGGERS:  # noqa: SIM110  a generator costs twice as much, on every string
        if trigger in lowered:
            return True
    return False


_SHORTEST = 8


def _redact_line(text: str, mark: Callable[[str], str]) -> str:
    for pattern, accept in (
        (_ENV, _accept_env),
        (_QUOTED, _accept_named),
        (_PLAIN, _accept_plain),
        (_FLAG, _accept_named),
    ):
        text = compiled(pattern).sub(_replacer(accept, mark), text)
    return text


def _replacer(
    accept: Callable[[str, str], str | None], mark: Callable[[str], str]
) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        whole = match.group(0)
        kind = accept(match["name"], match["value"])
        if kind is None:
            return whole
        first = match.start("value") - match.start()
        return f"{whole[:first]}{mark(kind)}{whole[first + len(match['value']) :]}"

    return replace


def _accept_env(name: str, value: str) -> str | None:
    is_named = compiled(_ENV_SECRET_NAME).fullmatch(name) is not None
    if not is_named or compiled(_NOT_SECRET_NAME).search(name):
        return None
    if compiled(_PLACEHOLDER).fullmatch(value) or value.startswith(("/", "./", "../", "~/")):
        return None
    return PASSWORD if "PASS" in name or "PWD" in name else NAMED_SECRET


def _accept_named(name: str, value: str) -> str | None:
    kind = secret_name(name)
    return kind if kind is not None and worth_hiding(value, kind) else None


def _accept_plain(name: str, value: str) -> str | None:
    """Unquoted values are code more often than not: ask for letters and digits mixed."""
    kind = _accept_named(name, value)
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return kind if mixed else None
