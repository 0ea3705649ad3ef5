"""Which memories leave first when there are more than an agent may have.

The order is the same wherever room is made: least useful, then oldest; what a person pinned and
facts come last. It depends on the memories alone, so the same store always gives the same order.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

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


def eviction_key(memory: ListedMemory) -> tuple[int, int, float, datetime, str]:
    """Return the place of a memory in the order of leaving: the smallest leaves first.

    In this order it is decided by: whether it stays longest (pinned last, facts before them), how
    useful its kind is (diary, other, lessons and knowledge), its confidence, its age, its id.
    """
    usefulness = 0 if memory.kind in DIARY else 2 if memory.kind in LASTING else 1
    return (
        _hold(memory.tags),
        usefulness,
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
