"""Makes the embedder that the settings describe, with a cache of queries in front of it.

Imported when a store opens: models and the libraries that run them are imported on first use.
"""

from collections import OrderedDict
from collections.abc import Sequence

from synthorg_tui.providers.embedding.config import (
    EmbeddingConfig,
    FastembedConfig,
    GgufConfig,
    MiniLMConfig,
    OnnxConfig,
    OpenAIConfig,
    StaticConfig,
)
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

DEFAULT_CACHED_QUERIES = 512


def create_embedder(config: EmbeddingConfig) -> Embedder:
    """Return the embedder that ``config`` describes, with a query cache in front of it.

    The model isn't loaded until its first use.
    """
    made = _created(config)
    if isinstance(config, GgufConfig | OnnxConfig | OpenAIConfig):
        query, passage = config.query_prefix, config.passage_prefix
        made = Prefixed(made, query=query, passage=passage) if query or passage else made
    return QueryCache(made)


def load_library(config: EmbeddingConfig) -> None:
    """Import the library that runs the configured model, so that the first embedding is faster.

    Does nothing for models that don't run on ONNX in this process.
    """
    if isinstance(config, MiniLMConfig | OnnxConfig | FastembedConfig):
        from synthorg_tui.providers.onnx import load_runtime

        load_runtime()


def _created(config: EmbeddingConfig) -> Embedder:
    if isinstance(config, MiniLMConfig):
        from synthorg_tui.providers.embedding.onnx import MiniLMEmbedder

        return MiniLMEmbedder(config)
    if isinstance(config, GgufConfig):
        from synthorg_tui.providers.embedding.gguf import GgufEmbedder

        return GgufEmbedder(config)
    if isinstance(config, OnnxConfig):
        from synthorg_tui.providers.embedding.onnx_file import OnnxFileEmbedder

        return OnnxFileEmbedder(config)
    if isinstance(config, StaticConfig):
        from synthorg_tui.providers.embedding.static import StaticEmbedder

        return StaticEmbedder(config)
    if isinstance(config, FastembedConfig):
        from synthorg_tui.providers.embedding.fastembed import FastembedEmbedder

        return FastembedEmbedder(config)
    from synthorg_tui.providers.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(config)


class Prefixed:
    """Embedder that puts a prefix before queries and another before texts.

    The prefix of texts is part of the fingerprint; that of queries changes no stored vector.

    Args:
        inner: The embedder that computes vectors; closed together with this one.
        query: What is put before a query.
        passage: What is put before a text.
    """

    def __init__(self, inner: Embedder, *, query: str, passage: str) -> None:
        self._inner = inner
        self._query = query
        self._passage = passage

    @property
    def fingerprint(self) -> str:
        own = self._inner.fingerprint
        return f"{own}:passage={self._passage}" if self._passage else own

    @property
    def dims(self) -> int:
        return self._inner.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._inner.embed([self._passage + text for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        return await self._inner.embed_query(self._query + text)

    @property
    def is_loaded(self) -> bool:
        return self._inner.is_loaded

    async def unload(self) -> None:
        await self._inner.unload()

    async def close(self) -> None:
        await self._inner.close()


class QueryCache:
    """Embedder that caches the vectors of the most recent queries.

    Args:
        inner: The embedder that computes vectors; closed together with the cache.
        size: Number of cached queries; the least recently used one is evicted first.
    """

    def __init__(self, inner: Embedder, *, size: int = DEFAULT_CACHED_QUERIES) -> None:
        self._inner = inner
        self._size = size
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dims(self) -> int:
        return self._inner.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Vectors:
        vector = self._vectors.get(text)
        if vector is None:
            vector = await self._inner.embed_query(text)
            vector.flags.writeable = False  # shared by all who ask
            self._vectors[text] = vector
        self._vectors.move_to_end(text)
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return vector

    @property
    def is_loaded(self) -> bool:
        return self._inner.is_loaded

    async def unload(self) -> None:
        await self._inner.unload()

    async def close(self) -> None:
        self._vectors.clear()
        await self._inner.close()
