"""The graph of what facts name, and the paths in it that answer a question in several steps.

Derived of facts and never stored: whoever holds it makes it anew when the facts change. A question
is read by the words that relate things (``verbs``), so a path answers it step by step or not at
all.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from synthorg_tui.memory.org.entities import (
    DETERMINERS,
    MAX_NAME_WORDS,
    OrgEntity,
    placed_words,
    plainly,
    words_of,
)
from synthorg_tui.memory.org.models import OrgFact
from synthorg_tui.memory.org.statements import OrgLink, decision_of, replaced_links
from synthorg_tui.memory.org.verbs import RelationKind, SaidRelation, relations_asked
from synthorg_tui.memory.retrieval.sparse import STOP_WORDS

MAX_HOPS: Final = 4
MAX_PATHS: Final = 50
MAX_QUESTION_CHARS: Final = 400
"""A longer text is a task, not a question that steps could answer."""
_MAX_VISITS: Final = 5_000

_CONNECTED: Final = re.compile(
    r"\b(?:connected|connection|related|relation|linked|link|path|between|have to do with)\b"
)
_WHETHER: Final = re.compile(r"^\W*(?:do|does|did|is|are|was|were|has|have)\b")
_NOT_WHICH: Final = re.compile(r"^\W*(?:how|why|when|should|could|can)\b")
_WEAK: Final = frozenset({RelationKind.BESIDE, RelationKind.ABOUT})

Allowed = Callable[[str], bool]
"""Tells by its id whether a fact may be used."""


class OrgHop(NamedTuple):
    """One step of a path from ``start`` to ``end``: a fact's link, walked as it is said or back."""

    link: OrgLink
    start: OrgEntity
    end: OrgEntity

    def __str__(self) -> str:
        link = self.link
        return f"{link.source.name} {link.kind.value} {link.target.name}"


@dataclass(frozen=True, slots=True)
class OrgPath:
    """Steps from what a question names to what answers it, each with the fact it stands on."""

    hops: tuple[OrgHop, ...]

    @property
    def fact_ids(self) -> tuple[str, ...]:
        """The facts it stands on, each once, in the order of the steps."""
        return tuple(dict.fromkeys(hop.link.fact_id for hop in self.hops))

    @property
    def passes(self) -> frozenset[str]:
        """The keys of all that it leads by, both ends included."""
        return frozenset(each.key for hop in self.hops for each in (hop.start, hop.end))

    def __str__(self) -> str:
        return "; ".join(map(str, self.hops))


class _Seed(NamedTuple):
    """An entity that a question names, and where in it."""

    entity: OrgEntity
    start: int
    end: int


class _Step(NamedTuple):
    """Which links may be walked, and in which direction."""

    kinds: frozenset[RelationKind]
    forward: bool


