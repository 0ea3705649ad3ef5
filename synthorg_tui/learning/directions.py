"""Which way a person's words point: for each thing they name, whether it is wanted or not.

A complaint wants the opposite of what it names ("why do you ...", "you keep ..."), a reproach of
something left undone wants just that ("you haven't ..."), and two negations are none. So each
clause gets a direction by how it begins, and each negation in it turns what follows. Words whose
direction isn't plain have none: a question, a permission, praise, a bare report. A rule made of a
person's words is held to these directions, and is refused wherever they can't be told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from synthorg_tui.learning.direction_cues import (
    ABOUT,
    BAD,
    CONDITIONS,
    COPULA,
    FILLERS,
    FRAGMENT,
    GIVES_UP,
    GOOD,
    GROUPS,
    HALF,
    LIGHT,
    LIMITS,
    MODAL,
    NEGATION,
    NEGATIONS_OF_TWO,
    NO_THEN,
    OPPOSITES,
    OTHERS,
    PARTS,
    PLACES,
    PLAIN,
    QUESTIONS,
    REASONS,
    REPROACH,
    SENTENCE,
    UNSURE,
    UNTOLD,
    UNWANTED,
    VERBS,
    WANTED,
    WISHES,
    WISHING,
    WORDS,
)
from synthorg_tui.learning.telling_words import SMALL_WORDS, stem_of


@dataclass(frozen=True, slots=True)
class Directions:
    """What a text wants and what it doesn't, by the stems of its words.

    ``told`` has the direction of each thing and the condition it stands under, ``both`` what is
    wanted in one place and not in another, ``named`` all things whatever their direction.
    """

    told: Mapping[str, tuple[int, str]]
    both: frozenset[str]
    named: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> "Directions":
        """Return the directions of a text of one or more sentences."""
        found: dict[str, set[tuple[int, str]]] = {}
        named: dict[str, str] = {}
        for clause in _clauses(_plain(text)):
            for word, sign in clause.signs():
                stem = stem_of(word)
                named.setdefault(stem, word)
                if sign != UNTOLD:
                    found.setdefault(stem, set()).add((sign, clause.under))
        told = {stem: next(iter(ways)) for stem, ways in found.items() if len(ways) == 1}
        return cls(told, frozenset(found.keys() - told.keys()), named)


def direction_refusal(rule: str, said: str, known: frozenset[str] = frozenset()) -> str:
    """Return why a rule doesn't want what a person wants, as goes on after its name; else empty.

    ``said`` is what the person said. ``known`` are stems of the evidence: what the rule wants may
    stand there too, where the person didn't name it.
    """
    wishes, asked = Directions.of(said), Directions.of(rule)
    for stem, (sign, under) in asked.told.items():
        if stem in wishes.told and (turned := _turned(asked.named[stem], sign, wishes.told[stem])):
            return turned
        if stem in wishes.told and not _holds(sign, under, wishes.told[stem][1]):
            return f"changes when '{asked.named[stem]}' holds"
    if opposite := _opposite(asked, wishes):
        return opposite
    if mixed := sorted(asked.both & wishes.named.keys()):
        return f"both wants and forbids '{asked.named[mixed[0]]}'"
    shared = [stem for stem in asked.told if stem in wishes.told]
    if not shared:
        return "can't be told to want what the person wants"
    return _own(asked, wishes, known) or _weakened(rule, said)


def _turned(word: str, sign: int, wish: tuple[int, str]) -> str:
    if sign == wish[0]:
        return ""
    if sign == WANTED:
        return f"wants '{word}', which the person doesn't"
    return f"forbids '{word}', which the person wants"


def _opposite(asked: Directions, wishes: Directions) -> str:
    wanted = {asked.named[stem]: sign for stem, (sign, _) in asked.told.items()}
    wished = {wishes.named[stem]: sign for stem, (sign, _) in wishes.told.items()}
    for word, wish in OPPOSITES:
        if wished.get(wish) == WANTED and wanted.get(word) == WANTED:
            return f"wants '{word}', where the person wants '{wish}'"
    return ""


def _holds(sign: int, under: str, wished: str) -> bool:
    """Whether a rule under a condition is the wish under its own; it may tell the situation."""
    if under == wished:
        return True
    return not wished and (under == "when" or (sign == WANTED and under in {"before", "after"}))


def _own(asked: Directions, wishes: Directions, known: frozenset[str]) -> str:
    """Say what a rule wants or forbids of its own: more than the person's things is too much."""
    shared = sum(sign == WANTED for stem, (sign, _) in asked.told.items() if stem in wishes.told)
    named = {stem: word for stem, word in asked.named.items() if word not in LIGHT}
    own = [stem for stem in named if stem not in wishes.named and stem not in known]
    forbidden = [stem for stem in own if asked.told.get(stem, (UNTOLD, ""))[0] == UNWANTED]
    if forbidden:
        return f"forbids '{asked.named[forbidden[0]]}', of which the person said nothing"
    if len(own) > shared:
        return f"has '{asked.named[own[0]]}', of which the person said nothing"
    return ""


