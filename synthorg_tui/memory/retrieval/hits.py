"""Results of searches, and the protocols by which searching can be extended.

The first protocols are optional abilities of backends beyond ``MemoryBackend``, to be checked with
``isinstance``. By the last two, other ways of finding and ordering memories plug into the context
strategy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.ranking import ScoredMemory

if TYPE_CHECKING:
    from synthorg_tui.memory.index.protocol import Visibility
    from synthorg_tui.memory.protocol import MemoryBackend
    from synthorg_tui.memory.retrieval.neighbours import Beside
    from synthorg_tui.providers.embedding.protocol import Vectors


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory returned by a search, with its raw scores and the fused score.

    ``dense`` is the cosine similarity, ``sparse`` the raw BM25 score; each is ``None`` when the
    respective ranking didn't return the memory, both when it only stands beside one that was found.
    ``fused`` is in [0, 1] and orders the hits.
    """

    entry: MemoryEntry
    dense: float | None
    sparse: float | None
    fused: float
    is_shared: bool = False


class CopiesOf(NamedTuple):
    """The ids of the exact copies of a hit that aren't hits themselves, and the newest's time."""

    ids: tuple[str, ...]
    last: datetime


class HitPlace(NamedTuple):
    """What else decides whether two hits are alike: their projects and, if read, their vectors."""

    project: str | None = None
    vector: "Vectors | None" = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of a search, best first.

    ``neighbours`` are what stands before and after a hit in its session, ``copies`` the copies of a
    hit, which are no hits themselves, ``made_of`` what a lesson among the hits was made of.
    ``degraded`` says in words which source was missing; empty when none was. ``moved`` is how much
    higher similarities are than with the base embedder, for the cutoffs.
    """

    hits: tuple[SearchHit, ...]
    degraded: str = ""
    neighbours: "Mapping[str, Beside]" = field(default_factory=dict)
    copies: Mapping[str, CopiesOf] = field(default_factory=dict)
    places: Mapping[str, HitPlace] = field(default_factory=dict)
    made_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    moved: float = 0.0


@runtime_checkable
class SparseSearch(Protocol):
    """Optional ability of a backend to search by keywords alone.

    A protocol because not every backend has a keyword index; check with ``isinstance``.
    """

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories by BM25, best first; raises ``MemoryRetrievalError``."""


@runtime_checkable
class CandidateSource(Protocol):
    """Optional ability of a backend to return all matches of a query before any selection."""

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """Return the agent's own memories and optionally other agents' shared ones, best first.

        Each index is searched once. Hits have raw scores, and irrelevant ones are not removed. The
        result contains at least the first ``query.limit`` hits of the dense, the sparse and the
        fused ranking; ``query.text`` is required. Raises ``MemoryRetrievalError``.
        """


@runtime_checkable
class ContentLookup(Protocol):
    """Optional ability of a backend to find a memory by its exact content, without an index."""

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """Return the id of the agent's memory that the request would duplicate, or ``None``.

        It has the same content, apart from surrounding whitespace, the same category and at least
        the same tags. Raises ``MemoryRetrievalError``.
        """


@runtime_checkable
class ScopedViews(Protocol):
    """Optional ability of a backend to limit its memories to a session and a project.

    A protocol because not every backend has visibility levels; check with ``isinstance``.
    """

    def scoped(self, visibility: "Visibility") -> "MemoryBackend":
        """Return a view of the backend as seen from that session and project."""


class RankedMemories(NamedTuple):
    """Memories, best first; ``degraded`` says in words what failed, empty when nothing did."""

    memories: tuple[ScoredMemory, ...]
    degraded: str = ""


@runtime_checkable
class HierarchicalRetriever(Protocol):
    """Finds and ranks memories in several steps, instead of the flat search.

    A protocol because the documented strategy accepts any implementation, and the shipped one is
    loaded only on use.
    """

    async def find_ranked(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        *,
        categories: frozenset[MemoryCategory] | None,
        limit: int,
    ) -> RankedMemories | None:
        """Return at most ``limit`` memories, or ``None`` to request the flat search instead."""


@runtime_checkable
class QuerySpecificReranker(Protocol):
    """Reorders ranked memories for a particular query.

    A protocol because the documented strategy accepts any implementation, and the shipped one is
    loaded only on use.
    """

    async def rerank(
        self, query_text: NotBlankStr, memories: tuple[ScoredMemory, ...]
    ) -> RankedMemories:
        """Return the same memories in a new order with unchanged scores; on failure as given."""
