"""What a fact states: which thing stands how to which other one, each with its fact.

Plain code over English sentences: what can't be told for certain isn't stated, since a wrong link
gives a wrong answer. Sizes are bounded: a fact may be any text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Final

from synthorg_tui.memory.org.entities import (
    OrgEntity,
    certainty,
    decision,
    entity_of,
    named_in,
    words_of,
)
from synthorg_tui.memory.org.models import OrgFact
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.org.verbs import RelationKind, SaidRelation, nouns_said, relations_said

MAX_READ_CHARS: Final = 20_000
"""Characters of a fact that are read for links."""
MAX_LINKS: Final = 200
"""Links of one fact."""
_MAX_BESIDE: Final = 6
_ONLY_NAMED: Final = frozenset({RelationKind.BESIDE, RelationKind.ABOUT})
_BEGINS: Final = frozenset(
    {"use", "uses", "supersedes", "replaces", "see", "see also", "refers to", "depends on"}
)
"""Words by which a sentence without a subject goes on about the decision itself."""
_MAX_SENTENCE: Final = 600

_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_MARKUP: Final = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+|\*\*|__")
_HEADER: Final = re.compile(
    r"^\W{0,4}(owners?|maintainers?|authors?|deciders?|written by|decided by)\W{0,4}:\W{0,4}(.+)$",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(r"^\W{0,4}(?:exceptions?|except)\W{0,4}:\s*(.+)$", re.IGNORECASE)
_EXCEPT: Final = re.compile(r",?\s+\bexcept(?:\s+(?:for|in|that))?\s+([^,;:]{1,100})", re.I)
_CODE: Final = re.compile(r"^(?: {4}|\t|```|~~~|\|)")

_AUXILIARIES: Final = re.compile(
    r"(?:\s+(?:is|are|was|were|be|been|being|has|have|had|does|do|did|must|should|shall|may|can"
    r"|will|would|always|only|now|currently|also|still|usually|directly|mainly|to))+\s*$",
    re.IGNORECASE,
)
_OF_THE_OBJECT: Final = re.compile(r"[,\s]+(?:which|that|who)\s*$", re.IGNORECASE)
_OF_THE_SUBJECT: Final = re.compile(r"[,\s]+(?:and|or|but)(?:\s+(?:then|also))?\s*$|,\s*$", re.I)
_NEW_SUBJECT: Final = re.compile(
    r"\s*(?:,|:|\u2014|\s-\s)\s*(?:(?:and|but|while|whereas|because|since|so)\s+)?"
    r"|\s+(?:and|but|while|whereas|because|since)\s+",
    re.IGNORECASE,
)
_END_OF_OBJECT: Final = re.compile(
    r"\s+(?:for|because|when|whenever|if|unless|except|so|since|until|to|at|during|as|via|through"
    r"|while|whereas|but|in|on|from|with|by|over|under|after|before|where|which|that|who|without"
    r"|only|instead|rather|is|are|was|were|must|should|may|can|will)\b|[;:(]|\s-\s|\u2014"
    r"|[.!?](?:\s|$)",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"\s*,\s*(?:and|or|but)?\s+|\s+(?:and|or|but|nor)\s+|\s*,\s*", re.I)
_NOT_ONE: Final = re.compile(r"^(?:and |but )?(?:not|never)\s+(.+)$", re.IGNORECASE)
_PHRASE_WORDS: Final = """
of for in on with from by to at as if when which that who whose what how why where not never
because and or but then than
"""
_PHRASE: Final = frozenset(_PHRASE_WORDS.split())
_OPENERS: Final = frozenset({"please", "always", "never", "make", "let", "ensure", "use", "avoid"})
_ADVICE: Final = re.compile(r"^\W{0,4}(?:always |please )?(?:use|prefer)\b", re.IGNORECASE)
_CONDITIONAL: Final = re.compile(r"^\W{0,4}(?:if|when|unless|whenever)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OrgLink:
    """A fact's statement that one thing stands to another, in its own words."""

    source: OrgEntity
    kind: RelationKind
    target: OrgEntity
    fact_id: str
    said: str


def decision_of(fact: OrgFact) -> OrgEntity | None:
    """Return the decision that a fact records: by its title, source or first line, if by any."""
    traits = OrgTraits.of(fact.tags)
    name = re.search(r"(?:adr|decisions?)/(?:adr-?)?(\d{1,6})", traits.source, re.IGNORECASE)
    if name is not None:
        return decision(name[1])
    for text in (traits.title, fact.content.strip().split("\n", 1)[0][:200]):
        begins = re.match(r"\W{0,4}adr[\s_#-]{0,3}0*(\d{1,6})\b\W{0,3}", text, re.IGNORECASE)
        if begins is not None:
            return decision(begins[1])
    return None


