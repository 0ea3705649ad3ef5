"""Room in a full memory: archives the least useful memories, in the one order of eviction.

The order is ``consolidation.eviction``'s, as SQL: reading ten thousand memories for each one that
is stored would take longer than storing it. Nothing is deleted, and three things never leave: what
a person pinned, what is shared, and, when an agent or an import needs the room, what a person
wrote. So an agent that floods its memory pushes out its diary and its own notes, and nobody else's.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from synthorg_tui.core.actors import PERSON_SUFFIXES
from synthorg_tui.memory.consolidation.eviction import CORE_TAG, DIARY, LASTING, PINNED_TAG
from synthorg_tui.memory.enums import ArchiveReason, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.kinds import KIND_SQL
from synthorg_tui.memory.retrieval.tags import ORIGIN_TAG
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.policy import LiveBound
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.memory.store.writes import Changes

ROOM_ACTOR: Final = "room"
"""What the history calls the part of the program that makes room."""
_BY_PERSONS: Final = (SourceKind.USER.value, SourceKind.OPERATOR.value)
_UNBOUNDED: Final = 1 << 62


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in sorted(values))


_IS_HELD: Final = f"list_has_any(m.tags, [{_quoted((PINNED_TAG, CORE_TAG))}])"
_IS_BY_AGENT: Final = f"list_contains(m.tags, '{ORIGIN_TAG}')"
EVICTION_SQL: Final = (
    f"CASE WHEN {_IS_HELD} THEN 2 WHEN m.fact_key IS NOT NULL THEN 1 ELSE 0 END, "
    f"CASE WHEN {KIND_SQL} IN ({_quoted(DIARY)}) THEN 0 "
    f"WHEN {KIND_SQL} IN ({_quoted(LASTING)}) THEN 2 ELSE 1 END, "
    "m.confidence, m.created_at, m.id"
)
"""``eviction_key`` on ``memories m``: the first leaves first."""
_IS_DIARY: Final = f"m.tags[1] IN ({_quoted(DIARY)}) AND m.fact_key IS NULL AND NOT {_IS_HELD}"
"""That a memory is of those that leave before all others."""
_BY_PERSON: Final = " OR ".join(f"ends_with(h.actor, '{end}')" for end in PERSON_SUFFIXES)
# An agent can give its own memories any tag; only a person's hand makes it a pin.
_IS_PINNED: Final = (
    f"{_IS_HELD} AND (NOT {_IS_BY_AGENT} OR m.id IN (SELECT h.memory_id FROM history h "
    f"WHERE h.kind = 'edited' AND contains(h.fields_after, '\"tags\"') AND ({_BY_PERSON})))"
)


class Room:
    """How many more memories an agent may store in a transaction, and who leaves for them.

    ``newcomers`` are what is to be stored; shared ones count against no agent's bound.
    """

    def __init__(
        self, changes: Changes, core: Core, agent_id: str, newcomers: Sequence[StoredMemory]
    ) -> None:
        self._changes = changes
        self._core = core
        self._agent_id = agent_id
        is_counted = not all(row.shared for row in newcomers)
        self._limit = core.policy.max_memories_per_agent if is_counted else None
        self._by_persons = all(row.source_kind in _BY_PERSONS for row in newcomers)
        self._are_imported = all(row.import_key is not None for row in newcomers)
        self._wanted = len(newcomers)
        self._free = self._count_free()

    def possible(self) -> int:
        """Return how many memories can be stored, with room being made where that is needed."""
        if self._free >= self._wanted or not self._core.policy.makes_room:
            return max(self._free, 0)
        where = self._leaving(frozenset())
        room = max(0, self._free + queries.total(self._changes.db, where))
        return self._wanted if room and self._are_imported else room

    def require(self) -> None:
        """Make room for the newcomers before they are stored; raises ``MemoryStoreError``."""
        if self._free >= self._wanted:
            return
        if self.possible() < self._wanted:
            raise MemoryStoreError(
                f"agent {self._agent_id} has its {self._limit} memories already",
                remedy="Delete some, or raise memory.options.max_memories_per_agent.",
            )
        self._archive(self._wanted - self._free, frozenset())

    def settle(self, added: Sequence[StoredMemory]) -> None:
        """Archive what is too much once ``added`` are stored.

        Imported memories may be among those that leave: the order in which sessions are imported
        doesn't decide what stays.
        """
        excess = len(added) - self._free
        if excess > 0 and self._core.policy.makes_room:
            self._archive(excess, {row.id for row in added if row.import_key is None})

    def _count_free(self) -> int:
        """How many more fit; at least so many where that is enough and the count is known roughly.

        Counting takes a millisecond of each store, so only a memory that may be full is counted.
        """
        if self._limit is None:
            return _UNBOUNDED
        changes, known = self._changes, self._core.live_bounds.get(self._agent_id)
        bound = known.at_most(changes.revision, changes.now) if known is not None else None
        if bound is not None and bound + self._wanted <= self._limit:
            return self._limit - bound
        where = self._core.live_where(agent=self._agent_id, shared=False)
        count = queries.total(changes.db, where)
        if changes.is_fresh:  # what was changed before may be rolled back
            self._core.live_bounds[self._agent_id] = LiveBound(count, changes.revision, changes.now)
        return self._limit - count

    def _leaving(
        self, spared: Collection[str], which: str = f"NOT ({_IS_PINNED})"
    ) -> queries.WhereClause:
        """The live memories that may leave, those that aren't pinned or fewer of them."""
        where = self._core.live_where(agent=self._agent_id, shared=False)
        where.add(which)
        if not self._by_persons:
            where.add("NOT list_contains(?::VARCHAR[], m.source_kind)", list(_BY_PERSONS))
        if spared:
            where.add("m.id NOT IN (SELECT unnest(?::UUID[]))", list(spared))
        return where

    def _archive(self, count: int, spared: Collection[str]) -> None:
        # The diary leaves first, and is found without reading texts and history.
        diary = self._leaving(spared, _IS_DIARY)
        rows = self._first(diary, "m.confidence, m.created_at, m.id", count)
        if len(rows) < count:
            rows = self._first(self._leaving(spared), EVICTION_SQL, count)
        self._changes.archive(rows, why=ArchiveReason.ROOM, actor=ROOM_ACTOR)

    def _first(self, where: queries.WhereClause, order: str, count: int) -> list[StoredMemory]:
        return queries.listing(self._changes.db, where, STORED, order=order, limit=count)
