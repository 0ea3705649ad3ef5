"""Speed and size of the store at a given number of memories.

    python -m benchmarks.scale --memories 10000 [--data-dir DIR] [--index-points 50000]

Stored vectors are synthetic; queries, single stores and the import row use the real model.
Ratios are taken within one run, since machines are noisy.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.synthetic import (
    TAGS,
    SyntheticVectors,
    ensure_filled,
    opened,
    real_embedder,
    texts,
    vocabulary,
)
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.extensions import BrowseFilter, MemoryDraft
from synthorg_tui.memory.index.edge import PACK_CHANGES
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend

QUERIES = 60
STORES = 40
IMPORTED = 1_500
AGENT = "agent-3"


async def milliseconds(times: int, work: Callable[[int], Awaitable[object]]) -> list[float]:
    """Return how many milliseconds each of ``work(0)`` ... ``work(times - 1)`` takes, in turn."""
    durations = []
    for number in range(times):
        started = time.perf_counter()
        await work(number)
        durations.append((time.perf_counter() - started) * 1_000)
    return durations


def p50(values: list[float]) -> float:
    return statistics.median(values)


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def questions(count: int, *, seed: int) -> list[str]:
    words = vocabulary()
    return [
        " ".join(words[(seed * 7919 + number * 13 + step * 101) % 400] for step in range(7))
        for number in range(count)
    ]


async def retrieval(backend: LocalMemoryBackend) -> list[Row]:
    """Time searches, and in turns embeddings alone, and return rows with the results.

    Each query is used once, so that no cache answers it.
    """
    asked, bare = questions(QUERIES, seed=1), questions(QUERIES, seed=2)
    embedding: list[float] = []

    async def retrieve(number: int) -> None:
        await backend.retrieve(AGENT, MemoryQuery(text=asked[number], limit=20))

    async def embed(number: int) -> None:
        await backend.core.embedder.embed_query(bare[number])

    await retrieve(0)
    whole: list[float] = []
    for number in range(1, QUERIES):
        embedding += await milliseconds(1, lambda _, n=number: embed(n))  # type: ignore[misc]
        whole += await milliseconds(1, lambda _, n=number: retrieve(n))  # type: ignore[misc]
    limit = Limit("<=", 2 * p50(embedding) + 10)
    spread = p95(whole) / p50(whole)
    return [
        Row("embed a query, p50", p50(embedding), "ms", digits=1),
        Row("retrieve, p50", p50(whole), "ms", limit, digits=1),
        Row("retrieve, p95 / p50", spread, "x", Limit("<=", 3), digits=2),
    ]


def request(content: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content=content, metadata=MemoryMetadata(tags=TAGS)
    )


async def storing(backend: LocalMemoryBackend) -> list[Row]:
    """Time storing one memory, and in turns its parts: embedding it, and a bare commit."""
    contents = list(texts(STORES, seed=int(time.time())))

    async def store(number: int) -> None:
        await backend.store("store-benchmark", request(contents[number]))

    async def embed(number: int) -> None:
        await backend.core.embedder.embed([contents[number] + " again"])

    async def commit(number: int) -> None:
        await backend.core.database.write(
            lambda db: db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('benchmark', ?)", [str(number)]
            )
        )

    whole: list[float] = []
    embedding: list[float] = []
    commits: list[float] = []
    for number in range(STORES):
        embedding += await milliseconds(1, lambda _, n=number: embed(n))  # type: ignore[misc]
        commits += await milliseconds(1, lambda _, n=number: commit(n))  # type: ignore[misc]
        whole += await milliseconds(1, lambda _, n=number: store(n))  # type: ignore[misc]
    beyond = p50([all_ - part for all_, part in zip(whole, embedding, strict=True)])
    both = p50([sum(pair) for pair in zip(embedding, commits, strict=True)])
    return [
        Row("bare commit, p50", p50(commits), "ms", digits=1),
        Row("store one memory beyond its embedding, p50", beyond, "ms", Limit("<=", 6), digits=1),
        Row("embed + one commit, p50", both, "ms", digits=1),
        Row("store one memory, ratio to that", p50(whole) / both, "x", Limit("<=", 1.5), digits=2),
    ]


async def importing(backend: LocalMemoryBackend) -> list[Row]:
    """Time a bulk import, and the embedding of the same texts alone."""
    contents = list(texts(IMPORTED, seed=int(time.time()) + 1))
    half = IMPORTED // 2
    started = time.perf_counter()
    await backend.core.embedder.embed(contents[:half])
    bare = half / (time.perf_counter() - started)
    drafts = [MemoryDraft(request=request(text)) for text in contents[half:]]
    started = time.perf_counter()
    for first in range(0, len(drafts), 250):
        await backend.store_many("import-benchmark", drafts[first : first + 250], actor="benchmark")
    stored = len(drafts) / (time.perf_counter() - started)
    share = stored / bare
    return [
        Row("embedding throughput", bare, "texts/s"),
        Row("bulk import, ratio to that", share, "x", Limit(">=", 0.8), digits=2),
    ]


async def browsing(backend: LocalMemoryBackend) -> list[Row]:
    """Time scrolling and filtering the list, from the newest to the oldest memories."""
    total = (await backend.admin.browse(BrowseFilter(), limit=1)).total
    pages = await milliseconds(
        20, lambda n: backend.admin.browse(BrowseFilter(), offset=n * max(1, total - 300) // 20)
    )
    words = vocabulary()
    filtered = await milliseconds(
        20, lambda n: backend.admin.browse(BrowseFilter(words=(words[100 + n],)))
    )
    counts = await milliseconds(10, lambda _: backend.admin.facets())
    return [
        Row(name, max(durations), "ms", Limit("<=", 100))
        for name, durations in (
            ("a page of the list, worst of 20", pages),
            ("filter by a word, worst of 20", filtered),
            ("counts by agent and category", counts),
        )
    ]


def reopening(data_dir: Path, how: str = "") -> list[Row]:
    """Measure opening the store and a first search in a new process, and its memory use."""
    command = [sys.executable, "-m", "benchmarks.scale", "--reopen", str(data_dir)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(answer.stdout)
    seconds, megabytes = figures["seconds"], figures["megabytes"]
    return [
        Row(f"reopen to first retrieve{how}", seconds, "s", Limit("<", 2), digits=2),
        Row(f"resident memory{how}", megabytes, "MB", Limit("<", 800)),
    ]


async def reopen(data_dir: Path) -> None:
    """Open the store, search and print the results; ``reopening`` runs this in a new process."""
    started = time.perf_counter()
    async with opened(data_dir, real_embedder()) as backend:
        asked = questions(21, seed=3)
        await backend.retrieve(AGENT, MemoryQuery(text=asked[0], limit=20))
        seconds = time.perf_counter() - started
        for question in asked[1:]:
            await backend.admin.find(MemoryQuery(text=question, limit=20))
        await backend.admin.browse(BrowseFilter())
        megabytes = resident_megabytes()
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


def resident_megabytes() -> float:
    """Return the resident memory of this process; where unknown, its peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def pack(data_dir: Path) -> None:
    """Pack the index, as the owner of the store does after a while."""
    async with opened(data_dir, SyntheticVectors(real_embedder())) as backend:
        await backend.core.pack()


