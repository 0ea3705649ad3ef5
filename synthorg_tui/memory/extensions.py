"""Optional abilities of a backend beyond ``MemoryBackend``; check them with ``isinstance``.

``MemoryBackend`` has exactly its documented members, so every further ability is a protocol of its
own here. Abilities for agents and abilities for persons are never in one protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.enums import ArchiveReason, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.listing import AgentPlaces as AgentPlaces
from synthorg_tui.memory.listing import BrowseFilter as BrowseFilter
from synthorg_tui.memory.listing import ChangeKind as ChangeKind
from synthorg_tui.memory.listing import Facets as Facets
from synthorg_tui.memory.listing import FoundMemories as FoundMemories
from synthorg_tui.memory.listing import ListedMemory as ListedMemory
from synthorg_tui.memory.listing import MemoryPage as MemoryPage
from synthorg_tui.memory.listing import MemoryRevision as MemoryRevision
from synthorg_tui.memory.listing import MemoryUse as MemoryUse
from synthorg_tui.memory.listing import SortOrder as SortOrder
from synthorg_tui.memory.listing import UndoneAct as UndoneAct
from synthorg_tui.memory.models import BatchOutcome as BatchOutcome
from synthorg_tui.memory.models import MemoryDraft as MemoryDraft
from synthorg_tui.memory.models import MemoryEdit as MemoryEdit
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval.hits import CandidateSource as CandidateSource
from synthorg_tui.memory.retrieval.hits import ScopedViews as ScopedViews
from synthorg_tui.memory.retrieval.hits import SearchHit as SearchHit
from synthorg_tui.memory.retrieval.hits import SearchResult as SearchResult
from synthorg_tui.memory.retrieval.hits import SparseSearch as SparseSearch

if TYPE_CHECKING:
    from synthorg_tui.memory.org.changes import OrgChange, OrgEffect

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to store on behalf of an agent; ``shared`` makes it readable by all agents."""

    agent_id: str
    draft: MemoryDraft
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Archiving:
    """Memories to archive, with what stands for them from then on.

    ``kept`` is the id of the memory that they are copies or older values of; ``derived`` are ids of
    the memories whose text is in the memory that the same bundle adds. ``made_by`` is recorded with
    the edges that say so. ``mode`` is an ``ArchivalMode``.
    """

    ids: tuple[str, ...]
    why: ArchiveReason
    mode: str | None = None
    kept: str | None = None
    derived: tuple[str, ...] = ()
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class MemoryBundle:
    """Changes to apply in one transaction.

    ``add`` lists new memories; ``remove`` (soft delete), ``restore`` (undo a soft delete) and
    ``purge`` (erase for good) list ids of existing ones. ``archive`` takes some out of use, before
    any is added. ``org`` are writes to organisation memory, in order. ``erases`` says that what
    else is written in the transaction erases texts.
    """

    add: tuple[NewMemory, ...] = ()
    archive: Archiving | None = None
    remove: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()
    org: "tuple[OrgChange, ...]" = ()
    erases: bool = False


@dataclass(frozen=True, slots=True)
class BundleOutcome:
    """Result of applying a ``MemoryBundle``.

    ``added`` and ``purged`` are ids, those of ``added`` in the order of the bundle. ``removed``,
    archived ones included, and ``restored`` are the memories as they were before. Ids to which a
    change doesn't apply are ignored: to remove a memory that isn't live, to restore one that isn't
    deleted, to purge an unknown one.
    """

    added: tuple[str, ...]
    removed: tuple[ListedMemory, ...]
    restored: tuple[ListedMemory, ...]
    purged: tuple[str, ...] = ()
    org: "tuple[OrgEffect, ...]" = ()


