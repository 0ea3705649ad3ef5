"""Clusters of memories that say the same, found without a model and without the store.

Both who plans what merges and who hands memories over ask it, so that what is one line of an
answer is what a plan would merge. It only says what is alike; what to do about it is theirs.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from heapq import nsmallest
from typing import Final

from synthorg_tui.memory.consolidation.similarity import (
    MAX_MORE,
    MIN_COSINE,
    failure_of,
    normal_space,
    numbers_of,
    says_all_of,
    words_of,
)
from synthorg_tui.providers.embedding.protocol import Vectors

MAX_LEADERS: Final = 50
"""Texts with a rare word in common that one text is compared with."""
_MIN_WORDS: Final = 7
"""Words of a text from which on another may say one more: fewer are too little to go by."""
_MAX_PROBES: Final = 6


class ClusterKind(StrEnum):
    """By what the memories of a cluster are alike: the weakest link of its members."""

    EXACT = "exact"
    SAME_KEY = "same_key"
    SAME_FAILURE = "same_failure"
    NEAR = "near"


@dataclass(frozen=True, slots=True, eq=False)
class Comparable:
    """What is compared of a memory.

    ``key`` is the key of a fact or lesson. ``audience`` is whatever else decides who is given the
    memory (level, session, sensitivity, whether it is shared), in any words: memories of different
    agents, projects, categories or audiences are never alike, since one can't stand for the other.
    ``by_person`` says that a person wrote it; ``vector`` is a unit vector.
    """

    id: str
    content: str
    created_at: datetime
    category: str = ""
    agent_id: str = ""
    project: str | None = None
    audience: str = ""
    key: str | None = None
    confidence: float = 1.0
    pinned: bool = False
    by_person: bool = False
    vector: Vectors | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two or more memories that say the same.

    ``kept`` is the id of the one that stands for all: of facts of one key the newest, else the one
    with the best evidence. ``members`` are the ids of all, the kept one first, then newest first.
    ``last`` is when the newest was made.
    """

    kept: str
    members: tuple[str, ...]
    kind: ClusterKind
    last: datetime

    @property
    def count(self) -> int:
        """How many memories it has."""
        return len(self.members)


def clusters_of(memories: Sequence[Comparable]) -> tuple[Cluster, ...]:
    """Return the clusters of these memories, largest first; a memory is in at most one.

    Their order doesn't matter. Equal texts, facts of one key, and recoveries of one failure by the
    same means need no vectors; of other texts only those with equal words do without.
    """
    groups = [_Group(ClusterKind.EXACT, members) for members in _equal(memories)]
    # What a person and what an agent says of one key stand beside each other.
    groups = _joined(
        groups,
        ClusterKind.SAME_KEY,
        lambda memory: None if memory.key is None else (memory.key, memory.by_person),
    )
    failures = {
        group.head.id: (failure_of(group.head.content) if group.head.key is None else None)
        for group in groups
    }
    groups = _joined(groups, ClusterKind.SAME_FAILURE, lambda memory: failures[memory.id])
    groups = _near(groups, {known for known, failure in failures.items() if failure})
    found = (_cluster(group) for group in groups if len(group.members) > 1)
    return tuple(sorted(found, key=lambda cluster: (-cluster.count, cluster.kept)))


class _Group:
    """Memories found alike so far, the one that stands for them first."""

    __slots__ = ("kind", "members", "vector")

    def __init__(self, kind: ClusterKind, members: Iterable[Comparable]) -> None:
        self.kind = kind
        is_fact = kind is ClusterKind.SAME_KEY
        self.members = sorted(members, key=_age if is_fact else _evidence, reverse=True)
        self.vector = next((m.vector for m in self.members if m.vector is not None), None)

    @property
    def head(self) -> Comparable:
        return self.members[0]


def _evidence(memory: Comparable) -> tuple[object, ...]:
    known = (memory.by_person, memory.pinned, memory.confidence)
    return (*known, memory.created_at, memory.id)


def _age(memory: Comparable) -> tuple[object, ...]:
    return (memory.created_at, memory.confidence, memory.id)


def _place(memory: Comparable) -> tuple[Hashable, ...]:
    return (memory.agent_id, memory.project, memory.category, memory.audience)


def _equal(memories: Sequence[Comparable]) -> Iterator[list[Comparable]]:
    """The memories by their texts, white space aside; a text under two keys says two things."""
    found: dict[Hashable, list[Comparable]] = defaultdict(list)
    for memory in memories:
        found[(*_place(memory), memory.key, normal_space(memory.content))].append(memory)
    return iter(found.values())


