"""Opens apps that share one database; each has a data directory and mostly an index of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import VectorIndex
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.sync import Projection
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.memory.store.hash_embedder import HashEmbedder


@asynccontextmanager
async def app(
    url: str,
    data_dir: Path,
    *,
    index: VectorIndex | None = None,
    embedder: Embedder | None = None,
    policy: StorePolicy | None = None,
) -> AsyncIterator[LocalMemoryBackend]:
    """One app's backend on the database, connected."""
    from synthorg_tui.persistence.postgres.database import PostgresDatabase

    data_dir.mkdir(exist_ok=True)
    core = Core(
        database=PostgresDatabase(url, data_dir),
        index=index or EdgeIndex(data_dir / INDEX_DIR),
        embedder=embedder or HashEmbedder(),
        clock=SystemClock(),
        policy=policy,
    )
    backend = LocalMemoryBackend(core)
    await backend.connect()
    try:
        yield backend
    finally:
        await backend.disconnect()


async def live_ids(backend: LocalMemoryBackend) -> set[str]:
    """The ids of the memories that are live, as the records say."""
    return set(
        await backend.core.read(lambda db: queries.matching_ids(db, backend.core.live_where()))
    )


async def indexed_ids(backend: LocalMemoryBackend) -> set[str]:
    """The ids of the points of the app's index, once it has followed the others."""
    for _ in range(1_000):
        if await backend.core.is_current():
            break
    return await backend.core.with_index(partial(_ids, backend))


async def _ids(backend: LocalMemoryBackend, projection: Projection) -> set[str]:
    """The ids, with nobody putting another edition of the index into its place meanwhile."""
    await projection.look(await backend.core.read(queries.last_revision))
    await projection.catch_up()
    assert projection.applied == await backend.core.read(queries.last_revision)
    return {point_id async for point_id in projection.index.ids()}
