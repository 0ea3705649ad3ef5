"""An adapter in front of an embedder: put in, taken out, written and read."""

import numpy as np
import pytest

from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder, QueryAdapter
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.factory import QueryCache
from tests.memory.store.hash_embedder import HashEmbedder
from tests.tables import rows

DIMS = 8


def turned(base: str = "hash-1") -> QueryAdapter:
    """A map that swaps numbers."""
    return QueryAdapter(base, np.eye(DIMS, dtype=np.float32)[::-1].copy())


async def test_queries_pass_through_and_texts_do_not() -> None:
    embedder = AdaptedEmbedder(QueryCache(HashEmbedder(dims=DIMS)))
    before, texts = await embedder.embed_query("a b"), await embedder.embed(["a b"])
    embedder.use(turned())
    after = await embedder.embed_query("a b")
    assert after.tobytes() == before[::-1].tobytes()
    assert (await embedder.embed(["a b"])).tobytes() == texts.tobytes()
    assert embedder.fingerprint == "hash-1"
    assert embedder.query_fingerprint == turned().fingerprint
    embedder.use(None)
    assert (await embedder.embed_query("a b")).tobytes() == before.tobytes()
    assert embedder.query_fingerprint == embedder.fingerprint


async def test_one_for_another_base_is_refused() -> None:
    embedder = AdaptedEmbedder(HashEmbedder(dims=DIMS))
    with pytest.raises(EmbeddingError, match="trained for hash-2"):
        embedder.use(turned("hash-2"))
    assert embedder.side is None


def test_a_mapped_query_has_length_one() -> None:
    adapter = QueryAdapter("b", np.diag(np.arange(1, DIMS + 1)).astype(np.float32))
    vector = np.full(DIMS, DIMS**-0.5, np.float32)
    assert np.linalg.norm(adapter.apply(vector)) == pytest.approx(1)


def test_a_file_is_read_as_it_was_written() -> None:
    content = turned().to_bytes()
    read = QueryAdapter.from_bytes(content)
    assert (read.base, read.matrix.tobytes()) == ("hash-1", turned().matrix.tobytes())
    assert read.fingerprint == turned().fingerprint


@rows(
    "content",
    [
        b"",
        b"PK\x03\x04",
        turned().to_bytes()[:-1],
        turned().to_bytes() + b"x",
        turned().to_bytes().replace(b'"dims": 8', b'"dims": 9'),
        turned().to_bytes().replace(b'"dims": 8', b'"dims":-8'),
        turned().to_bytes()[:-4] + np.float32("nan").tobytes(),
        b"synthorg-tui query adapter 1\n[1]\n",
        b"synthorg-tui query adapter 1\n" + b"[" * 5000 + b"\n",
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(EmbeddingError, match="isn't the file of an adapter"):
        QueryAdapter.from_bytes(content)
