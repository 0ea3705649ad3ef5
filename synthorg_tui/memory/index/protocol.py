"""The vector index: a projection of the store that can be rebuilt at any time.

What is stored is decided by the database; an index holds only what it needs to rank and to filter,
so that losing it loses nothing.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import folders_of
from synthorg_tui.providers.embedding.protocol import Vectors


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights by term index; indices are strictly ascending, weights positive."""

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
        """Whether the text had no terms; empty vectors are neither stored nor queried."""
        return not self.indices


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """Data that the index holds for a memory: both vectors and the fields to filter on.

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
    """Session and project of a query; memories limited to other ones are hidden from it.

    A memory of level ``project`` without a project, or ``session`` without a session, is visible
    from everywhere: a program that names none means all. What belongs to a repository is visible
    from all its worktrees, subfolders and clones.
    """

    session_id: str | None
    project: str | None

    @property
    def projects(self) -> tuple[str, ...]:
        """Every folder of the project, the one named included; empty without a project."""
        return folders_of(self.project or "")

    def sees(self, level: str, session_id: str | None, project: str | None) -> bool:
        """Return whether a memory of this level, session and project is visible from here."""
        if level == "persistent":
            return True
        if level == "project":
            return project in (None, *self.projects)
        return session_id in (None, self.session_id)


@dataclass(frozen=True, slots=True)
class EndedByAge:
    """Points without an expiry of their own that have ended: old ones of some categories.

    Created at ``until`` or before, by one of ``agents``, or with ``is_for_others`` by any but them.
    """

    agents: tuple[str, ...]
    is_for_others: bool
    categories: tuple[str, ...]
    until: datetime


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Conditions of a search, all of which must hold.

    Fields that are ``None`` or empty don't filter. Points expired at ``now`` are excluded, and
    those of ``ended``. ``shared`` selects shared or private points only. ``visibility`` ``None``
    means a person, who sees all sessions and projects.
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
    projects: frozenset[str] | None = None
    ended: tuple[EndedByAge, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A point id with its raw score: cosine for dense, IDF-weighted dot product for sparse."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Dense and sparse ranking of one search, best first; empty where no vector was given."""

    dense: tuple[IndexHit, ...] = ()
    sparse: tuple[IndexHit, ...] = ()


class VectorIndex(Protocol):
    """Dense and sparse search over memory points; all methods raise ``VectorIndexError``.

    Call ``open`` first.
    """

    async def open(self, *, fingerprint: str, dims: int) -> int:
        """Open or create the index for an embedder and return the latest revision it contains.

        0 means that everything must be replayed: the index is new, was built for another embedder,
        or could not be read and has been set aside. ``dims`` is the length of dense vectors.
        """

    async def rest(self) -> None:
        """Free the memory that the index takes until it is next used, which may take longer then.

        Does nothing when the index is closed or somewhere else.
        """

    async def close(self) -> None:
        """Write everything to disk, save the latest applied revision, and close the index."""

    async def applied(self) -> int:
        """Return the latest revision it contains now.

        Of an index that several processes bring up to date, another one may have raised it, or
        begun anew.
        """

    async def apply(
        self,
        upserts: Sequence[IndexPoint],
        deletes: Sequence[str],
        *,
        revision: int,
        as_of: int | None = None,
        since: int = 0,
    ) -> None:
        """Insert, replace and delete points, and record that ``revision`` is applied.

        The points are as they were at ``as_of``, the revision of the snapshot that they were read
        from, by default at ``revision``: a point that is already newer, since another process was
        quicker, stays as it is. They are all that changed after ``since``: refused when another
        process began the index anew, so that it doesn't contain that any more. Idempotent:
        applying the same change again has no effect.
        """

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        """Return the dense and the sparse ranking in one call, at most ``limit`` hits each."""

    async def count(self) -> int:
        """Return the number of points in the index."""

    def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all points, in no particular order."""

    async def clear(self, *, gradually: bool = False) -> None:
        """Delete all points; any revision may be applied next.

        With ``gradually`` an index that others search, too, keeps each point until it is applied
        anew; what isn't is to be deleted in the end.
        """

    async def pack(self, *, erase: bool = False) -> bool:
        """Prepare a packed copy beside the index in use; return whether one is ready.

        Takes long, but little of this process's time; there is none when it would gain little,
        or when the index rearranges itself. With ``erase`` the copy is made however little it
        gains, and of the present points alone: no file of it has a vector that was deleted.
        """

    async def switch(self) -> int:
        """Switch to the packed copy and return the revision after which changes must be replayed.

        No change may be applied meanwhile. Call it only once ``pack`` made an edition.
        """
