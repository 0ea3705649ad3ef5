"""Which memories leave first when there are more than an agent may have.

The order is the same wherever room is made: least useful, then oldest; what a person pinned and
facts come last. It depends on the memories alone, so the same store always gives the same order.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.kinds import MemoryKind, kind_of
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.tags import parse_tags

PINNED_TAG: Final = "pinned"
"""Tag of a memory that a person wants to stay."""

CORE_TAG: Final = "core"
"""Usual tag of memories that an agent is always given; they stay like pinned ones."""

DIARY: Final = frozenset(
    {MemoryKind.SESSION, MemoryKind.TASK, MemoryKind.COMMIT, MemoryKind.REFUSED}
)
"""Kinds that tell what happened, and nothing that helps next time."""

LASTING: Final = frozenset({MemoryKind.LESSON, MemoryKind.KNOWLEDGE})
"""Kinds of knowledge with evidence: lessons that a person approved, and what episodes showed."""

WHOLE: Final = LASTING | {MemoryKind.RECOVERY, MemoryKind.SAID}
"""Kinds of which every word counts: a remedy, or a person's own words, must not be cut."""

EvictionKey: TypeAlias = tuple[int, int, float, datetime, str]


def eviction_order(memories: Iterable[ListedMemory]) -> tuple[ListedMemory, ...]:
    """Return the memories in the order in which they leave, the first to leave first."""
    return tuple(sorted(memories, key=eviction_key))


def eviction_key(memory: ListedMemory) -> EvictionKey:
    """Return the place of a memory in the order of leaving: the smallest leaves first.

    In this order it is decided by: whether it stays longest (pinned last, facts before them), how
    useful its kind is (diary, other, lessons and knowledge), its confidence, its age, its id.
    """
    return (
        _hold(memory.tags),
        _usefulness(memory.kind),
        memory.confidence,
        memory.created_at,
        memory.id,
    )


def is_protected(category: MemoryCategory, tags: Sequence[str], content: str) -> bool:
    """Return whether a memory is never merged: pinned ones, facts, and what counts as a whole."""
    return _hold(tags) > 0 or kind_of(category, tags, content) in WHOLE


def _hold(tags: Sequence[str]) -> int:
    if PINNED_TAG in tags or CORE_TAG in tags:
        return 2
    return int(parse_tags(tags).fact_key is not None)


def _usefulness(kind: MemoryKind) -> int:
    if kind in DIARY:
        return 0
    return 2 if kind in LASTING else 1
