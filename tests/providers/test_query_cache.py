"""Repeated queries are embedded once."""

from collections.abc import Sequence

import numpy as np
import pytest

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.factory import QueryCache
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors


class CountingEmbedder:
    fingerprint = "counting"
    dims = 2

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False

    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), 2), dtype=np.float32)

    async def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        if text == "fail":
            raise EmbeddingError("no")
        return np.asarray([len(text), 0], dtype=np.float32)

    async def unload(self) -> None:
        return None

    async def close(self) -> None:
        self.closed = True


async def test_the_same_query_is_embedded_once() -> None:
    inner = CountingEmbedder()
    cache = QueryCache(inner)
    first, second = await cache.embed_query("a"), await cache.embed_query("a")
    assert inner.asked == ["a"]
    np.testing.assert_array_equal(first, second)


async def test_the_query_unused_for_longest_is_forgotten_first() -> None:
    inner = CountingEmbedder()
    cache = QueryCache(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cache.embed_query(text)
    assert inner.asked == ["a", "b", "c", "b"]


async def test_a_cached_vector_cannot_be_changed_by_who_asked() -> None:
    vector = await QueryCache(CountingEmbedder()).embed_query("a")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 9


async def test_a_failure_is_not_remembered() -> None:
    inner = CountingEmbedder()
    cache = QueryCache(inner)
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            await cache.embed_query("fail")
    assert inner.asked == ["fail", "fail"]


async def test_everything_else_is_the_inner_embedder() -> None:
    inner = CountingEmbedder()
    cache = QueryCache(inner)
    assert isinstance(cache, Embedder)
    assert (cache.fingerprint, cache.dims) == ("counting", 2)
    assert (await cache.embed(["a", "b"])).shape == (2, 2)
    await cache.close()
    assert inner.closed
