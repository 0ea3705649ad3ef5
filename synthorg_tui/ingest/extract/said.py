"""What a person's turn says about how to work: rules, prohibitions, reminders, complaints.

Only sentences that tell an agent how to do its work count. A question, thanks, a new task or a
pasted log says nothing of it. Each sentence is judged by its words alone, in English or put into
it, and mostly passed over: what the agent had done just before, and whose turn it was, is for
``learning.corrections``. Only what a person said may be given to these functions: ``SPOKEN_TAGS``
mark memories as a person's word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.languages import in_english
from synthorg_tui.core.patterns import Patterns
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.requests import is_pasted, is_prompt
from synthorg_tui.memory.claims import tells_change

WORDS: Final = Patterns(Path(__file__).with_name("said.toml"))
"""The patterns by which sentences are known, by name; they are data."""
STANDING: Final = 0.6
"""The certainty of a rule in general words: always, never, only, in full."""
PREFERENCE: Final = 0.55
"""That of a wish which names nothing that only this moment had."""
PASSING: Final = 0.35
"""That of a wish about one file or one moment: not proposed until it is said again."""
READ_WHOLE: Final = frozenset({"read", "whole"})
"""The topic of all who want files read in full, whichever they name."""
MAX_SAID: Final = 300
MAX_RULE: Final = 70
_HEAD, _TAIL = 1_500, 700
"""Of a long turn only its start and end are the person talking; between is what they pasted."""
_MAX_SENTENCES: Final = 12
"""A longer turn describes a task: only what it says to remember counts."""
_FIRST: Final = 3
"""Later sentences of a turn belong to a task that it gives."""
_MIN_WORDS: Final = 3
_KINDS: Final = {"remember": 0.95, "rule": 0.9, "correction": 0.85, "ban": 0.7, "change": 0.7}
"""The kinds of statements, each with its confidence."""
SPOKEN_TAGS: Final = frozenset({"said", "refused", *_KINDS})
"""Tags that say a person spoke."""


class _Cue(NamedTuple):
    """Words that a wish is known by; the first that match decide.

    ``pattern`` is the name of a pattern with a group ``rule``, the wish itself. ``lead`` is put
    before it, ``standing`` says that the words alone make it a rule, ``quoted`` that they make no
    instruction. ``kind`` is that of the statement that is kept; of a ``complaint`` none is.
    """

    pattern: str
    kind: str = ""
    standing: bool = False
    negative: bool = False
    lead: str = ""
    quoted: bool = False


_CUES: Final = tuple(
    _Cue(**{**cue, "pattern": f"cue {at}"}) for at, cue in enumerate(WORDS.data["cues"])
)


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


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence worth storing, the kind of pattern that matched, and a confidence in [0, 1]."""

    text: str
    kind: str
    confidence: float


class _Said(NamedTuple):
    """A sentence as it was said, without its lead-in, and in English."""

    said: str
    plain: str


def reactions(text: str) -> tuple[Reaction, ...]:
    """Return what a person's turn says about how to work; mostly nothing.

    Of a turn so long that it describes a task only standing rules count that say so themselves.
    """
    sentences = () if is_prompt(text) else tuple(_sentences(text))
    known: dict[frozenset[str], Reaction] = {}
    for place, sentence in enumerate(sentences):
        found = _found(sentence)
        if found is None or (found[0] is _CUES[0] and WORDS["fact"].match(found[1]["rule"])):
            continue
        if len(sentences) > _MAX_SENTENCES and found[0] is not _CUES[0]:
            continue
        reaction = _judged(sentence, found[1], found[0])
        if reaction is None:
            continue
        if place >= _FIRST and reaction.certainty < STANDING:
            reaction = replace(reaction, certainty=PASSING)
        known.setdefault(reaction.topic, reaction)
    return tuple(known.values())


def statements(text: str) -> Iterator[Statement]:
    """Yield the sentences of a person's message that state a lasting wish or fact."""
    for sentence in () if is_prompt(text) else _sentences(text):
        said, plain = sentence
        if plain.rstrip().endswith("?") or WORDS["empty_talk"].match(plain):
            continue
        found = _found(sentence)
        changes = found is None and not is_no_rule(plain) and tells_change(said)
        kind = "change" if changes else ""
        if found is not None and not found[1].start():
            kind = found[0].kind
        if kind in _KINDS and (plain != said or len(said.split()) > (kind == "ban") + 2):
            yield Statement(said[0].upper() + said[1:], kind, _KINDS[kind])


