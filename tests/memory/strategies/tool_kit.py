"""A memory backend that answers as a test says and remembers what it was asked."""

from collections.abc import Mapping

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest

BROKEN = MemoryRetrievalError("the index is gone")


class FakeBackend:
    """Answers a query text with ``by_text``, any other with ``entries``; raises exceptions."""

    def __init__(
        self,
        *entries: MemoryEntry,
        by_text: Mapping[str, tuple[MemoryEntry, ...] | Exception] | None = None,
        failure: Exception | None = None,
    ) -> None:
        self.entries = entries
        self.by_text = dict(by_text or {})
        self.failure = failure
        self.queries: list[MemoryQuery] = []
        self.stored: list[tuple[str, MemoryStoreRequest]] = []

    async def connect(self) -> None: ...

    async def disconnect(self) -> None: ...

    async def health_check(self) -> bool:
        return True

    @property
    def is_connected(self) -> bool:
        return True

    @property
    def backend_name(self) -> str:
        return "fake"

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._fail()
        self.stored.append((agent_id, request))
        return f"new-{len(self.stored)}"

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self._fail()
        self.queries.append(query)
        answer = self.by_text.get(query.text or "", self.entries)
        if isinstance(answer, Exception):
            raise answer
        return answer[: query.limit]

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        self._fail()
        return next((entry for entry in self.entries if entry.id == memory_id), None)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return False

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return len(self.entries)

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure
