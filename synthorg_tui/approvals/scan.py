"""Flags what in a proposal asks for a second look: secrets, hidden text, words meant for a model.

A flag is a hint for the person who reads a proposal, never a filter: hostile text can always be
worded so that no phrase matches. Nothing may rely on a text without flags being harmless.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from synthorg_tui.approvals.models import Flag, FlagKind
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import has_hidden, safe_text, truncate
from synthorg_tui.core.untrusted import LOOK_ALIKES

MAX_FLAGS: Final = 20
"""Flags of one text; a person reads no more."""

_EXCERPT: Final = 80
_EMOJI_STYLE: Final = "\ufe0e\ufe0f"
_ONE_ALPHABET: Final = str.maketrans(
    {alike: letter for letter, others in LOOK_ALIKES.items() for alike in others}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
)


def scan(texts: Mapping[str, str]) -> tuple[Flag, ...]:
    """Look for secrets, hidden text and phrases that try to steer a model; return them as flags.

    ``texts`` maps the name of a place to the text there; flags carry that name. No flag holds a
    secret. At most ``MAX_FLAGS`` are returned for each text, in the order above. A text without
    flags isn't thereby safe.
    """
    return tuple(flag for place, text in texts.items() for flag in _scan(place, text))


def _scan(place: str, text: str) -> list[Flag]:
    tally = RedactionTally()
    clean = redact_text(text.replace("\r\n", "\n"), tally)
    suspects = {char for char in set(clean) if char not in "\n\t" and safe_text(char) != char}
    flags = [(FlagKind.SECRET, _times(kind, count)) for kind, count in tally.kinds.items()]
    flags += [(FlagKind.HIDDEN, what) for what in _hidden(clean, suspects)]
    flags += [(FlagKind.INJECTION, phrase) for phrase in _steering(clean, suspects)]
    return [Flag(kind, place, what) for kind, what in dict.fromkeys(flags)][:MAX_FLAGS]


def _hidden(text: str, suspects: set[str]) -> Iterator[str]:
    """Characters that can't be seen, letters buried under marks, and comments of a page."""
    if suspects:
        suspect = _any_of(suspects)
        counts = Counter(
            match[0] for match in suspect.finditer(text) if not _is_emoji_style(text, match.start())
        )
        for char, count in sorted(counts.items()):
            yield _times(f"U+{ord(char):04X} {unicodedata.name(char, 'control')}", count)
        text = suspect.sub("", text)
    if has_hidden(text):
        yield "letters under piles of combining marks"
    for comment in _comments(text):
        yield f"not shown in a rendered page: {_excerpt(comment)}"


def _comments(text: str) -> Iterator[str]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start)
        yield text[start:] if end < 0 else text[start : end + 3]
        start = -1 if end < 0 else text.find("<!--", end)


def _is_emoji_style(text: str, position: int) -> bool:
    pair = text[max(0, position - 1) : position + 1]
    return text[position] in _EMOJI_STYLE and len(pair) == 2 and safe_text(pair) == pair[0]


def _steering(text: str, suspects: set[str]) -> Iterator[str]:
    """Phrases that try to steer a model, in the text as a model reads it.

    Hidden characters are left out, and letters that look alike are taken for the same.
    """
    invisible = {char for char in suspects if not char.isspace()}
    if invisible:
        text = _any_of(invisible).sub("", text)
    lines = re.sub(r"[^\S\n]+", " ", unicodedata.normalize("NFKC", text).casefold())
    folded = lines.translate(_ONE_ALPHABET)
    for version in dict.fromkeys((lines, folded)):
        flat = " ".join(version.split())
        for phrase in PHRASES:
            yield from (_excerpt(match[0]) for match in phrase.finditer(flat))
        yield from (_excerpt(match[0]) for match in LINE_STARTS.finditer(version))


def _any_of(characters: set[str]) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(sorted(characters)))}]")


def _excerpt(text: str) -> str:
    return truncate(" ".join(text.split()), _EXCERPT, "…")


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ({count} times)"


_GAP = r"(?: \w+){0,3}"
_NOT = r"\b(?:do not|don[' ]?t|never|stop)"
_DROP = r"\b(?:ignore|disregard|forget|override|bypass)"
_TELL = r"\b(?:reveal|disclose|leak|expose|print|repeat|output|show)"
_ORDERS = r"(?:instruction|prompt|rule|directive|message|guideline|direction|context)s?\b"
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|system)"
_OTHERS = r"(?:the )?(?:user|human|operator|developer|person|reviewer|owner)\b"
_SECRETS = (
    r"(?:secret|credential|password|token|api[ _-]?key|private key|ssh key|environment variable)s?"
)
_TAGS = (
    r"(?:system|system-reminder|instructions?|assistant|memory-entry|task-data|tool-result|data"
    r"|untrusted[\w-]*|function_calls|tool_use)\b"
)

