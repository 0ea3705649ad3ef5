"""Where memories go that leave a backend, and how they come back.

An archive keeps what an ``ArchivalEntry`` says of a memory. The local store needs none: what its
plans archive stays in its rows.
"""

from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.models import (
    ArchivalEntry,
    ArchivalIndexEntry,
    ArchivalMode,
    ConsolidationResult,
)
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend


@runtime_checkable
class ArchivalStore(Protocol):
    """Long-term storage of memories that left the backend.

    A protocol because it is documented as one: any archive can be given to the service.
    """

    async def archive(self, entry: ArchivalEntry) -> NotBlankStr:
        """Archive a memory and return its id in the archive."""

    async def search(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived memories that match, at most ``query.limit``."""

    async def restore(self, agent_id: NotBlankStr, entry_id: NotBlankStr) -> ArchivalEntry | None:
        """Return the agent's archived memory with this id of the archive, or ``None``.

        The caller stores what is returned; the archive keeps it, so that none can get lost between.
        """

    async def count(self, agent_id: NotBlankStr) -> int:
        """Return the number of the agent's archived memories."""


class Departures:
    """Takes memories out of a backend, each archived before, and knows where each went.

    Args:
        backend: Where they are.
        store: The archive; without one nothing is archived.
    """

    def __init__(self, backend: MemoryBackend, store: ArchivalStore | None = None) -> None:
        self.backend = backend
        self._store = store
        self._index: dict[str, ArchivalIndexEntry] = {}

    async def archived(
        self, entry: MemoryEntry, mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    ) -> bool:
        """Archive a memory and return whether it may leave; a failure is logged."""
        if self._store is None:
            return True
        with surviving(f"archiving the memory {entry.id}"):
            archival_id = await self._store.archive(
                ArchivalEntry(
                    original_id=entry.id,
                    agent_id=entry.agent_id,
                    content=entry.content,
                    category=entry.category,
                    metadata=entry.metadata,
                    created_at=entry.created_at,
                    archived_at=max(datetime.now(UTC), entry.created_at),
                    archival_mode=mode,
                )
            )
            self._index[entry.id] = ArchivalIndexEntry(
                original_id=entry.id, archival_id=archival_id, mode=mode
            )
            return True
        return False

    async def leave(self, entry: MemoryEntry) -> bool:
        """Archive and delete a memory and return whether it left."""
        return await self.archived(entry) and await self.backend.delete(entry.agent_id, entry.id)

    def told(self, result: ConsolidationResult) -> ConsolidationResult:
        """Return a result that says where the removed memories went."""
        index = tuple(self._index[one] for one in result.removed_ids if one in self._index)
        return result.model_copy(update={"archived_count": len(index), "archival_index": index})
