"""A model of its own for questions: used as it was written, or not at all."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.query_encoder import (
    ABOUT,
    MODEL,
    TOKENIZER,
    EncoderAbout,
    QueryEncoder,
    describe,
)
from tests.memory.store.hash_embedder import HashEmbedder
from tests.providers.model_files import TABLE, WORDS, write_onnx, write_tokenizer
from tests.tables import rows

DIMS = TABLE.shape[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An encoder for the base ``hash-1``, which gives a text the sum of its words."""
    write_onnx(tmp_path / MODEL, per_text=True)
    write_tokenizer(tmp_path)
    about = describe(tmp_path, base="hash-1", dims=DIMS, max_tokens=64)
    (tmp_path / ABOUT).write_bytes(about.to_bytes())
    return tmp_path


def sha256_in(folder: Path) -> str:
    return hashlib.sha256((folder / ABOUT).read_bytes()).hexdigest()


def summed(*words: str) -> np.ndarray:
    total = sum(TABLE[WORDS.index(word)] for word in ("[CLS]", *words, "[SEP]"))
    return np.asarray(total / np.linalg.norm(total), np.float32)


async def test_questions_are_embedded_by_it_and_texts_by_the_base(folder: Path) -> None:
    embedder = AdaptedEmbedder(HashEmbedder(dims=DIMS))
    before, texts = await embedder.embed_query("apple"), await embedder.embed(["apple"])
    encoder = QueryEncoder.in_folder(folder, sha256_in(folder))
    embedder.use(encoder)
    np.testing.assert_allclose(await embedder.embed_query("apple"), summed("apple"), atol=1e-6)
    assert (await embedder.embed(["apple"])).tobytes() == texts.tobytes()
    assert embedder.fingerprint == "hash-1"
    assert embedder.query_fingerprint == encoder.fingerprint
    assert encoder.fingerprint.startswith("hash-1+encoder-")
    assert embedder.use(None) is encoder
    assert (await embedder.embed_query("apple")).tobytes() == before.tobytes()
    await encoder.close()


async def test_a_question_is_remembered_and_the_model_loaded_when_it_is_needed(
    folder: Path,
) -> None:
    encoder, base = QueryEncoder.in_folder(folder, sha256_in(folder)), HashEmbedder(dims=DIMS)
    assert not encoder.is_loaded
    first = await encoder.vector_of("apple", base)
    assert encoder.is_loaded
    assert await encoder.vector_of("apple", base) is first
    await encoder.unload()
    assert not encoder.is_loaded
    assert (await encoder.vector_of("bolt", base)).shape == (DIMS,)
    await encoder.close()


async def test_a_twin_answers_alike_and_closes_by_itself(folder: Path) -> None:
    encoder, base = QueryEncoder.in_folder(folder, sha256_in(folder)), HashEmbedder(dims=DIMS)
    twin = encoder.twin()
    alike = await twin.vector_of("nut", base)
    await twin.close()
    assert (await encoder.vector_of("nut", base)).tobytes() == alike.tobytes()
    await encoder.close()


@pytest.mark.parametrize("name", [ABOUT, MODEL, TOKENIZER])
def test_a_changed_file_is_refused(folder: Path, name: str) -> None:
    known = sha256_in(folder)
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(EmbeddingError, match=r"was changed since it was written"):
        QueryEncoder.in_folder(folder, known)


@pytest.mark.parametrize("name", [ABOUT, MODEL, TOKENIZER])
def test_a_missing_file_and_a_link_are_refused(folder: Path, name: str) -> None:
    known = sha256_in(folder)
    (folder / name).replace(folder / "elsewhere")
    with pytest.raises(EmbeddingError, match="can't be read"):
        QueryEncoder.in_folder(folder, known)
    (folder / name).symlink_to(folder / "elsewhere")
    with pytest.raises(EmbeddingError, match=r"can't be read|isn't the file"):
        QueryEncoder.in_folder(folder, known)


async def test_a_file_that_changes_while_it_is_in_use_is_not_loaded_again(folder: Path) -> None:
    encoder, base = QueryEncoder.in_folder(folder, sha256_in(folder)), HashEmbedder(dims=DIMS)
    await encoder.vector_of("apple", base)
    await encoder.unload()
    (folder / MODEL).write_bytes((folder / MODEL).read_bytes() + b"\0")
    with pytest.raises(EmbeddingError, match="was changed"):
        await encoder.vector_of("pear", base)
    await encoder.close()


@rows("content", [b"", b"[]", b"{}", b'{"format": "other"}', b"[" * 9000])
def test_anything_else_is_no_encoder(content: bytes) -> None:
    with pytest.raises(EmbeddingError, match="isn't the folder of an encoder"):
        EncoderAbout.from_bytes(content)
