"""Secrets known by the name they are assigned to: ``.env`` lines, JSON, YAML, shell, flags.

Only where the name of a secret stands, the rules are tried at the beginning of that name.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

from synthorg_tui.core.redaction_rules import (
    AFTER_ESCAPE,
    EDGE,
    QUOTE,
    Rule,
    holds_cookie,
    holds_login,
    is_placeholder,
)
from synthorg_tui.core.text import compiled

PASSWORD = "password"
NAMED_SECRET = "secret"
COOKIE = "cookie"
AUTH = "auth"

_PASSWORD_NAME = r"(?i)(?:^|[_.-])(?:passwd|password|passphrase|pwd|pass)$|(?:password|passphrase)$"
_SECRET_NAME = (
    r"(?i)(?:secret|token|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|credentials?|client[_-]?secret"
    r"|app(?:lication)?[_-]?key|client[_-]?key[_-]?data)"
    r"(?:[_-]?(?:base|value|id|b64|base64))?$"
)
_COOKIE_NAME = r"(?i)(?:set-?)?cookies?$"
_AUTH_NAME = r"(?i)_?auth$"
_ENV_SECRET_NAME = (
    r"(?:[A-Z0-9_]*_)?(?:[A-Z0-9]*(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|PWD|CREDENTIALS)"
    r"|(?:API|APP|AUTH|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)?KEY|PASS)"
)
_NOT_SECRET_NAME = (
    r"(?i)(?:max|min|num|next|page|continuation|input|output|total|count|csrf[_-]?param|primary|"
    r"foreign|public|sort|partition|cache|idempotency|stop|pad|eos|bos|mask|special)[_-]?[a-z]*"
    r"(?:token|key)s?$|(?:token|key)[_-]?id$"
)
_KINDS = (
    (_PASSWORD_NAME, PASSWORD),
    (_SECRET_NAME, NAMED_SECRET),
    (_COOKIE_NAME, COOKIE),
    (_AUTH_NAME, AUTH),
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> str | None:
    """Return the kind of secret that a variable or key name indicates, or ``None``."""
    if len(name) > 80 or compiled(_NOT_SECRET_NAME).search(name):
        return None
    for pattern, kind in _KINDS:
        whole = kind in (COOKIE, AUTH)  # "cookie" and "auth" alone, not as the end of a name
        if compiled(pattern).fullmatch(name) if whole else compiled(pattern).search(name):
            return kind
    return NAMED_SECRET if compiled(_ENV_SECRET_NAME).fullmatch(name) else None


_RANDOM_ENOUGH = 10
_LONGEST = 4096
_TEXT_WORDS = (
    r"(?i)\b(?:the|an?|your|my|this|that|is|are|was|be|to|of|for|in|on|or|and|not|no|must|should|can|use"
    r"|used|using|enter|please|invalid|incorrect|wrong|required|missing|forgot|reset|change|confirm"
    r"|password|passwords|passwd|passphrase|username|user|login|field|please|with|from|at|if|when|has)\b"
)


def worth_hiding(value: str, kind: str) -> bool:
    """Return whether a value assigned to a secret's name looks like a real secret.

    Placeholders, file paths, plain words, and values that are very short or very long are not.
    """
    if len(value) < 4 or len(value) > _LONGEST or is_placeholder(value):
        return False
    if kind == COOKIE:
        return holds_cookie(value)
    if _has(r"\s", value):
        return kind == PASSWORD and _is_phrase(value)
    if value.startswith(("/", "./", "../", "~/")):
        return False
    return kind == PASSWORD or _is_random(value, kind)


def _is_random(value: str, kind: str) -> bool:
    """Whether a value is no word: ``auth`` alone names many things, so that it asks for more."""
    if kind == AUTH:
        return holds_login(value) or (len(value) >= 20 and _is_mixed(value))
    return len(value) >= _RANDOM_ENOUGH and _has(r"\d", value)


def _has(pattern: str, value: str) -> bool:
    return compiled(pattern).search(value) is not None


def member_kind(name: str, value: str) -> str | None:
    """Return the kind of secret that a member of an object is, or ``None``."""
    kind = secret_name(name)
    return kind if kind is not None and worth_hiding(value, kind) else None


def _is_phrase(value: str) -> bool:
    """Whether several words are a password, and not a sentence about one."""
    if len(value) > 200 or not 2 <= len(value.split()) <= 12 or value[-1] in ".:?…":
        return False
    if any(char in value for char in "{}()[]<>=%\n"):
        return False
    return compiled(_TEXT_WORDS).search(value) is None


def _is_mixed(value: str) -> bool:
    return all(_has(pattern, value) for pattern in (r"\d", "[a-z]", "[A-Z]"))


_SEPARATOR = r"(?:[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}|%3[ADad])"
_ENV = (
    rf"(?:(?<![A-Za-z0-9_$.{{])|{AFTER_ESCAPE})(?P<name>[A-Z][A-Z0-9_]{{0,60}}+)"
    rf"(?:[ \t]{{0,4}}=[ \t]{{0,4}}{QUOTE}?|%3[Dd])"
    r"(?P<value>[^\s\"'\\;&|,`<>()\[\]{}]{4,4096}+)"
)
_NAME = rf"(?:(?<![A-Za-z0-9_.])|{AFTER_ESCAPE})(?P<name>[A-Za-z_][A-Za-z0-9_.-]{{1,60}}+)"
_QUOTED = rf"{_NAME}{QUOTE}?{_SEPARATOR}{QUOTE}(?P<value>[^\s\"'`\\&]{{4,4096}}+)(?={QUOTE})"
_PHRASE = (
    rf"{_NAME}{QUOTE}?{_SEPARATOR}{QUOTE}(?P<value>[^\s\"'`\\][^\"'`\\\r\n]{{3,200}})(?={QUOTE})"
)
_PLAIN = (
    rf"(?:(?<![A-Za-z0-9_.$])|{AFTER_ESCAPE})(?P<name>[A-Za-z_][A-Za-z0-9_.-]{{1,60}}+)"
    rf"{_SEPARATOR}(?P<value>[^\s\"'`\\;,(){{}}\[\]<>|&]{{4,4096}}+)(?![(\[{{`])"
)
_YAML = (
    r"(?:(?<![^\n ])(?<!\S )|(?<=\\n))(?P<name>[A-Za-z_][A-Za-z0-9_-]{1,60}+): {1,4}"
    r"(?P<value>[^\s\"'`\\;,(){}\[\]<>|&:#=]{4,128}+)(?=[ \t]{0,8}(?:\r?\n|$|\\+n|#))"
)
_FLAG = (
    rf"(?P<name>--[a-z][a-z0-9-]{{1,40}}+)(?:[ =](?P<quote>{QUOTE})?|%3[Dd])"
    rf"(?P<value>[^\s\"'\\;&|`<>()\[\]{{}}$-][^\s\"'\\;&|`<>()\[\]{{}}]{{3,4096}}+)(?(quote)(?={QUOTE}))"
)
_FLAG_PHRASE = (
    rf"(?P<name>--[a-z][a-z0-9-]{{1,40}}+)[ =]{QUOTE}(?P<value>[^\"'`\\\r\n$]{{4,200}})(?={QUOTE})"
)
_SET = (
    r"(?P<name>(?<=[A-Za-z] )[A-Za-z_][A-Za-z0-9_]{1,60}+)[ \t]{1,4}"
    rf"{QUOTE}?(?P<value>[^\s\"'`\\;&|<>()\[\]{{}}$-][^\s\"'`\\;&|<>()\[\]{{}}]{{3,4096}}+)"
)
_SET_BEFORE = rf"{EDGE}(?:set(?: --?[a-zA-Z-]{{1,12}}){{1,4}}|setenv|setx|ENV) \Z"

TRIGGERS = ("secret", "token", "pass", "pwd", "key", "credential", "auth", "cookie")
"""Each name of a secret has one of these in it, in small or capital letters."""

_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_ENV_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_LONGEST_NAME = 62
_AFTER_NAME = rf"[A-Za-z0-9_.-]{{0,70}}+(?P<after>{QUOTE}?[ \t]{{0,4}}(?:[:=]|%3[ADad])|[ \t])"
_LEADING_ESCAPE = (
    r"(?:(?<=\\)(?:[nrtbfv]|u[0-9A-Fa-f]{4})|(?<=[\[;])\d{1,2}m|(?<=%)[0-9A-Fa-f]{2}|-)"
)


def redact_assignments(text: str, mark: Callable[[str], str]) -> str:
    """Replace the values that ``text`` assigns to names of secrets, such as ``password=...``.

    ``mark`` is called with the kind of each secret and returns its replacement.
    """
    parts: list[str] = []
    done = 0
    finder = _Finder(text)
    for place in _places(text):
        span = finder.span_at(place, done) if place >= done else None
        if span is not None:
            kind, first, last = span
            parts += [text[done:first], mark(kind)]
            done = last
    return "".join([*parts, text[done:]]) if parts else text


def _places(text: str) -> Iterator[int]:
    """Yield where names may be, in order: behind each comes what can follow a name."""
    if len(text) < _SHORTEST or not _can_assign(text):
        return
    lowered = text.lower()
    if len(lowered) != len(text):  # the one letter that gets longer
        lowered = text.replace("\u0130", "I").lower()
    places: set[int] = set()
    for trigger in TRIGGERS:
        place = lowered.find(trigger)
        while place >= 0:
            places.add(place)
            place = lowered.find(trigger, place + 3)
    yield from sorted(places)


_SHORTEST = 8
_SIGNS = (":", "=", "--", "%3", "set", "ENV ")


def _can_assign(text: str) -> bool:
    for sign in _SIGNS:  # noqa: SIM110  a generator costs twice as much, on every string
        if sign in text:
            return True
    return False


class _Finder:
    """Finds assignments in one text; what a rule looked at and left is not looked at again."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen: dict[str, int] = {}

    def span_at(self, place: int, done: int) -> tuple[str, int, int] | None:
        """Return kind and span of the value assigned to the name around ``place``.

        Nothing before ``done`` is part of it.
        """
        rules = self._rules_at(place)
        if not rules:
            return None
        rejected: dict[str, int] = {}
        for start in _starts(self._text, place):
            for rule, accept in rules:
                match = self._match(rule, start)
                if match is None or match.start("value") < max(place, done):
                    continue
                kind = accept(match["name"].lstrip("-"), match["value"])
                if kind is not None:
                    return kind, *match.span("value")
                rejected[rule.name] = match.end("value")
        self._seen.update(rejected)
        return None

    def _rules_at(self, place: int) -> "_Accepted":
        after = compiled(_AFTER_NAME).match(self._text, place)
        if after is None:
            return ()
        if not after["after"].isspace():
            return _WITH_SEPARATOR
        start = _start_of(self._text, place, _NAME_CHARACTERS)
        is_named = self._text.startswith("--", start) or _is_set(self._text, start)
        return _WITHOUT_SEPARATOR if is_named else ()

    def _match(self, rule: Rule, start: int) -> "re.Match[str] | None":
        if start < self._seen.get(rule.name, 0):
            return None
        return compiled(rule.pattern).match(self._text, start)


