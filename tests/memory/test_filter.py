"""Which memories may reach an agent."""

import pytest

from synthorg_tui.memory.filter import (
    MemoryFilterStrategy,
    PassthroughMemoryFilter,
    TagBasedMemoryFilter,
)
from tests.memory.memory_kit import ids, scored
from tests.tables import rows

MEMORIES = (
    scored("a", tags=("non-inferable", "x")),
    scored("b", tags=("inferable",)),
    scored("c", tags=("non-inferable",)),
)


def test_only_memories_with_the_tag_pass_in_their_order() -> None:
    assert ids(TagBasedMemoryFilter().filter_for_injection(MEMORIES)) == ["a", "c"]


def test_the_tag_can_be_another_and_is_stripped() -> None:
    assert ids(TagBasedMemoryFilter("  inferable ").filter_for_injection(MEMORIES)) == ["b"]


@rows("tag", ["", "  ", "\t\n"])
def test_a_blank_tag_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="blank"):
        TagBasedMemoryFilter(tag)


def test_passthrough_keeps_everything() -> None:
    assert PassthroughMemoryFilter().filter_for_injection(MEMORIES) is MEMORIES


def test_both_are_filter_strategies_with_names() -> None:
    filters: tuple[MemoryFilterStrategy, ...] = (TagBasedMemoryFilter(), PassthroughMemoryFilter())
    assert all(isinstance(each, MemoryFilterStrategy) for each in filters)
    assert [each.strategy_name for each in filters] == ["tag_based", "passthrough"]
