"""The words by which texts and questions relate one thing to another, and what each means.

A table, so that what is read from facts and what is asked of them are told by the same words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple


class RelationKind(StrEnum):
    """How one thing stands to another, read from left to right."""

    USES = "uses"
    DEPENDS_ON = "depends on"
    OWNED_BY = "is owned by"
    LED_BY = "is led by"
    REPLACES = "replaces"
    RUNS_ON = "runs on"
    CALLS = "calls"
    STORED_IN = "is stored in"
    WRITES_TO = "writes to"
    READS_FROM = "reads from"
    PART_OF = "is part of"
    MEMBER_OF = "is a member of"
    REPORTS_TO = "reports to"
    TESTED_WITH = "is tested with"
    DOCUMENTED_IN = "is documented in"
    WRITTEN_BY = "is written by"
    MONITORED_BY = "is monitored by"
    APPROVED_BY = "is approved by"
    CREATED_BY = "is created by"
    LOCATED_IN = "is located in"
    CONFIGURED_IN = "is configured in"
    IMPLEMENTS = "implements"
    IMPORTS = "imports"
    PROVIDES = "provides"
    FOLLOWS = "follows"
    BLOCKS = "blocks"
    NOT = "rules out"
    EXCEPT = "has the exception"
    SEE = "refers to"
    ABOUT = "is about"
    BESIDE = "is named with"


class _Forms(NamedTuple):
    """``said`` stand between the two from left to right, ``turned`` the other way round.

    ``nouns`` stand before ``of`` and the left one, and name the right one: "owner of X is Y".
    """

    said: str
    turned: str = ""
    nouns: str = ""


_FORMS: Final[Mapping[RelationKind, _Forms]] = {
    RelationKind.USES: _Forms(
        "use|uses|used|using|is built with|built with|is written in|written in|is implemented in"
        "|adopts|adopted|switched to|switches to|moved to",
        "is used by|used by|is used in|used in",
    ),
    RelationKind.DEPENDS_ON: _Forms(
        "depend on|depends on|depended on|depending on|rely on|relies on|relying on|require"
        "|requires|required|need|needs|needed",
        "required by|needed by",
        "dependency|dependencies",
    ),
    RelationKind.OWNED_BY: _Forms(
        "owned by|maintained by|belong to|belongs to|belonged to|looked after by",
        "own|owns|owned|owning|maintain|maintains|maintained|responsible for|look after"
        "|looks after",
        "owner|owners|maintainer|maintainers",
    ),
    RelationKind.LED_BY: _Forms(
        "led by|headed by|managed by", "lead|leads|heads|manage|manages", "lead|leader|head|manager"
    ),
    RelationKind.REPLACES: _Forms(
        "replace|replaces|replaced|replacing|supersede|supersedes|superseded|took over from"
        "|takes over from|instead of|rather than",
        "replaced by|replaced with|superseded by",
    ),
    RelationKind.RUNS_ON: _Forms(
        "run on|runs on|running on|hosted on|hosted by|deployed to|deployed on|deploys to"
        "|deploy to",
        "hosts",
    ),
    RelationKind.CALLS: _Forms(
        "call|calls|calling|invoke|invokes|talk to|talks to|connect to|connects to"
        "|communicates with|integrates with|sends data to|sends events to",
        "called by|invoked by",
    ),
    RelationKind.STORED_IN: _Forms(
        "stored in|kept in|live in|lives in|saved in|persisted in", "stores"
    ),
    RelationKind.WRITES_TO: _Forms("write to|writes to|publish to|publishes to"),
    RelationKind.READS_FROM: _Forms(
        "read from|reads from|consume from|consumes from|subscribes to|listens to|listen to"
    ),
    RelationKind.PART_OF: _Forms("part of", "contain|contains|consists of|includes"),
    RelationKind.MEMBER_OF: _Forms("member of|members of|work in|works in|work for|works for"),
    RelationKind.REPORTS_TO: _Forms("report to|reports to"),
    RelationKind.TESTED_WITH: _Forms("tested with|tested by"),
    RelationKind.DOCUMENTED_IN: _Forms(
        "documented in|described in|explained in", "documents|describes"
    ),
    RelationKind.WRITTEN_BY: _Forms(
        "written by|decided by|authored by|proposed by",
        "wrote|decided|authored",
        "author|authors|decider|deciders",
    ),
    RelationKind.MONITORED_BY: _Forms("monitored by|watched by", "monitors|monitor|watches"),
    RelationKind.APPROVED_BY: _Forms(
        "approved by|reviewed by|signed off by", "approves|approve|reviews", "approver|reviewer"
    ),
    RelationKind.CREATED_BY: _Forms(
        "created by|built by|introduced by|chosen by", "created|built|introduced|chose", "creator"
    ),
    RelationKind.LOCATED_IN: _Forms("located in|based in|sits in"),
    RelationKind.CONFIGURED_IN: _Forms(
        "configured in|configured by|defined in|declared in", "configures|defines|declares"
    ),
    RelationKind.IMPLEMENTS: _Forms(
        "implements|implement|extends|inherits from", "implemented by|extended by"
    ),
    RelationKind.IMPORTS: _Forms("imports|import", "imported by"),
    RelationKind.PROVIDES: _Forms(
        "provides|provide|exposes|expose|produces|produce|emits|emit",
        "provided by|exposed by|produced by|emitted by",
    ),
    RelationKind.FOLLOWS: _Forms("follows|follow|complies with|conforms to", "followed by"),
    RelationKind.BLOCKS: _Forms("blocks|block", "blocked by"),
    RelationKind.SEE: _Forms("see|see also|refers to|refer to"),
    RelationKind.EXCEPT: _Forms("", "", "exception|exceptions"),
}
_ASKED_ALIKE: Final[Mapping[RelationKind, frozenset[RelationKind]]] = {
    RelationKind.REPLACES: frozenset({RelationKind.REPLACES, RelationKind.NOT}),
}
_NEGATED: Final = """
not never don't doesn't didn't cannot can't won't mustn't shouldn't isn't aren't avoid avoids
"""
_NEGATIONS: Final = frozenset(_NEGATED.split())
_DETERMINERS: Final = frozenset({"the", "a", "an", "its", "our", "their", "each", "every"})
_WORD: Final = re.compile(r"[\w']+")
_GLUE: Final = frozenset("-/.=@")
"""What makes a word the end of a name."""
_BROKEN: Final = re.compile(r"[^\w'\s]")
_GOES_ON: Final = re.compile(r"\s{0,3}[-=/]")


class SaidRelation(NamedTuple):
    """Words of a text that relate what stands before them to what stands after.

    With ``is_turned`` the relation goes from what stands after to what stands before. ``is_noun``
    is of "owner of". ``start`` and ``end`` are positions in the text.
    """

    kind: RelationKind
    said: str
    is_turned: bool = False
    is_noun: bool = False
    start: int = 0
    end: int = 0
    is_negated: bool = False

    @property
    def asks_for(self) -> frozenset[RelationKind]:
        """The relations that answer a question with these words."""
        if self.is_negated:
            return frozenset({RelationKind.NOT})
        return _ASKED_ALIKE.get(self.kind, frozenset({self.kind}))


@cache
def _table() -> dict[str, list[SaidRelation]]:
    """The forms by their first word, the longest first: most words of a text begin none."""
    forms: dict[str, SaidRelation] = {}
    for kind, (said, turned, nouns) in _FORMS.items():
        forms |= {form: SaidRelation(kind, form, True) for form in turned.split("|") if form}
        forms |= {form: SaidRelation(kind, form) for form in said.split("|") if form}
        of = (f"{noun} of" for noun in nouns.split("|") if noun)
        forms |= {form: SaidRelation(kind, form, is_noun=True) for form in of}
    table: dict[str, list[SaidRelation]] = {}
    for form in sorted(forms, key=len, reverse=True):
        table.setdefault(form.split()[0], []).append(forms[form])
    return table


def relations_said(text: str) -> Iterator[SaidRelation]:
    """Yield the words in a text that relate things, in order; none overlap."""
    plain = text.replace("\u2019", "'")
    words = [(found[0].lower(), found.start(), found.end()) for found in _WORD.finditer(plain)]
    place = 0
    while place < len(words):
        found = _form_at(plain, words, place)
        if found is None:
            place += 1
            continue
        negated, after = _negation(words, place), place + len(found.said.split())
        start, end, place = words[place - negated][1], words[after - 1][2], after
        yield found._replace(start=start, end=end, is_negated=negated > 0)


def _form_at(text: str, words: Sequence[tuple[str, int, int]], place: int) -> SaidRelation | None:
    """The form that the words at a place are."""
    forms = _table().get(words[place][0])
    if not forms or (place and words[place - 1][0] in _DETERMINERS):
        return None  # "the use of", "its calls"
    for form in forms:
        length = len(form.said.split())
        part = words[place : place + length]
        if " ".join(word for word, _, _ in part) != form.said:
            continue
        start, end = part[0][1], part[-1][2]
        if text[max(0, start - 1) : start] in _GLUE or _BROKEN.search(text[start:end]):
            continue
        after = words[place + length][0] if place + length < len(words) else ""
        if after != "to" and not _GOES_ON.match(text, end):
            return form
    return None


def _negation(words: Sequence[tuple[str, int, int]], place: int) -> int:
    """How many words right before a place say "not"."""
    before = [word for word, _, _ in words[max(0, place - 2) : place]]
    if before == ["no", "longer"]:
        return 2
    return int(bool(before) and before[-1] in _NEGATIONS)


class SaidNoun(NamedTuple):
    """A text's "the owner of X is Y", in whichever order: ``of`` is X, and ``who`` is Y."""

    kind: RelationKind
    of: str
    who: str


