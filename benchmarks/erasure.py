"""What a purge leaves on disk, and how long writing the files anew takes, at a given size.

    python -m benchmarks.erasure --megabytes 200 [--memories 60000] [--data-dir DIR]

Fills the database with memories, and with transcript lines up to the size. Then purges one memory
and looks for its text and its vector in every byte of the data directory.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.synthetic import SyntheticVectors, ensure_filled, opened, real_embedder
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence import DATABASE_FILE, INDEX_DIR
from synthorg_tui.persistence.port import Connection
from synthorg_tui.providers.embedding.protocol import Embedder

if TYPE_CHECKING:
    pass

AGENT = "agent-3"
WORD = "xylophonist"
TEXT = f"The {WORD} left the key under the mat of the back door."
BLOCK = 1 << 20
KINDS = (np.float16, np.float32, np.float64)
_NOTHING = Limit("<=", 0)
_CHUNK = 16 << 20


class OtherVectors(SyntheticVectors):
    """Vectors that none of the memories the store was filled with has."""

    def __init__(self, real: Embedder) -> None:
        super().__init__(real)
        self._random = np.random.default_rng()


async def purged_id(backend: LocalMemoryBackend) -> str:
    """Store the memory that is purged later and return its id."""
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content=TEXT,
        metadata=MemoryMetadata(tags=("non-inferable",)),
    )
    return await backend.store(AGENT, request)


async def grow(backend: LocalMemoryBackend, path: Path, size: int) -> None:
    """Add blocks of transcript lines, as sessions have them, until the file has this size."""
    blocks = (size - path.stat().st_size) // (8 * BLOCK)  # noqa: ASYNC240  # a benchmark
    for number in range(blocks):
        rows: list[list[object]] = [
            [f"session-{number}", first, first, os.urandom(BLOCK)] for first in range(1, 9)
        ]
        await backend.core.database.write(partial(_insert, rows=rows))


def _insert(db: "Connection", rows: list[list[object]]) -> None:
    db.executemany("INSERT INTO execution_lines VALUES (?, ?, ?, ?)", rows)


async def vector_of(backend: LocalMemoryBackend, memory_id: str) -> np.ndarray:
    blob = await backend.core.read(
        lambda db: db.execute(
            "SELECT vector FROM vectors WHERE memory_id = ?::UUID", [memory_id]
        ).fetchone()
    )
    assert blob is not None
    return np.frombuffer(blob[0], np.float32)


def found(data_dir: Path, vector: np.ndarray) -> int:
    """Return how many of text and vector, in each precision, are in any file."""
    # A few numbers from the middle: the engine may change a last bit when it scales a vector.
    needles = [WORD.encode(), *(vector.astype(kind)[100:108].tobytes() for kind in KINDS)]
    seen: set[int] = set()
    for path in data_dir.rglob("*"):
        if path.is_file():
            for chunk in chunks(path):
                seen.update(number for number, each in enumerate(needles) if each in chunk)
    return len(seen)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield a file in pieces that overlap."""
    tail = b""
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            yield tail + part
            tail = part[-256:]


async def measure(data_dir: Path, memories: int, megabytes: int) -> list[Row]:
    await ensure_filled(data_dir, memories)
    database = data_dir / DATABASE_FILE
    async with opened(data_dir, OtherVectors(real_embedder())) as backend:
        memory_id = await purged_id(backend)
        vector = await vector_of(backend, memory_id)
        await grow(backend, database, megabytes << 20)
    index = sum(f.stat().st_size for f in (data_dir / INDEX_DIR).rglob("*") if f.is_file())
    rows = [
        Row("database", database.stat().st_size / 2**20, "MiB"),
        Row("index", index / 2**20, "MiB"),
        Row("found before", found(data_dir, vector)),
    ]
    async with opened(data_dir, OtherVectors(real_embedder())) as backend:
        await backend.core.indexed()
        await backend.admin.purge([memory_id], actor="benchmark")
        rows.append(Row("found right after the purge", found(data_dir, vector)))
        started, waited = time.perf_counter(), 0.0
        erasing = asyncio.create_task(backend.core.erase())
        while not erasing.done():
            asked = time.perf_counter()
            await backend.count(AGENT)
            waited = max(waited, time.perf_counter() - asked)
            await asyncio.sleep(0.01)
        rows.append(Row("writing the files anew", time.perf_counter() - started, "s", digits=1))
        rows.append(Row("longest a read waited meanwhile", waited * 1_000, "ms"))
        rows.append(Row("found while open", found(data_dir, vector), hold=_NOTHING))
        second = await purged_id(backend)
        vector = await vector_of(backend, second)
        await backend.admin.purge([second], actor="benchmark")
        started = time.perf_counter()
    rows.append(Row("closing right after a purge", time.perf_counter() - started, "s", digits=1))
    rows.append(Row("found once closed", found(data_dir, vector), hold=_NOTHING))
    return rows


def main() -> None:
    parser: argparse.ArgumentParser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=60_000)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = options.data_dir or Path(scratch)
        rows = asyncio.run(measure(data_dir, options.memories, options.megabytes))
    parameters = {"memories": options.memories, "megabytes": options.megabytes}
    print_report(Report("erasure", parameters, rows), as_json=options.json)


if __name__ == "__main__":
    main()
