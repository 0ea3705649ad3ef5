"""The vector index: a projection of the store that can be rebuilt at any time.

What is stored is decided by the database; an index holds only what it needs to rank and to filter,
so that losing it loses nothing.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.providers.embedding.protocol import Vectors


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights by term index, indices strictly ascending, weights above 0."""

    indices: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.values):
            raise ValueError("indices and values must have the same length")
        if any(index < 0 for index in self.indices):
            raise ValueError("indices must be >= 0")
        if any(a >= b for a, b in zip(self.indices, self.indices[1:], strict=False)):
            raise ValueError("indices must be strictly ascending")
        if any(value <= 0 for value in self.values):
            raise ValueError("values must be > 0")

    @property
    def is_empty(self) -> bool:
        """Whether the text had no terms; such a vector is neither stored nor queried."""
        return not self.indices


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """What the index knows of a memory: both vectors and the fields it filters on.

    ``id`` is a UUID string. ``agent_id`` is the publisher when ``shared``.
    """

    id: str
    agent_id: str
    category: MemoryCategory
    namespace: str
    tags: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    shared: bool
    level: str
    session_id: str | None
    project: str | None
    dense: Vectors | None
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Visibility:
    """Where a query is asked from: hides other sessions' and other projects' memories."""

    session_id: str | None
    project: str | None


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Conditions on a search, all of which must hold; ``None`` or empty doesn't filter.

    ``now`` hides what has expired. ``shared`` picks shared or private points. ``visibility``
    ``None`` is the person at the desk, who sees everything.
    """

    now: datetime
    agents: frozenset[str] | None = None
    exclude_agent: str | None = None
    shared: bool | None = None
    categories: frozenset[MemoryCategory] = frozenset()
    namespaces: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A point and its raw score: cosine for dense, IDF-weighted dot product for sparse."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Both rankings of one search, best first; empty for a vector that was not given."""

    dense: tuple[IndexHit, ...] = ()
    sparse: tuple[IndexHit, ...] = ()


class VectorIndex(Protocol):
    """Dense and sparse search over memory points; raises ``VectorIndexError``."""

    async def open(self, *, fingerprint: str, dims: int) -> int:
        """Open or create the index for an embedder and return the last revision applied.

        0 means that everything must be replayed: the index is new, was built for another
        embedder, or could not be read and has been set aside.
        """
        ...

    async def close(self) -> None:
        """Flush, remember the last revision applied, and close."""
        ...

    async def apply(
        self, upserts: Sequence[IndexPoint], deletes: Sequence[str], *, revision: int
    ) -> None:
        """Bring points up to date; applying the same change again changes nothing."""
        ...

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        """Both rankings in one round trip, at most ``limit`` each."""
        ...

    async def count(self) -> int:
        """How many points there are."""
        ...

    def ids(self) -> AsyncIterator[str]:
        """Ids of all points, in no particular order."""
        ...

    async def clear(self) -> None:
        """Drop every point; the next revision applied may be any."""
        ...

    async def pack(self) -> bool:
        """Prepare a packed edition beside the one in use; whether there is one now.

        Takes long, but little of this process's time; there is none when it would gain little,
        or when the index rearranges itself.
        """
        ...

    async def switch(self) -> int:
        """Use the packed edition; returns the revision from which on to replay changes.

        No change may be applied meanwhile. Call it only once ``pack`` made an edition.
        """
        ...
