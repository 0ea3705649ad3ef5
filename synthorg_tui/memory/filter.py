"""Decides which ranked memories may reach an agent."""

from typing import Final, Protocol, runtime_checkable

from synthorg_tui.memory.ranking import ScoredMemory

NON_INFERABLE_TAG: Final = "non-inferable"
"""Marks what an agent can't find out by reading the project or its environment."""


@runtime_checkable
class MemoryFilterStrategy(Protocol):
    """Keeps some of the memories that were found; those who call it fail closed."""

    @property
    def strategy_name(self) -> str:
        """The name of the filter."""
        ...

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Those of ``memories`` that may be injected, in the same order."""
        ...


class TagBasedMemoryFilter:
    """Keeps memories that carry a tag.

    Args:
        required_tag: The tag, surrounding whitespace aside.

    Raises:
        ValueError: The tag is blank.
    """

    def __init__(self, required_tag: str = NON_INFERABLE_TAG) -> None:
        self.required_tag = required_tag.strip()
        if not self.required_tag:
            raise ValueError("required_tag must not be blank")

    @property
    def strategy_name(self) -> str:
        """``tag_based``."""
        return "tag_based"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Those with the tag."""
        return tuple(m for m in memories if self.required_tag in m.entry.metadata.tags)


class PassthroughMemoryFilter:
    """Keeps everything."""

    @property
    def strategy_name(self) -> str:
        """``passthrough``."""
        return "passthrough"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """``memories``."""
        return memories