def _weakened(rule: str, said: str) -> str:
    """Say which word is lost without which the wish is another one."""
    rule, said = rule.casefold(), said.casefold()
    for group in GROUPS:
        if (lost := group.search(said)) and not group.search(rule):
            return f"leaves out '{lost[0]}'"
    if _limits(rule) != _limits(said):
        return "changes a limit"
    return ""


def _limits(text: str) -> set[str]:
    found = LIMITS.finditer(text.replace("no more than", "at most"))
    return {"most" if limit["most"] else "least" for limit in found}


@dataclass(slots=True)
class _Clause:
    words: str
    base: int
    under: str = ""

    def signs(self) -> Iterator[tuple[str, int]]:
        """The things of the clause, each with its direction."""
        words = WORDS.findall(self.words)
        sign, gives_up, skip, things = self.base, False, False, 0
        for at, word in enumerate(words):
            following = words[at + 1] if at + 1 < len(words) else ""
            if skip:
                skip = False
            elif word in {"and", "or"} and sign != self.base:
                sign = self._after_and(word, following, sign, gives_up=gives_up)
            elif NEGATIONS_OF_TWO.fullmatch(f"{word} {following}"):
                sign, skip = -sign, True
            elif word == "nor":
                sign = UNWANTED if sign != UNTOLD else UNTOLD
            elif NEGATION.fullmatch(word):
                sign, gives_up = -sign, GIVES_UP.fullmatch(word) is not None
            elif word in PLACES and things and sign == UNWANTED:
                sign = UNTOLD
            elif word not in SMALL_WORDS and word not in WISHING and len(word) > 1:
                things += 1
                yield word, sign

    def _after_and(self, word: str, following: str, sign: int, *, gives_up: bool) -> int:
        """The direction after ``and``: a plain verb after a gerund turns back; else unsure."""
        if following.endswith("ing") or (word == "or" and not gives_up):
            return sign
        return self.base if gives_up and VERBS.fullmatch(following) else UNTOLD


def _plain(text: str) -> str:
    text = text.casefold()
    for pattern, plain in PLAIN:
        text = pattern.sub(plain, text)
    return text


def _clauses(text: str) -> Iterator[_Clause]:
    """The clauses of a plain text, each with its direction."""
    parts = SENTENCE.split(text)
    for sentence, end in zip(parts[::2], [*parts[1::2], ""], strict=False):
        yield from _of_sentence(sentence, is_question="?" in (end or ""))


