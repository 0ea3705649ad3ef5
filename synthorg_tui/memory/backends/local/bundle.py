"""Several changes to the memories and to other tables, made in one transaction."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from synthorg_tui.memory.backends.local import queries
from synthorg_tui.memory.backends.local.core import Core
from synthorg_tui.memory.backends.local.entries import entry_from_row
from synthorg_tui.memory.backends.local.keeping import Keeper
from synthorg_tui.memory.backends.local.rows import MemoryRow
from synthorg_tui.memory.backends.local.writes import Changes
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle
from synthorg_tui.memory.models import MemoryEntry

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")


async def change_together(
    core: Core,
    keeper: Keeper,
    bundle: MemoryBundle,
    within: "Callable[[DuckDBPyConnection, BundleOutcome], T]",
    *,
    actor: str,
) -> T:
    """Make a bundle's changes and what ``within`` writes, all or nothing.

    Raises ``MemoryStoreError`` when an agent may keep nothing, or nothing more.
    """
    rows = keeper.rows_of(bundle.add)
    vectors = await core.embed([row.content for row in rows])

    def work(changes: Changes) -> T:
        removed = _marked(changes, bundle.remove, deleted=True, actor=actor)
        keeper.check_room(changes, rows)
        changes.add(list(zip(rows, vectors, strict=True)), actor=actor)
        restored = _marked(changes, bundle.restore, deleted=False, actor=actor)
        purged = list(queries.rows_by_id(changes.db, bundle.purge).values())
        if purged:
            changes.purge(purged, actor=actor)
        outcome = BundleOutcome(
            added=_ids(rows),
            removed=_entries(removed),
            restored=_entries(restored),
            purged=_ids(purged),
        )
        return within(changes.db, outcome)

    return await core.change(work)


def _marked(
    changes: Changes, ids: Sequence[str], *, deleted: bool, actor: str
) -> Sequence[MemoryRow]:
    """The memories that this made deleted, or live again."""
    found = queries.rows_by_id(changes.db, ids).values()
    concerned = [row for row in found if (row.deleted_at is None) == deleted]
    if concerned:
        changes.mark(concerned, deleted=deleted, actor=actor)
    return concerned


def _entries(rows: Sequence[MemoryRow]) -> tuple[MemoryEntry, ...]:
    return tuple(map(entry_from_row, rows))


def _ids(rows: Sequence[MemoryRow]) -> tuple[str, ...]:
    return tuple(row.id for row in rows)
