"""What a search returns, and the protocols by which it can be extended; probe with ``isinstance``.

A backend offers more than ``MemoryBackend`` by the first ones; other ways of finding and ordering
memories plug into the context strategy by the last two.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.ranking import ScoredMemory

if TYPE_CHECKING:
    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.protocol import MemoryBackend


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A found memory with its raw and fused scores.

    ``dense`` is the cosine similarity, ``sparse`` the raw BM25 dot product; ``None`` when that
    index didn't return the memory. ``fused`` is in [0, 1] and orders the hits.
    """

    entry: MemoryEntry
    dense: float | None
    sparse: float | None
    fused: float
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first; ``degraded`` says in words which source was missing, else empty."""

    hits: tuple[SearchHit, ...]
    degraded: str = ""


@runtime_checkable
class SparseSearch(Protocol):
    """Keyword search on its own.

    A protocol because a backend need not have keywords; probed for where rankings are fused.
    """

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """The agent's memories by BM25, best first; raises ``MemoryRetrievalError``."""
        ...


@runtime_checkable
class CandidateSource(Protocol):
    """Everything a query brings up, before anybody has judged it."""

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """The agent's own memories and, if wanted, those that others share; best first.

        One search of each index: hits have their raw scores, and none is left out for lack of
        relevance. At least the first ``query.limit`` of the dense, the sparse and the fused
        ranking are there; ``query.text`` is required. Raises ``MemoryRetrievalError``.
        """
        ...


@runtime_checkable
class ContentLookup(Protocol):
    """Finding a memory by all that it says, which takes no model and no index."""

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """The id of an own memory that the request would repeat.

        It has the same content, but for spaces around it, the same category and at least the same
        tags. Raises ``MemoryRetrievalError``.
        """
        ...


@runtime_checkable
class ScopedViews(Protocol):
    """A store whose memories can be limited to a session and a project.

    A protocol because not every backend knows levels; probed for where a session begins.
    """

    def scoped(self, visibility: "Visibility") -> "MemoryBackend":
        """The store as seen from there."""
        ...


class RankedMemories(NamedTuple):
    """Memories, best first; ``degraded`` says in words what went wrong, else empty."""

    memories: tuple[ScoredMemory, ...]
    degraded: str = ""


@runtime_checkable
class HierarchicalRetriever(Protocol):
    """Finds and ranks memories in several steps, in place of the flat search.

    A protocol because the documented strategy takes any, and the shipped one loads only on use.
    """

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
    """Puts ranked memories into an order made for the query.

    A protocol because the documented strategy takes any, and the shipped one loads only on use.
    """

    async def rerank(
        self, query_text: NotBlankStr, memories: tuple[ScoredMemory, ...]
    ) -> RankedMemories:
        """The same memories, reordered, scores untouched; the given order when that fails."""
        ...
