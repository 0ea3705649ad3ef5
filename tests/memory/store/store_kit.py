"""Opens local backends for tests."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.extensions import ListedMemory, MemoryDraft
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexPoint, VectorIndex
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.database import Database
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.conftest import FixedClock
from tests.memory.store.hash_embedder import HashEmbedder

AGENT = "ada"


class FlakyIndex(EdgeIndex):
    """An index whose writes fail while ``broken``."""

    broken = False

    async def apply(
        self,
        upserts: Sequence[IndexPoint],
        deletes: Sequence[str],
        *,
        revision: int,
        as_of: int | None = None,
        since: int = 0,
    ) -> None:
        if self.broken:
            raise VectorIndexError("disk full")
        await super().apply(upserts, deletes, revision=revision, as_of=as_of, since=since)


@asynccontextmanager
async def opened(
    data_dir: Path,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    policy: StorePolicy | None = None,
    index: VectorIndex | None = None,
    unload_after: timedelta | None = None,
) -> AsyncIterator[LocalMemoryBackend]:
    """A connected backend on a data directory."""
    core = Core(
        database=Database.in_dir(data_dir),
        index=index or EdgeIndex(data_dir / INDEX_DIR),
        embedder=embedder or HashEmbedder(),
        clock=clock or FixedClock(),
        policy=policy,
        unload_after=unload_after,
    )
    backend = LocalMemoryBackend(core)
    await backend.connect()
    try:
        yield backend
    finally:
        await backend.disconnect()


def request(
    content: str,
    *,
    category: MemoryCategory = MemoryCategory.SEMANTIC,
    tags: tuple[str, ...] = ("non-inferable",),
    **fields: object,
) -> MemoryStoreRequest:
    return MemoryStoreRequest.model_validate(
        {
            "category": category,
            "content": content,
            "metadata": MemoryMetadata(tags=tags),
            **fields,
        }
    )


def draft(content: str, key: str | None = None, **fields: object) -> MemoryDraft:
    return MemoryDraft.model_validate({"request": request(content), "key": key, **fields})


def query(text: str | None = None, **fields: object) -> MemoryQuery:
    return MemoryQuery.model_validate({"text": text, **fields})


def contents(entries: Iterable[MemoryEntry | ListedMemory]) -> list[str]:
    return [entry.content for entry in entries]
