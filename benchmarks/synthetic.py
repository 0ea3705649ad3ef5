"""Stores of any size for the benchmarks: made-up texts and vectors, real queries."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.table import Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.extensions import BrowseFilter, MemoryDraft
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.database import Database
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

AGENTS = 10
BATCH = 1_000
WORDS_PER_TEXT = 40
TAGS = ("non-inferable",)
_SYLLABLES = [c + v for c, v in zip("bcdfghjklmnprstvwxyz", "aeiouaeiouaeiouaeiou", strict=True)]
_STARTED = datetime(2026, 1, 1, tzinfo=UTC)


class SyntheticVectors:
    """An embedder: random unit vectors for stored texts, the real model for queries."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self._random = np.random.default_rng(0)

    @property
    def fingerprint(self) -> str:
        return self._real.fingerprint

    @property
    def dims(self) -> int:
        return self._real.dims

    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self._random.standard_normal((len(texts), self.dims), dtype=np.float32)
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    async def embed_query(self, text: str) -> Vectors:
        return await self._real.embed_query(text)

    async def unload(self) -> None:
        await self._real.unload()

    async def close(self) -> None:
        await self._real.close()


def real_embedder() -> Embedder:
    """Return the bundled embedding model as the app uses it."""
    return create_embedder(MiniLMConfig())


@asynccontextmanager
async def opened(data_dir: Path, embedder: Embedder) -> AsyncIterator[LocalMemoryBackend]:
    """Yield the open store of a directory, constructed as the engine does it."""
    core = Core(
        database=Database.in_dir(data_dir),
        index=EdgeIndex(data_dir / INDEX_DIR),
        embedder=embedder,
    )
    backend = LocalMemoryBackend(core)
    await backend.connect()
    try:
        yield backend
    finally:
        await backend.disconnect()
        await embedder.close()


def vocabulary(size: int = 8_000) -> list[str]:
    """Return ``size`` pronounceable words, the same at every run."""
    rng = random.Random(1)
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(size)]


def texts(count: int, *, words: int = WORDS_PER_TEXT, seed: int = 2) -> Iterator[str]:
    """Yield texts with a natural distribution of words: few common ones, many rare ones."""
    rng = random.Random(seed)
    known = vocabulary()
    weights = [1 / rank for rank in range(1, len(known) + 1)]
    for number in range(count):
        yield f"Memory {number}: " + " ".join(rng.choices(known, weights, k=words))


def drafts(count: int) -> Iterator[MemoryDraft]:
    """Yield memories of all categories, a minute apart."""
    categories = list(MemoryCategory)
    for number, text in enumerate(texts(count)):
        yield MemoryDraft(
            request=MemoryStoreRequest(
                category=categories[number % len(categories)],
                content=text,
                metadata=MemoryMetadata(tags=(*TAGS, f"topic-{number % 50}")),
            ),
            created_at=_STARTED + timedelta(minutes=number),
            level=MemoryLevel.PERSISTENT,
        )


async def fill(backend: LocalMemoryBackend, count: int) -> None:
    """Store ``count`` memories, distributed evenly over the agents."""
    share = -(-count // AGENTS)
    waiting = list(drafts(count))
    for agent in range(AGENTS):
        own = waiting[agent * share : (agent + 1) * share]
        for first in range(0, len(own), BATCH):
            batch = own[first : first + BATCH]
            await backend.store_many(f"agent-{agent}", batch, actor="benchmark")


async def ensure_filled(data_dir: Path, count: int) -> int:
    """Fill a store that has no memories, and return how many it has then."""
    async with opened(data_dir, SyntheticVectors(real_embedder())) as backend:
        if not (await backend.admin.facets()).agents:
            await fill(backend, count)
        return (await backend.admin.browse(BrowseFilter(), limit=1)).total


def main() -> None:
    """Fill a data directory with synthetic memories, to try the app at size."""
    parser = command_line(main.__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--memories", type=int, default=100_000)
    options = parser.parse_args()
    started = time.perf_counter()
    stored = asyncio.run(ensure_filled(options.data_dir, options.memories))
    rows = [
        Row("memories in the store", stored),
        Row("time to fill or open it", time.perf_counter() - started, "s", digits=1),
    ]
    report = Report("synthetic", {"memories": options.memories}, rows)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()
