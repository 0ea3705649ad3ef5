"""Backends whose answers are given beforehand, and what is asked of an explanation."""

from collections.abc import Sequence

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.extensions import SearchHit, SearchResult
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, Verdict
from synthorg_tui.memory.retrieval.neighbours import Neighbours
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from tests.conftest import FixedClock
from tests.memory.memory_kit import NOW, entry

PLENTY = 10_000


class Backend:
    """A backend with just the ten members, whose answers are given beforehand."""

    backend_name = "inmemory"

    def __init__(self, *found: MemoryEntry, error: BaseException | None = None) -> None:
        self._kept = InMemoryBackend()
        self.found = found
        self.error = error
        self.queries: list[MemoryQuery] = []

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        return self.found[: query.limit]

    async def connect(self) -> None:
        await self._kept.connect()

    async def disconnect(self) -> None:
        await self._kept.disconnect()

    async def health_check(self) -> bool:
        return await self._kept.health_check()

    @property
    def is_connected(self) -> bool:
        return self._kept.is_connected

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        return await self._kept.store(agent_id, request)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return await self._kept.delete(agent_id, memory_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return await self._kept.count(agent_id, category=category)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        kept = [entry("kept", "Kept for later.")]
        return next((each for each in kept if each.id == memory_id), None)


class KeywordBackend(Backend):
    """A backend that can also search by keywords."""

    def __init__(self, dense: Sequence[MemoryEntry], sparse: Sequence[MemoryEntry]) -> None:
        super().__init__(*dense)
        self.sparse = tuple(sparse)

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return self.sparse


class Source(Backend):
    """A backend that searches by itself and returns scored hits."""

    def __init__(
        self,
        *hits: SearchHit,
        degraded: str = "",
        neighbours: Neighbours | None = None,
    ) -> None:
        super().__init__()
        self.hits = hits
        self.degraded = degraded
        self.neighbours = neighbours or {}

    async def candidates(
        self, agent_id: str, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        return SearchResult(self.hits, self.degraded, self.neighbours)


class Shared:
    """A shared store whose answers are given beforehand."""

    def __init__(self, *found: MemoryEntry, error: BaseException | None = None) -> None:
        self.found = found
        self.error = error
        self.excluded: list[str | None] = []

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        raise NotImplementedError

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        self.excluded.append(exclude_agent)
        if self.error is not None:
            raise self.error
        return self.found

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        raise NotImplementedError


def config(**changes: object) -> MemoryRetrievalConfig:
    return MemoryRetrievalConfig.model_validate(changes)


def strategy(backend: Backend, **parts: object) -> ContextInjectionStrategy:
    settings = parts.pop("config", config())
    assert isinstance(settings, MemoryRetrievalConfig)
    return ContextInjectionStrategy(
        backend=backend,
        config=settings,
        clock=FixedClock(NOW),
        **parts,  # type: ignore[arg-type]
    )


async def explained(subject: ContextInjectionStrategy, budget: int = PLENTY) -> Explanation:
    return (await subject.prepare("ada", "open ports", budget)).explanation


def given(explanation: Explanation) -> list[str]:
    return [candidate.entry.id for candidate in explanation.included]


def verdicts(explanation: Explanation) -> dict[str, Verdict]:
    return {candidate.entry.id: candidate.verdict for candidate in explanation.candidates}


def candidate(explanation: Explanation, key: str) -> Candidate:
    return next(each for each in explanation.candidates if each.entry.id == key)


def hit(
    key: str,
    dense: float | None = 0.8,
    sparse: float | None = None,
    *,
    content: str = "",
    is_shared: bool = False,
    fused: float = 0.0,
) -> SearchHit:
    return SearchHit(entry(key, content), dense, sparse, fused or dense or 0.0, is_shared)
