"""Takes secrets out of text before it is hashed, compared or stored.

Every rule is guarded by a cheap substring test and matches in linear time, so that a line of
megabytes costs little; it is compiled for the first text that passes the test. A secret becomes
``[REDACTED:<kind>]``; redacting twice changes nothing.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from synthorg_tui.core.redaction_assignments import (
    AFTER_ESCAPE,
    redact_assignments,
    secret_name,
    worth_hiding,
)
from synthorg_tui.core.text import compiled

_MARK = "[REDACTED:"
_MARKS = r"\[REDACTED:([a-z0-9-]{1,40})\]"


class RedactionTally:
    """Counter of redacted secrets by kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}

    @property
    def total(self) -> int:
        """Number of all secrets that were replaced."""
        return sum(self.kinds.values())

    def mark(self, kind: str) -> str:
        """Count one secret of a kind and return the marker that replaces it."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return f"{_MARK}{kind}]"


def marks_in(text: str) -> dict[str, int]:
    """Count the redaction markers in a text and return the numbers by kind of secret."""
    return dict(Counter(compiled(_MARKS).findall(text)))


def replaced_in(given: str, stored: str) -> str:
    """Say how many secrets of ``given`` are markers in ``stored``; empty when none are."""
    kinds = Counter(marks_in(stored))
    kinds.subtract(marks_in(given))
    new = {kind: number for kind, number in kinds.items() if number > 0}
    total = sum(new.values())
    if not total:
        return ""
    marks = ", ".join(f"{_MARK}{kind}]" for kind in sorted(new))
    return f"{total} secret{'s were' if total > 1 else ' was'} replaced by {marks}"


class _Rule(NamedTuple):
    """A secret of known shape: ``group`` is replaced, one of ``anchors`` is always in it."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    group: int = 0


_EDGE = rf"(?:(?<![A-Za-z0-9])|{AFTER_ESCAPE})"

_DSN = r"(?i:host|server|data source|user id|uid|user|dbname|database)\s?="
"""A word of a connection string; next to it even a plain word is a password."""

_RULES: tuple[_Rule, ...] = (
    _Rule(
        "aws-secret-key",
        ("AKIA", "ASIA"),
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;\"'=|]{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
    ),
    _Rule("aws-access-key", ("AKIA", "ASIA"), _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _Rule(
        "aws-secret-key",
        ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"),
        r"(?i:secret_?access_?key)[\s\"'=:,]{1,6}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
    ),
    _Rule("google-api-key", ("AIza",), _EDGE + r"AIza[A-Za-z0-9_-]{35}"),
    _Rule("google-oauth", ("GOCSPX-", "ya29."), _EDGE + r"(?:GOCSPX-|ya29\.)[A-Za-z0-9_-]{20,}+"),
    _Rule(
        "azure-key",
        ("AccountKey=", "SharedAccessKey=", "accountkey=", "sharedaccesskey="),
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/%]{20,}+=*+)",
        1,
    ),
    _Rule("azure-sas", ("sig=",), r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,}+)", 1),
    _Rule("azure-secret", ("8Q~",), r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}"),
    _Rule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+)",
    ),
    _Rule(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"),
        _EDGE + r"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.-]{16,}+",
    ),
    _Rule(
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"),
        _EDGE + r"(?:xox[abprs]-|xoxe[.-]|xapp-)[A-Za-z0-9.-]{10,}+",
    ),
    _Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{10,}+)",
        1,
    ),
    _Rule("npm-token", ("npm_",), _EDGE + r"npm_[A-Za-z0-9]{30,}+"),
    _Rule("npm-token", ("_authToken",), r"_authToken\s{0,4}=\s{0,4}[\"']?([^\s\"'\[$]{8,}+)", 1),
    _Rule("pypi-token", ("pypi-",), _EDGE + r"pypi-[A-Za-z0-9_-]{40,}+"),
    _Rule(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
        _EDGE + r"(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9+/=]{24,}+)",
    ),
    _Rule("anthropic-key", ("sk-ant-",), _EDGE + r"sk-ant-[A-Za-z0-9_-]{16,}+"),
    _Rule(
        "openai-key",
        ("sk-",),
        _EDGE + r"sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{32,}+)",
    ),
    _Rule("huggingface-token", ("hf_",), _EDGE + r"hf_[A-Za-z0-9]{30,}+"),
    _Rule("sendgrid-key", ("SG.",), _EDGE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}+"),
    _Rule("digitalocean-token", ("dop_v1_", "doo_v1_"), _EDGE + r"do[op]_v1_[a-f0-9]{64}"),
    _Rule(
        "jwt",
        ("eyJ",),
        _EDGE + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,3}",
    ),
    _Rule(
        "auth-header",
        ("earer ", "EARER "),
        r"(?i:bearer) {1,4}((?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
    ),
    _Rule(
        "auth-header",
        ("asic ", "ASIC "),
        r"(?i:authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?basic) {1,4}([A-Za-z0-9+/]{6,}+=*+)",
        1,
    ),
    _Rule(
        "auth-header",
        ("uthorization",),
        r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?i:token|apikey|bearer) {1,4})?"
        r"((?=[^\s\d\"']{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
    ),
    _Rule(
        "url-password",
        ("://",),
        r"(?<=[a-zA-Z0-9])://[^\s:/@\"'<>\[\]]{0,128}:"
        r"((?!\[REDACTED:)(?!\$|\*{3}|<|\{)[^\s@/\"'<>]{1,256}(?:/[^\s@/\"'<>]{0,128})?)@",
        1,
    ),
    _Rule("url-password", ("://",), r"(?<=[a-zA-Z0-9])://([A-Za-z0-9_-]{24,}+)@", 1),
    _Rule(
        "password",
        ("assword=", "PASSWORD=", "wd=", "PWD="),
        _DSN + r"[^\n]{0,80}?[;\s](?i:password|pwd)=([^\s;\"',()&\[$]{3,128})(?=[;\s\"']|$)",
        1,
    ),
    _Rule(
        "password",
        ("assword=", "PASSWORD=", "wd=", "PWD="),
        r"(?i:password|pwd)=([^\s;\"',()&\[$]{3,128})(?=[;\s][^\n]{0,80}?" + _DSN + ")",
        1,
    ),
    _Rule(
        "password",
        ("login ",),
        r"\blogin\s{1,4}\S{1,80}\s{1,4}password\s{1,4}([^\s\[]\S{2,127})",
        1,
    ),
    _Rule(
        "password",
        ("mysql", "mariadb"),
        r"(?:mysql|mariadb)\w{0,10}\b[^\n|;&]{0,80}?\s-p([^\s\"'\[$-][^\s\"']{2,64})",
        1,
    ),
    _Rule(
        "password",
        ("-u", "--user"),
        r"curl\b[^\n|;&]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,64}:([^\s\"'\[$]{3,200})",
        1,
    ),
)


