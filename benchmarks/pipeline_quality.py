"""Measures the quality of digests: which memories ``engine.injection`` gives to agents."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BatchStore, MemoryDraft
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.settings.root import RootConfig

BUDGET = 1_000_000
"""Token budget: enough for every memory, since packing isn't measured."""
_BATCH = 500


@dataclass(frozen=True)
class DatedMemory:
    """A memory of a data file: its key, its agent, its content, its date, and its place."""

    key: str
    agent: str
    content: str
    at: datetime
    session: str
    line: int


class DayAfter:
    """A clock that returns the day after an agent's last memory."""

    def __init__(self, memories: Sequence[DatedMemory]) -> None:
        self._last: dict[str, datetime] = {}
        for memory in memories:
            self._last[memory.agent] = max(memory.at, self._last.get(memory.agent, memory.at))
        self._now = max(self._last.values())

    def turn_to(self, agent: str) -> None:
        self._now = self._last[agent] + timedelta(days=1)

    def now(self) -> datetime:
        return self._now


class Pipeline:
    """An engine whose store holds the memories of a data file."""

    def __init__(self, engine: Engine, clock: DayAfter) -> None:
        self._engine = engine
        self._clock = clock
        self._keys: dict[str, str] = {}

    async def fill(self, memories: Sequence[DatedMemory]) -> None:
        assert isinstance(self._engine.memory, BatchStore)
        for agent in dict.fromkeys(memory.agent for memory in memories):
            own = [memory for memory in memories if memory.agent == agent]
            for first in range(0, len(own), _BATCH):
                batch = own[first : first + _BATCH]
                outcome = await self._engine.memory.store_many(
                    agent, [drafted(memory) for memory in batch], actor="benchmark"
                )
                skipped = {key for key, _ in outcome.skipped}
                added = [memory.key for memory in batch if memory.key not in skipped]
                self._keys.update(zip(outcome.added, added, strict=True))

    async def given(
        self, agent: str, text: str, retrieval: MemoryRetrievalConfig | None = None
    ) -> list[str]:
        """Return the keys of the memories in the agent's digest for a text, best first."""
        self._clock.turn_to(agent)
        request = InjectionRequest(agent, text, BUDGET, retrieval=retrieval)
        explanation = (await self._engine.injection.prepare(request)).explanation
        return [self._keys[candidate.entry.id] for candidate in explanation.included]


@asynccontextmanager
async def filled(
    memories: Sequence[DatedMemory], settings: RootConfig | None = None
) -> AsyncIterator[Pipeline]:
    """Yield an engine that holds the memories, by default with the shipped settings.

    Its store is then deleted.
    """
    with tempfile.TemporaryDirectory() as directory:
        clock = DayAfter(memories)
        opening = Engine.open(settings or shipped_settings(), data_dir=Path(directory), clock=clock)
        async with opening as engine:
            pipeline = Pipeline(engine, clock)
            await pipeline.fill(memories)
            yield pipeline


def variants() -> dict[str, MemoryRetrievalConfig]:
    """Return the configurations to compare, by name; the first is the default one."""
    shipped = shipped_settings().memory.retrieval
    bare: dict[str, Any] = {"relevance_weight": 1.0, "recency_weight": 0.0}
    some = {"relevance_weight": 0.95, "recency_weight": 0.05}
    old = {"relevance_weight": 0.7, "recency_weight": 0.3, "recency_decay_rate": 0.01}
    diverse = {"diversity_penalty_enabled": True}
    changes: dict[str, dict[str, Any]] = {
        "shipped": {},
        "score, no recency": bare,
        "score, recency .05": some,
        "score, recency .3": old,
        "score, minimum 0": {"min_relevance": 0.0},
        "score, minimum .5": {"min_relevance": 0.5},
        "score, MMR .7": diverse,
        "score, MMR .9": {**diverse, "diversity_lambda": 0.9},
        "rrf": {"fusion_strategy": "rrf"},
        "rrf, minimum 0": {"fusion_strategy": "rrf", "min_relevance": 0.0},
        "rrf, minimum 0, MMR .7": {"fusion_strategy": "rrf", "min_relevance": 0.0, **diverse},
        "linear, no recency": {"fusion_strategy": "linear", **bare},
        "linear, recency .3": {"fusion_strategy": "linear", **old},
        "linear, minimum 0": {"fusion_strategy": "linear", **bare, "min_relevance": 0.0},
        "linear, MMR .7": {"fusion_strategy": "linear", **bare, **diverse},
    }
    base = shipped.model_dump(exclude_defaults=True)
    return {
        name: MemoryRetrievalConfig.model_validate({**base, **change})
        for name, change in changes.items()
    }


def drafted(memory: DatedMemory) -> MemoryDraft:
    """Return the draft of a memory."""
    return MemoryDraft(
        request=MemoryStoreRequest(
            category=MemoryCategory.EPISODIC,
            content=memory.content,
            metadata=MemoryMetadata(
                source=f"locomo:{memory.agent}/{memory.session}#L{memory.line}-L{memory.line}",
                tags=("non-inferable",),
            ),
        ),
        key=memory.key,
        session_id=memory.session,
        created_at=memory.at,
        level=MemoryLevel.PERSISTENT,
    )
