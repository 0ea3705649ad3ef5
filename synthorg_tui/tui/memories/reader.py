"""Rows of the store as the screens show them, before and after the engine is loaded."""

from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.tui.ports import Criteria, Facets, MemoryRow, Page, Revision, SortOrder

if TYPE_CHECKING:
    from synthorg_tui.memory.store.reader import StoreReader
    from synthorg_tui.memory.store.rows import MemoryRow as StoredRow


class StoreShelf:
    """The part of the desk port that only looks, over a reader of the store."""

    def __init__(self, reader: Callable[[], "StoreReader"]) -> None:
        self._reader = reader

    async def page(self, what: Criteria, *, sort: SortOrder, offset: int, limit: int) -> Page:
        """A window on the memories that match."""
        from synthorg_tui.memory.listing import BrowseFilter

        wanted = BrowseFilter(
            agents=what.agents,
            categories=what.categories,
            tags=what.tags,
            since=what.since,
            words=what.words,
            without=what.without,
            deleted=what.deleted,
        )
        found = await self._reader().page(wanted, sort=sort, offset=offset, limit=limit)
        return Page(tuple(map(_row, found.rows)), found.offset, found.total)

    async def facets(self) -> Facets:
        """Live counts."""
        counts = await self._reader().facets()
        return Facets(counts.agents, counts.categories)

    async def history(self, memory_id: str) -> tuple[Revision, ...]:
        """Every change to a memory, newest first."""
        return tuple(
            Revision(each.at, each.actor, each.kind.value, each.before, each.after)
            for each in await self._reader().history(memory_id)
        )


def _row(row: "StoredRow") -> MemoryRow:
    from synthorg_tui.persistence.values import aware

    return MemoryRow(
        id=row.id,
        agent_id=row.agent_id,
        category=MemoryCategory(row.category),
        content=row.content,
        created_at=row.created_at.replace(tzinfo=UTC),
        tags=row.tags,
        source=row.source,
        confidence=row.confidence,
        namespace=row.namespace,
        updated_at=aware(row.updated_at),
        expires_at=aware(row.expires_at),
    )