def redact_text(text: str, tally: RedactionTally) -> str:
    """Return ``text`` with every secret replaced by a marker, counting each in ``tally``."""
    if len(text) < _SHORTEST:
        return text
    return _redact(text, tally, _active(text))


def redact_value(value: object, tally: RedactionTally, *, raw: str | None = None) -> object:
    """Return a decoded JSON value with every string in it redacted, keys included.

    Args:
        value: The decoded value; it is not modified.
        tally: Counts the secrets found.
        raw: The JSON text that ``value`` was decoded from. When given, the applicable rules are
            selected once for the whole value instead of for each string, which is faster.
    """
    if raw is None or "\\u00" in raw or "\\/" in raw:
        return _walk(value, tally, _RULES)
    return _walk(value, tally, _active(raw))


_SHORTEST = 8
"""No rule matches less, and many strings of a record are that short."""

_Rules = tuple[_Rule, ...]


def _active(text: str) -> _Rules:
    return tuple([rule for rule in _RULES if _anchored(rule, text)])


def _anchored(rule: _Rule, text: str) -> bool:
    for anchor in rule.anchors:  # noqa: SIM110  a generator costs twice as much, on every string
        if anchor in text:
            return True
    return False


def _redact(text: str, tally: RedactionTally, rules: _Rules) -> str:
    if "PRIVATE KEY" in text:
        text = _redact_private_keys(text, tally)
    for rule in rules:
        if _anchored(rule, text):
            text = compiled(rule.pattern).sub(_replacer(rule, tally), text)
    return redact_assignments(text, tally.mark)


def _replacer(rule: _Rule, tally: RedactionTally) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        whole, start = match.group(0), match.start()
        first, last = match.start(rule.group) - start, match.end(rule.group) - start
        return f"{whole[:first]}{tally.mark(rule.kind)}{whole[last:]}"

    return replace


_KEY_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_REST = r"(?:[A-Za-z0-9+/=:,.→\t -]|\s|\\[nrt]|\\)*+"
_LINE_END = r"(\r?\n|\\+[nr])"
_KEY_LINE = r"\s*(?:\d{1,6}→)?[+-]?[A-Za-z0-9+/]{12,}=*\s*|\s*|\\+[nr]"
_KEY_SPAN = 40_000


def _redact_private_keys(text: str, tally: RedactionTally) -> str:
    """Cut key blocks: whole ones, ones without an end, and tails without a beginning."""
    parts: list[str] = []
    position = 0
    for begin in compiled(_KEY_BEGIN).finditer(text):
        if begin.start() < position:
            continue
        end = compiled(_KEY_END).search(text, begin.end(), begin.end() + _KEY_SPAN)
        if end is not None:
            stop = end.end()
        else:
            rest = compiled(_KEY_REST).match(text, begin.end())
            stop = rest.end() if rest else begin.end()
        parts += [text[position : begin.start()], tally.mark("private-key")]
        position = stop
    return "".join(parts) + _redact_key_tail(text[position:], tally)


def _redact_key_tail(text: str, tally: RedactionTally) -> str:
    end = compiled(_KEY_END).search(text)
    if end is None:
        return text
    pieces = compiled(_LINE_END).split(text[: end.start()])
    keep = len(pieces)
    while keep and compiled(_KEY_LINE).fullmatch(pieces[keep - 1]):
        keep -= 1
    return "".join(pieces[:keep]) + tally.mark("private-key") + text[end.end() :]


def _walk(value: object, tally: RedactionTally, rules: _Rules) -> object:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else _redact(value, tally, rules)
    if isinstance(value, dict):
        return {
            _walk(str(key), tally, rules): _walk_member(str(key), member, tally, rules)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_walk(item, tally, rules) for item in _joined_keys(value, tally)]
    return value


def _walk_member(key: str, member: object, tally: RedactionTally, rules: _Rules) -> object:
    if isinstance(member, str) and member:
        kind = secret_name(key)
        if kind is not None and worth_hiding(member, kind):
            return tally.mark(kind)
    return _walk(member, tally, rules)


def _joined_keys(items: list[object], tally: RedactionTally) -> list[object]:
    """Lists of lines (a diff, a split file) may hold a key block over several items."""
    if not any(isinstance(item, str) and "PRIVATE KEY-----" in item for item in items):
        return items
    if not all(isinstance(item, str) for item in items):
        return items
    text = "\n".join(str(item) for item in items)
    return list(_redact_private_keys(text, tally).split("\n"))
