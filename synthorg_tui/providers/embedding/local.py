"""Common base of embedders that run a model in this process."""

import asyncio
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

T = TypeVar("T")

_Batch: TypeAlias = tuple[Sequence[int], Callable[[], Vectors]]

_MAX_THREADS = 4
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 20


def default_threads() -> int:
    """Return the number of threads used by default: one for each processor core, at most four."""
    return min(_MAX_THREADS, os.cpu_count() or 1)


def normalise(vectors: Vectors) -> Vectors:
    """Return the vectors (rows) scaled to length 1; rows of zeros stay zero."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return scaled


def opened(path: Path) -> BinaryIO:
    """Open a file of a model that the settings name; raises ``EmbeddingError``."""
    try:
        return path.open("rb")
    except OSError as error:
        raise EmbeddingError(
            f"The embedding model {path} can't be read: {error.strerror}",
            remedy="Check providers.embedding.path",
        ) from error


def identity_of(path: Path) -> str:
    """Return a hash of the size and of samples spread over a file; models can be gigabytes."""
    digest = hashlib.sha256()
    with opened(path) as file:
        size = path.stat().st_size
        digest.update(str(size).encode())
        last = max(0, size - _SAMPLE_BYTES)
        for number in range(_SAMPLES):
            file.seek(last * number // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


class LocalEmbedder(ABC):
    """Base of embedders that run a model in this process, on a thread of its own.

    A long ``embed`` yields the thread after each batch, so that a query sent meanwhile waits for
    one batch only.
    """

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="embedding"
        )
        self._under_way = 0

    @property
    @abstractmethod
    def dims(self) -> int:
        """Length of each vector."""

    @property
    @abstractmethod
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""

    @abstractmethod
    def _plan(self, texts: Sequence[str]) -> Sequence[_Batch]:
        """Splits texts into batches: positions, and what computes their unit vectors."""

    @abstractmethod
    def _unload(self) -> None:
        """Frees the model."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self._under_way += 1  # batches hold the model that they were planned with
        try:
            return await self._embed(texts)
        finally:
            self._under_way -= 1

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        planned, first = await self._run(lambda: self._begin(texts)) if texts else ([], None)
        import numpy as np  # not before the plan, which loads it beside us

        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        for at, (positions, compute) in enumerate(planned):
            vectors[np.asarray(positions)] = first if at == 0 else await self._run(compute)
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self.embed([text]))[0]
        return vector

    def _begin(self, texts: Sequence[str]) -> tuple[Sequence[_Batch], Vectors]:
        """The plan and what its first batch gives: all of a query, in one go."""
        batches = self._plan(texts)
        return batches, batches[0][1]()

    async def unload(self) -> None:
        if self._executor is not None and not self._under_way:
            await self._run(self._unload)

    async def close(self) -> None:
        if self._executor is None:
            return
        executor, self._executor = self._executor, None
        await asyncio.get_running_loop().run_in_executor(executor, self._unload)
        executor.shutdown(wait=True)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._executor is None:
            raise EmbeddingError("The embedding model is closed", remedy="Open the store again")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except (EmbeddingError, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise EmbeddingError(f"The embedding model failed: {error}") from error
