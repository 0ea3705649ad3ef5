"""Memories that seem to contradict each other, for a person to decide about.

Only what is nearly the same text is compared: the same words in the same order, but with another
number, path or option, or turned by a "never". And facts of one key that a person and an agent
state differently. Nothing is decided here, and a pair that is no contradiction costs a look.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from synthorg_tui.memory.consolidation.duplicates import Comparable
from synthorg_tui.memory.consolidation.similarity import normal_space, turns, words_of

_MIN_WORDS: Final = 3
"""Ordinary words that two texts must have in common to be about the same."""
_PLAIN = re.compile(r"[a-z]+", re.ASCII)
_AUXILIARY: Final = frozenset({"do", "does", "did"})
_VALUE: Final = "<>"


class Conflict(NamedTuple):
    """Two memories that seem to disagree, the newer one first; ``key`` if they are of one fact."""

    newer: Comparable
    older: Comparable
    key: str | None = None


def conflicts_of(memories: Sequence[Comparable]) -> tuple[Conflict, ...]:
    """Return pairs that seem to disagree, newest first.

    Memories of different agents, projects, categories or audiences are not compared. Of several
    that disagree with the newest, the next newest is named.
    """
    groups: dict[Hashable, list[Comparable]] = defaultdict(list)
    for memory in memories:
        topic = _topic(memory)
        if topic is not None:
            place = (memory.agent_id, memory.project, memory.category, memory.audience)
            groups[(*place, topic)].append(memory)
    found = [pair for group in groups.values() for pair in _pairs(group)]
    found.sort(key=lambda pair: (pair.newer.created_at, pair.newer.id), reverse=True)
    return tuple(found)


def _topic(memory: Comparable) -> tuple[str, ...] | None:
    """What a memory is about, whatever it says of it; ``None`` for too few words to tell."""
    if memory.key is not None:
        return ("", memory.key)
    words = [
        word for word in words_of(memory.content) if not (turns(word) or word.lower() in _AUXILIARY)
    ]
    topic = tuple(word if _PLAIN.fullmatch(word) else _VALUE for word in words)
    return topic if sum(word != _VALUE for word in topic) >= _MIN_WORDS else None


def _pairs(group: Sequence[Comparable]) -> Iterator[Conflict]:
    ordered = sorted(group, key=lambda memory: (memory.created_at, memory.id), reverse=True)
    newest = ordered[0]
    for older in ordered[1:]:
        if _disagree(newest, older):
            yield Conflict(newest, older, newest.key)
            return


def _disagree(newer: Comparable, older: Comparable) -> bool:
    if newer.key is not None:
        is_same = normal_space(newer.content) == normal_space(older.content)
        return older.by_person and not newer.by_person and not is_same
    return words_of(newer.content) != words_of(older.content)
