"""A cheap deterministic embedder: texts that share words are alike."""

import asyncio
import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors


class HashEmbedder:
    """Adds up one fixed random direction a word; ``broken`` makes every call fail."""

    def __init__(self, *, dims: int = 256, fingerprint: str = "hash-1") -> None:
        self.dims = dims
        self.fingerprint = fingerprint
        self.broken = False
        self.calls: list[int] = []
        self.unloaded = 0
        self.rests = asyncio.Event()

    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self._check()
        self.calls.append(len(texts))
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        self._check()
        return self._vector(text)

    async def unload(self) -> None:
        self.unloaded += 1
        self.rests.set()

    async def close(self) -> None:
        return None

    def _check(self) -> None:
        if self.broken:
            raise EmbeddingError("the model is missing")

    def _vector(self, text: str) -> Vectors:
        total = np.zeros(self.dims, np.float32)
        for word in text.lower().split():
            total += _direction(f"{self.fingerprint}{word}", self.dims)
        norm = float(np.linalg.norm(total))
        return (total / norm if norm else total).astype(np.float32)


@lru_cache(maxsize=4096)
def _direction(seed: str, dims: int) -> NDArray[np.float64]:
    """The direction of a word; making its generator takes longer than all else here."""
    digest = hashlib.blake2b(seed.encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest)).standard_normal(dims)