@runtime_checkable
class BatchStore(Protocol):
    """Optional ability of a backend to store many memories in one transaction."""

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store a batch of memories for an agent, all or nothing; raises ``MemoryStoreError``.

        ``actor`` is recorded in the history as the author of the change. Drafts that are already
        stored are skipped or updated, as ``MemoryDraft`` describes.
        """


async def add_by_hand(
    store: BatchStore,
    agent_id: str,
    request: MemoryStoreRequest,
    *,
    project: str | None = None,
    valid: tuple[datetime | None, datetime | None] = (None, None),
    actor: str,
) -> str:
    """Store a memory that a person wrote for an agent and return its id.

    It reaches every session of the agent, or those of one ``project`` (a folder's path). ``valid``
    is from when until when a fact is true, where that isn't since now. Raises
    ``MemoryStoreError`` when it isn't stored, such as a text that is stored already.
    """
    draft = MemoryDraft(
        request=request,
        level=MemoryLevel.PROJECT if project else MemoryLevel.PERSISTENT,
        project=project,
        source_kind=SourceKind.OPERATOR,
        valid_from=valid[0],
        valid_to=valid[1],
    )
    outcome = await store.store_many(agent_id, [draft], actor=actor)
    if not outcome.added:
        raise MemoryStoreError(f"the memory was not stored: {outcome.skipped[0][1]}")
    return outcome.added[0]


@runtime_checkable
class PlacedMemories(Protocol):
    """Optional ability of a backend whose memories are given in one project or session only.

    A protocol since what merges memories knows ``MemoryBackend`` alone, whose entries don't say
    where they are given: without it the text of one project would be given in another.
    """

    async def given_alike(self, agent_id: NotBlankStr) -> frozenset[str]:
        """Return ids of the agent's memories that are given where a new one would be.

        Raises ``MemoryRetrievalError``.
        """


@runtime_checkable
class MemoryAdmin(Protocol):
    """Access to the memories of all agents, for a person and never for agents.

    A protocol because clients in other processes implement it too, by calls to the process that
    owns the store. Methods that change memories raise ``MemoryStoreError``, all others
    ``MemoryRetrievalError``. ``actor`` is recorded in the history as the author of a change.
    """

    async def find(
        self,
        query: MemoryQuery,
        *,
        agents: frozenset[str] | None = None,
        within: BrowseFilter | None = None,
        as_of: datetime | None = None,
    ) -> FoundMemories:
        """Search by meaning and keywords, and return the best matches.

        Args:
            query: Text and filters; ``query.text`` is required.
            agents: Agents whose memories are searched; ``None`` for all.
            within: A memory must also be listed by this filter; its ``words`` are not asked for.
                It is applied before ``query.limit``. With its state ``archived`` the archive is
                searched.
            as_of: Search what was known, and which facts held, at this time; without ``within``.
        """

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder = "newest", offset: int = 0, limit: int = 300
    ) -> MemoryPage:
        """Return one page of the memories that match a filter, and the total number of matches."""

    async def lookup(
        self, id_start: NotBlankStr, *, deleted: bool = False, limit: int = 10
    ) -> tuple[ListedMemory, ...]:
        """Return at most ``limit`` memories whose id starts with ``id_start``, ordered by id.

        Soft-deleted and archived memories are included only when ``deleted``.
        """

    async def entries(
        self, memory_ids: Sequence[NotBlankStr], *, deleted: bool = False
    ) -> tuple[ListedMemory, ...]:
        """Return the memories with exactly these ids, in the order of the ids.

        Unknown ids are omitted, and deleted and archived memories too unless ``deleted``.
        """

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of live memories by group, or of those that a filter lists.

        Under a filter kinds are counted, too, and the part of it on a group leaves the numbers of
        the other groups of its sort as they are.
        """

    async def places(self, agent_id: NotBlankStr) -> AgentPlaces:
        """Return the projects and sessions of an agent's live memories, the latest first."""

    async def edit(self, memory_id: NotBlankStr, change: MemoryEdit, *, actor: str) -> ListedMemory:
        """Change a memory and return it as stored; raises ``MemoryNotFoundError``."""

    async def undo(self, *, actor: str) -> UndoneAct | None:
        """Undo the last change of memories that a person made, in this run or an earlier one.

        Returns what was undone; ``None`` when there is nothing. What agents and imports did is
        never undone, nor what was purged, changed by somebody since, or is the memory of a skill.
        """

    async def redo(self, *, actor: str) -> UndoneAct | None:
        """Make the change again that was undone last; ``None`` after a newer change."""

    async def restore_version(
        self, memory_id: NotBlankStr, revision: int, *, actor: str
    ) -> ListedMemory:
        """Restore a live memory's fields as of a revision of its history, as a new revision.

        Raises ``MemoryNotFoundError`` when the memory or the revision doesn't exist.
        """

    async def uses(self, memory_id: NotBlankStr, *, limit: int = 20) -> tuple[MemoryUse, ...]:
        """Return the recorded calls of agents that were given a memory, newest first."""

    async def similar(self, memory_id: NotBlankStr, *, limit: int = 5) -> tuple[ListedMemory, ...]:
        """Return live memories of any agent that say nearly the same, most similar first.

        Their ``dense`` is the similarity, from 0 to 1. Empty without an embedding model.
        """

    async def remove(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Soft-delete live and archived memories and return how many; ``restore`` undoes it.

        To erase memories for good use ``Erasure``, which also erases what was derived from them.
        """

    async def archive(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Archive live memories and return how many: kept as they are, but given to nobody."""

    async def restore(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Make deleted, archived and expired memories live again and return how many were."""

    async def publish(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Publish private memories to all agents and return the ids of the published copies.

        What is published already is passed over, and the memories themselves stay as they are.
        ``retract`` withdraws the copies; ``undo`` undoes either. Raises ``MemoryNotFoundError``.
        """

    async def retract(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Withdraw published memories and return their ids; what they were made of stays.

        ``memory_ids`` name the copies or the memories themselves. Raises ``MemoryNotFoundError``.
        """

    async def stands_for(self, memory_id: NotBlankStr) -> ListedMemory | None:
        """Return what stands for an archived memory: its original, a newer fact, a merged text.

        ``None`` where nothing does, as for one that expired.
        """

    async def authors(self, memory_ids: Sequence[NotBlankStr]) -> dict[str, str]:
        """Return who last wrote each memory's text, as the history records it; see ``Actor``."""

    async def history(self, memory_id: NotBlankStr) -> tuple[MemoryRevision, ...]:
        """Return all recorded changes to a memory, newest first."""
