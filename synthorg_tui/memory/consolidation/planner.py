"""Makes plans of consolidation from what the store holds; changes nothing.

Rows are read in batches and only ids, hashes and signatures are held, so that memory is bounded by
the number of memories and not by their texts. What loses nothing is found by the database alone.
What leaves by judgement is capped, and what a person pinned never leaves.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from synthorg_tui.core.text import CHARS_PER_TOKEN, counted, estimate_tokens
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.eviction import CORE_TAG, PINNED_TAG
from synthorg_tui.memory.consolidation.plan import (
    ConsolidationPlan,
    GroupKind,
    GroupMember,
    MemberRole,
    PlannedGroup,
    allowance,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.plans import mark_of
from synthorg_tui.memory.store.room import EVICTION_SQL
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

MAX_GROUP: Final = 1000
"""Memories that leave in one transaction: no write waits longer than for these."""

LOSSLESS: Final = frozenset({GroupKind.DUPLICATE, GroupKind.EXPIRED, GroupKind.ROOM})
"""Kinds of groups that can lose nothing; of duplicates only those that are so to the letter."""

_BATCH: Final = 2000
_PATIENCE: Final = 0.2
"""Seconds between two looks whether a run that waits for something shall stop."""
_PINNED: Final = f"list_has_any(m.tags, ['{PINNED_TAG}', '{CORE_TAG}'])"
PLACE_SQL: Final = (
    "m.agent_id, m.shared, m.namespace, m.level, m.project, "
    "CASE WHEN m.level = 'session' THEN m.session_id END"
)
"""Columns that say who is given a memory: what differs in one of them never stands for another."""

PlanProgress: TypeAlias = Callable[[int, int], None]
"""Is told how many of how many memories were looked at."""


T = TypeVar("T")


class PlanCancelled(BaseException):
    """Somebody asked a run to stop; no failure, so nothing that survives failures catches it."""


@dataclass(slots=True)
class PlanDraft:
    """A plan in the making, for one agent: what leaves already, and how much more may.

    ``spared`` stay in any case, but may stand for others; those in ``standing`` do.
    """

    agent_id: str
    live: int
    room: int
    spared: frozenset[str]
    taken: set[str] = field(default_factory=set)
    standing: set[str] = field(default_factory=set)
    groups: list[PlannedGroup] = field(default_factory=list)
    held_back: int = 0

    def may_leave(self, ids: Iterable[str]) -> list[str]:
        """Return which of these memories may leave, and don't yet."""
        stay = (self.spared, self.taken, self.standing)
        return [key for key in ids if not any(key in some for some in stay)]

    def take(self, group: PlannedGroup) -> None:
        """Add a group that is within what may leave."""
        self.taken.update(group.archived)
        self.standing.update(group.kept)
        self.room -= group.texts
        self.groups.append(group)


@dataclass(slots=True)
class Look:
    """One run of the planner: tells how far it is, and stops when asked to."""

    total: int
    progress: PlanProgress | None
    cancel: threading.Event | None
    done: int = 0

    def step(self, count: int = 0) -> None:
        """Report ``count`` more memories; raises ``PlanCancelled`` when asked to stop."""
        if self.cancel is not None and self.cancel.is_set():
            raise PlanCancelled
        self.done = min(self.total, self.done + count)
        if self.progress is not None:
            self.progress(self.done, self.total)


Finder: TypeAlias = Callable[[PlanDraft, Look], Awaitable[None]]
"""Adds groups to a draft; for what needs more than rows, as similarity or a strategy."""

Spared: TypeAlias = "Callable[[Connection], frozenset[str]]"
"""Returns the ids of memories that belong to something else, as a skill, and never leave here."""


