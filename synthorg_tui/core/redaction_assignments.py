"""Secrets known by the name they are assigned to: ``.env`` lines, JSON, YAML, shell, flags.

Only where the name of a secret stands, the rules are tried at the beginning of that name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
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
    start_keys,
)
from synthorg_tui.core.redaction_spoken import (
    NAMED_SECRET,
    PASSWORD,
    kind_of_name,
    spoken_at,
    word_triggers,
)
from synthorg_tui.core.redaction_tables import redact_tables
from synthorg_tui.core.text import compiled

COOKIE = "cookie"
AUTH = "auth"

_PASSWORD_NAME = (
    r"(?i)(?:^|[_.-])(?:passwd|password|passphrase|pwd|pass)$|(?:password|passphrase)$"
    r"|(?:store|key|db|user|root|admin|ssh|smtp|ftp|truststore)pass$"
)
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
    return NAMED_SECRET if compiled(_ENV_SECRET_NAME).fullmatch(name) else kind_of_name(name)


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
_BESIDE = rf"(?:{_SEPARATOR}|\s{{1,4}}value=|,\s{{0,4}}{QUOTE}value{QUOTE}:\s{{0,4}})"
_QUOTED = rf"{_NAME}{QUOTE}?{_BESIDE}{QUOTE}(?P<value>[^\s\"'`\\&]{{4,4096}}+)(?={QUOTE})"
_PHRASE = (
    rf"{_NAME}{QUOTE}?{_SEPARATOR}{QUOTE}(?P<value>[^\s\"'`\\][^\"'`\\\r\n]{{3,200}})(?={QUOTE})"
)
_PLAIN = (
    rf"(?:(?<![A-Za-z0-9_.$])|{AFTER_ESCAPE})(?P<name>[A-Za-z_][A-Za-z0-9_.-]{{1,60}}+)"
    rf"{_SEPARATOR}(?P<value>[^\s\"'`\\;,(){{}}\[\]<>|&]{{4,4096}}+)(?![(\[{{`])"
)
_ELEMENT = rf"{_NAME}{QUOTE}?>\s{{0,4}}(?P<value>[^\s<>&\"'{{$]{{4,4096}}+)(?=\s{{0,4}}</)"
_MEMBER = (
    rf"{_NAME}{QUOTE}?(?:\s|\\+[nrt]){{1,20}}value:[ \t]{{1,4}}"
    rf"{QUOTE}?(?P<value>[^\s\"'`\\{{}}$]{{4,4096}}+)"
)
_SQL = (
    rf"(?P<name>(?i:PASSWORD))"
    rf"\s{{0,2}}[=(]?\s{{0,2}}N?{QUOTE}(?P<value>[^\s\"'`\\]{{4,256}}+)(?={QUOTE})"
)
_YAML = (
    r"(?:(?<![^\n ])(?<!\S )|(?<=\\n))(?P<name>[A-Za-z_][A-Za-z0-9_-]{1,60}+): {1,4}"
    r"(?P<value>[^\s\"'`\\;,(){}\[\]<>|&:#=]{4,128}+)(?=[ \t]{0,8}(?:\r?\n|$|\\+n|#))"
)
_FLAG = (
    rf"(?P<name>--?[A-Za-z][A-Za-z0-9-]{{1,40}}+)(?:[ =](?P<quote>{QUOTE})?|%3[Dd])"
    rf"(?P<value>[^\s\"'\\;&|`<>()\[\]{{}}$-][^\s\"'\\;&|`<>()\[\]{{}}]{{3,4096}}+)(?(quote)(?={QUOTE}))"
)
_FLAG_PHRASE = (
    rf"(?P<name>--?[A-Za-z][A-Za-z0-9-]{{1,40}}+)[ =]"
    rf"{QUOTE}(?P<value>[^\"'`\\\r\n$]{{4,200}})(?={QUOTE})"
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
_AFTER_NAME = (
    rf"[A-Za-z0-9_.-]{{0,70}}+(?P<after>{QUOTE}?[ \t]{{0,4}}(?:[:=]|%3[ADad])"
    rf"|{QUOTE}?(?:>|(?:\s|\\+[nrt]){{1,20}}value|,\s{{0,4}}{QUOTE}value)|[ \t(])"
)
_LEADING_ESCAPE = (
    r"(?:(?<=\\)(?:[nrtbfv]|u[0-9A-Fa-f]{4})|(?<=[\[;])\d{1,2}m|(?<=%)[0-9A-Fa-f]{2}|-)"
)


def triggers_in(text: str, starts: set[bytes]) -> tuple[str, ...]:
    """Return which of the texts that stand in names and words for secrets are in a text.

    ``starts`` is what its words begin with.
    """
    lowered = _lowered(text)
    found = [trigger for trigger in TRIGGERS if trigger in lowered]
    for start in starts & _STARTS:
        found += [trigger for trigger in _BY_START[start] if trigger in lowered]
    if not text.isascii():
        letters = set(lowered.encode("utf-8", "replace").translate(None, _ASCII).decode())
        others = [trigger for trigger, needed in _FOREIGN.items() if needed <= letters]
        found += [trigger for trigger in others if trigger in lowered]
    return tuple(found)


def _lowered(text: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(text):  # the one letter that gets longer
        lowered = text.replace("\u0130", "I").lower()
    return lowered


def redact_named(text: str, mark: Callable[[str, str], str], triggers: tuple[str, ...]) -> str:
    """Replace the values that ``text`` gives to names of secrets, such as ``password=...``.

    Args:
        text: The text.
        mark: Called with the kind of each secret and the secret; returns its replacement.
        triggers: Those in the text, or more.
    """
    if len(text) < _SHORTEST:
        return text
    lowered = _lowered(text)
    triggers = tuple([trigger for trigger in triggers if trigger in lowered])
    if not triggers:
        return text
    if "\n" in text or "\\n" in text:
        text = redact_tables(text, mark, triggers, secret_name)
        lowered = _lowered(text)
    parts: list[str] = []
    done = 0
    finder = _Finder(text)
    for place, trigger in _places(lowered, triggers):
        if place < done:
            continue
        span = finder.span_at(place, done) or spoken_at(text, lowered, place, _OFFSETS[trigger])
        if span is not None and span[1] >= done:
            kind, first, last = span
            parts += [text[done:first], mark(kind, text[first:last])]
            done = last
    return "".join([*parts, text[done:]]) if parts else text


def _places(lowered: str, triggers: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return where names and words may be, in order."""
    places: dict[int, str] = {}
    for trigger in triggers:
        place = lowered.find(trigger)
        while place >= 0:
            places.setdefault(place, trigger)
            place = lowered.find(trigger, place + len(trigger))
    return sorted(places.items())


