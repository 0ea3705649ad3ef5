"""The memory backend on Mem0: memories in its embedded Qdrant, embedded by our own model."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.kept import KeptMemory
from synthorg_tui.memory.backends.mem0.client import Item, Mem0Client
from synthorg_tui.memory.backends.mem0.mapping import (
    memory_of,
    metadata_of,
    revision_of,
    score_of,
    user_of,
)
from synthorg_tui.memory.backends.plain import PlainBackend, Ranked
from synthorg_tui.memory.errors import (
    MemoryCapabilityError,
    MemoryError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.listing import SHARED_OWNER, MemoryRevision
from synthorg_tui.memory.mem0_config import EmbeddingCostConfig, Mem0BackendConfig
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.retrieval.relevance import meaning_of
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.providers.completion.usage import UsageRecord
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

EMBEDDING: Final = "embedding"
"""The kind of what answered, in the record of costs."""
_THOUSAND: Final = 1000

UsageRecorder = Callable[[UsageRecord], Awaitable[None]]


class Mem0Backend(PlainBackend):
    """``PlainBackend`` on the package ``mem0ai``, which is loaded on connecting.

    Args:
        embedder: Makes the vectors; closed by whoever made it.
        directory: Where Mem0 keeps its files.
        config: Collection, keyword search and the recording of costs.
        record: Takes the costs of embeddings.
        policy: Levels and limits of each agent.
        clock: Current time.
    """

    backend_name: NotBlankStr = "mem0"
    supports_vector_search: bool = True

    def __init__(
        self,
        embedder: Embedder,
        directory: Path,
        *,
        config: Mem0BackendConfig,
        record: UsageRecorder | None = None,
        policy: StorePolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(policy=policy, clock=clock)
        self._embedder = embedder
        self._has_keywords = config.sparse_search_enabled
        self._client = Mem0Client(
            directory,
            collection=config.collection,
            fingerprint=embedder.fingerprint,
            dims=embedder.dims,
        )
        self._costs = config.embedding_cost
        self._record = record if self._costs.enabled else None

    async def connect(self) -> None:
        """Load the package and open its folder.

        Raises ``MemoryConfigError`` without the package, for a folder of another program and with
        another embedding model than before, ``MemoryConnectionError`` for a folder in use.
        """
        await self._client.open()

    async def disconnect(self) -> None:
        """Close the folder; do nothing when it is closed already."""
        await self._client.close()

    async def health_check(self) -> bool:
        """Return whether the package answers."""
        if not self.is_connected:
            return False
        try:
            await self._client.get("00000000-0000-0000-0000-000000000000")
        except Exception:
            return False
        return True

    @property
    def is_connected(self) -> bool:
        return self._client.is_open

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """Return the agent's memories that match by keywords; needs the setting for it."""
        if not self._has_keywords:
            raise MemoryCapabilityError(
                "the mem0 backend searches by meaning only",
                remedy="Set memory.mem0.sparse_search_enabled to true.",
            )
        return await super().retrieve_sparse(agent_id, query)

    async def history(self, memory_id: str) -> list[MemoryRevision]:
        """Return Mem0's own history of a memory, newest first, for a person."""
        async with _told(MemoryRetrievalError, "reading the history"):
            rows = await self._client.history(memory_id)
        now = self._clock.now()
        changes = [revision_of(row, number, now) for number, row in enumerate(rows, start=1)]
        return changes[::-1]

    async def _kept(self, owner: str | None) -> Sequence[KeptMemory]:
        async with _told(MemoryRetrievalError, "reading"):
            items = await self._client.all_of(user_of(owner) if owner is not None else None)
        return self._memories(items)

    async def _kept_one(self, memory_id: str) -> KeptMemory | None:
        async with _told(MemoryRetrievalError, "reading"):
            item = await self._client.get(memory_id)
        return memory_of(item, self._clock.now()) if item is not None else None

    async def _keep(self, memory: KeptMemory) -> str:
        entry = memory.entry
        user = user_of(SHARED_OWNER if memory.shared else entry.agent_id)
        async with _told(MemoryStoreError, "storing"):
            (vector,) = await self._embedder.embed([entry.content])
            memory_id = await self._client.add(entry.content, user, metadata_of(memory), vector)
            if self._has_keywords:
                keywords = self.tokenizer.encode_document(entry.content)
                await self._client.add_keywords(memory_id, keywords)
            await self._record_cost(entry.content, entry.agent_id)
        return memory_id

    async def _drop(self, memory_id: str) -> None:
        async with _told(MemoryStoreError, "deleting"):
            await self._client.delete(memory_id)

    async def _ranked(self, text: str, owner: str, query: MemoryQuery, *, depth: int) -> Ranked:
        user, words = user_of(owner), []
        async with _told(MemoryRetrievalError, "searching"):
            vector = await self._vector(text, owner)
            near = await self._client.search(text, user, vector, limit=depth)
            if self._has_keywords:
                keywords = self.tokenizer.encode(text)
                words = await self._client.search_keywords(keywords, user, limit=depth)
        memories = {kept.entry.id: kept for kept in self._memories([*near, *words])}
        hits = IndexHits(dense=_hits(near, memories), sparse=_hits(words, memories, raw=True))
        return Ranked(hits, memories, is_all=max(len(near), len(words)) < depth)

    async def _vector(self, text: str, owner: str) -> Vectors:
        vector = await self._embedder.embed_query(meaning_of(text))
        await self._record_cost(text, owner)
        return vector

    async def _record_cost(self, text: str, agent_id: str) -> None:
        """Record what embedding a text for an agent costs, if the settings say so."""
        if self._record is None:
            return
        tokens = math.ceil(len(text) / self._costs.default_chars_per_token)
        name, price = _priced(self._costs, self._embedder.fingerprint)
        await self._record(
            UsageRecord(
                at=self._clock.now(),
                model=name,
                prompt_tokens=tokens,
                completion_tokens=0,
                seconds=0.0,
                cost=tokens * price / _THOUSAND,
                provider=EMBEDDING,
                agent_id="" if agent_id == SHARED_OWNER else agent_id,
            )
        )

    def _memories(self, items: Sequence[Item]) -> list[KeptMemory]:
        now = self._clock.now()
        return [kept for item in items if (kept := memory_of(item, now)) is not None]


def _priced(config: EmbeddingCostConfig, fingerprint: str) -> tuple[str, float]:
    """The name of a model in the price list, and its price; else what identifies it, and 0."""
    for name, price in config.model_pricing.items():
        if f":{name}:" in f":{fingerprint}:":
            return name, price
    return fingerprint, 0.0


def _hits(
    items: Sequence[Item], memories: dict[str, KeptMemory], *, raw: bool = False
) -> tuple[IndexHit, ...]:
    """The hits of a ranking that are memories and have a score."""
    scored = ((str(i["id"]), i.get("score") if raw else score_of(i.get("score"))) for i in items)
    return tuple(
        IndexHit(key, float(score))
        for key, score in scored
        if score is not None and key in memories
    )


@asynccontextmanager
async def _told(kind: type[MemoryError], action: str) -> AsyncIterator[None]:
    """Turn whatever the package or the embedder raises into ``kind``."""
    try:
        yield
    except EmbeddingError as error:
        raise kind(f"{action} failed: {error.message}", remedy=error.remedy) from error
    except DomainError:
        raise
    except Exception as error:
        raise kind(f"{action} failed in mem0: {error}") from error