async def measure(data_dir: Path, memories: int) -> list[Row]:
    started = time.perf_counter()
    await ensure_filled(data_dir, memories)
    rows = [Row("store ready", time.perf_counter() - started, "s", digits=1)]
    rows += reopening(data_dir)
    if memories >= PACK_CHANGES:
        await pack(data_dir)
        rows += reopening(data_dir, ", packed")
    async with opened(data_dir, SyntheticVectors(real_embedder())) as backend:
        rows += await retrieval(backend)
        rows += await browsing(backend)
    async with opened(data_dir, real_embedder()) as backend:
        rows += await storing(backend)
        rows += await importing(backend)
    return rows


def index_ratio(points: int) -> list[Row]:
    """Compare the embedded index with the in-process mode of qdrant-client."""
    from benchmarks.index import compare

    embedded, client = compare(points, ["dense"])["dense"]
    ratio = client / embedded
    hold = Limit(">=", 300) if points >= 50_000 else None
    return [
        Row(f"index query at {points:,}, p50", embedded, "ms", digits=2),
        Row(f"qdrant-client local mode at {points:,}, ratio to that", ratio, "x", hold),
    ]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    parser.add_argument("--index-points", type=int, default=0, help="0 leaves that row out")
    parser.add_argument("--reopen", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reopen:
        asyncio.run(reopen(options.reopen))
        return
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = options.data_dir or Path(scratch)
        rows = asyncio.run(measure(data_dir, options.memories))
    if options.index_points:
        rows += index_ratio(options.index_points)
    parameters = {"memories": options.memories, "index_points": options.index_points}
    print_report(Report("scale", parameters, rows), as_json=options.json)


if __name__ == "__main__":
    main()