_SHORTEST = 8
_OFFSETS: Mapping[str, tuple[int, ...]] = word_triggers(TRIGGERS)
_ASCII = bytes(range(128))
_FOREIGN = {
    trigger: frozenset(letter for letter in trigger if not letter.isascii())
    for trigger in _OFFSETS
    if not trigger.isascii()
}
"""Words that aren't ASCII, with the letters that can rule them out."""
_BY_START: dict[bytes, list[str]] = {}
for _trigger in set(_OFFSETS).difference(_FOREIGN, TRIGGERS):
    for _key in start_keys(_trigger.partition(" ")[0] + "*"):
        _BY_START.setdefault(_key, []).append(_trigger)
_STARTS = frozenset(_BY_START)


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
                if match["name"].lower() != "key":  # in ``key="password" value="..."`` it isn't
                    rejected[rule.name] = match.end("value")
        self._seen.update(rejected)
        return None

    def _rules_at(self, place: int) -> "_Accepted":
        after = compiled(_AFTER_NAME).match(self._text, place)
        if after is None:
            return ()
        spaced = after["after"].isspace()
        if not spaced and after["after"] != "(":
            return _WITH_SEPARATOR
        start = _start_of(self._text, place, _NAME_CHARACTERS)
        if spaced and (self._text.startswith("-", start) or _is_set(self._text, start)):
            return _WITHOUT_SEPARATOR
        return _SQL_ONLY if self._text[place : after.start("after")].lower() == "password" else ()

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


_CODE = r"[A-Z_]+\.*|[a-z_]\w*(?:\.[a-z_]\w*)+|.*(?:[A-Z][a-z]{2,}){2,}"
"""Constants, attributes and names of types."""


def _accept_env(name: str, value: str) -> str | None:
    is_named = compiled(_ENV_SECRET_NAME).fullmatch(name) is not None
    if not is_named or compiled(_NOT_SECRET_NAME).search(name):
        return None
    if is_placeholder(value) or value.startswith(("/", "./", "../", "~/")):
        return None
    if compiled(_CODE).fullmatch(value) or (name.endswith("KEY") and not _has(r"\d", value)):
        return None
    return PASSWORD if "PASS" in name or "PWD" in name else NAMED_SECRET


def _accept_phrase(name: str, value: str) -> str | None:
    kind = member_kind(name, value)
    return kind if kind in (PASSWORD, COOKIE) else None


def _accept_plain(name: str, value: str) -> str | None:
    """Unquoted values are code more often than not: ask for letters and digits mixed."""
    kind = member_kind(name, value)
    if kind == AUTH or compiled(_CODE).fullmatch(value):
        return kind if kind == AUTH else None
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
    (Rule("element", NAMED_SECRET, TRIGGERS, _ELEMENT, "value"), member_kind),
    (Rule("named-member", NAMED_SECRET, TRIGGERS, _MEMBER, "value"), member_kind),
    (Rule("flag", NAMED_SECRET, TRIGGERS, _FLAG, "value"), member_kind),
    (Rule("flag-phrase", PASSWORD, TRIGGERS, _FLAG_PHRASE, "value"), _accept_phrase),
    (Rule("shell-set", NAMED_SECRET, TRIGGERS, _SET, "value"), _accept_set),
    (Rule("sql-password", PASSWORD, TRIGGERS, _SQL, "value"), member_kind),
)
_WITH_SEPARATOR = (*_ACCEPTED[:9], _ACCEPTED[-1])
_WITHOUT_SEPARATOR = _ACCEPTED[7:]
_SQL_ONLY = _ACCEPTED[-1:]

ASSIGNMENTS: tuple[Rule, ...] = tuple(rule for rule, _ in _ACCEPTED)
"""The rules for values under a secret's name, in the order in which they are tried."""