def links_of(fact: OrgFact) -> tuple[OrgLink, ...]:
    """Return what a fact states, each link once, at most ``MAX_LINKS``."""
    reader = _FactReader(fact.id, decision_of(fact))
    for sentence in _sentences(fact.content[:MAX_READ_CHARS]):
        reader.read(sentence)
    reader.add_author(fact)
    return tuple(dict.fromkeys(reader.links))[:MAX_LINKS]


def replaced_links(fact: OrgFact, decisions: Mapping[str, OrgEntity]) -> tuple[OrgLink, ...]:
    """Return what a fact's tags say it replaces, where both record a decision.

    ``decisions`` are those of all facts, by the fact's id.
    """
    own = decisions.get(fact.id)
    named = (decisions.get(former) for former in OrgTraits.of(fact.tags).supersedes)
    return tuple(
        OrgLink(own, RelationKind.REPLACES, former, fact.id, "supersedes")
        for former in named
        if own is not None and former is not None and former.key != own.key
    )


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCES.split(text):
        plain = _MARKUP.sub("", part).strip()
        if plain and not _CODE.match(part) and len(plain) <= _MAX_SENTENCE:
            yield plain


@dataclass(slots=True)
class _FactReader:
    """Reads the sentences of one fact in order, since one may go on about the one before."""

    fact_id: str
    own: OrgEntity | None
    links: list[OrgLink] = field(default_factory=list)
    said_last: tuple[OrgEntity, ...] = ()
    about_last: tuple[OrgEntity, ...] = ()
    subject: OrgEntity | None = None
    sure: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.own is not None:
            self.sure[self.own.key] = 2

    def read(self, sentence: str) -> None:
        """Add what one sentence states."""
        if len(self.links) >= MAX_LINKS:
            return
        exception = _EXCEPTION.match(sentence)
        rule = self.said_last
        if header := _HEADER.match(sentence):
            self._header(header[1].casefold(), header[2])
            return
        self.about_last = ()
        self._clauses(exception[1] if exception else sentence)
        if exception:
            self._link(rule, RelationKind.EXCEPT, (*self.about_last, *self.said_last), "except")
        elif found := _EXCEPT.search(sentence):
            self._link(self.said_last, RelationKind.EXCEPT, self._phrases(found[1]), "except")
        named = named_in(sentence)
        if self.own is not None:
            about = [one for one in named if not one.is_decision]
            self._link([self.own], RelationKind.ABOUT, about, RelationKind.ABOUT)
        for one, other in combinations(named[:_MAX_BESIDE], 2):
            self._link([one], RelationKind.BESIDE, [other], RelationKind.BESIDE)

    def add_author(self, fact: OrgFact) -> None:
        """Add who wrote the decision that the fact records, if it was an agent."""
        if self.own is not None and fact.author.agent_id is not None:
            who = entity_of(f"`{fact.author.agent_id}`")
            if who is not None:
                self.sure[who.key] = 2
                self._link([self.own], RelationKind.WRITTEN_BY, [who], "is written by")

    def _header(self, name: str, value: str) -> None:
        owns = name.startswith(("owner", "maintainer"))
        kind = RelationKind.OWNED_BY if owns else RelationKind.WRITTEN_BY
        about = self.own or self.subject
        people = self._phrases(value)
        self._link([about] if about else [], kind, people, kind.value)

    def _clauses(self, sentence: str) -> None:
        if _CONDITIONAL.match(sentence):
            return
        for noun in nouns_said(sentence):
            of, who = self._phrases(noun.of, begins=True), self._phrases(noun.who, begins=True)
            self._link(of, noun.kind, who, noun.kind.value)
        masked, quotes = _masked(sentence)
        plain = _ADVICE.match(sentence) is not None
        said = [each for each in relations_said(masked) if not each.is_noun]
        previous: tuple[OrgEntity, ...] = ()
        subjects: tuple[OrgEntity, ...] = ()
        start = 0
        for number, verb in enumerate(said):
            before = _AUXILIARIES.sub("", f" {masked[start : verb.start]}")
            before = _unmasked(before, quotes)
            if number == 0:
                subjects = self._first_subject(before, verb)
            else:
                subjects = self._next_subject(before, previous, subjects)
            end = said[number + 1].start if number + 1 < len(said) else len(masked)
            after = masked[verb.end : end]
            if end < len(masked):
                after = _without_next_subject(after)
            objects, refused = self._objects(_unmasked(after, quotes), plain=plain)
            self._state(verb, subjects, objects, refused)
            previous, start = objects, verb.end
            self.said_last = (*objects, *refused) or self.said_last
            self.about_last = subjects
            if number == 0 and len(subjects) == 1:
                self.subject = subjects[0]

    def _first_subject(self, before: str, verb: SaidRelation) -> tuple[OrgEntity, ...]:
        """Who a sentence is about: its own words, "it", or the decision that the fact records."""
        before = re.split(r",\s|:(?:\s|$)|\u2014|\s-\s", _OF_THE_OBJECT.sub("", before))[-1]
        if not words_of(before) and self.own is not None and verb.said in _BEGINS:
            return (self.own,)
        return self._subject(before, begins=True)

    def _next_subject(
        self, before: str, objects: tuple[OrgEntity, ...], subjects: tuple[OrgEntity, ...]
    ) -> tuple[OrgEntity, ...]:
        """Who a later clause is about: its own words, what the last one was, or its object."""
        if _OF_THE_OBJECT.search(before):
            return objects[-1:]
        if _OF_THE_SUBJECT.search(before):
            return subjects
        if not _NEW_SUBJECT.search(before):
            return ()
        return self._subject(_NEW_SUBJECT.split(before)[-1], begins=False)

    def _subject(self, phrase: str, *, begins: bool) -> tuple[OrgEntity, ...]:
        words = words_of(phrase)
        if words == ("it",):
            return (self.subject,) if self.subject else ()
        found = self._named(phrase, begins=begins)
        # More than a name: with a preposition or a question in it.
        is_phrase = bool(words) and (not _PHRASE.isdisjoint(words) or words[0] in _OPENERS)
        if found is None or (is_phrase and not phrase.strip().startswith("`")):
            return ()
        return (found,)

    def _state(
        self,
        verb: SaidRelation,
        subjects: Sequence[OrgEntity],
        objects: Sequence[OrgEntity],
        refused: Sequence[OrgEntity],
    ) -> None:
        if verb.is_negated:
            self._link(subjects, RelationKind.NOT, objects, f"not {verb.said}")
            return
        kind = verb.kind
        if verb.is_turned:
            self._link(objects, kind, subjects, kind.value)
        elif verb.said in ("instead of", "rather than"):
            self._link(self.said_last, kind, objects, verb.said)
        else:
            self._link(subjects, kind, objects, verb.said)
        self._link(objects, RelationKind.NOT, refused, "not")

    def _link(
        self,
        sources: Iterable[OrgEntity],
        kind: RelationKind,
        targets: Iterable[OrgEntity],
        said: str,
    ) -> None:
        for source, target in product(tuple(sources), tuple(targets)):
            surely = min(self.sure.get(one.key, 0) for one in (source, target))
            if source.key != target.key and (surely or kind in _ONLY_NAMED):
                self.links.append(OrgLink(source, kind, target, self.fact_id, said))

    def _named(self, phrase: str, *, begins: bool = False, plain: bool = False) -> OrgEntity | None:
        """What a phrase names, and note how surely; ``plain`` takes one bare word for a name."""
        entity = entity_of(phrase)
        if entity is not None:
            surely = certainty(phrase, begins=begins)
            surely = surely or int(plain and len(entity.key.split()) == 1)
            self.sure[entity.key] = max(surely, self.sure.get(entity.key, 0))
        return entity

    def _phrases(self, text: str, *, begins: bool = False) -> tuple[OrgEntity, ...]:
        ends = _END_OF_OBJECT.search(text)
        parts = _LIST.split(text[: ends.start()] if ends else text)
        found = [self._named(part, begins=begins) for part in parts]
        return tuple({one.key: one for one in found if one is not None}.values())

    def _objects(
        self, after: str, *, plain: bool
    ) -> tuple[tuple[OrgEntity, ...], tuple[OrgEntity, ...]]:
        """What a clause is said to relate to, and what it says "not" of."""
        ends = _END_OF_OBJECT.search(after)
        found: list[OrgEntity] = []
        refused: list[OrgEntity] = []
        for part in _LIST.split(after[: ends.start()] if ends else after):
            negated = _NOT_ONE.match(part)
            entity = self._named(negated[1] if negated else part, plain=plain)
            if entity is None:
                if words_of(part):
                    break  # what a list can't name may go on about something else
                continue
            (refused if negated else found).append(entity)
        return tuple(found), tuple(refused)


def _without_next_subject(between: str) -> str:
    """What stands between two verbs, without what the second one is about."""
    plain = _AUXILIARIES.sub("", f" {between}")
    for goes_on in (_OF_THE_OBJECT, _OF_THE_SUBJECT):
        if found := goes_on.search(plain):
            return plain[: found.start()]
    *_, last = [None, *_NEW_SUBJECT.finditer(plain)]
    return plain[: last.start()] if last else plain


def _masked(sentence: str) -> tuple[str, list[str]]:
    """The sentence with what is quoted as one word each, so that no word in it is read."""
    quotes: list[str] = []

    def mask(found: "re.Match[str]") -> str:
        quotes.append(found[0])
        return f"\x02{len(quotes) - 1}\x03"

    plain = sentence.replace("\x02", " ").replace("\x03", " ")
    return re.sub(r"`[^`\n]{1,200}`", mask, plain), quotes


def _unmasked(text: str, quotes: Sequence[str]) -> str:
    return re.sub(r"\x02(\d+)\x03", lambda found: quotes[int(found[1])], text)
