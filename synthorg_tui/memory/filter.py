"""Decides which ranked memories may reach an agent."""

from typing import Final, Protocol, runtime_checkable

from synthorg_tui.memory.ranking import ScoredMemory

NON_INFERABLE_TAG: Final = "non-inferable"
"""Marks what an agent can't find out by reading the project or its environment."""


@runtime_checkable
class MemoryFilterStrategy(Protocol):
    """Decides which of the ranked memories may be given to an agent.

    When a filter raises, its caller gives the agent no memories at all.
    """

    @property
    def strategy_name(self) -> str:
        """Name of the filter, for explanations and logs."""

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return the memories that may be given to the agent, in unchanged order."""


class TagBasedMemoryFilter:
    """Filter that passes only memories with a certain tag.

    Args:
        required_tag: The tag; surrounding whitespace is ignored.

    Raises:
        ValueError: The tag is blank.
    """

    def __init__(self, required_tag: str = NON_INFERABLE_TAG) -> None:
        self.required_tag = required_tag.strip()
        if not self.required_tag:
            raise ValueError("required_tag must not be blank")

    @property
    def strategy_name(self) -> str:
        return "tag_based"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return the memories that have the required tag, in unchanged order."""
        return tuple(m for m in memories if self.required_tag in m.entry.metadata.tags)


class PassthroughMemoryFilter:
    """Filter that passes all memories."""

    @property
    def strategy_name(self) -> str:
        return "passthrough"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return all memories unchanged."""
        return memories
