"""What a person asks for when looking through a store, and what the store answers.

Commands and screens use these classes as they are. The first rows are on the screen before the
engine is loaded, so nothing here may import pydantic, DuckDB or a model.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, get_args

from synthorg_tui.core.enums import MemoryCategory

SortOrder = Literal["newest", "oldest", "agent", "category", "confidence"]
SORT_ORDERS: tuple[SortOrder, ...] = get_args(SortOrder)


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """A memory as a person sees it; times are in UTC.

    A search sets the scores: ``dense`` is the cosine similarity and ``sparse`` the raw BM25 score,
    ``None`` when that index didn't return the memory; ``fused`` is in [0, 1] and orders the hits.
    """

    id: str
    agent_id: str
    category: MemoryCategory
    content: str
    created_at: datetime
    tags: tuple[str, ...] = ()
    source: str | None = None
    confidence: float = 1.0
    namespace: str = "default"
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    dense: float | None = None
    sparse: float | None = None
    fused: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A window on a listing: ``entries`` from ``offset`` on, of ``total`` that match."""

    entries: tuple[ListedMemory, ...]
    offset: int
    total: int


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Search results, best first; ``degraded`` says which source was missing, else empty."""

    hits: tuple[ListedMemory, ...]
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class BrowseFilter:
    """What a person wants listed; empty fields don't filter.

    ``words`` must all occur in the content (case-insensitive), ``without`` must not.
    """

    agents: tuple[str, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Facets:
    """Live memory counts by agent and by category."""

    agents: tuple[tuple[str, int], ...] = ()
    categories: tuple[tuple[MemoryCategory, int], ...] = ()

    @property
    def total(self) -> int:
        """All live memories."""
        return sum(count for _, count in self.categories)


class ChangeKind(StrEnum):
    """What a revision did to a memory."""

    ADDED = "added"
    EDITED = "edited"
    DELETED = "deleted"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """One change in a memory's history; ``before`` and ``after`` hold the fields that changed."""

    revision: int
    memory_id: str
    at: datetime
    actor: str
    kind: ChangeKind
    before: dict[str, object]
    after: dict[str, object]