def _is_set(text: str, start: int) -> bool:
    before = text[max(0, start - 60) : start]
    return before.endswith(" ") and compiled(_SET_BEFORE).search(before) is not None


def _starts(text: str, place: int) -> Iterator[int]:
    """Yield where the name around ``place`` may begin: an escape may stand right before it."""
    start = _start_of(text, place, _NAME_CHARACTERS)
    yield start
    escape = compiled(_LEADING_ESCAPE).match(text, start, place)
    if escape is not None:
        yield escape.end()
    variable = _start_of(text, place, _ENV_CHARACTERS)
    if variable != start:
        yield variable


def _start_of(text: str, place: int, characters: str) -> int:
    before = text[max(0, place - _LONGEST_NAME) : place]
    return place - len(before) + len(before.rstrip(characters))


def _accept_env(name: str, value: str) -> str | None:
    is_named = compiled(_ENV_SECRET_NAME).fullmatch(name) is not None
    if not is_named or compiled(_NOT_SECRET_NAME).search(name):
        return None
    if is_placeholder(value) or value.startswith(("/", "./", "../", "~/")):
        return None
    return PASSWORD if "PASS" in name or "PWD" in name else NAMED_SECRET


def _accept_phrase(name: str, value: str) -> str | None:
    kind = member_kind(name, value)
    return kind if kind in (PASSWORD, COOKIE) else None


