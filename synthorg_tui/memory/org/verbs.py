"""The words by which texts and questions relate one thing to another, and what each means.

A table, so that what is read from facts and what is asked of them are told by the same words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
        "hosts|host",
    ),
    RelationKind.CALLS: _Forms(
        "call|calls|calling|invoke|invokes|talk to|talks to|connect to|connects to", "called by"
    ),
    RelationKind.STORED_IN: _Forms(
        "stored in|kept in|live in|lives in|saved in|persisted in", "store|stores"
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
    RelationKind.SEE: _Forms("see|see also|refers to|refer to"),
    RelationKind.EXCEPT: _Forms("", "", "exception|exceptions"),
}
_ASKED_ALIKE: Final[Mapping[RelationKind, frozenset[RelationKind]]] = {
    RelationKind.REPLACES: frozenset({RelationKind.REPLACES, RelationKind.NOT}),
}
_NEGATIONS: Final = (
    r"(?:not|never|no longer|don't|doesn't|didn't|cannot|can't|won't|mustn't|shouldn't|isn't|aren't"
    r"|avoids?|avoiding)"
)


@dataclass(frozen=True, slots=True)
class SaidRelation:
    """Words of a text that relate what stands before them to what stands after.

    With ``is_turned`` the relation goes from what stands after to what stands before. ``is_noun``
    is of "owner of". ``start`` and ``end`` are positions in the text.
    """

    kind: RelationKind
    start: int
    end: int
    said: str
    is_turned: bool = False
    is_noun: bool = False
    is_negated: bool = False

    @property
    def asks_for(self) -> frozenset[RelationKind]:
        """The relations that answer a question with these words."""
        if self.is_negated:
            return frozenset({RelationKind.NOT})
        return _ASKED_ALIKE.get(self.kind, frozenset({self.kind}))


class _Form(NamedTuple):
    kind: RelationKind
    is_turned: bool
    is_noun: bool


@cache
def _table() -> tuple[dict[str, _Form], "re.Pattern[str]"]:
    """What each form means, and the expression that finds them, the longest first."""
    forms: dict[str, _Form] = {}
    for kind, (said, turned, nouns) in _FORMS.items():
        forms |= {words: _Form(kind, True, False) for words in turned.split("|") if words}
        forms |= {words: _Form(kind, False, False) for words in said.split("|") if words}
        forms |= {f"{noun} of": _Form(kind, False, True) for noun in nouns.split("|") if noun}
    ordered = sorted(forms, key=len, reverse=True)
    found = "|".join(re.escape(words).replace(r"\ ", r"\s{1,3}") for words in ordered)
    expression = rf"(?:\b({_NEGATIONS})\s{{1,3}})?\b({found})\b(?!\s{{0,3}}[-=]|\s{{1,3}}to\b)"
    return forms, re.compile(expression, re.IGNORECASE)


def relations_said(text: str) -> Iterator[SaidRelation]:
    """Yield the words in a text that relate things, in order; none overlap."""
    forms, expression = _table()
    for found in expression.finditer(text.replace("\u2019", "'")):
        said = " ".join(found[2].casefold().split())
        kind, is_turned, is_noun = forms[said]
        yield SaidRelation(
            kind, found.start(), found.end(), said, is_turned, is_noun, found[1] is not None
        )


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
            found.append(SaidRelation(nouns[said], noun.start(), noun.end(), said, is_noun=True))
    return sorted(found, key=lambda relation: relation.start)
