"""Where memories go that leave the store, and how they come back.

An archive that shares its rows with the backend keeps each memory byte for byte: archiving takes it
out of the backend, restoring puts it back. Others keep what an ``ArchivalEntry`` says of it.
"""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.kept import matches, newest_first
from synthorg_tui.memory.consolidation.models import (
    ArchivalEntry,
    ArchivalIndexEntry,
    ArchivalMode,
)
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery


@runtime_checkable
class ArchivalStore(Protocol):
    """Long-term storage of memories that left the backend."""

    async def archive(self, entry: ArchivalEntry) -> NotBlankStr:
        """Archive a memory and return its id in the archive."""
        ...

    async def search(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived memories that match, at most ``query.limit``."""
        ...

    async def restore(self, agent_id: NotBlankStr, entry_id: NotBlankStr) -> ArchivalEntry | None:
        """Return the agent's archived memory with this id of the archive, or ``None``.

        An archive that shares its rows with the backend makes the memory live again. From others
        the caller stores what is returned; the archive keeps it, so that none can get lost between.
        """
        ...

    async def count(self, agent_id: NotBlankStr) -> int:
        """Return the number of the agent's archived memories."""
        ...


class InMemoryArchivalStore:
    """``ArchivalStore`` that lives as long as the process: for trying things out and for tests."""

    def __init__(self) -> None:
        self._entries: dict[str, ArchivalEntry] = {}

    async def archive(self, entry: ArchivalEntry) -> NotBlankStr:
        """Archive a memory; one that is archived already keeps its id and its first state."""
        for known, archived in self._entries.items():
            if (archived.agent_id, archived.original_id) == (entry.agent_id, entry.original_id):
                return known
        archival_id = str(uuid.uuid4())
        self._entries[archival_id] = entry
        return archival_id

    async def search(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived memories that match, newest first."""
        by_id = {key: e for key, e in self._entries.items() if e.agent_id == agent_id}
        found = newest_first(
            memory for key, e in by_id.items() if matches(memory := _as_memory(key, e), query)
        )
        return tuple(by_id[memory.id] for memory in found[: query.limit])

    async def restore(self, agent_id: NotBlankStr, entry_id: NotBlankStr) -> ArchivalEntry | None:
        """Return the agent's archived memory with this id, or ``None``; it stays archived."""
        entry = self._entries.get(entry_id)
        return entry if entry is not None and entry.agent_id == agent_id else None

    async def count(self, agent_id: NotBlankStr) -> int:
        """Return the number of the agent's archived memories."""
        return sum(entry.agent_id == agent_id for entry in self._entries.values())


class ArchivingRun:
    """Archives memories one by one and remembers where each went.

    Args:
        store: The archive.
        now: When this happens; the current time by default.
    """

    def __init__(
        self, store: ArchivalStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._now = now
        self._index: dict[str, ArchivalIndexEntry] = {}

    async def archive(self, entry: MemoryEntry, mode: ArchivalMode) -> bool:
        """Archive a memory and return whether that went well; a failure is logged."""
        with surviving(f"archiving the memory {entry.id}"):
            archival_id = await self._store.archive(
                ArchivalEntry(
                    original_id=entry.id,
                    agent_id=entry.agent_id,
                    content=entry.content,
                    category=entry.category,
                    metadata=entry.metadata,
                    created_at=entry.created_at,
                    archived_at=max(self._now(), entry.created_at),
                    archival_mode=mode,
                )
            )
            self._index[entry.id] = ArchivalIndexEntry(
                original_id=entry.id, archival_id=archival_id, mode=mode
            )
            return True
        return False

    def index_of(self, removed: tuple[str, ...]) -> tuple[ArchivalIndexEntry, ...]:
        """Return where the removed memories went, in the order given."""
        return tuple(self._index[one] for one in removed if one in self._index)


def _as_memory(archival_id: str, entry: ArchivalEntry) -> MemoryEntry:
    return MemoryEntry(
        id=archival_id,
        agent_id=entry.agent_id,
        category=entry.category,
        content=entry.content,
        metadata=entry.metadata,
        created_at=entry.created_at,
    )
