"""What a backend may offer beyond ``MemoryBackend``; probe with ``isinstance``.

``MemoryBackend`` has exactly its documented members, so every further ability is a protocol of its
own here. What agents have and what only a person has are never in one protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.listing import BrowseFilter as BrowseFilter
from synthorg_tui.memory.listing import ChangeKind as ChangeKind
from synthorg_tui.memory.listing import Facets as Facets
from synthorg_tui.memory.listing import FoundMemories as FoundMemories
from synthorg_tui.memory.listing import ListedMemory as ListedMemory
from synthorg_tui.memory.listing import MemoryPage as MemoryPage
from synthorg_tui.memory.listing import MemoryRevision as MemoryRevision
from synthorg_tui.memory.listing import SortOrder as SortOrder
from synthorg_tui.memory.models import BatchOutcome as BatchOutcome
from synthorg_tui.memory.models import MemoryDraft as MemoryDraft
from synthorg_tui.memory.models import MemoryQuery, Tags
from synthorg_tui.memory.retrieval.hits import CandidateSource as CandidateSource
from synthorg_tui.memory.retrieval.hits import ScopedViews as ScopedViews
from synthorg_tui.memory.retrieval.hits import SearchHit as SearchHit
from synthorg_tui.memory.retrieval.hits import SearchResult as SearchResult
from synthorg_tui.memory.retrieval.hits import SparseSearch as SparseSearch

if TYPE_CHECKING:
    pass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be stored in the agent's name; ``shared`` publishes it to all."""

    agent_id: str
    draft: MemoryDraft
    shared: bool = False


@dataclass(frozen=True, slots=True)
class MemoryBundle:
    """Memories that come, go (soft-deleted), come back, or are erased, all in one transaction."""

    add: tuple[NewMemory, ...] = ()
    remove: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BundleOutcome:
    """What a bundle did: ids of the new memories in order, and the others as they were before.

    Ids that name no live memory (to remove), no deleted one (to restore) or none at all (to purge)
    are passed over. Of what was purged there are only ids.
    """

    added: tuple[str, ...]
    removed: tuple[ListedMemory, ...]
    restored: tuple[ListedMemory, ...]
    purged: tuple[str, ...] = ()


class MemoryEdit(FrozenModel):
    """Fields to change; what is ``None`` stays.

    New ``tags`` keep the fact key and the sensitivity unless they name others. An empty
    ``fact_key`` makes the memory no fact; only semantic, social and working ones can be facts.
    """

    content: NotBlankStr | None = None
    category: MemoryCategory | None = None
    tags: Tags | None = None
    confidence: float | None = None
    sensitivity: Sensitivity | None = None
    fact_key: str | None = None


@runtime_checkable
class BatchStore(Protocol):
    """Many memories in one transaction."""

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store a batch, all or nothing; raises ``MemoryStoreError``."""
        ...


@runtime_checkable
class MemoryAdmin(Protocol):
    """What a person does with the memories of all agents.

    A protocol because it is also what clients of a running owner call, whose other end is remote.
    Changes raise ``MemoryStoreError``, everything else ``MemoryRetrievalError``.
    """

    async def find(
        self,
        query: MemoryQuery,
        *,
        agents: frozenset[str] | None = None,
        without: tuple[str, ...] = (),
    ) -> FoundMemories:
        """Hybrid search over the named agents, or all; ``query.text`` is required.

        Memories whose content has one of the words ``without`` are left out before the limit.
        """
        ...

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder = "newest", offset: int = 0, limit: int = 300
    ) -> MemoryPage:
        """A window on the memories that match."""
        ...

    async def lookup(
        self, id_start: NotBlankStr, *, deleted: bool = False, limit: int = 10
    ) -> tuple[ListedMemory, ...]:
        """Memories whose id starts so, by id; also those soft-deleted when ``deleted``."""
        ...

    async def entries(
        self, memory_ids: Sequence[NotBlankStr], *, deleted: bool = False
    ) -> tuple[ListedMemory, ...]:
        """The memories with exactly these ids, in their order; unknown ids are left out.

        Soft-deleted ones are among them only when ``deleted``.
        """
        ...

    async def facets(self) -> Facets:
        """Live memory counts."""
        ...

    async def edit(self, memory_id: NotBlankStr, change: MemoryEdit, *, actor: str) -> ListedMemory:
        """Change a memory; raises ``MemoryNotFoundError``."""
        ...

    async def remove(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Soft-delete; returns how many were live. ``restore`` brings them back.

        Erasing for good is for ``Erasure``, which knows what else was made of a memory.
        """
        ...

    async def restore(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Undo a soft delete; returns how many came back."""
        ...

    async def history(self, memory_id: NotBlankStr) -> tuple[MemoryRevision, ...]:
        """Every change to a memory, newest first."""
        ...
