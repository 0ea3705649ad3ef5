"""Searching and storing over PostgreSQL against the local file, in one run, and what it takes.

    python -m benchmarks.shared --memories 100000 --url postgresql://... [--data-dir DIR]

The URL names an empty database, or one that an earlier run has filled. Both stores hold the same
synthetic memories, each with an index of its own; queries use the real model, in turns.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.scale import AGENT, QUERIES, milliseconds, p50, p95, questions, request
from benchmarks.synthetic import SyntheticVectors, ensure_filled, fill, opened, real_embedder, texts
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence import INDEX_DIR

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

WRITES = 60
TABLES = ("memories", "vectors", "history")


@asynccontextmanager
async def opened_on_server(url: str, data_dir: Path) -> AsyncIterator[LocalMemoryBackend]:
    """Yield the store of a server, as an app with a data directory of its own opens it."""
    from synthorg_tui.persistence.postgres.database import PostgresDatabase

    embedder = SyntheticVectors(real_embedder())
    core = Core(
        database=PostgresDatabase(url, data_dir),
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


async def indexed(backend: LocalMemoryBackend) -> None:
    """Wait until the index has everything, as after the first minute of an app."""
    while (await backend.core.indexed()).is_behind:
        await backend.core.with_index(lambda projection: projection.step())


async def retrieval(local: LocalMemoryBackend, shared: LocalMemoryBackend) -> list[Row]:
    """Time the same searches in both stores, in turns."""
    asked = questions(QUERIES, seed=4)
    bare = questions(QUERIES, seed=6)
    await indexed(local)
    await indexed(shared)
    durations: dict[str, list[float]] = {"local": [], "PostgreSQL": []}
    embedding: list[float] = []
    embed = local.core.embedder.embed_query
    for number in range(-2, QUERIES):
        embedding += await milliseconds(1, lambda _, n=number: embed(bare[n]))  # type: ignore[misc]
        for name, backend in (("local", local), ("PostgreSQL", shared)):
            query = MemoryQuery(text=asked[number], limit=20)
            (spent,) = await milliseconds(1, lambda _, b=backend, q=query: b.retrieve(AGENT, q))  # type: ignore[misc]
            if number >= 0:
                durations[name].append(spent)
    ratio = p50(durations["PostgreSQL"]) / p50(durations["local"])
    rows = [
        Row(f"retrieve, {name}, {called}", measure(values), "ms", digits=1)
        for name, values in durations.items()
        for called, measure in (("p50", p50), ("p95", p95))
    ]
    return [
        Row("embed a query, p50", p50(embedding), "ms", digits=1),
        *rows,
        Row("retrieve over PostgreSQL, ratio", ratio, "x", Limit("<=", 2), digits=2),
    ]


async def writing(shared: LocalMemoryBackend, others: list[LocalMemoryBackend]) -> list[Row]:
    """Time single stores by one app, and by several at once, through the one lock."""
    contents = list(texts(WRITES * (len(others) + 2), seed=int(time.time())))

    async def store(backend: LocalMemoryBackend, count: int) -> None:
        for _ in range(count):
            await backend.store("store-benchmark", request(contents.pop()))

    alone = await milliseconds(WRITES, lambda _: store(shared, 1))
    started = time.perf_counter()
    await asyncio.gather(*(store(backend, WRITES) for backend in others))
    together = WRITES * len(others) / (time.perf_counter() - started)
    return [
        Row("store one memory over PostgreSQL, p50", p50(alone), "ms", digits=1),
        Row("stores a second, one app", 1_000 / p50(alone), digits=0),
        Row(f"stores a second, {len(others)} apps in one process", together, digits=0),
    ]


async def sizes(shared: LocalMemoryBackend, data_dir: Path) -> list[Row]:
    """Measure what a memory takes on the server and in the index."""

    def of_tables(db: "Connection") -> list[tuple[str, int]]:
        sql = "SELECT pg_total_relation_size('{0}'::regclass)"
        return [(name, db.execute(sql.format(name)).fetchone()[0]) for name in TABLES]  # type: ignore[index]

    def whole(db: "Connection") -> int:
        row = db.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0

    count = await shared.core.read(lambda db: queries.total(db, shared.core.live_where()))
    rows = [
        Row(f"{name}, a memory", size / count, "bytes")
        for name, size in await shared.core.read(of_tables)
    ]
    index = sum(f.stat().st_blocks * 512 for f in (data_dir / INDEX_DIR).rglob("*") if f.is_file())
    return [
        Row("memories", count),
        *rows,
        Row("database, a memory", await shared.core.read(whole) / count, "bytes"),
        Row("own index on disk, a memory", index / count, "bytes"),
    ]


async def following(writer: LocalMemoryBackend, reader: LocalMemoryBackend) -> list[Row]:
    """Time a search that first brings in what another app has just written."""
    asked = questions(QUERIES, seed=5)
    contents = list(texts(20, seed=int(time.time()) + 7))
    spent: list[float] = []
    for number in range(20):
        await writer.store("store-benchmark", request(contents[number]))
        query = MemoryQuery(text=asked[number], limit=20)
        spent += await milliseconds(1, lambda _, q=query: reader.retrieve(AGENT, q))  # type: ignore[misc]
    return [Row("retrieve after another app's write, p50", p50(spent), "ms", digits=1)]


async def measure(url: str, root: Path, memories: int) -> list[Row]:
    await ensure_filled(root / "local", memories)
    started = time.perf_counter()
    async with opened_on_server(url, root / "shared") as shared:
        if not (await shared.admin.facets()).agents:
            await fill(shared, memories)
        rows = [Row("filled over PostgreSQL", time.perf_counter() - started, "s", digits=1)]
        rows += await sizes(shared, root / "shared")
        async with opened(root / "local", SyntheticVectors(real_embedder())) as local:
            rows += await retrieval(local, shared)
        started = time.perf_counter()
        async with opened_on_server(url, root / "second") as second:
            await indexed(second)
            rows.append(Row("a new app's index", time.perf_counter() - started, "s", digits=1))
            rows += await following(shared, second)
            rows += await writing(shared, [shared, second])
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--url", required=True, help="a database on a PostgreSQL server")
    parser.add_argument("--data-dir", type=Path, help="keep the local stores here and reuse them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.data_dir or Path(scratch)
        for app in ("shared", "second"):
            (root / app).mkdir(parents=True, exist_ok=True)
        rows = asyncio.run(measure(options.url, root, options.memories))
    print_report(Report("shared", {"memories": options.memories}, rows), as_json=options.json)


if __name__ == "__main__":
    main()