_OVERRIDES = (
    rf"{_DROP}{_GAP} {_EARLIER}{_GAP} {_ORDERS}",
    rf"{_DROP}(?: (?:all|any|every|the|your|of|these|those|my)){{1,3}} {_ORDERS}",
    rf"{_DROP} (?:everything|anything|all|what was)(?: \w+)?"
    r" (?:above|before|earlier|previously)\b",
    rf"{_NOT} (?:follow|obey|heed|comply with|listen)(?:ing)?(?: to)?{_GAP} {_ORDERS}",
    r"\bnew (?:system )?(?:instructions?|prompt) ?:",
    # German; French, Spanish, Italian, Portuguese; Chinese; Russian
    r"\bignorier\w*(?: \w+){0,3} (?:anweisung|vorgabe|regel)\w*",
    r"\bignor\w*(?: \w+){0,3} (?:instru[cçz]\w+|istruzioni) (?:pr[ée]c[ée]dent|anterior)\w*",
    r"(?:忽略|无视|無視)[^\n。]{0,12}(?:指令|指示|提示|规则|命令)",
    r"игнорир\w*(?: \w+){0,3} (?:инструкц|указан|правил)\w*",
)
_IDENTITIES = (
    r"\byou are (?:now|no longer|actually)\b(?! (?:on|in|at|able|ready|done|connected|using)\b)",
    r"\bfrom now on,? you\b",
    r"\b(?:act as|pretend to be|you are|behave like) (?:an? )?"
    r"(?:unrestricted|uncensored|jailbroken|root|admin|dan|evil|different ai)\b",
)
_EXTRACTIONS = (
    rf"{_TELL}{_GAP} (?:system|hidden|initial|original|secret) (?:prompt|instruction|message)s?\b",
    rf"\b(?:reveal|disclose|leak|repeat){_GAP} (?:prompt|instruction)s?\b",
    rf"\b(?:send|post|upload|forward|exfiltrate|e?mail|transmit)\b.{{0,60}}\b{_SECRETS}\b"
    r".{0,60}\b(?:to|https?)\b",
)
_SECRECY = (
    rf"{_NOT} (?:tell|inform|mention|reveal|show|alert|notify|ask)"
    rf"(?: this| it| that| any of this)?(?: to)? {_OTHERS}",
    rf"\bwithout (?:telling|asking|informing|notifying|alerting) {_OTHERS}",
)
_APPROVALS = (
    r"\b(?:approve|accept) (?:this|all|every|these|any)(?: \w+){0,2}"
    r" (?:proposal|skill|lesson|memory|memories|request|item|change)s?\b",
    rf"\b(?:already|was|been|is) (?:been )?(?:approved|reviewed|authori[sz]ed) by {_OTHERS}",
    r"\b(?:the )?user has (?:already )?(?:approved|authori[sz]ed|allowed)\b",
    r"\bproposals? approve\b",
    r"--dangerously-skip-permissions\b|--dangerously-bypass-approvals-and-sandbox\b"
    r"|\bbypasspermissions\b|--yolo\b",
    r"\b(?:disable|turn off|bypass|circumvent)(?: \w+){0,2}"
    r" (?:sandbox|safety|guardrail|filter|approval|permission)s?(?: check| prompt| mode)?s?\b",
)
_MARKUP = (
    r"<\|[a-z_]{2,24}\|>|\[/?inst\]|<</?sys>>|</?start_of_turn>|</?end_of_turn>",
    rf"< ?{_TAGS}[^<>]{{0,80}}>|< ?/ ?{_TAGS}",
    r'"role" ?: ?"(?:system|assistant|developer)"',
)

PHRASES: Final = tuple(
    re.compile(pattern)
    for group in (_OVERRIDES, _IDENTITIES, _EXTRACTIONS, _SECRECY, _APPROVALS, _MARKUP)
    for pattern in group
)
"""Anywhere in a text, line breaks taken for spaces."""

LINE_STARTS: Final = re.compile(
    r"^ ?(?:(?:[#>*] ?)*(?:system|assistant|developer|human) ?:"
    r"|#{1,6} ?(?:system|(?:new )?instructions?)(?: prompt)? ?:)",
    re.MULTILINE,
)
"""Lines that pretend to be somebody else's turn."""
