"""Memories that live as long as the process: for trying things out and for tests."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.kept import KeptMemory
from synthorg_tui.memory.backends.plain import PlainBackend, Ranked
from synthorg_tui.memory.index.protocol import IndexHits
from synthorg_tui.memory.listing import SHARED_OWNER
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.scan import best, weights

DEFAULT_MAX_MEMORIES = 10_000


@dataclass(slots=True)
class _Shelf:
    """The memories of all agents by id, which all views of a backend share."""

    memories: dict[str, KeptMemory] = field(default_factory=dict)
    is_open: bool = False


class InMemoryBackend(PlainBackend):
    """``PlainBackend`` on a dictionary.

    A query text matches by substring, ignoring case; results are newest first and have no score.
    Candidates and ``retrieve_sparse`` are by keywords. Expired memories are removed when a new one
    is stored. Memories survive ``disconnect`` but not the process.

    Args:
        max_memories_per_agent: Maximum number of live memories; beyond it ``store`` is refused.
        clock: Current time, for creation times and expiry.
        policy: Levels and limits of each agent, in the place of the maximum.
    """

    backend_name: NotBlankStr = "inmemory"

    def __init__(
        self,
        *,
        max_memories_per_agent: int = DEFAULT_MAX_MEMORIES,
        clock: Clock | None = None,
        policy: StorePolicy | None = None,
    ) -> None:
        super().__init__(policy=policy or StorePolicy(max_memories_per_agent), clock=clock)
        self._shelf = _Shelf()

    async def connect(self) -> None:
        """Allow operations; always succeeds."""
        self._shelf.is_open = True

    async def disconnect(self) -> None:
        """Refuse operations until connected again; no memory is lost."""
        self._shelf.is_open = False

    async def health_check(self) -> bool:
        """Return whether the backend is connected."""
        return self._shelf.is_open

    @property
    def is_connected(self) -> bool:
        return self._shelf.is_open

    async def _kept(self, owner: str | None) -> Sequence[KeptMemory]:
        return [m for m in self._shelf.memories.values() if owner in (None, _owner(m))]

    async def _kept_one(self, memory_id: str) -> KeptMemory | None:
        return self._shelf.memories.get(memory_id)

    async def _keep(self, memory: KeptMemory) -> str:
        now, memories = self._clock.now(), self._shelf.memories
        for memory_id in [key for key, kept in memories.items() if not kept.is_live(now)]:
            del memories[memory_id]
        memory_id = str(uuid.uuid4())
        entry = memory.entry.model_copy(update={"id": memory_id})
        memories[memory_id] = replace(memory, entry=entry)
        return memory_id

    async def _drop(self, memory_id: str) -> None:
        del self._shelf.memories[memory_id]

    async def _by_text(
        self, query: MemoryQuery, owner: str, *, exclude: str | None
    ) -> tuple[MemoryEntry, ...]:
        return await self._unranked(query, owner, exclude=exclude)

    async def _ranked(self, text: str, owner: str, query: MemoryQuery, *, depth: int) -> Ranked:
        memories = {memory.entry.id: memory for memory in await self._kept(owner)}
        texts = {key: kept.entry.content for key, kept in memories.items()}
        scores = weights(texts, self.tokenizer, self.tokenizer.encode(text))
        return Ranked(IndexHits(sparse=best(scores, len(scores))), memories)


def _owner(memory: KeptMemory) -> str:
    return SHARED_OWNER if memory.shared else memory.entry.agent_id