def feedback(call: ToolCall) -> str:
    """Return what the person said when refusing a call; empty for one that wasn't refused.

    A mere question says nothing to others, and what the client itself words is no person's.
    """
    if call.outcome is not CallOutcome.DENIED_BY_USER:
        return ""
    match = WORDS["feedback"].search(call.output)
    said = match[1].strip() if match else ""
    asks = said.endswith("?") and WORDS["tag_question"].search(said) is None
    return "" if asks or said.startswith(("[", "<")) else said


def told_afterwards(text: str) -> Reaction | None:
    """Return what a turn after a refused call says to do instead; ``None`` when it says nothing.

    It may be about anything, so its first sentence has to begin as an instruction does.
    """
    first = next(_sentences(text), _Said("", ""))
    reaction = told_instead(first.said) if WORDS["instead"].match(first.plain) else None
    return replace(reaction, certainty=PASSING) if reaction is not None else None


def undoing(text: str) -> Reaction | None:
    """Return the words of a turn that has the agent's work undone; ``None`` of any other turn.

    They make no rule by themselves, so they count as said of one moment.
    """
    first = tuple(_sentences(text))[:_FIRST]
    if not any(WORDS["undo"].match(sentence.plain) for sentence in first):
        return None
    words = one_line(" ".join(sentence.said for sentence in first), MAX_SAID)
    return _made(_Said(words, words), "", negative=True, certainty=PASSING)


def told_instead(reason: str) -> Reaction | None:
    """Return the reason that a person gave for refusing a call; ``None`` when it says nothing.

    Any instruction counts, since it was given against what the agent was about to do.
    """
    known = reactions(reason)
    if known:
        return known[0]
    for sentence in _sentences(reason):
        plain = sentence.plain
        if WORDS["showing"].match(plain):
            return None
        if not WORDS["question"].match(plain) and len(WORDS["word"].findall(plain)) >= _MIN_WORDS:
            certainty = PASSING if _is_passing(plain) else PREFERENCE
            if WORDS["reason"].search(plain) and not WORDS["moment"].search(plain):
                certainty = STANDING
            negative = bool(re.match(r"(?:no|not|don'?t|nothing)\b", plain, re.IGNORECASE))
            return _made(sentence, "", negative=negative, certainty=certainty)
    return None


def asked_whether_done(text: str) -> str:
    """Return what a person asks to have been done: ``commit``, ``push`` or ``test``; else empty.

    Whether it was forgotten is for what the agent then does.
    """
    for _, plain in _sentences(text):
        match = WORDS["whether"].match(plain)
        if match is not None and "?" in plain:
            return practice(match["verb"].lower())
    return ""


def practice(word: str) -> str:
    """Return the plain form of a verb of work habits; any other word as it is."""
    return str(WORDS.data["practice"].get(word, word))


def shown(text: str, limit: int) -> str:
    """Return words of a turn on one line of at most ``limit`` characters, nothing hidden in it."""
    plain = "".join(part for part in text if part.isprintable() or part.isspace())
    return one_line(safe_text(" ".join(plain.split())), limit)


def is_no_rule(sentence: str) -> bool:
    """Tell whether a sentence with the words of a rule makes none.

    It negates that something was said, tells what others say, reproaches, jokes, or is about one
    moment, one test or one step of a task.
    """
    return WORDS["no_rule"].search(sentence.replace("\u2019", "'").strip()) is not None


def _sentences(text: str) -> Iterator[_Said]:
    """The sentences that the person wrote, without lead-in, pasted lines and quotations."""
    text = WORDS["fence"].sub("\n", text)
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD].rpartition(' ')[0]}\n{text[-_TAIL:].partition(' ')[2]}"
    for line in text.splitlines():
        if is_pasted(line) and not line.startswith("@"):
            continue
        for part in WORDS["end"].split(line):
            sentence = shown(part.replace("\u2019", "'"), 2 * MAX_SAID)
            if not sentence or sentence.startswith((">", "|", "<", "#")):
                continue
            plain = in_english(sentence)
            is_foreign = plain != sentence
            if is_foreign:
                plain = in_english(WORDS["quotation"].sub(" ", sentence))
            plain = _without_lead(plain)
            yield _Said(sentence if is_foreign else plain, plain)