def _accept_plain(name: str, value: str) -> str | None:
    """Unquoted values are code more often than not: ask for letters and digits mixed."""
    kind = member_kind(name, value)
    if kind == AUTH:
        return kind
    mixed = _has(r"\d", value) and _has(r"[^\W\d_]", value)
    return kind if mixed and len(value) >= _SHORTEST_PLAIN else None


_SHORTEST_PLAIN = 6
_TYPE_WORDS = (
    r"(?i)str|string|text|bytes?|bool(?:ean)?|number|int(?:eger)?|float|any|object|secret|password"
    r"|optional|option|required|nullable|field|unknown|never|void|undefined|char|varchar|hidden"
    r"|masked|encrypted|plain(?:text)?|hashed|default|disabled|enabled|true|false|none|null|prompt"
    r"|ask|input|value|user|username|literal|symbol|buffer|self|type|auto|yes|empty"
)


def _accept_yaml(name: str, value: str) -> str | None:
    """A word behind ``password:`` on a line of its own, unless it is the name of a type."""
    if secret_name(name) != PASSWORD or not worth_hiding(value, PASSWORD):
        return None
    if compiled(_TYPE_WORDS).fullmatch(value) or compiled(r"(?:[A-Z][a-z]+){2,}").fullmatch(value):
        return None
    return None if compiled(r"[A-Za-z_]\w*(?:\.\w+)+").fullmatch(value) else PASSWORD


