"""What the screens ask of the engine, in its own plain data; a pane's own calls are its adapter's.

The screens are tested with a store in memory behind it, and the app is painted before the engine is
loaded. So nothing here may import pydantic, a database or a model: types that need these are named
in annotations only.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import (
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    MemoryUse,
    SortOrder,
    UndoneAct,
)

if TYPE_CHECKING:
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.jobs.models import RunProgress
    from synthorg_tui.tui.activity.adapter import EngineActivity
    from synthorg_tui.tui.approvals.adapter import EngineApprovals
    from synthorg_tui.tui.digest.adapter import EngineDigests
    from synthorg_tui.tui.manage.adapter import StoreManagement
    from synthorg_tui.tui.organisation.adapter import EngineOrganisation
    from synthorg_tui.tui.safety import EngineSafety
    from synthorg_tui.tui.sessions.adapter import EngineSessions
    from synthorg_tui.tui.skills.adapter import EngineSkills


@dataclass(frozen=True, slots=True)
class Draft:
    """A new memory that a person wrote, for all projects, or for one: the path of its folder."""

    agent_id: str
    category: MemoryCategory
    content: str
    tags: tuple[str, ...] = ()
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The fields of a memory to change; a field that is ``None`` stays as it is."""

    content: str | None = None
    category: MemoryCategory | None = None
    tags: tuple[str, ...] | None = None


class MemoryReader(Protocol):
    """Read access to memories. Methods raise ``DomainError``.

    Before the engine is open it is implemented by a reader of the store alone, then by
    ``MemoryPort``.
    """

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        """Return at most ``limit`` of the matching memories, from ``offset`` on, in order."""
        ...

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of memories by group, or of those that a filter lists.

        Deleted ones aren't counted, and kinds only under a filter.
        """
        ...

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Return all changes of a memory, newest first."""
        ...

    async def stands_for(self, memory_id: str) -> ListedMemory | None:
        """Return what stands for an archived memory; ``None`` where nothing does."""
        ...

    async def uses(self, memory_id: str, *, limit: int) -> tuple[MemoryUse, ...]:
        """Return at most ``limit`` of the agents' calls that were given it, newest first."""
        ...


