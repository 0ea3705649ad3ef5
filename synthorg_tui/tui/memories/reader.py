"""Rows of the store as the screens show them, before and after the engine is loaded."""

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING

from synthorg_tui.tui.ports import Criteria, Facets, MemoryRow, Page, Revision, SortOrder

if TYPE_CHECKING:
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.memory.store.reader import StoreReader


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
        return Page(tuple(map(memory_row, found.entries)), found.offset, found.total)

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


def memory_row(memory: "ListedMemory") -> MemoryRow:
    """A memory as the screens show it."""
    return MemoryRow(*(getattr(memory, field.name) for field in fields(memory)))