class OrgGraph:
    """Entities and links of facts; walking it changes nothing, so threads may share it."""

    def __init__(self, links: Iterable[OrgLink]) -> None:
        self.entities: dict[str, OrgEntity] = {}
        self._hops: dict[str, list[OrgHop]] = {}
        for link in links:
            for one, other in ((link.source, link.target), (link.target, link.source)):
                self.entities.setdefault(one.key, one)
                self._hops.setdefault(one.key, []).append(OrgHop(link, one, other))

    @classmethod
    def of(cls, stated: Iterable[tuple[OrgFact, Iterable[OrgLink]]]) -> "OrgGraph":
        """Draw the graph of facts, each given with what it states by itself."""
        facts = list(stated)
        decisions = {fact.id: entity for fact, _ in facts if (entity := decision_of(fact))}
        return cls(
            link for fact, links in facts for link in (*links, *replaced_links(fact, decisions))
        )

    def paths(self, question: str, allowed: Allowed = lambda _: True) -> tuple[OrgPath, ...]:
        """Return the paths that answer a question, shorter ones first; none when in doubt.

        A question that names something and relations is answered by every way along just these that
        comes by all it names. One for the connection of two things, or whether there is one, is
        answered by the shortest way from one to the other.
        """
        plain = plainly(question)
        if len(plain) > MAX_QUESTION_CHARS:
            return ()
        seeds = self._seeds(plain)
        if not seeds:
            return ()
        relations = _outside(relations_asked(plain), seeds)
        found: list[OrgPath] = []
        if relations and len(relations) <= MAX_HOPS and not _NOT_WHICH.match(plain):
            for seed in seeds:
                found += self._along(seed.entity, _steps(plain, seed, relations), allowed)
        named = {seed.entity.key for seed in seeds}
        if len(named) > 1:
            found = [path for path in found if named <= path.passes]
            if not found and (_WHETHER.match(plain) or _CONNECTED.search(plain)):
                found = self._between(seeds, allowed)
        found.sort(key=lambda path: len(path.hops))
        # A way between two things is found from either of them.
        once = {frozenset(hop.link for hop in path.hops): path for path in reversed(found)}
        return tuple(sorted(once.values(), key=found.index))[:MAX_PATHS]

    def _seeds(self, plain: str) -> list[_Seed]:
        """What a question names, the longest names first found, none within another."""
        words = list(placed_words(plain))
        seeds: list[_Seed] = []
        place = 0
        while place < len(words):
            for length in range(min(MAX_NAME_WORDS, len(words) - place), 0, -1):
                part = words[place : place + length]
                key = " ".join(word for word, _, _ in part)
                entity = self.entities.get(key)
                if entity is not None and key not in STOP_WORDS:
                    seeds.append(_Seed(entity, part[0][1], part[-1][2]))
                    place += length - 1
                    break
            place += 1
        return seeds

    def _along(
        self, start: OrgEntity, steps: Sequence[_Step], allowed: Allowed
    ) -> Iterator[OrgPath]:
        """All ways from an entity along given steps that come by nothing twice."""
        ways: list[tuple[OrgHop, ...]] = [()]
        for step in steps:
            longer: list[tuple[OrgHop, ...]] = []
            for way in ways:
                key = way[-1].end.key if way else start.key
                passed = {start.key, *(hop.end.key for hop in way)}
                longer += (
                    (*way, hop)
                    for hop in self._hops.get(key, ())
                    if (hop.start is hop.link.source) is step.forward
                    and hop.link.kind in step.kinds
                    and hop.end.key not in passed
                    and allowed(hop.link.fact_id)
                )
                if len(longer) > _MAX_VISITS:
                    break
            ways = longer
        return (OrgPath(way) for way in ways)

    def _between(self, seeds: Sequence[_Seed], allowed: Allowed) -> list[OrgPath]:
        """The shortest way from the first thing named to each other; weak links only if needed."""
        first, *others = {seed.entity.key: seed.entity for seed in seeds}.values()
        found = []
        for other in others:
            way = self._shortest(first, other, allowed, _WEAK)
            way = way or self._shortest(first, other, allowed, frozenset())
            if way:
                found.append(OrgPath(way))
        return found

    def _shortest(
        self,
        start: OrgEntity,
        end: OrgEntity,
        allowed: Allowed,
        without: frozenset[RelationKind],
    ) -> tuple[OrgHop, ...]:
        ways: deque[tuple[OrgHop, ...]] = deque([()])
        passed = {start.key}
        while ways and len(passed) < _MAX_VISITS:
            way = ways.popleft()
            for hop in self._hops.get(way[-1].end.key if way else start.key, ()):
                key = hop.end.key
                if key in passed or hop.link.kind in without or not allowed(hop.link.fact_id):
                    continue
                if key == end.key:
                    return (*way, hop)
                passed.add(key)
                if len(way) + 1 < MAX_HOPS:
                    ways.append((*way, hop))
        return ()


def _outside(relations: Iterable[SaidRelation], seeds: Sequence[_Seed]) -> list[SaidRelation]:
    """The relations whose words are no part of a name."""
    return [
        relation
        for relation in relations
        if all(relation.end <= seed.start or seed.end <= relation.start for seed in seeds)
    ]


def _steps(plain: str, seed: _Seed, relations: Sequence[SaidRelation]) -> list[_Step]:
    """The steps that a question asks for from what it names: what stands nearest comes first.

    What stands before a relation's words is its left side, and a noun such as "owner" names its
    right one. Nearest of all is what it is the object of: "what does the team that owns X use?"
    """

    def distance(relation: SaidRelation) -> int:
        if relation.start >= seed.end:
            return 1 + relation.start - seed.end
        between = words_of(plain[relation.end : seed.start])
        return seed.start - relation.end if set(between) - DETERMINERS else 0

    return [
        _Step(
            relation.asks_for,
            relation.is_noun or (relation.start >= seed.end) is not relation.is_turned,
        )
        for relation in sorted(relations, key=distance)
    ]
