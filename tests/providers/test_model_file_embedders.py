"""Embedding models in files that the user names: ONNX models and tables of token vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synthorg_tui.providers.embedding.config import OnnxConfig, StaticConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.onnx_file import OnnxFileEmbedder
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.providers.embedding.static import StaticEmbedder
from tests.providers.model_files import (
    TABLE,
    WORDS,
    write_onnx,
    write_safetensors,
    write_tokenizer,
)

TEXTS = ("apple pear", "bolt", "nut apple bolt")


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return scaled


def of(*words: str) -> NDArray[np.float32]:
    return TABLE[[WORDS.index(word) for word in words]]


@pytest.fixture
def onnx(tmp_path: Path) -> OnnxConfig:
    write_tokenizer(tmp_path)
    write_onnx(tmp_path / "model.onnx")
    return OnnxConfig(type="onnx", path=tmp_path / "model.onnx")


@pytest.fixture
def static(tmp_path: Path) -> StaticConfig:
    write_tokenizer(tmp_path)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": TABLE})
    return StaticConfig(type="static", path=tmp_path)


class TestOnnx:
    @pytest.mark.parametrize(
        ("pooling", "expected"),
        [
            ("mean", of("[CLS]", "apple", "pear", "[SEP]").mean(axis=0)),
            ("cls", of("[CLS]")[0]),
            ("last", of("[SEP]")[0]),
        ],
    )
    async def test_the_vectors_of_tokens_become_one_as_the_settings_say(
        self, onnx: OnnxConfig, pooling: str, expected: NDArray[np.float32]
    ) -> None:
        embedder = OnnxFileEmbedder(onnx.model_copy(update={"pooling": pooling}))
        assert isinstance(embedder, Embedder)
        vectors = await embedder.embed(TEXTS)
        assert vectors.shape == (3, embedder.dims) == (3, 4)
        np.testing.assert_allclose(vectors[0], unit(expected), atol=1e-6)
        np.testing.assert_allclose(await embedder.embed_query(TEXTS[2]), vectors[2], atol=1e-6)
        await embedder.close()

    async def test_a_model_that_pools_by_itself_is_taken_at_its_word(
        self, onnx: OnnxConfig
    ) -> None:
        write_onnx(onnx.path, per_text=True)
        embedder = OnnxFileEmbedder(onnx.model_copy(update={"pooling": "model"}))
        expected = unit(of("[CLS]", "bolt", "[SEP]").sum(axis=0))
        np.testing.assert_allclose(await embedder.embed_query("bolt"), expected, atol=1e-6)
        await embedder.close()

    @pytest.mark.parametrize(("per_text", "pooling"), [(True, "mean"), (False, "model")])
    async def test_a_pooling_that_the_model_cannot_have_is_told(
        self, onnx: OnnxConfig, per_text: bool, pooling: str
    ) -> None:
        write_onnx(onnx.path, per_text=per_text)
        embedder = OnnxFileEmbedder(onnx.model_copy(update={"pooling": pooling}))
        with pytest.raises(EmbeddingError, match=f"pooling {pooling}") as caught:
            await embedder.embed_query("bolt")
        assert "providers.embedding.pooling" in (caught.value.remedy or "")
        await embedder.close()

    async def test_an_input_that_no_text_has_is_told(self, onnx: OnnxConfig) -> None:
        write_onnx(onnx.path, wants="pixel_values")
        embedder = OnnxFileEmbedder(onnx)
        with pytest.raises(EmbeddingError, match="pixel_values"):
            await embedder.embed_query("bolt")
        await embedder.close()

    async def test_what_is_no_model_is_told_before_anything_is_stored(
        self, onnx: OnnxConfig
    ) -> None:
        onnx.path.write_bytes(b"no model")
        with pytest.raises(EmbeddingError, match="can't load"):
            _ = OnnxFileEmbedder(onnx).dims
        onnx.path.unlink()
        with pytest.raises(EmbeddingError, match="can't be read"):
            _ = OnnxFileEmbedder(onnx).fingerprint

    async def test_the_tokenizer_may_lie_one_folder_up_but_has_to_be_there(
        self, onnx: OnnxConfig, tmp_path: Path
    ) -> None:
        below = tmp_path / "onnx"
        below.mkdir()
        moved = onnx.path.rename(below / "model.onnx")
        embedder = OnnxFileEmbedder(onnx.model_copy(update={"path": moved}))
        assert (await embedder.embed_query("bolt")).shape == (4,)
        await embedder.close()
        (tmp_path / "tokenizer.json").unlink()
        with pytest.raises(EmbeddingError, match=r"no tokenizer\.json"):
            _ = OnnxFileEmbedder(onnx.model_copy(update={"path": moved})).fingerprint

    async def test_the_fingerprint_is_that_of_the_weights_the_words_and_how_they_are_used(
        self, onnx: OnnxConfig, tmp_path: Path
    ) -> None:
        first = OnnxFileEmbedder(onnx).fingerprint
        assert first == OnnxFileEmbedder(onnx).fingerprint
        others = [
            OnnxFileEmbedder(onnx.model_copy(update={"pooling": "cls"})).fingerprint,
            OnnxFileEmbedder(onnx.model_copy(update={"max_tokens": 64})).fingerprint,
        ]
        onnx.path.with_name("model.onnx_data").write_bytes(b"weights beside it")
        others.append(OnnxFileEmbedder(onnx).fingerprint)
        write_tokenizer(tmp_path, [*WORDS, "more"])
        others.append(OnnxFileEmbedder(onnx).fingerprint)
        assert len({first, *others}) == 5

    async def test_prefixes_stand_before_queries_and_texts(self, onnx: OnnxConfig) -> None:
        plain = create_embedder(onnx)
        wanted = {"query_prefix": "query: ", "passage_prefix": "passage: "}
        prefixed = create_embedder(onnx.model_copy(update=wanted))
        np.testing.assert_allclose(
            await prefixed.embed_query("bolt"), await plain.embed_query("query: bolt"), atol=1e-6
        )
        np.testing.assert_allclose(
            await prefixed.embed(["bolt"]), await plain.embed(["passage: bolt"]), atol=1e-6
        )
        assert prefixed.fingerprint != plain.fingerprint
        asked = create_embedder(onnx.model_copy(update={"query_prefix": "query: "}))
        assert asked.fingerprint == plain.fingerprint  # no stored vector is another
        for embedder in (plain, prefixed, asked):
            await embedder.close()

    async def test_an_unloaded_model_is_loaded_anew(self, onnx: OnnxConfig) -> None:
        embedder = create_embedder(onnx)
        before = await embedder.embed(["bolt"])
        await embedder.unload()
        assert not embedder.is_loaded
        np.testing.assert_array_equal(await embedder.embed(["bolt"]), before)
        await embedder.close()


class TestStatic:
    async def test_a_text_is_the_mean_of_its_words(self, static: StaticConfig) -> None:
        embedder = StaticEmbedder(static)
        assert isinstance(embedder, Embedder)
        vectors = await embedder.embed(TEXTS)
        assert vectors.shape == (3, embedder.dims) == (3, 4)
        expected = unit(of("apple", "pear").mean(axis=0))
        np.testing.assert_allclose(vectors[0], expected, atol=1e-6)
        assert embedder.is_loaded
        await embedder.close()

    async def test_a_text_without_words_has_a_unit_vector_too(self, static: StaticConfig) -> None:
        embedder = StaticEmbedder(static)
        assert np.linalg.norm(await embedder.embed_query("")) == pytest.approx(1)
        await embedder.close()

    async def test_weights_and_rows_of_tokens_are_heeded(
        self, static: StaticConfig, tmp_path: Path
    ) -> None:
        half = TABLE[: len(WORDS) // 2].astype(np.float16)
        weights = np.arange(1, len(WORDS) + 1, dtype=np.float32)
        rows = (np.arange(len(WORDS)) % len(half)).astype(np.int64)
        tensors: dict[str, NDArray[Any]] = {
            "embeddings": half,
            "weights": weights,
            "mapping": rows,
        }
        write_safetensors(tmp_path / "model.safetensors", tensors)
        embedder = StaticEmbedder(static)
        ids = [WORDS.index("apple"), WORDS.index("nut")]
        expected = (half[rows[ids]].astype(np.float32) * weights[ids][:, None]).mean(axis=0)
        found = await embedder.embed_query("apple nut")
        np.testing.assert_allclose(found, unit(expected), atol=1e-6)
        await embedder.close()

    @pytest.mark.parametrize(
        ("tensors", "told"),
        [
            ({"a": TABLE, "b": TABLE}, "has a, b"),
            ({"embeddings": TABLE, "bias": TABLE[0]}, "bias"),
            ({"embeddings": TABLE[:3]}, "vectors of 3 tokens"),
            ({"embeddings": TABLE.astype(np.uint8)}, "type U8"),
            ({}, "has nothing"),
        ],
    )
    async def test_what_is_no_table_for_these_tokens_is_told(
        self,
        static: StaticConfig,
        tmp_path: Path,
        tensors: dict[str, NDArray[np.float32]],
        told: str,
    ) -> None:
        write_safetensors(tmp_path / "model.safetensors", tensors)
        embedder = StaticEmbedder(static)
        with pytest.raises(EmbeddingError, match=told):
            await embedder.embed_query("bolt")
        await embedder.close()

    @pytest.mark.parametrize("content", [b"", b"\xff" * 20, b"\x02\0\0\0\0\0\0\0{]"])
    def test_a_torn_file_is_told(
        self, static: StaticConfig, tmp_path: Path, content: bytes
    ) -> None:
        (tmp_path / "model.safetensors").write_bytes(content)
        with pytest.raises(EmbeddingError, match="safetensors"):
            _ = StaticEmbedder(static).dims

    def test_a_file_that_ends_before_its_vectors_is_told(
        self, static: StaticConfig, tmp_path: Path
    ) -> None:
        path = tmp_path / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(EmbeddingError, match="safetensors"):
            _ = StaticEmbedder(static).dims

    async def test_the_file_may_be_named_itself(self, static: StaticConfig, tmp_path: Path) -> None:
        named = static.model_copy(update={"path": tmp_path / "model.safetensors"})
        assert StaticEmbedder(named).fingerprint == StaticEmbedder(static).fingerprint
