"""Models of the package fastembed: none is fetched unless the settings say so."""

from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.providers.embedding.config import FastembedConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.factory import create_embedder
from tests.providers.model_files import write_onnx, write_tokenizer

SMALL = "BAAI/bge-small-en-v1.5"


def config(**fields: object) -> FastembedConfig:
    return FastembedConfig.model_validate({"type": "fastembed", "model": SMALL, **fields})


async def test_without_the_extra_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastembed", None)
    embedder = create_embedder(config())
    with pytest.raises(EmbeddingError, match="not installed") as caught:
        await embedder.embed(["apple"])
    assert "synthorg-tui[fastembed]" in (caught.value.remedy or "")
    await embedder.close()


class TestInstalled:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("fastembed", reason="the extra fastembed is not installed")

    async def test_a_model_that_is_not_there_is_not_fetched(self, tmp_path: Path) -> None:
        embedder = create_embedder(config(cache=tmp_path))
        assert embedder.dims == 384
        with pytest.raises(EmbeddingError, match="can't load") as caught:
            await embedder.embed(["apple"])
        assert "providers.embedding.download" in (caught.value.remedy or "")
        await embedder.close()

    async def test_a_name_that_it_does_not_know_is_told(self) -> None:
        embedder = create_embedder(config(model="nobody/nothing"))
        with pytest.raises(EmbeddingError, match="knows no model nobody/nothing"):
            _ = embedder.fingerprint
        await embedder.close()

    async def test_a_folder_that_does_not_exist_is_told(self, tmp_path: Path) -> None:
        embedder = create_embedder(config(path=tmp_path / "gone"))
        with pytest.raises(EmbeddingError, match="doesn't exist"):
            await embedder.embed_query("apple")
        await embedder.close()

    async def test_the_files_of_a_model_may_lie_in_a_folder_of_the_user(
        self, tmp_path: Path
    ) -> None:
        write_tokenizer(tmp_path)
        write_onnx(tmp_path / "model_optimized.onnx")
        (tmp_path / "config.json").write_text('{"pad_token_id": 0}')
        (tmp_path / "tokenizer_config.json").write_text(
            '{"model_max_length": 64, "pad_token": "[UNK]"}'
        )
        (tmp_path / "special_tokens_map.json").write_text('{"pad_token": "[UNK]"}')
        embedder = create_embedder(config(path=tmp_path))
        query = await embedder.embed_query("apple")
        assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
        assert SMALL in embedder.fingerprint
        await embedder.close()
