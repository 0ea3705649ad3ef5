"""Who leaves first when there is no room: one order, the same wherever room is made."""

import random

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.eviction import eviction_key, is_protected
from synthorg_tui.memory.listing import ListedMemory
from tests.memory.consolidation.consolidation_kit import entry
from tests.tables import rows

PROCEDURAL = MemoryCategory.PROCEDURAL

LEAVING: tuple[ListedMemory, ...] = tuple(
    one.listed()
    for one in (
        entry("diary, unsure", tags=("session",), confidence=0.2),
        entry("diary, old", tags=("task",), days=9),
        entry("diary, new", tags=("commit",), days=1),
        entry("a recovery, unsure", tags=("recovery",), confidence=0.5, days=1),
        entry("written", days=9),
        entry("said", tags=("said",), days=2),
        entry("same moment, first id", days=1),
        entry("same moment, second id", days=1),
        entry("knowledge, unsure", tags=("knowledge",), confidence=0.6),
        entry("a lesson", "[DISCOVERY] x", category=PROCEDURAL),
        entry("a fact, unsure and old", tags=("fact:editor",), confidence=0.1, days=99),
        entry("pinned diary", tags=("session", "pinned"), confidence=0.2, days=98),
        entry("core", tags=("core",), confidence=0.1, days=99),
        entry("pinned fact", tags=("fact:x", "pinned"), days=98),
    )
)


@given(st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_they_are_listed(chance: random.Random) -> None:
    mixed = chance.sample(LEAVING, len(LEAVING))
    assert tuple(sorted(mixed, key=eviction_key)) == LEAVING


def test_pinned_ones_follow_the_same_rules_among_themselves() -> None:
    pinned = [
        entry("old", tags=("pinned",), days=2).listed(),
        entry("new", tags=("pinned",), days=1).listed(),
        entry("diary", tags=("session", "pinned")).listed(),
    ]
    assert [one.id for one in sorted(pinned, key=eviction_key)] == ["diary", "old", "new"]


@rows(
    ("tags", "content", "category", "protected"),
    [
        (("pinned",), "x", MemoryCategory.EPISODIC, True),
        (("core",), "x", MemoryCategory.SEMANTIC, True),
        (("fact:k",), "x", MemoryCategory.SEMANTIC, True),
        (("fact:",), "x", MemoryCategory.SEMANTIC, False),
        (("knowledge",), "x", MemoryCategory.SEMANTIC, True),
        (("recovery",), "x", MemoryCategory.EPISODIC, True),
        (("said",), "x", MemoryCategory.SEMANTIC, True),
        (("x", "recovery"), "x", MemoryCategory.EPISODIC, False),
        ((), "[DISCOVERY] x", PROCEDURAL, True),
        ((), "[DISCOVERY] x", MemoryCategory.EPISODIC, False),
        (("session",), "x", MemoryCategory.EPISODIC, False),
    ],
)
def test_what_is_never_merged(
    tags: tuple[str, ...], content: str, category: MemoryCategory, protected: bool
) -> None:
    assert is_protected(category, tags, content) is protected