def _of_sentence(sentence: str, *, is_question: bool) -> Iterator[_Clause]:
    found: list[_Clause] = []
    condition, before = "", None
    is_praise = UNSURE.search(sentence) is not None and sentence.count(",") > 0
    for marker, words in _marked(sentence):
        if marker in CONDITIONS:
            condition = CONDITIONS[marker]
            if before is not None:
                before.under, condition = condition, ""
            found.append(_Clause(words, UNTOLD))
            continue
        if marker in REASONS:
            found.append(_Clause(words, UNTOLD))
            continue
        sign, rest = _base(marker, words, before, is_question=is_question)
        clause = _Clause(rest, sign, condition)
        if marker == "without" and before is not None and clause.base != UNTOLD:
            before.under = "unless" if clause.base == WANTED else before.under
        found.append(clause)
        before, condition = clause, ""
    if is_praise and any(clause.words.startswith("you ") for clause in found):
        return
    yield from found


def _marked(sentence: str) -> Iterator[tuple[str, str]]:
    """The parts of a sentence, each with the word that it began with, if that is one of ours."""
    at, marker = 0, ""
    for found in PARTS.finditer(sentence):
        if words := sentence[at : found.start()].strip():
            yield marker, words
            marker = ""
        at, marker = (
            found.end(),
            found[1] or ("" if sentence[at : found.start()].strip() else marker),
        )
    if words := sentence[at:].strip():
        yield marker, words


def _base(marker: str, words: str, before: _Clause | None, *, is_question: bool) -> tuple[int, str]:
    """The direction that a clause begins with, and what of it names things or turns them."""
    if marker in OTHERS or marker == "without":
        return -_last_sign(before) if before is not None else UNTOLD, words
    said, words = words, _without_fillers(words)
    is_first = before is None and marker != "but"
    if UNSURE.search(words) or (is_first and FRAGMENT.match(said)):
        return UNTOLD, words
    if BAD.search(words) or GOOD.search(words):
        return _judged(words, is_question=is_question), words
    return _begun(words, is_question=is_question)


def _without_fillers(words: str) -> str:
    words = FILLERS.sub("", NO_THEN.sub("", words))
    if _starts_with_no_thing(words):
        words = FILLERS.sub("", words.removeprefix("no").strip())
    return words


def _last_sign(clause: _Clause) -> int:
    return next(iter([sign for _, sign in clause.signs()][::-1]), clause.base)


def _starts_with_no_thing(words: str) -> bool:
    """Whether ``no`` is an answer and not a negation: a verb follows it, or nothing."""
    first, _, rest = words.partition(" ")
    return first == "no" and (not rest or VERBS.fullmatch(rest.partition(" ")[0]) is not None)


def _judged(words: str, *, is_question: bool) -> int:
    """The direction of what is called good or bad; its own negations are counted here."""
    is_plain = COPULA.search(words) and not words.startswith(("why", "you", "i "))
    if (
        is_question
        or not is_plain
        or " than" in words
        or (BAD.search(words) and GOOD.search(words))
    ):
        return UNTOLD
    sign = UNWANTED if BAD.search(words) else WANTED
    return UNTOLD if any(NEGATION.fullmatch(word) for word in words.split()) else sign


def _begun(words: str, *, is_question: bool) -> tuple[int, str]:
    for pattern, sign in WISHES:
        if found := pattern.match(words):
            turns = _turns(found[0]) if sign == WANTED else []
            rest = " ".join((*turns, words[found.end() :]))
            return (UNTOLD if turns and is_question else sign), rest
    return _said_of_somebody(words, is_question=is_question), words


def _said_of_somebody(words: str, *, is_question: bool) -> int:
    if REPROACH.match(words):
        half = HALF.search(words) or ABOUT.fullmatch(_after_not(words))
        return UNTOLD if half or is_question else UNWANTED
    if is_question or QUESTIONS.match(words) or words.startswith(("you ", "i ", "we ", "it ")):
        return UNTOLD
    first = words.partition(" ")[0]
    if VERBS.fullmatch(first) or NEGATION.fullmatch(first) or NEGATIONS_OF_TWO.match(words):
        return WANTED
    return WANTED if MODAL.search(words) else UNTOLD


def _turns(words: str) -> list[str]:
    return [word for word in words.split() if NEGATION.fullmatch(word)]


def _after_not(words: str) -> str:
    return words.partition(" not ")[2].partition(" ")[0]
