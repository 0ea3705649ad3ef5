"""Lists and counts memories with nothing but the database: no settings, no models, no index.

The app shows its first list with this, before the engine is loaded; so only ``queries``,
``browsing``, ``edges``, ``rows``, ``policy``, ``listing`` and ``call_log`` may be imported.
"""

import json
from collections.abc import Callable
from datetime import UTC
from typing import Protocol, TypeVar

from synthorg_tui.core.clock import Clock
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.errors import MemoryRetrievalError, translate_errors
from synthorg_tui.memory.listing import (
    BrowseFilter,
    ChangeKind,
    Facets,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    MemoryUse,
    SortOrder,
)
from synthorg_tui.memory.store import browsing, edges, queries
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.rows import listed
from synthorg_tui.persistence.call_log import RecordedCall, calls_given
from synthorg_tui.persistence.port import Connection

T = TypeVar("T")


class Readable(Protocol):
    """A source that runs read-only functions on a database snapshot."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a snapshot and return its result."""


class StoreReader:
    """Lists memories, counts them and reads their history; raises ``MemoryRetrievalError``."""

    def __init__(self, source: Readable, clock: Clock) -> None:
        self._source = source
        self._clock = clock

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder = "newest", offset: int = 0, limit: int = 300
    ) -> MemoryPage:
        """Return one page of the memories that match a filter; ties are ordered by id."""
        now, order = self._clock.now(), queries.ORDERS[sort]

        def work(db: Connection) -> MemoryPage:
            ages = AgeRules.load(db)
            where = browsing.browse_where(what, now, ages)
            rows, total = queries.page(db, where, order=order, limit=limit, offset=offset)
            return MemoryPage(tuple(map(ages.shown, rows)), offset, total)

        with translate_errors(MemoryRetrievalError, "listing"):
            return await self._source.read(work)

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of live memories by group, or of those that a filter lists."""
        now = self._clock.now()

        def work(db: Connection) -> Facets:
            ages = AgeRules.load(db)
            if what is None:
                return browsing.count_all(db, now, ages)
            return browsing.count_groups(db, what, now, ages)

        with translate_errors(MemoryRetrievalError, "counting"):
            return await self._source.read(work)

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Return all changes to a memory, newest first.

        For a purged memory they say only who changed it, how and when, without content.
        """
        with translate_errors(MemoryRetrievalError, "reading the history"):
            rows = await self._source.read(lambda db: queries.history_of(db, memory_id))
        return tuple(
            MemoryRevision(
                revision=revision,
                memory_id=found_id,
                at=at.replace(tzinfo=UTC),
                actor=who,
                kind=ChangeKind(kind),
                before=json.loads(before),
                after=json.loads(after),
            )
            for revision, found_id, at, who, kind, before, after in rows
        )

    async def stands_for(self, memory_id: str) -> ListedMemory | None:
        """Return what stands for an archived memory, the newest of several; ``None`` without."""

        def work(db: Connection) -> ListedMemory | None:
            row = queries.row_by_id(db, memory_id)
            if row is None or row.archived_why is None:
                return None
            ids = edges.stands_for(db, row.id, ArchiveReason(row.archived_why))
            found = [listed(row) for row in queries.rows_by_id(db, ids).values()]
            return max(found, key=lambda each: each.created_at, default=None)

        with translate_errors(MemoryRetrievalError, "reading what stands for a memory"):
            return await self._source.read(work)

    async def uses(self, memory_id: str, *, limit: int = 20) -> tuple[MemoryUse, ...]:
        """Return the recorded calls of agents that were given a memory, newest first."""

        def work(db: Connection) -> tuple[MemoryUse, ...]:
            calls = calls_given(db, memory_id, limit=limit)
            return tuple(use_of(memory_id, call) for call in calls)

        with translate_errors(MemoryRetrievalError, "reading the calls"):
            return await self._source.read(work)


def use_of(memory_id: str, call: RecordedCall) -> MemoryUse:
    """Convert a recorded call to its use of a memory, for display."""
    arguments = json.loads(call.arguments)
    asked = (arguments.get(name) for name in ("query", "text", "task"))
    task = next((text for text in asked if isinstance(text, str)), "")
    explained = json.loads(call.explanation) if call.explanation.startswith("{") else {}
    score = None
    for candidate in explained.get("candidates", ()):
        if candidate["entry"]["id"] == memory_id:
            score = candidate.get("combined")
    at = call.at.replace(tzinfo=UTC)
    return MemoryUse(call.number, at, call.agent_id, call.name, task, score)
