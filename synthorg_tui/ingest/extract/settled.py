"""What a conversation settled: what a person answered or objected to, and what one agreed to.

A decision is seldom in the first request: it is in the answer to a question, in the objection to a
plan, and in what the agent makes of both. Nothing is understood here, words are only taken from
where such things are said. It errs on the side of a sentence too many: one too few is the decision.
"""

from collections.abc import Sequence
from typing import NamedTuple

from synthorg_tui.core.languages import in_english
from synthorg_tui.executions.models import Turn
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.requests import is_pasted, is_trivial
from synthorg_tui.ingest.extract.said import WORDS
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer

_LONGEST = 300
_FEW = 60
"""Characters of an answer that says little without its question."""
_READ, _MOST_TURNS = 2_000, 8
"""Characters of a turn, and turns before and after a request, that are looked at."""
_NEW_WORDS, _WITH_A_WORD = 0.1, 0.35
"""Share of the words of a request and its answers that were said before, below which another
subject begins; the second where the person says so."""
_ENOUGH_WORDS = 20
"""Different words of a request and its answers, from which on they alone tell a subject."""


class Settled(NamedTuple):
    """Words of one turn that settle something, those of a person in quotation marks."""

    turn: Turn
    text: str
    by_person: bool


def settled(turns: Sequence[Turn]) -> list[Settled]:
    """Return what the turns of a conversation settled, in the order in which it was said."""
    found: list[Settled] = []
    before: Turn | None = None
    for turn in turns:
        if turn.role == "assistant":
            before = turn
            if WORDS["sums_up"].match(in_english(turn.text[:_LONGEST])) or (
                turn is turns[-1] and found
            ):
                found.append(Settled(turn, _told(turn.text), by_person=False))
            continue
        if before is None or turn.role != "user":
            continue
        accepts = accepts_or_objects(turn.text) == "yes"
        if accepts and (not found or found[-1].turn is not before):
            found.append(Settled(before, _told(before.text), by_person=False))
        proposed = WORDS["proposes"].search(in_english(before.text[-_READ:]))
        if proposed or accepts_or_objects(turn.text):
            found.append(Settled(turn, _answer(turn.text, before.text), by_person=True))
        before = None
    return [each for each in found if each.text]


def accepts_or_objects(text: str) -> str:
    """Return "yes" for a turn that begins by accepting, "no" for one that objects, else ""."""
    plain = in_english(text[:_LONGEST])
    return "yes" if WORDS["accepts"].match(plain) else "no" if WORDS["objects"].match(plain) else ""


def _answer(text: str, asked: str) -> str:
    """A person's words; few of them with the question that they answer."""
    told = _told(text)
    if len(text) > _FEW:
        return told and f"“{told}”"
    sentences = WORDS["statement_end"].split(asked[-_READ:])
    question = next((each for each in reversed(sentences) if each.rstrip().endswith("?")), "")
    if not told and question and not (_is_question(text) or is_trivial(f"It is {text}")):
        told = one_line(text)
    return told and f"{one_line(question, _LONGEST)} “{told}”".strip()


def begins_subject(before: Sequence[Turn], turns: Sequence[Turn]) -> bool:
    """Return whether a request with its answers is about something else than the turns before."""
    tokens = BM25Tokenizer()
    known, new = (
        {word for turn in part for word in tokens.tokenize(turn.text[:_READ]) if len(word) > 3}
        for part in (before[-_MOST_TURNS:], turns[:_MOST_TURNS])
    )
    share = len(known & new) / len(new) if new else 1.0
    if WORDS["another"].search(in_english(turns[0].text[:_LONGEST])):
        return share < _WITH_A_WORD
    asked = before[-1].text.rstrip().endswith("?")
    return share < _NEW_WORDS and len(new) >= _ENOUGH_WORDS and not asked


def _is_question(sentence: str) -> bool:
    return (
        in_english(sentence).rstrip().endswith("?")
        or WORDS["asks"].match(in_english(sentence)) is not None
    )


def _told(text: str) -> str:
    """The sentences of a turn that state something, as many as there is room for."""
    told = ""
    for sentence in WORDS["statement_end"].split(WORDS["fence"].sub("\n", text[:_READ])):
        shown = " ".join(sentence.split())
        is_code = len(text) > _FEW and is_pasted(shown)
        if not shown or _is_question(shown) or is_code:
            continue
        if len(told) + len(shown) >= _LONGEST:
            return told or one_line(shown, _LONGEST)
        told = f"{told} {shown}".strip()
    return "" if is_trivial(told) else told
