"""Takes secrets out of text before it is hashed, compared or stored.

A rule is tried only where one of its anchors stands, and matches in bounded time there, so that a
line of megabytes costs little; it is compiled for the first text that has one. A secret becomes
``[REDACTED:<kind>]``; redacting twice changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator

from synthorg_tui.core.redaction_assignments import ASSIGNMENTS, member_kind, redact_assignments
from synthorg_tui.core.redaction_commands import COMMANDS
from synthorg_tui.core.redaction_rules import Rule, is_filler
from synthorg_tui.core.redaction_tokens import LABELLED, TOKENS, WORDS
from synthorg_tui.core.text import compiled

RULES: tuple[Rule, ...] = (*LABELLED, *TOKENS, *COMMANDS, *ASSIGNMENTS)
"""The one table of secrets, in the order in which they are looked for.

Key blocks that span lines, ``private-key``, are found by ``_redact_private_keys``.
"""

_ANCHORED = (*LABELLED, *TOKENS, *COMMANDS)
_TOKEN_ANCHORS = tuple(sorted({anchor for rule in TOKENS for anchor in rule.anchors}))
_CONTEXT_ANCHORS = tuple(
    sorted({anchor for rule in (*LABELLED, *COMMANDS) for anchor in rule.anchors})
)
_RULES_OF = {
    anchor: [number for number, rule in enumerate(_ANCHORED) if anchor in rule.anchors]
    for anchor in (*_TOKEN_ANCHORS, *_CONTEXT_ANCHORS)
}
_SELDOM_FIRST = "~*= $QOKHJzMVWXYIGqPNLADBCxvyRE_nSUjwkgbmi/lu3htspor8dT:eZf9.c02516a-4"
"""Characters by how many lines of transcripts have them, those that few have first."""


def _by_seldom(anchors: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group anchors by the character of each that the fewest texts have: without it, none is."""
    groups: dict[str, list[str]] = {}
    for anchor in anchors:
        known = [_SELDOM_FIRST.index(each) for each in anchor if each in _SELDOM_FIRST]
        groups.setdefault(_SELDOM_FIRST[min(known)] if known else anchor[0], []).append(anchor)
    return tuple((character, tuple(group)) for character, group in groups.items())


_TOKEN_GROUPS, _CONTEXT_GROUPS = _by_seldom(_TOKEN_ANCHORS), _by_seldom(_CONTEXT_ANCHORS)
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
        return _walk(value, tally, _ANCHORED)
    return _walk(value, tally, _active(raw))


_SHORTEST = 8
"""No rule matches less, and many strings of a record are that short."""

_Rules = tuple[Rule, ...]


def _active(text: str) -> _Rules:
    words = "\n".join(compiled(WORDS).findall(text))
    numbers: set[int] = set()
    for searched, groups in ((text, _CONTEXT_GROUPS), (words, _TOKEN_GROUPS)):
        for character, anchors in groups:
            if character in searched:
                for anchor in anchors:
                    if anchor in searched:
                        numbers.update(_RULES_OF[anchor])
    if not numbers:
        return ()
    rules = [_ANCHORED[number] for number in sorted(numbers)]
    return tuple([rule for rule in rules if rule.anchors != (".",) or _occurs(rule, words)])


def _occurs(rule: Rule, words: str) -> bool:
    """Whether a rule whose anchor is in every text matches one of the words that may be tokens."""
    return compiled(rule.pattern).search(words) is not None


def _anchored(rule: Rule, text: str) -> bool:
    for anchor in rule.anchors:  # noqa: SIM110  a generator costs twice as much, on every string
        if anchor in text:
            return True
    return False


def _redact(text: str, tally: RedactionTally, rules: _Rules) -> str:
    if "PRIVATE KEY" in text:
        text = _redact_private_keys(text, tally)
    for rule in rules:
        if _anchored(rule, text):
            text = _apply(rule, text, tally)
    return redact_assignments(text, tally.mark)


def _apply(rule: Rule, text: str, tally: RedactionTally) -> str:
    """Replace what one rule finds; a match never begins in what an earlier one took."""
    parts: list[str] = []
    done = taken = 0
    for match in _matches(rule, text):
        first, last = match.span(rule.group)
        if match.start() < taken or (rule.accept and not rule.accept(match[rule.group])):
            continue
        if is_filler(match[rule.group]):
            continue
        parts += [text[done:first], tally.mark(rule.kind)]
        done, taken = last, match.end()
    return "".join([*parts, text[done:]]) if parts else text


def _matches(rule: Rule, text: str) -> Iterator[re.Match[str]]:
    pattern = compiled(rule.pattern)
    if rule.floats:
        yield from pattern.finditer(text)
        return
    done = 0
    for position in _positions(rule.anchors, text):
        start = position - rule.before
        if start >= done and (match := pattern.match(text, start)):
            done = match.end()
            yield match


def _positions(anchors: tuple[str, ...], text: str) -> Iterator[int]:
    """Yield where an anchor begins, in order; each is looked up again only once it was reached."""
    following = {anchor: text.find(anchor) for anchor in anchors}
    following = {anchor: place for anchor, place in following.items() if place >= 0}
    while following:
        anchor = min(following, key=following.__getitem__)
        place = following[anchor]
        yield place
        after = text.find(anchor, place + 1)
        if after < 0:
            del following[anchor]
        else:
            following[anchor] = after


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
        kind = member_kind(key, member)
        if kind is not None:
            return tally.mark(kind)
    if isinstance(member, list) and member and all(isinstance(item, str) for item in member):
        return [_walk_member(key, item, tally, rules) for item in _joined_keys(member, tally)]
    return _walk(member, tally, rules)


def _joined_keys(items: list[object], tally: RedactionTally) -> list[object]:
    """Lists of lines (a diff, a split file) may hold a key block over several items."""
    if not any(isinstance(item, str) and "PRIVATE KEY-----" in item for item in items):
        return items
    if not all(isinstance(item, str) for item in items):
        return items
    text = "\n".join(str(item) for item in items)
    return list(_redact_private_keys(text, tally).split("\n"))
