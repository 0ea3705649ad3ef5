"""Remembers the vectors of recent queries."""

from collections import OrderedDict
from collections.abc import Sequence

from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

DEFAULT_CACHED_QUERIES = 512


class QueryCache:
    """An embedder that embeds the same query only once while it is among the latest ones.

    Args:
        inner: Does the work; owned by the cache, which closes it.
        size: How many queries are remembered; the one unused for longest goes first.
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

    async def close(self) -> None:
        self._vectors.clear()
        await self._inner.close()
