"""Where other ways of finding and ordering memories plug into the context strategy."""

from typing import NamedTuple, Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.ranking import ScoredMemory


class RankedMemories(NamedTuple):
    """Memories, best first; ``degraded`` says in words what went wrong, else empty."""

    memories: tuple[ScoredMemory, ...]
    degraded: str = ""


@runtime_checkable
class HierarchicalRetriever(Protocol):
    """Finds and ranks memories in several steps, in place of the flat search."""

    async def find_ranked(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        *,
        categories: frozenset[MemoryCategory] | None,
        limit: int,
    ) -> RankedMemories | None:
        """At most ``limit`` memories; ``None`` asks for the flat search instead."""
        ...


@runtime_checkable
class QuerySpecificReranker(Protocol):
    """Puts ranked memories into an order made for the query."""

    async def rerank(
        self, query_text: NotBlankStr, memories: tuple[ScoredMemory, ...]
    ) -> RankedMemories:
        """The same memories, reordered, scores untouched; the given order when that fails."""
        ...
