"""Plans on a real store: a planner and an applier, and what every memory says."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from synthorg_tui.memory.consolidation.applying import PlanApplier
from synthorg_tui.memory.consolidation.config import DEFAULT_MAX_MEMORIES, ConsolidationConfig
from synthorg_tui.memory.consolidation.likeness import find_alike
from synthorg_tui.memory.consolidation.merging import MergeFinder
from synthorg_tui.memory.consolidation.operations import ConcatenationOp
from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, GroupKind
from synthorg_tui.memory.consolidation.planner import Planner
from synthorg_tui.memory.consolidation.strategy import Composite, HighestRelevanceSelector
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.store import plans, queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.rows import StoredMemory
from tests.memory.store.store_kit import AGENT, draft, request

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

OF_STATE = ("revision", "archived_at", "archived_why", "archived_mode", "deleted_at")
"""Fields that say in which state a memory is, and not what it says."""


class Bench:
    """What makes and applies plans of one store."""

    def __init__(
        self,
        backend: LocalMemoryBackend,
        *,
        share: float = 0.05,
        limit: int | None = None,
        spared: frozenset[str] = frozenset(),
        agent: str | None = None,
    ) -> None:
        self.agent = agent or AGENT
        self._whose = agent
        self.backend, self.core = backend, backend.core
        most = limit or DEFAULT_MAX_MEMORIES
        rules = ConsolidationConfig(max_share_per_run=share, max_memories_per_agent=most)
        strategy = Composite(HighestRelevanceSelector(), ConcatenationOp(), backend)
        self.planner = Planner(
            self.core,
            rules,
            lambda _: spared,
            {
                GroupKind.SUPERSEDED: partial(find_alike, self.core),
                GroupKind.MERGED: MergeFinder(self.core, strategy, timedelta(days=90)),
            },
        )
        self.applier = PlanApplier(self.core, rules, lambda _: spared)

    async def plan(self, *kinds: GroupKind) -> ConsolidationPlan:
        """A stored plan with these kinds of groups, all kinds for none."""
        chosen = frozenset(kinds or GroupKind)
        found = await self.planner.plan(self._whose, made_by="test", kinds=chosen)
        return await self.core.database.write(lambda db: plans.put_plan(db, found))

    async def stored(self, number: int) -> ConsolidationPlan:
        plan = await self.core.read(lambda db: next(iter(plans.plans(db, [number])), None))
        assert plan is not None
        return plan

    async def rows(self) -> dict[str, StoredMemory]:
        """The memories of the agent, in whatever state, by id."""
        found = await self.core.read(_every_row)
        return {key: row for key, row in found.items() if row.agent_id == self.agent}

    async def edges(self) -> list[tuple[str, str, str]]:
        return await self.core.read(
            lambda db: db.execute(
                "SELECT from_id::VARCHAR, to_id::VARCHAR, kind FROM memory_edges ORDER BY 1, 2, 3"
            ).fetchall()
        )


def _every_row(db: "Connection") -> dict[str, StoredMemory]:
    ids = [key for (key,) in db.execute("SELECT id::VARCHAR FROM memories").fetchall()]
    return queries.rows_by_id(db, ids)


def said(row: StoredMemory) -> dict[str, object]:
    """All of a memory but its state."""
    return {name: value for name, value in row._asdict().items() if name not in OF_STATE}


async def copies(
    backend: LocalMemoryBackend, text: str, count: int, *, agent: str = AGENT
) -> list[str]:
    """Store a text so many times: an agent may do so, an import may not."""
    return [await backend.store(agent, request(text)) for _ in range(count)]


def different(count: int) -> Sequence[MemoryDraft]:
    """Drafts that have nothing in common."""
    trees = "alder birch cedar dogwood elm fir ginkgo hazel ivy juniper"
    words = trees.split()
    return [
        draft(f"{words[at % 10]} {at} grows beside {words[(at * 7 + 3) % 10]} in yard {at * 13}")
        for at in range(count)
    ]
