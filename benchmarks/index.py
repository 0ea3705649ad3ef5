"""The embedded vector index against qdrant-client's own in-process mode.

    python -m benchmarks.index --points 10000

Both hold the same points and answer the same queries, filtered to one agent of ten, top 20.
Loading 50,000 points into the in-process mode takes minutes.
"""

import asyncio
import statistics
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from benchmarks.table import Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter, IndexPoint, SparseVector, VectorIndex
from synthorg_tui.memory.index.server import ServerIndex
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

DIMS = 384
AGENTS = 10
TOP = 20
VOCABULARY = 30_000
TERMS = 20
BATCH = 1_000
ROUNDS = 7
EDGE_QUERIES = 10  # a round; of the local mode's one, which takes a second at 50,000 points

Kind = Literal["dense", "sparse", "both"]
KINDS: tuple[Kind, ...] = ("dense", "sparse", "both")

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_WHERE = IndexFilter(now=_NOW, agents=frozenset({"agent-3"}), shared=False)


class Synthetic:
    """Generates random unit vectors, and terms distributed like the words of a language."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        weights = 1 / np.arange(1, VOCABULARY + 1)
        self._odds = np.cumsum(weights / weights.sum())

    def dense(self, count: int) -> Vectors:
        vectors = self._random.standard_normal((count, DIMS), dtype=np.float32)
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    def sparse(self, terms: int = TERMS) -> SparseVector:
        drawn = np.searchsorted(self._odds, self._random.random(terms))
        indices, counts = np.unique(drawn, return_counts=True)
        return SparseVector(tuple(indices.tolist()), tuple(map(float, counts.tolist())))

    def points(self, count: int) -> Iterator[list[IndexPoint]]:
        """Yield ``count`` points in batches, assigned to the agents in turn."""
        for first in range(0, count, BATCH):
            vectors = self.dense(min(BATCH, count - first))
            yield [self._point(first + row, vector) for row, vector in enumerate(vectors)]

    def _point(self, number: int, vector: Vectors) -> IndexPoint:
        return IndexPoint(
            id=str(uuid.UUID(int=number + 1)),
            agent_id=f"agent-{number % AGENTS}",
            category=MemoryCategory.EPISODIC,
            namespace="default",
            tags=(f"topic-{number % 50}",),
            created_at=_NOW + timedelta(minutes=number),
            expires_at=None,
            shared=False,
            level="persistent",
            session_id=None,
            project=None,
            dense=vector,
            sparse=self.sparse(),
        )


async def fill(index: VectorIndex, points: int) -> None:
    await index.open(fingerprint="synthetic", dims=DIMS)
    for revision, batch in enumerate(Synthetic(seed=1).points(points), start=1):
        await index.apply(batch, [], revision=revision)


async def timed(index: VectorIndex, kind: Kind, asked: Synthetic, queries: int) -> list[float]:
    """Run ``queries`` queries of a kind and return the milliseconds each took."""
    durations = []
    for _ in range(queries):
        dense = asked.dense(1)[0] if kind != "sparse" else None
        sparse = asked.sparse(terms=6) if kind != "dense" else None
        started = time.perf_counter()
        await index.search(_WHERE, dense=dense, sparse=sparse, limit=TOP)
        durations.append((time.perf_counter() - started) * 1_000)
    return durations


async def _compared(
    index: VectorIndex, client: VectorIndex, points: int, kinds: Sequence[Kind]
) -> dict[Kind, tuple[float, float]]:
    medians = {}
    try:
        await fill(index, points)
        await fill(client, points)
        for kind in kinds:
            asked = Synthetic(seed=2)
            await timed(index, kind, asked, 1)  # the first query of each kind warms up
            await timed(client, kind, asked, 1)
            fast: list[float] = []
            slow: list[float] = []
            for _ in range(ROUNDS):  # in turns, so that a busy machine slows both
                fast += await timed(index, kind, asked, EDGE_QUERIES)
                slow += await timed(client, kind, asked, 1)
            medians[kind] = (statistics.median(fast), statistics.median(slow))
    finally:
        await index.close()
        await client.close()
    return medians


def compare(points: int, kinds: Sequence[Kind] = KINDS) -> dict[Kind, tuple[float, float]]:
    """Return the median milliseconds by kind of query: embedded index and in-process client."""

    def connect() -> "AsyncQdrantClient":
        from qdrant_client import AsyncQdrantClient

        return AsyncQdrantClient(location=":memory:")

    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that local mode is not meant for so many points
        index = EdgeIndex(Path(scratch) / "index")
        client = ServerIndex(connect, collection="benchmark")
        return asyncio.run(_compared(index, client, points, kinds))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    options = parser.parse_args()
    rows = []
    for kind, (embedded, client) in compare(options.points).items():
        rows += [
            Row(f"{kind}: embedded, p50", embedded, "ms", digits=2),
            Row(f"{kind}: qdrant-client local mode, p50", client, "ms"),
            Row(f"{kind}: ratio", client / embedded, "x"),
        ]
    parameters = {"points": options.points, "agents": AGENTS, "top": TOP}
    print_report(Report("index", parameters, rows), as_json=options.json)


if __name__ == "__main__":
    main()