def _without_lead(sentence: str) -> str:
    lead = WORDS["lead"].match(sentence)
    return sentence[lead.end() :] if lead else sentence


def _found(sentence: _Said) -> tuple[_Cue, re.Match[str]] | None:
    """The first cue that a sentence has, of rules the one that it begins with.

    A question, a log and what makes no rule have none.
    """
    said, plain = sentence
    least = _MIN_WORDS - (plain != said)
    if len(said) > MAX_SAID or len(WORDS["word"].findall(plain)) < least:
        return None
    letters = sum(part.isalpha() or part.isspace() for part in said)
    asks = WORDS["question"].match(plain) is not None and not plain.lower().startswith("why ")
    polite = re.match(r"(?:always|never|only|stop|not)\b", plain, re.IGNORECASE)
    if letters < 0.75 * len(said) or (asks and polite is None):
        return None
    found = [(cue, match) for cue in _CUES if (match := WORDS[cue.pattern].search(plain))]
    if not found or (found[0][0].kind != "complaint" and is_no_rule(plain)):
        return None
    rules = (each for each in found if each[0].kind == found[0][0].kind == "rule")
    return next((each for each in rules if not each[1].start()), found[0])


def _judged(sentence: _Said, match: re.Match[str], cue: _Cue) -> Reaction | None:
    plain = sentence.plain
    rule = WORDS["insult"].sub("", match["rule"]).strip(" .!?…,")
    before = plain[: match.start("rule")]
    whole = WORDS["whole"].search(rule) is not None and "read" in rule.lower()
    first = rule.partition(" ")[0].lower()
    if WORDS["practice"].fullmatch(first) and WORDS["not_done"].search(before):
        rule = f"{practice(first)}{rule[len(first) :]}"
    conditional = WORDS["condition"].search(before) is not None
    if cue.standing or (whole and not cue.quoted):
        passing = WORDS["moment"].search(" ".join(rule.split()[:4])) or WORDS["of_product"].match(
            rule
        )
        certainty = PASSING if passing else STANDING
    else:
        is_one = _is_passing(rule) or (cue.quoted and WORDS["wants"].match(rule) is not None)
        certainty = PASSING if is_one or conditional else PREFERENCE
    title = "" if cue.quoted or conditional else f"{cue.lead}{rule}"
    return _made(sentence, title, negative=cue.negative, certainty=certainty, whole=whole)


def _is_passing(rule: str) -> bool:
    """Whether a wish names something that only this moment or this file had."""
    names = ("moment", "limit", "definite", "file", "identifier")
    return any(WORDS[name].search(rule) for name in names)


def _made(
    sentence: _Said, title: str, *, negative: bool, certainty: float, whole: bool = False
) -> Reaction | None:
    topic = READ_WHOLE if whole else topic_of(WORDS["reason"].sub("", title) or sentence.plain)
    if len(topic) < 1 + (sentence.plain == sentence.said):
        return None
    return Reaction(sentence.said, _titled(title, sentence.said), topic, negative, certainty)


def topic_of(text: str) -> frozenset[str]:
    """Return the words that a sentence is about, in plain form, without files and filler."""
    words = (word.lower() for word in WORDS["word"].findall(WORDS["file"].sub(" ", text)))
    stems = (_stem(word) for word in words if not WORDS["stop"].fullmatch(word))
    return frozenset(stem for stem in stems if len(stem) > 1 and not WORDS["stop"].fullmatch(stem))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _titled(rule: str, sentence: str) -> str:
    """An instruction, or the words themselves in quotation marks."""
    text = WORDS["file"].sub(lambda found: found[1] or found[2], rule)
    text = " ".join(WORDS["reason"].sub("", text).strip(" .!?…,").split())
    if len(WORDS["word"].findall(text)) < 2:
        return f"“{one_line(sentence.strip(' .'), MAX_RULE - 2)}”"
    return one_line(f"{text[:1].upper()}{text[1:]}", MAX_RULE)
