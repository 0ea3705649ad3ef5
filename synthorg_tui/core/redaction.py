"""Takes secrets out of text before it is hashed, compared or stored.

A rule is tried only where one of its anchors stands, and matches in bounded time there, so that a
line of megabytes costs little; it is compiled for the first text that has one. A secret becomes
``[REDACTED:<kind>]``; redacting twice changes nothing.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from synthorg_tui.core.redaction_assignments import (
    ASSIGNMENTS,
    member_kind,
    redact_named,
    triggers_in,
)
from synthorg_tui.core.redaction_commands import COMMANDS
from synthorg_tui.core.redaction_rules import Rule, is_filler, start_keys, word_starts
from synthorg_tui.core.redaction_tokens import LABELLED, TOKENS
from synthorg_tui.core.text import compiled

RULES: tuple[Rule, ...] = (*LABELLED, *TOKENS, *COMMANDS, *ASSIGNMENTS)
"""The one table of secrets, in the order in which they are looked for.

Key blocks that span lines, ``private-key``, are found by ``_redact_private_keys``, columns by
``redaction_tables``, sentences by ``redaction_spoken``.
"""

_ANCHORED = (*LABELLED, *TOKENS, *COMMANDS)
_BY_START: dict[bytes, list[int]] = {}
_BY_ANCHOR: dict[str, list[int]] = {}
for _number, _rule in enumerate(_ANCHORED):
    for _start in _rule.starts:
        for _key in start_keys(_start):
            _BY_START.setdefault(_key, []).append(_number)
    for _anchor in () if _rule.starts else _rule.anchors:
        _BY_ANCHOR.setdefault(_anchor, []).append(_number)
_STARTS = frozenset(_BY_START)
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

    def mark(self, kind: str, secret: str) -> str:
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
    return _redact(text, tally, None)


def redact_value(value: object, tally: RedactionTally, *, raw: str | None = None) -> object:
    """Return a decoded JSON value with every string in it redacted, keys included.

    Args:
        value: The decoded value; it is not modified.
        tally: Counts the secrets found.
        raw: The JSON text that ``value`` was decoded from. When given, the applicable rules are
            selected once for the whole value instead of for each string, which is faster.
    """
    if raw is None or "\\u" in raw or "\\/" in raw:
        return _walk(value, tally, None)
    active = _active(raw.replace(_COUNT, '":'))
    is_clean = active == _NOTHING and "PRIVATE KEY" not in raw and _seen(raw) is None
    return value if is_clean else _walk(value, tally, active)


_SHORTEST = 8
"""No rule matches less, and many strings of a record are that short."""


class _Active(NamedTuple):
    """What may be found in a text: rules, and parts of names and words for secrets."""

    rules: tuple[Rule, ...]
    triggers: tuple[str, ...]


_NOTHING = _Active((), ())
_COUNT = '_tokens":'
"""The end of a member's name that counts what a model read; it names no secret."""


def _active(text: str) -> _Active:
    starts = word_starts(text)
    numbers = {number for start in starts & _STARTS for number in _BY_START[start]}
    for anchor, those in _BY_ANCHOR.items():
        if anchor in text:
            numbers.update(those)
    rules = [_ANCHORED[number] for number in sorted(numbers)]
    return _Active(
        tuple([rule for rule in rules if _occurs(rule, text)]), triggers_in(text, starts)
    )


def _occurs(rule: Rule, text: str) -> bool:
    """Whether an anchor is in a text; one that is in every text says little, so the rule itself."""
    if len(rule.anchors[0]) == 1:
        return compiled(rule.pattern).search(text) is not None
    return _anchored(rule, text)


_WITHOUT_WIDTH = (
    "[\u241b\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff]"
)
_HIDING = r"\\(?:u(?:0|1|200|206|2014|2192|[3-9a-fA-F])|x1|033|e\[|\r?\n|\\\\n)"
_HIDDEN = (
    r"[\x1b\u241b]\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"
    r"|\\+(?:u001[bB]|x1[bB]|033|e)\[[0-9;]*m|\\+u(?!d[89abAB])([0-9A-Fa-f]{4})"
    rf"|{_WITHOUT_WIDTH}"
    r"|\\\r?\n(?=[ \t])|\\{3,}n(?=[ \t])"
)
"""What takes no room: colours, characters without width, the sign that a line goes on.

The group is the code of an escaped character.
"""
_ESCAPED_HIDDEN = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_SAVED = "\ufdd0"


class _Seen(NamedTuple):
    """A text as a reader sees it, and where its characters stand in the original.

    For each piece that is hidden, or is an escape of one character: from which start of a secret
    and from which end on it counts, and by how much places in the original are larger after it.
    """

    text: str
    starts: list[int]
    ends: list[int]
    missing: list[int]

    def place(self, position: int, at: list[int]) -> int:
        """Return where a start or an end, as the list says, lies in the original."""
        cut = bisect_right(at, position)
        return position + (self.missing[cut - 1] if cut else 0)


