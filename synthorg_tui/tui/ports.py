"""What the screens ask of the engine, in its own plain data; a pane's own calls are its adapter's.

The screens are tested against these with a store in memory, and the app is painted before the
engine behind them is loaded. So nothing here may import pydantic, a database or a model: what
needs them is named for annotations only.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.ingest.discovery import FoundTranscripts
from synthorg_tui.memory.listing import (
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    SortOrder,
)

if TYPE_CHECKING:
    from synthorg_tui.executions.store import Excerpt
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.tui.activity.adapter import EngineActivity
    from synthorg_tui.tui.approvals.adapter import EngineApprovals
    from synthorg_tui.tui.digest.adapter import EngineDigests
    from synthorg_tui.tui.skills.adapter import EngineSkills


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory a person writes."""

    agent_id: str
    category: MemoryCategory
    content: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """Fields to change; what is ``None`` stays."""

    content: str | None = None
    category: MemoryCategory | None = None
    tags: tuple[str, ...] | None = None


class MemoryReader(Protocol):
    """Memories to look through. Failures are ``DomainError``.

    The reader of the store alone is one, before the engine is open, and ``MemoryPort`` after.
    """

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        """A window on the memories that match."""
        ...

    async def facets(self) -> Facets:
        """Live counts."""
        ...

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Every change to a memory, newest first."""
        ...


class MemoryPort(MemoryReader, Protocol):
    """The memories of all agents, for a person. Failures are ``DomainError``.

    The program has one implementation; it is a protocol so that the screens are tested without a
    store and its models, with failures and delays at a chosen moment.
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

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
        """What is relevant to the text, among the memories that match; may be nothing."""
        ...

    async def add(self, draft: Draft) -> str:
        """Store a new memory and return its id."""
        ...

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        """Change a memory and return it as it is now."""
        ...

    async def remove(self, memory_ids: Sequence[str]) -> int:
        """Soft-delete; ``restore`` brings them back. Returns how many were deleted."""
        ...

    async def restore(self, memory_ids: Sequence[str]) -> int:
        """Undo a soft delete; returns how many came back."""
        ...

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """What erasing these takes with it, and what it leaves; a line each."""
        ...

    async def purge(self, memory_ids: Sequence[str]) -> int:
        """Erase for good; returns how many memories."""
        ...

    async def excerpt(self, source: str, *, context: int) -> "Excerpt | None":
        """The transcript lines a source names; ``None`` when it is no transcript or not stored."""
        ...

    async def found_places(self) -> tuple[FoundTranscripts, ...]:
        """Where transcripts are on this machine."""
        ...

    async def run_import(
        self,
        roots: Sequence[Path],
        *,
        progress: "Callable[[ImportProgress], None]",
        cancel: threading.Event,
    ) -> "ImportReport":
        """Import; what is done when cancelled stays. ``progress`` may come from any thread."""
        ...

    async def load_sample(self) -> "ImportReport":
        """Import the sample sessions the program carries."""
        ...


class EngineHost(Protocol):
    """Opens the engine once the screen is painted, and closes it at the end.

    The program has one implementation; it is a protocol so that tests hold the opening back or let
    it fail. Order of calls: ``listen``, ``look``, ``open``; the last two again after an error.
    """

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
    ) -> None:
        """Set who is called: with what fails after opening, with who has the store until then, and
        with how far the search index has come while it is built: from 0 to 1, then ``None``.
        """
        ...

    async def look(self) -> MemoryReader | None:
        """What can be looked through before the engine is open, if anything; raises as ``open``."""
        ...

    async def open(self) -> MemoryPort:
        """The open engine; raises ``DomainError`` with the cause and a remedy."""
        ...

    async def close(self) -> None:
        """Close what was opened; closing twice does nothing."""
        ...