class Planner:
    """Makes plans of the memories of one agent or of all.

    Args:
        core: The store that is read.
        config: The cap of a run, and the bound on an agent's memories.
        spared: Memories that never leave.
        finders: Find what takes a judgement, by the kind of group they make.
    """

    def __init__(
        self,
        core: Core,
        config: ConsolidationConfig,
        spared: Spared,
        finders: "dict[GroupKind, Finder] | None" = None,
    ) -> None:
        self._core = core
        self._config = config
        self._spared = spared
        self._finders = finders or {}

    async def plan(
        self,
        agent_id: str | None = None,
        *,
        made_by: str,
        kinds: frozenset[GroupKind] = frozenset(GroupKind),
        excluded: frozenset[str] = frozenset(),
        cancel: threading.Event | None = None,
        progress: PlanProgress | None = None,
    ) -> ConsolidationPlan:
        """Return what would be done now; it isn't stored and has no number.

        Args:
            agent_id: Whose memories; ``None`` for those of all agents.
            made_by: Who asked for it.
            kinds: The kinds of groups to look for.
            excluded: Ids of memories that are left out: they neither leave nor stand for others.
            cancel: Set it to stop: the plan is then empty and ``cancelled``.
            progress: Is called at once and with every batch.
        """
        now = self._core.clock.now()
        agents = await self._core.read(lambda db: _agents(db, self._core, agent_id))
        memories, tokens = sum(row[1] for row in agents), sum(row[2] for row in agents)
        empty = ConsolidationPlan(agent_id, now, made_by, memories, tokens)
        look = Look(memories * len(self._passes(kinds)), progress, cancel)
        try:
            look.step()
            spared = await self._core.read(self._spared)
            drafts: list[PlanDraft] = []
            for agent, live, _ in agents:
                may_leave = allowance(self._config.max_share_per_run, live)
                draft = PlanDraft(agent, live, may_leave, spared, set(excluded))
                for find in self._passes(kinds):
                    await find(draft, look)
                drafts.append(draft)
        except PlanCancelled:
            return replace(empty, cancelled=True)
        groups = enumerate((group for draft in drafts for group in draft.groups), 1)
        numbered = tuple(replace(group, number=at) for at, group in groups)
        return replace(empty, groups=numbered, held_back=sum(draft.held_back for draft in drafts))

    def _passes(self, kinds: frozenset[GroupKind]) -> list[Finder]:
        own: dict[GroupKind, Finder] = {
            GroupKind.EXPIRED: self._expired,
            GroupKind.DUPLICATE: self._copies,
            GroupKind.ROOM: self._room,
        }
        chosen = [own[kind] for kind in own if kind in kinds]
        return chosen + [find for kind, find in self._finders.items() if kind in kinds]

    async def _expired(self, draft: PlanDraft, look: Look) -> None:
        """What nobody is given any more; it counts against no cap."""
        where = queries.WhereClause(queries.LIVE)
        ended, values = self._core.ages.ended(naive_utc(self._core.clock.now()))
        where.add(ended, *values)
        where.add("m.agent_id = ?", draft.agent_id)
        ids = await self._core.read(
            lambda db: queries.matching_ids(db, where, "ORDER BY m.expires_at, m.id")
        )
        leaving = draft.may_leave(ids)
        briefs = await briefs_of(self._core, leaving, look)
        for batch in _batches(leaving, MAX_GROUP):
            reason = "its time has passed"
            draft.take(group_of(draft, GroupKind.EXPIRED, batch, briefs, reason=reason))
        look.step(draft.live)

    async def _copies(self, draft: PlanDraft, look: Look) -> None:
        """Memories that are the same to the letter, for the same agents; the best one stays."""
        where = self._core.live_where(agent=draft.agent_id)
        where.add(f"NOT {_PINNED}")
        key = f"{PLACE_SQL}, m.category, m.content_hash, list_sort(m.tags)"
        best = "coalesce(m.expires_at, TIMESTAMP '9999-12-31') DESC, m.confidence DESC, "
        found = await self._core.read(
            lambda db: families(db, where, key, f"{best} m.created_at DESC, m.id")
        )
        look.step(draft.live // 2)
        ids = (key for family in found for key in family)
        briefs = await briefs_of(self._core, ids, look)
        for family in found:
            _take_family(draft, family, briefs)
        look.step(draft.live - draft.live // 2)

    async def _room(self, draft: PlanDraft, look: Look) -> None:
        """What leaves first when an agent has more than it may have, as far as the cap goes."""
        private = self._core.live_where(agent=draft.agent_id, shared=False)
        leaving = sum(len(g.archived) for g in draft.groups if g.kind is not GroupKind.EXPIRED)
        live = await self._core.read(lambda db: queries.total(db, private))
        excess = live - leaving - self._config.max_memories_per_agent
        if excess > 0:
            count = min(excess, draft.room)
            draft.held_back += excess - count
            private.add(f"NOT {_PINNED}")
            ids = await self._core.read(
                lambda db: queries.matching_ids(db, private, f"ORDER BY {EVICTION_SQL}")
            )
            first = draft.may_leave(ids)[:count]
            briefs = await briefs_of(self._core, first, look)
            reason = f"the agent has {counted(excess, 'memory', 'memories')} too many"
            for batch in _batches(first, MAX_GROUP):
                draft.take(group_of(draft, GroupKind.ROOM, batch, briefs, reason=reason))
        look.step(draft.live)


class Brief(NamedTuple):
    """What a plan needs of a memory: its mark, its tokens, and whether a person pinned it."""

    mark: str
    tokens: int
    is_pinned: bool


async def briefs_of(core: Core, ids: Iterable[str], look: Look) -> dict[str, Brief]:
    """Return what a plan needs of the memories with these ids, by id."""
    found: dict[str, Brief] = {}
    for batch in _batches(list(ids), _BATCH):
        for row in await rows_of(core, batch, look):
            found[row.id] = Brief(mark_of(row), estimate_tokens(row.content), is_pinned(row.tags))
    return found


async def rows_of(core: Core, ids: Sequence[str], look: Look) -> list[StoredMemory]:
    """Return the rows with these ids in this order; their texts are held at once."""
    look.step()
    where = queries.WhereClause()
    return await core.read(partial(queries.in_order, where=where, ids=ids, shape=STORED))


async def watched(work: Coroutine[Any, Any, T], look: Look) -> T:
    """Return what ``work`` returns; a request to stop is heard while it is under way."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=_PATIENCE))[0]:
            look.step()
    except PlanCancelled:
        task.cancel()
        raise
    return task.result()


def is_pinned(tags: Iterable[str]) -> bool:
    """Return whether a person pinned the memory with these tags, so that it never leaves."""
    return not {PINNED_TAG, CORE_TAG}.isdisjoint(tags)


def live_totals(db: Connection, core: Core, agent_id: str | None) -> tuple[int, int]:
    """Return how many live memories an agent (all agents for ``None``) has, and their tokens."""
    rows = _agents(db, core, agent_id)
    return sum(row[1] for row in rows), sum(row[2] for row in rows)


def _agents(db: Connection, core: Core, agent_id: str | None) -> list[tuple[str, int, int]]:
    """Agents with current memories: how many are live, and how many tokens these have."""
    ended, values = core.ages.ended(naive_utc(core.clock.now()))
    where = queries.WhereClause(queries.LIVE)
    if agent_id is not None:
        where.add("m.agent_id = ?", agent_id)
    return db.execute(
        "SELECT agent_id, count(*) FILTER (NOT has_ended), "
        "coalesce(sum(tokens) FILTER (NOT has_ended), 0)::BIGINT FROM (SELECT m.agent_id, "
        f"greatest(1, length(m.content) // {CHARS_PER_TOKEN}) AS tokens, "
        f"coalesce({ended}, false) AS has_ended FROM memories m WHERE {where}) "
        "GROUP BY 1 ORDER BY 1",
        [*values, *where.values],
    ).fetchall()


def families(db: Connection, where: queries.WhereClause, key: str, order: str) -> list[list[str]]:
    """Return the ids of memories that have the same ``key``, each family in ``order``.

    Both are SQL on ``memories m``; a memory alone is no family. The largest comes first.
    """
    rows = db.execute(
        f"SELECT list(m.id::VARCHAR ORDER BY {order}) FROM memories m WHERE {where} "
        f"GROUP BY {key} HAVING count(*) > 1 ORDER BY count(*) DESC, min(m.created_at), 1",
        where.values,
    ).fetchall()
    return [family for (family,) in rows]


def _take_family(draft: PlanDraft, family: Sequence[str], briefs: Mapping[str, Brief]) -> None:
    """Plan that the others of a family leave for its first, or for one that can't leave."""
    present = sorted(
        (key for key in family if key in briefs and key not in draft.taken),
        key=lambda key: key not in draft.spared,
    )
    reason = f"the same text {counted(len(family), 'time')}"
    for batch in _batches(draft.may_leave(present[1:]), MAX_GROUP):
        draft.take(
            group_of(
                *(draft, GroupKind.DUPLICATE, batch, briefs),
                kept=present[0],
                reason=reason,
                is_exact=True,
            )
        )


def group_of(
    draft: PlanDraft,
    kind: GroupKind,
    archived: Sequence[str],
    briefs: Mapping[str, Brief],
    *,
    reason: str,
    kept: str | None = None,
    is_exact: bool = False,
) -> PlannedGroup:
    """Return a group without a new text: ``archived`` leave, and ``kept`` stands for them."""
    roles = {} if kept is None else {kept: MemberRole.KEPT}
    roles |= dict.fromkeys(archived, MemberRole.ARCHIVED)
    is_seen = kind is not GroupKind.EXPIRED
    return PlannedGroup(
        number=0,
        kind=kind,
        agent_id=draft.agent_id,
        members=tuple(GroupMember(key, role, briefs[key].mark) for key, role in roles.items()),
        reason=reason,
        texts=len(archived) if is_seen and not is_exact else 0,
        tokens_before=sum(briefs[key].tokens for key in archived) if is_seen else 0,
        tokens_after=0,
        is_exact=is_exact,
    )


def _batches(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