def _seen(text: str) -> _Seen | None:
    """Return a text without what a reader doesn't see; ``None`` when that is the text."""
    may_hide = "\x1b" in text or ("\\" in text and compiled(_HIDING).search(text))
    if not may_hide and (text.isascii() or not compiled(_WITHOUT_WIDTH).search(text)):
        return None
    seen = _Seen("", [], [], [])
    parts: list[str] = []
    done = length = 0
    for hidden in compiled(_HIDDEN).finditer(text):
        shown = "" if hidden[1] is None else chr(int(hidden[1], 16))
        if not shown.isprintable() or (shown and shown < "\xa0"):
            if hidden[1] is not None and shown not in _ESCAPED_HIDDEN:
                continue
            shown = ""
        parts += [text[done : hidden.start()], shown]
        length += hidden.start() - done
        seen.ends.append(length + 1)
        length += len(shown)
        seen.starts.append(length)
        done = hidden.end()
        seen.missing.append(done - length)
    return seen._replace(text="".join([*parts, text[done:]])) if parts else None


class _Saving(RedactionTally):
    """Markers that can be told from those of the text, and what they replace."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[tuple[str, str]] = []

    def mark(self, kind: str, secret: str) -> str:
        self.saved.append((kind, secret))
        return f"{_MARK}{kind}{_SAVED}{len(self.saved) - 1}]"

    def length(self, text: str) -> int:
        """Return how long a text was before secrets in it were replaced."""
        parts = compiled(_SAVED_MARK).split(text)
        inside = sum(self.length(self.saved[int(number)][1]) for number in parts[1::2])
        return inside + sum(map(len, parts[::2]))


_SAVED_MARK = rf"\[REDACTED:[a-z0-9-]{{1,40}}{_SAVED}(\d{{1,9}})\]"


def _redact(text: str, tally: RedactionTally, active: _Active | None) -> str:
    seen = _seen(text)
    if seen is not None and _SAVED not in text:
        text = _redact_seen(text, seen, tally)
    return _redact_plain(text, tally, active or _active(text))


def _redact_seen(text: str, seen: _Seen, tally: RedactionTally) -> str:
    """Replace in ``text`` the secrets that its reader sees, with what is hidden in them."""
    saving = _Saving()
    pieces = compiled(_SAVED_MARK).split(_redact_plain(seen.text, saving, _active(seen.text)))
    parts: list[str] = []
    done = position = 0
    for before, number in zip(pieces[::2], pieces[1::2], strict=False):
        kind, secret = saving.saved[int(number)]
        position += len(before)
        first = seen.place(position, seen.starts)
        position += saving.length(secret)
        parts += [text[done:first], tally.mark(kind, secret)]
        done = seen.place(position, seen.ends)
    return "".join([*parts, text[done:]])


def _anchored(rule: Rule, text: str) -> bool:
    for anchor in rule.anchors:  # noqa: SIM110  a generator costs twice as much, on every string
        if anchor in text:
            return True
    return False


def _redact_plain(text: str, tally: RedactionTally, active: _Active) -> str:
    if "PRIVATE KEY" in text:
        text = _redact_private_keys(text, tally)
    for rule in active.rules:
        if _anchored(rule, text):
            text = _apply(rule, text, tally)
    return redact_named(text, tally.mark, active.triggers) if active.triggers else text


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
        parts += [text[done:first], tally.mark(rule.kind, match[rule.group])]
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
        parts += [
            text[position : begin.start()],
            tally.mark("private-key", text[begin.start() : stop]),
        ]
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
    return (
        "".join(pieces[:keep])
        + tally.mark("private-key", "".join([*pieces[keep:], end[0]]))
        + text[end.end() :]
    )


@lru_cache(maxsize=4096)
def _is_clean(key: object) -> bool:
    """Whether the name of a member has no secret: few names are in most records."""
    return isinstance(key, str) and redact_text(key, RedactionTally()) == key


def _walk(value: object, tally: RedactionTally, active: _Active | None) -> object:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else _redact(value, tally, active)
    if isinstance(value, dict):
        if isinstance(value.get("value"), str) and isinstance(value.get("name"), str):
            value = {**value, "value": _walk_member(value["name"], value["value"], tally, active)}
        return {
            key if _is_clean(key) else _walk(str(key), tally, active): _walk_member(
                str(key), member, tally, active
            )
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_walk(item, tally, active) for item in _joined_keys(value, tally)]
    return value


def _walk_member(key: str, member: object, tally: RedactionTally, active: _Active | None) -> object:
    if isinstance(member, str) and member:
        kind = member_kind(key, member)
        if kind is not None:
            return tally.mark(kind, member)
    if isinstance(member, list) and member and all(isinstance(item, str) for item in member):
        return [_walk_member(key, item, tally, active) for item in _joined_keys(member, tally)]
    return _walk(member, tally, active)


def _joined_keys(items: list[object], tally: RedactionTally) -> list[object]:
    """Lists of lines (a diff, a split file) may hold a key block over several items."""
    if not any(isinstance(item, str) and "PRIVATE KEY-----" in item for item in items):
        return items
    if not all(isinstance(item, str) for item in items):
        return items
    text = "\n".join(str(item) for item in items)
    return list(_redact_private_keys(text, tally).split("\n"))