_PART: Final = r"[^,;:.]{1,100}?"
_END: Final = r"(?=[,;:]|\.(?:\s|$)|$)"


@cache
def _noun_forms() -> tuple["re.Pattern[str]", ...]:
    nouns, _ = _nouns()
    noun = f"(?P<noun>{'|'.join(sorted(nouns, key=len, reverse=True))})"
    is_ = r"\s+(?:is|are|was|were)\s+"
    forms = (
        rf"\b{noun}\s+of\s+(?P<of>{_PART}){is_}(?P<who>{_PART}){_END}",
        rf"(?:^|[,;:]\s)(?P<of>{_PART})'s\s+{noun}{is_}(?P<who>{_PART}){_END}",
        rf"(?:^|[,;:]\s)(?P<who>{_PART}){is_}(?:the|an?)\s+{noun}\s+of\s+(?P<of>{_PART}){_END}",
    )
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


def nouns_said(sentence: str) -> Iterator[SaidNoun]:
    """Yield what a sentence says with nouns such as "owner"."""
    plain = sentence.replace("\u2019", "'")
    for form in _noun_forms():
        for found in form.finditer(plain):
            yield SaidNoun(_nouns()[0][found["noun"].casefold()], found["of"], found["who"])


@cache
def _nouns() -> tuple[dict[str, RelationKind], "re.Pattern[str]"]:
    nouns = {
        noun: kind for kind, forms in _FORMS.items() for noun in forms.nouns.split("|") if noun
    }
    found = "|".join(sorted(nouns, key=len, reverse=True))
    return nouns, re.compile(rf"\b(?:{found})\b", re.IGNORECASE)


_THE_ASKER: Final = re.compile(r"\b(?:i|we|you|to|should|can|could)\s{1,3}$", re.IGNORECASE)


def relations_asked(question: str) -> list[SaidRelation]:
    """Return the relations that a question asks for, in order.

    As ``relations_said``, and nouns alone, as in "the dependencies". What whoever asks does, as in
    "what should I use", is none.
    """
    found = [
        relation
        for relation in relations_said(question)
        if relation.is_noun or not _THE_ASKER.search(question[: relation.start])
    ]
    taken = [(relation.start, relation.end) for relation in found]
    nouns, expression = _nouns()
    for noun in expression.finditer(question):
        if all(noun.end() <= start or end <= noun.start() for start, end in taken):
            said = noun[0].casefold()
            found.append(SaidRelation(nouns[said], said, False, True, noun.start(), noun.end()))
    return sorted(found, key=lambda relation: relation.start)