def _joined(
    groups: Sequence[_Group], kind: ClusterKind, key_of: Callable[[Comparable], Hashable | None]
) -> list[_Group]:
    """The groups, those with one key joined; ``None`` joins nothing."""
    single: list[_Group] = []
    same: dict[Hashable, list[_Group]] = defaultdict(list)
    for group in groups:
        key = key_of(group.head)
        if key is None:
            single.append(group)
        else:
            same[(*_place(group.head), key)].append(group)
    return [*single, *(_merged(found, kind) for found in same.values())]


def _merged(groups: Sequence[_Group], kind: ClusterKind) -> _Group:
    if len(groups) == 1:
        return groups[0]
    return _Group(kind, (member for group in groups for member in group.members))


def _near(groups: Sequence[_Group], apart: Container[str]) -> list[_Group]:
    """The groups, those joined whose texts say the same in nearly the same words.

    Facts, and the memories ``apart``, are alike by what they are about, or not at all.

    Only texts with the same numbers are looked at more closely, which leaves few.
    """
    joined: list[_Group] = []
    alike: dict[Hashable, list[_Group]] = defaultdict(list)
    for group in groups:
        if group.head.key is not None or group.head.id in apart:
            joined.append(group)
        else:
            place = (*_place(group.head), numbers_of(group.head.content))
            alike[place].append(group)
    for found in alike.values():
        joined.extend(found if len(found) == 1 else _joined_by_words(found))
    return joined


def _joined_by_words(groups: Sequence[_Group]) -> list[_Group]:
    same: dict[tuple[str, ...], list[_Group]] = defaultdict(list)
    for group in groups:
        same[words_of(group.head.content)].append(group)
    wordless = same.pop((), [])
    merged = {words: _merged(found, ClusterKind.NEAR) for words, found in same.items()}
    return [*wordless, *_Leaders(merged).joined()]


class _Leaders:
    """Groups by their words, each joined to the first longer one that says all it says.

    A text is only compared with those that have one of its rarest words, and only with the one
    that leads a group, so that no chain of small differences joins what differs much.
    """

    def __init__(self, groups: dict[tuple[str, ...], _Group]) -> None:
        self._groups = groups
        self._followers: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        self._uses: dict[str, int] = defaultdict(int)
        self._by_word: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._words = {words: frozenset(words) for words in groups}
        for known in self._words.values():
            for word in known:
                self._uses[word] += 1

    def joined(self) -> list[_Group]:
        """Return the groups that are left."""
        for words in sorted(self._groups, key=lambda words: (-len(words), words)):
            rarest = self._rarest(words)
            leader = self._leader_of(words, rarest[0]) if rarest else None
            if leader is not None:
                self._followers[leader].append(words)
                continue
            self._followers[words] = []
            for word in rarest:
                self._by_word[word].append(words)
        return [
            _merged([self._groups[key] for key in (leader, *others)], ClusterKind.NEAR)
            for leader, others in self._followers.items()
        ]

    def _rarest(self, words: tuple[str, ...]) -> list[str]:
        """The words by which a longer text is found; none of a text too short to compare."""
        if self._groups[words].vector is None or len(words) < _MIN_WORDS - 1:
            return []
        allowed = min(_MAX_PROBES, int(MAX_MORE * len(words)) + 1)
        return nsmallest(allowed, self._words[words], key=lambda word: (self._uses[word], word))

    def _leader_of(self, words: tuple[str, ...], rarest: str) -> tuple[str, ...] | None:
        known, vector = self._words[words], self._groups[words].vector
        for other in self._by_word.get(rarest, ())[-MAX_LEADERS:]:
            if not known <= self._words[other]:
                continue
            leader = self._groups[other]
            is_near = (
                vector is not None
                and leader.vector is not None
                and vector.shape == leader.vector.shape
                and float(vector @ leader.vector) >= MIN_COSINE
            )
            if is_near and says_all_of(other, words, leader.head.content):
                return other
        return None


def _cluster(group: _Group) -> Cluster:
    others = sorted(group.members[1:], key=lambda member: (member.created_at, member.id))
    return Cluster(
        kept=group.head.id,
        members=(group.head.id, *(member.id for member in reversed(others))),
        kind=group.kind,
        last=max(member.created_at for member in group.members),
    )
