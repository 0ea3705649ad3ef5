"""What a person's turn says about how to work: rules, prohibitions, reminders, complaints.

Only sentences that tell an agent how to do its work count. A question, thanks, a new task or a
pasted log says nothing of it. Each sentence is judged by its words alone and mostly passed over:
what the agent had done just before, and whose turn it was, is for ``corrections``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.requests import is_no_rule, is_pasted, is_prompt
from synthorg_tui.learning.cues import (
    CONDITION,
    CUES,
    DEFINITE,
    END,
    FACT,
    FENCE,
    FILE,
    IDENTIFIER,
    INSTEAD,
    INSULT,
    LEAD,
    LIMIT,
    MOMENT,
    NOT_DONE,
    OF_PRODUCT,
    PRACTICE,
    QUESTION,
    REASON,
    SHOWING,
    STOP,
    UNDO,
    WANTS,
    WHETHER,
    WHOLE,
    WORD,
    Cue,
)

STANDING = 0.6
"""The certainty of a rule in general words: always, never, only, in full."""
PREFERENCE = 0.55
"""That of a wish which names nothing that only this moment had."""
PASSING = 0.35
"""That of a wish about one file or one moment: not proposed until it is said again."""
READ_WHOLE = frozenset({"read", "whole"})
"""The topic of all who want files read in full, whichever they name."""
MAX_SAID = 300
MAX_RULE = 70
_HEAD, _TAIL = 1_500, 700
_MAX_SENTENCES = 12
"""A longer turn describes a task: only what it says to remember counts."""
_FIRST = 3
"""Later sentences of a turn belong to a task that it gives."""
_MIN_WORDS = 3


@dataclass(frozen=True, slots=True)
class Reaction:
    """One sentence of a person about how to work.

    ``said`` is the sentence on one line of at most ``MAX_SAID`` characters. ``rule`` is an
    instruction made of its words, or the quoted words where they make none; at most ``MAX_RULE``
    characters. ``topic`` are the words that tell it from others however it is put, ``negative`` is
    set for what not to do, and ``certainty`` says how far one such sentence makes a rule.
    """

    said: str
    rule: str
    topic: frozenset[str]
    negative: bool
    certainty: float


def reactions(text: str) -> tuple[Reaction, ...]:
    """Return what a person's turn says about how to work; mostly nothing.

    Of a turn so long that it describes a task only standing rules count that say so themselves.
    """
    sentences = () if is_prompt(text) else tuple(_sentences(text))
    known: dict[frozenset[str], Reaction] = {}
    for place, sentence in enumerate(sentences):
        reaction = _reaction(sentence)
        if reaction is None:
            continue
        if len(sentences) > _MAX_SENTENCES and not CUES[0].pattern.search(sentence):
            continue
        if place >= _FIRST and reaction.certainty < STANDING:
            reaction = replace(reaction, certainty=PASSING)
        known.setdefault(reaction.topic, reaction)
    return tuple(known.values())


def told_afterwards(text: str) -> Reaction | None:
    """Return what a turn after a refused call says to do instead; ``None`` when it says nothing.

    It may be about anything, so its first sentence has to begin as an instruction does.
    """
    first = next(_sentences(text), "")
    reaction = told_instead(first) if INSTEAD.match(first) else None
    return replace(reaction, certainty=PASSING) if reaction is not None else None


def undoing(text: str) -> Reaction | None:
    """Return the words of a turn that has the agent's work undone; ``None`` of any other turn.

    They make no rule by themselves, so they count as said of one moment.
    """
    sentences = tuple(_sentences(text))
    if not any(UNDO.match(sentence) for sentence in sentences[:_FIRST]):
        return None
    words = one_line(" ".join(sentences[:_FIRST]), MAX_SAID)
    return _made(words, "", negative=True, certainty=PASSING)


def told_instead(reason: str) -> Reaction | None:
    """Return the reason that a person gave for refusing a call; ``None`` when it says nothing.

    Any instruction counts, since it was given against what the agent was about to do.
    """
    known = reactions(reason)
    if known:
        return known[0]
    for sentence in _sentences(reason):
        if SHOWING.match(sentence):
            return None
        if not QUESTION.match(sentence) and len(WORD.findall(sentence)) >= _MIN_WORDS:
            certainty = PASSING if _is_passing(sentence) else PREFERENCE
            if REASON.search(sentence) and not MOMENT.search(sentence):
                certainty = STANDING
            negative = bool(re.match(r"(?:no|not|don'?t|nothing)\b", sentence, re.IGNORECASE))
            return _made(sentence, "", negative=negative, certainty=certainty)
    return None


def asked_whether_done(text: str) -> str:
    """Return what a person asks to have been done: ``commit``, ``push`` or ``test``; else empty.

    Whether it was forgotten is for what the agent then does.
    """
    for sentence in _sentences(text):
        match = WHETHER.match(sentence)
        if match is not None and "?" in sentence:
            verb = match["verb"].lower()
            return PRACTICE.get(verb, verb)
    return ""


def shown(text: str, limit: int) -> str:
    """Return words of a turn on one line of at most ``limit`` characters, nothing hidden in it."""
    plain = "".join(part for part in text if part.isprintable() or part.isspace())
    return one_line(safe_text(" ".join(plain.split())), limit)


def _sentences(text: str) -> Iterator[str]:
    """The sentences that the person wrote, without lead-in, pasted lines and quotations."""
    text = FENCE.sub("\n", text)
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD].rpartition(' ')[0]}\n{text[-_TAIL:].partition(' ')[2]}"
    for line in text.splitlines():
        if is_pasted(line) and not line.startswith("@"):
            continue
        for part in END.split(line):
            sentence = shown(part.replace("\u2019", "'"), 2 * MAX_SAID)
            if sentence.startswith((">", "|", "<", "#")):
                continue
            lead = LEAD.match(sentence)
            yield sentence[lead.end() :] if lead else sentence


def _reaction(sentence: str) -> Reaction | None:
    if len(sentence) > MAX_SAID or len(WORD.findall(sentence)) < _MIN_WORDS:
        return None
    letters = sum(part.isalpha() or part.isspace() for part in sentence)
    if letters < 0.75 * len(sentence):
        return None
    asks = QUESTION.match(sentence) is not None and not sentence.lower().startswith("why ")
    polite = re.match(r"(?:always|never|only|stop|not)\b", sentence, re.IGNORECASE)
    if asks and polite is None:
        return None
    for cue in CUES:
        if match := cue.pattern.search(sentence):
            is_fact = cue is CUES[0] and FACT.match(match["rule"])
            is_other = not cue.quoted and is_no_rule(sentence)
            return None if is_fact or is_other else _judged(sentence, match, cue)
    return None


def _judged(sentence: str, match: re.Match[str], cue: Cue) -> Reaction | None:
    rule = INSULT.sub("", match["rule"]).strip(" .!?…,")
    before = sentence[: match.start("rule")]
    whole = WHOLE.search(rule) is not None and "read" in rule.lower()
    first = rule.partition(" ")[0].lower()
    omitted = first in PRACTICE and re.search(NOT_DONE, before, re.IGNORECASE) is not None
    if omitted:
        rule = f"{PRACTICE[first]}{rule[len(first) :]}"
    conditional = CONDITION.search(before) is not None
    if cue.quoted:
        certainty = PASSING if _is_passing(rule) or WANTS.match(rule) else PREFERENCE
    elif cue.standing or whole:
        passing = MOMENT.search(" ".join(rule.split()[:4])) or OF_PRODUCT.match(rule)
        certainty = PASSING if passing else STANDING
    else:
        certainty = PASSING if _is_passing(rule) else PREFERENCE
    if conditional and not cue.standing:
        certainty = PASSING
    title = "" if cue.quoted or conditional else f"{cue.lead}{rule}"
    return _made(sentence, title, negative=cue.negative, certainty=certainty, whole=whole)


def _is_passing(rule: str) -> bool:
    """Whether a wish names something that only this moment or this file had."""
    return any(pattern.search(rule) for pattern in (MOMENT, LIMIT, DEFINITE, FILE, IDENTIFIER))


def _made(
    sentence: str, title: str, *, negative: bool, certainty: float, whole: bool = False
) -> Reaction | None:
    topic = READ_WHOLE if whole else topic_of(REASON.sub("", title) or sentence)
    if len(topic) < 2:
        return None
    return Reaction(sentence, _titled(title, sentence), topic, negative, certainty)


def topic_of(text: str) -> frozenset[str]:
    """Return the words that a sentence is about, in plain form, without files and filler."""
    words = (word.lower() for word in WORD.findall(FILE.sub(" ", text)))
    stems = (_stem(word) for word in words if not STOP.fullmatch(word))
    return frozenset(stem for stem in stems if len(stem) > 1 and not STOP.fullmatch(stem))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _titled(rule: str, sentence: str) -> str:
    """An instruction, or the words themselves in quotation marks."""
    text = FILE.sub(lambda found: found[1] or found[2], rule)
    text = " ".join(REASON.sub("", text).strip(" .!?…,").split())
    if len(WORD.findall(text)) < 2:
        return f"“{one_line(sentence.strip(' .'), MAX_RULE - 2)}”"
    return one_line(f"{text[:1].upper()}{text[1:]}", MAX_RULE)
