"""Lasting wishes in what a person told an agent: remember, always, never, this and not that, now.

Only what a person said may be given to these functions: ``SPOKEN_TAGS`` mark memories as a
person's word, and an agent that could make them would speak with a person's authority.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.requests import is_no_rule, is_prompt
from synthorg_tui.memory.claims import tells_change

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(])|\n+")
_LEAD = re.compile(
    r"(?:[-*•]\s+|\d+[.)]\s+|(?:ok(?:ay)?|please|also|and|but|so|hey|no|nope|btw|oh|by the way"
    r"|actually|well|hmm|again|yes|yeah|great|thanks|thank you)\b[\s,.:!-]*)+",
    re.IGNORECASE,
)
_WHO = r"(?:(?:you|we|i|it)\s+(?:should|must|need to|have to|want you to|always want to)\s+)?"
_KINDS: tuple[tuple[str, float, re.Pattern[str]], ...] = (
    (
        "remember",
        0.95,
        re.compile(
            r"(?:remember|keep in mind|bear in mind|don'?t forget|do not forget|note)\b"
            r"(?:\s*[:,]|\s+(?:that|to|this))|remember\s+\w|for future reference\b|from now on\b",
            re.IGNORECASE,
        ),
    ),
    (
        "rule",
        0.9,
        re.compile(
            _WHO + r"(?:always|never)\s+\w|(?:you|we|i|agents?|tests?|code|commits?|everyone)\s"
            r"(?:\w+\s){0,3}(?:always|never)\s+\w",
            re.IGNORECASE,
        ),
    ),
    (
        "correction",
        0.85,
        re.compile(
            r"(?:\w+[\s,]+){0,6}use\s+\S.{0,120}?[\s,]"
            r"(?:instead of|rather than|and not|,? not)\s+\S"
            r"|(?:i\s+|we\s+)?prefer\s+\S.{0,120}?\s(?:over|to|instead of)\s+\S"
            r"|instead of\s+\S.{0,120}?,?\s+use\s+\S",
            re.IGNORECASE,
        ),
    ),
    (
        "ban",
        0.7,
        re.compile(_WHO + r"(?:don'?t|do not|stop|avoid)\s+(?:ever\s+)?\w", re.IGNORECASE),
    ),
)
_CHANGE = "change"
"""Kind of a sentence that says what has another value now."""
SPOKEN_TAGS = frozenset({"said", "refused", _CHANGE, *(kind for kind, _, _ in _KINDS)})
"""Tags that say a person spoke."""
_EMPTY_TALK = re.compile(
    r"never\s?mind|(?:don'?t|do not)\s+(?:worry|know|think|see|understand|care|mind|bother|hesitate"
    r"|have|want|believe|get|like|need|remember)\b|always\s+(?:wondered|thought|good|nice)"
    r"|(?:\S+\s+){0,3}(?:it|that|this|those|these|them|here|now|yet)[.!]*$",
    re.IGNORECASE,
)
_FEEDBACK = re.compile(r"the user said:\s*(.+)", re.DOTALL | re.IGNORECASE)
_TAG_QUESTION = re.compile(
    r"\b(?:yeah|yes|no|right|correct|ok|isn't it|aren't we|don't we|doesn't it)\s*\?$"
    r"|[.!]\s+\w"
    r"|^(?:why (?:not|don't)|can(?:'t)? (?:you|we)|could (?:you|we)|shouldn't)\b",
    re.IGNORECASE,
)
"""Questions that say what is so, or what to do."""
_MIN_WORDS = 3
_MAX_CHARS = 400
_HEAD, _TAIL = 1_500, 700
"""Of a long message only its start and end are the person talking; between is what they pasted."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence worth storing, the kind of pattern that matched, and a confidence in [0, 1]."""

    text: str
    kind: str
    confidence: float


def statements(text: str) -> Iterator[Statement]:
    """Yield the sentences of a person's message that state a lasting wish or fact."""
    for sentence in () if is_prompt(text) else _sentences(text):
        bare = sentence[lead.end() :] if (lead := _LEAD.match(sentence)) else sentence
        if len(bare) > _MAX_CHARS or len(bare.split()) < _MIN_WORDS or bare.rstrip().endswith("?"):
            continue
        if _EMPTY_TALK.match(bare) or is_no_rule(bare):
            continue
        for kind, confidence, pattern in _KINDS:
            if pattern.match(bare) and len(bare.split()) > (kind == "ban") + 2:
                yield Statement(bare[0].upper() + bare[1:], kind, confidence)
                break
        else:
            if tells_change(bare):
                yield Statement(bare[0].upper() + bare[1:], _CHANGE, 0.7)


def feedback(call: ToolCall) -> str:
    """Return what the person said when refusing a call; empty for one that wasn't refused.

    A mere question says nothing to others, and what the client itself words is no person's.
    """
    if call.outcome is not CallOutcome.DENIED_BY_USER:
        return ""
    match = _FEEDBACK.search(call.output)
    said = match[1].strip() if match else ""
    asks = said.endswith("?") and _TAG_QUESTION.search(said) is None
    return "" if asks or said.startswith(("[", "<")) else said


def _sentences(text: str) -> Iterator[str]:
    text = _FENCE.sub("\n", text)
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD].rpartition(' ')[0]}\n{text[-_TAIL:].partition(' ')[2]}"
    for sentence in _SENTENCE_END.split(text):
        sentence = sentence.strip()
        if sentence and not sentence.startswith((">", "|", "<", "$ ", "at ", "#")):
            yield " ".join(sentence.split())