def _accept_set(name: str, value: str) -> str | None:
    return _accept_env(name, value) or member_kind(name, value)


_Accepted: TypeAlias = tuple[tuple[Rule, Callable[[str, str], str | None]], ...]

_ACCEPTED: _Accepted = (
    (Rule("env-line", NAMED_SECRET, TRIGGERS, _ENV, "value"), _accept_env),
    (Rule("quoted-value", NAMED_SECRET, TRIGGERS, _QUOTED, "value"), member_kind),
    (Rule("quoted-phrase", PASSWORD, TRIGGERS, _PHRASE, "value"), _accept_phrase),
    (Rule("plain-value", NAMED_SECRET, TRIGGERS, _PLAIN, "value"), _accept_plain),
    (Rule("yaml-word", PASSWORD, TRIGGERS, _YAML, "value"), _accept_yaml),
    (Rule("flag", NAMED_SECRET, TRIGGERS, _FLAG, "value"), member_kind),
    (Rule("flag-phrase", PASSWORD, TRIGGERS, _FLAG_PHRASE, "value"), _accept_phrase),
    (Rule("shell-set", NAMED_SECRET, TRIGGERS, _SET, "value"), _accept_set),
)
_WITH_SEPARATOR = _ACCEPTED[:7]
_WITHOUT_SEPARATOR = _ACCEPTED[5:]

ASSIGNMENTS: tuple[Rule, ...] = tuple(rule for rule, _ in _ACCEPTED)
"""The rules for values under a secret's name, in the order in which they are tried."""