class MemoryPort(MemoryReader, Protocol):
    """The interface to the memories of all agents; its properties lead to what other panes show.

    Methods raise ``DomainError``. The program has one implementation; it is a protocol so that the
    screens are tested without a store and its models, with failures and delays at a chosen moment.
    """

    @property
    def digests(self) -> "EngineDigests":
        """What agents would be given of them."""
        ...

    @property
    def approvals(self) -> "EngineApprovals":
        """What waits for a person."""
        ...

    @property
    def skills(self) -> "EngineSkills":
        """The skills on disk."""
        ...

    @property
    def activity(self) -> "EngineActivity":
        """What connected agents do."""
        ...

    @property
    def sessions(self) -> "EngineSessions":
        """What agents did, as it was imported."""
        ...

    @property
    def organisation(self) -> "EngineOrganisation":
        """What every agent is to follow: policies, decisions, procedures, conventions."""
        ...

    @property
    def safety(self) -> "EngineSafety":
        """Loosened settings, and what happened while the app was closed."""
        ...

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
        """Search for memories relevant to ``text`` among those that match.

        Returns at most ``limit`` of them, and none if none is relevant enough.
        """
        ...

    async def note_opened(self, query: str, memory_id: str) -> None:
        """Record that a person opened this memory after searching for ``query``."""
        ...

    async def add(self, draft: Draft) -> str:
        """Store a new memory and return its id."""
        ...

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        """Change a memory and return it as it is afterwards."""
        ...

    async def remove(self, memory_ids: Sequence[str]) -> int:
        """Soft-delete memories and return how many were deleted; ``restore`` reverts it."""
        ...

    async def archive(self, memory_ids: Sequence[str]) -> int:
        """Archive live memories and return how many were; ``restore`` reverts it."""
        ...

    async def publish(self, memory_ids: Sequence[str]) -> int:
        """Give copies of private memories to all agents; return how many weren't given yet."""
        ...

    async def retract(self, memory_ids: Sequence[str]) -> int:
        """Withdraw what was published and return how many were; what it was made of stays."""
        ...

    async def restore(self, memory_ids: Sequence[str]) -> int:
        """Restore soft-deleted and archived memories and return how many were restored."""
        ...

    async def restore_version(self, memory_id: str, revision: int) -> None:
        """Give a memory its fields as of a revision of its history, as its newest version."""
        ...

    async def undo(self) -> UndoneAct | None:
        """Undo the last change that the person made, in this run or before; ``None`` without."""
        ...

    async def redo(self) -> UndoneAct | None:
        """Make the change again that was undone last; ``None`` after a newer one."""
        ...

    async def similar(self, memory_id: str) -> tuple[ListedMemory, ...]:
        """Return a few live memories that say nearly the same, most similar first."""
        ...

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Describe, a line each, what purging these memories deletes too and what it leaves."""
        ...

    async def transcripts(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the stored transcript lines that these memories were drawn from, as references."""
        ...

    async def purge(self, memory_ids: Sequence[str], *, lines: bool = False) -> int:
        """Delete memories permanently, which can't be undone, and return how many were deleted.

        With ``lines`` the stored transcript lines that they were drawn from are blanked, too.
        """
        ...

    @property
    def known_agents(self) -> int:
        """The number of agents whose sessions can be read."""
        ...

    async def found_places(self) -> "tuple[FoundTranscripts, ...]":
        """Return the directories on this machine that hold transcripts."""
        ...

    async def run_import(
        self,
        roots: Sequence[Path],
        *,
        progress: "Callable[[ImportProgress], None]",
        cancel: threading.Event,
    ) -> "ImportReport":
        """Import the transcripts in ``roots`` and return the report.

        ``progress`` may be called from any thread. Once ``cancel`` is set the import stops; what
        was imported before stays.
        """
        ...

    async def load_sample(self) -> "ImportReport":
        """Import the sample sessions that come with the program."""
        ...


class EngineHost(Protocol):
    """Opens the engine after the first paint, and closes it when the app ends.

    The program has one implementation; it is a protocol so that tests can delay the opening or let
    it fail. Order of calls: ``listen``, ``look``, ``open``, ``prepare``; from ``look`` on again
    after an error.
    """

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
        works: "Callable[[tuple[str, RunProgress] | None], None]",
    ) -> None:
        """Set the callbacks.

        ``failed`` is called with an error of work done after opening, ``waits`` with the reason why
        opening waits for another process that owns the store, ``indexes`` with the progress of
        building the search index, from 0 to 1, then ``None``, and ``works`` with the job that runs
        and how far it is, then ``None``.
        """
        ...

    @property
    def management(self) -> "StoreManagement":
        """What is done with the store as a whole, and with what it is connected to."""
        ...

    @property
    def read_only(self) -> str:
        """Why nothing can be changed here, in words; empty where everything can."""
        ...

    async def owner_left(self) -> None:
        """Return once the app that has the store open leaves it; only asked where one has."""
        ...

    async def look(self) -> MemoryReader | None:
        """Return a reader of the store that works before the engine is open, or ``None``.

        Raises the same errors as ``open``.
        """
        ...

    async def open(self) -> MemoryPort:
        """Return the open engine; raises ``DomainError`` with the cause and a remedy."""
        ...

    async def prepare(self) -> None:
        """Load what other panes than the first ask the engine for, without blocking the screen."""
        ...

    def withdraw(self) -> None:
        """Take no more callers: whoever comes now waits until the store is closed."""
        ...

    async def close(self) -> None:
        """Close the engine and the store; closing twice has no effect."""
        ...
