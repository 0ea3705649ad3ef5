"""Publishing by a person: a memory of one agent becomes readable by all, and is withdrawn again.

A published memory is a copy with an edge to the memory that it was made of, which stays its
agent's as it was: so withdrawing takes away the copy alone, and the agent isn't told the same
twice, as it is never given what it published itself. Of one memory there is one copy at most.
"""

import uuid
from collections.abc import Sequence

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.errors import MemoryNotFoundError, MemoryStoreError
from synthorg_tui.memory.listing import SHARED_OWNER
from synthorg_tui.memory.store.acts import MayEdit
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, copies_published
from synthorg_tui.memory.store.queries import known_ids, rows_by_id
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.memory.store.writes import Changes


async def publish(
    core: Core, memory_ids: Sequence[str], *, may_edit: MayEdit, actor: str
) -> tuple[str, ...]:
    """Publish private memories and return the ids of the copies.

    One that is published already, and one that is a copy, is passed over. ``may_edit`` is as in
    ``StoreAdmin``, for ``retract`` too.
    """
    rows = await core.read(lambda db: rows_by_id(db, memory_ids))
    texts = {row.id: row.content for row in rows.values()}
    vectors = dict(zip(texts, await core.embed(list(texts.values())), strict=True))

    def work(changes: Changes) -> tuple[str, ...]:
        wanted = _to_publish(changes, memory_ids, may_edit)
        if any(texts.get(row.id) != row.content for row in wanted):
            raise MemoryStoreError("a memory changed just now", remedy="Try again.")
        made = [(_copy(row, changes), vectors[row.id]) for row in wanted]
        changes.add(made, actor=actor)
        edges = [
            MemoryEdge(copy.id, row.id, EdgeKind.DERIVED_FROM)
            for row, (copy, _) in zip(wanted, made, strict=True)
        ]
        add_edges(changes.db, edges, made_at=changes.now, made_by=actor)
        return tuple(copy.id for copy, _ in made)

    return await core.change(work)


async def retract(
    core: Core, memory_ids: Sequence[str], *, may_edit: MayEdit, actor: str
) -> tuple[str, ...]:
    """Withdraw published memories, named by the copy or by what it was made of.

    Returns the ids of those that were withdrawn. They are deleted, so that undoing publishes
    them again; the memories that they were made of stay as they are.
    """

    def work(changes: Changes) -> tuple[str, ...]:
        found = _current(changes, memory_ids)
        if any(row.agent_id == SHARED_OWNER for row in found):
            raise MemoryStoreError(
                "what is known of a project belongs to all agents: no one published it",
                remedy="Delete it instead.",
            )
        named = [row.id for row in found if row.shared]
        made = copies_published(changes.db, [row.id for row in found if not row.shared])
        leaving = dict.fromkeys([*named, *made.values()])
        for memory_id in leaving:
            may_edit(changes.db, memory_id)
        return tuple(row.id for row in changes.remove(list(leaving), actor=actor))

    return await core.change(work)


def _to_publish(
    changes: Changes, memory_ids: Sequence[str], may_edit: MayEdit
) -> list[StoredMemory]:
    """The private ones that have no copy yet; raises where one may not be published."""
    private = [row for row in _current(changes, memory_ids) if not row.shared]
    known = copies_published(changes.db, [row.id for row in private])
    wanted = [row for row in private if row.id not in known]
    for row in wanted:
        may_edit(changes.db, row.id)
        if row.level == MemoryLevel.NONE or changes.is_hidden(row):
            raise MemoryStoreError(f"memory {row.id} has expired: nobody is given it")
    return wanted


def _current(changes: Changes, memory_ids: Sequence[str]) -> list[StoredMemory]:
    rows = rows_by_id(changes.db, memory_ids)
    for memory_id in memory_ids:
        row = rows.get(memory_id)
        if row is None or not row.is_current:
            raise MemoryNotFoundError(f"there is no live memory {memory_id}")
    return [rows[memory_id] for memory_id in known_ids(memory_ids)]


def _copy(row: StoredMemory, changes: Changes) -> StoredMemory:
    """The same memory for all agents, in every session and project."""
    return row._replace(
        id=str(uuid.uuid4()),
        revision=0,
        shared=True,
        level=MemoryLevel.PERSISTENT.value,
        session_id=None,
        project=None,
        import_key=None,
        draft_hash=None,
        recorded_at=changes.now,
    )
