"""Backends with memories of a known age, and entries made without one."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.backends.kept import matches, newest_first
from synthorg_tui.memory.consolidation.archival import ArchivalStore
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.factory import (
    ModelByName,
    create_consolidation_strategy,
    no_model,
)
from synthorg_tui.memory.consolidation.models import ArchivalEntry
from synthorg_tui.memory.consolidation.service import ConfigResolver, MemoryConsolidationService
from synthorg_tui.memory.consolidation.strategy import ConsolidationGroup
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.enums import FinishReason
from tests.conftest import FixedClock
from tests.memory.store.store_kit import opened

AGENT = "ada"
TODAY = datetime.now(UTC).replace(microsecond=0)
EPISODIC = MemoryCategory.EPISODIC

DENSE = """\
def load(path: str) -> dict[str, int]:
    config = json.loads(open(path)["data"])
    host: db-1.internal
    "port": 54321
    version: 1.4.12
    for row in rows:
        return {"id": row_primary_key_value}
"""
SPARSE = (
    "We talked for a while about how the release went, and everybody was quite content with it."
)


def entry(
    key: str,
    content: str = "text",
    *,
    category: MemoryCategory = EPISODIC,
    days: float = 0,
    relevance: float | None = None,
    tags: tuple[str, ...] = (),
    confidence: float = 1.0,
    namespace: str = "default",
    expires: datetime | None = None,
) -> MemoryEntry:
    return MemoryEntry(
        id=key,
        agent_id=AGENT,
        namespace=namespace,
        category=category,
        content=content,
        metadata=MemoryMetadata(tags=tags, confidence=confidence),
        created_at=TODAY - timedelta(days=days),
        expires_at=expires,
        relevance_score=relevance,
    )


def group(*entries: MemoryEntry) -> ConsolidationGroup:
    """A group of which the first memory is kept."""
    return ConsolidationGroup(AGENT, entries[0].category, entries[0], entries[1:])


class Agent:
    """An agent's memories in one backend, stored at a known time."""

    def __init__(self, backend: MemoryBackend, clock: FixedClock, agent_id: str = AGENT) -> None:
        self.backend = backend
        self.clock = clock
        self.id = agent_id

    async def has(
        self,
        content: str,
        *,
        days: float = 0,
        category: MemoryCategory = EPISODIC,
        tags: tuple[str, ...] = (),
        confidence: float = 1.0,
    ) -> str:
        """Store a memory as it was stored so many days ago, and return its id."""
        self.clock.current = TODAY - timedelta(days=days)
        memory_id = await self.backend.store(
            self.id,
            MemoryStoreRequest(
                category=category,
                content=content,
                metadata=MemoryMetadata(tags=tags, confidence=confidence),
            ),
        )
        self.clock.current = TODAY
        return memory_id

    async def entries(self) -> tuple[MemoryEntry, ...]:
        return await self.backend.retrieve(self.id, MemoryQuery(limit=1000))

    async def contents(self) -> set[str]:
        return {entry.content for entry in await self.entries()}


@asynccontextmanager
async def agent_of(kind: str, data_dir: Path) -> AsyncIterator[Agent]:
    """An agent without memories in a backend of this kind, ``inmemory`` or ``local``."""
    clock = FixedClock(TODAY)
    if kind == "local":
        async with opened(data_dir, clock=clock) as local:
            yield Agent(local, clock)
        return
    backend = InMemoryBackend(clock=clock)
    await backend.connect()
    yield Agent(backend, clock)


class Echo:
    """A model that answers by what it was asked, as long as it likes."""

    def __init__(
        self, answer: Callable[[str], str], *, reason: FinishReason = FinishReason.STOP
    ) -> None:
        self.answer = answer
        self.reason = reason
        self.asked: list[str] = []

    async def complete(self, messages: object, options: CompletionOptions) -> Completion:
        assert isinstance(messages, tuple)
        self.asked.append(messages[-1].content)
        return Completion(text=self.answer(self.asked[-1]), finish_reason=self.reason)

    async def close(self) -> None:
        """Nothing to release."""


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


def _as_memory(archival_id: str, entry: ArchivalEntry) -> MemoryEntry:
    return MemoryEntry(
        id=archival_id,
        agent_id=entry.agent_id,
        category=entry.category,
        content=entry.content,
        metadata=entry.metadata,
        created_at=entry.created_at,
    )


def made_service(
    config: ConsolidationConfig,
    *,
    backend: MemoryBackend,
    models: ModelByName = no_model,
    archival_store: ArchivalStore | None = None,
    config_resolver: ConfigResolver | None = None,
) -> MemoryConsolidationService:
    """The service with the strategy that the settings ask for."""
    return MemoryConsolidationService(
        backend=backend,
        config=config,
        strategy=create_consolidation_strategy(config, backend=backend, models=models),
        archival_store=archival_store,
        config_resolver=config_resolver,
    )
