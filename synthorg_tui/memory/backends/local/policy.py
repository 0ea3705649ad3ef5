"""What the store allows an agent to keep, and for how long."""

from datetime import timedelta
from typing import NamedTuple, Protocol

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel


class StorePolicy(Protocol):
    """Decides by agent; asked on every store."""

    @property
    def max_memories_per_agent(self) -> int | None:
        """Upper bound on an agent's private memories, or ``None``."""
        ...

    def level(self, agent_id: str) -> MemoryLevel:
        """How far what the agent stores reaches; ``NONE`` refuses it."""
        ...

    def retention(self, agent_id: str, category: MemoryCategory) -> timedelta | None:
        """How long a memory without an expiry of its own is kept; ``None`` is for good."""
        ...


class UniformPolicy(NamedTuple):
    """The same rules for every agent."""

    max_memories_per_agent: int | None = None
    default_level: MemoryLevel = MemoryLevel.PERSISTENT
    keep: timedelta | None = None

    def level(self, agent_id: str) -> MemoryLevel:
        """``default_level``."""
        return self.default_level

    def retention(self, agent_id: str, category: MemoryCategory) -> timedelta | None:
        """``keep``."""
        return self.keep
