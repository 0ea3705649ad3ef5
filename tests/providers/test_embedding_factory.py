"""The configuration decides which embedder is made."""

from pathlib import Path

from synthorg_tui.providers.embedding.config import (
    EmbeddingConfig,
    GgufConfig,
    MiniLMConfig,
    OpenAIConfig,
)
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.tables import rows


@rows(
    ("config", "start"),
    [
        (MiniLMConfig(), "minilm-"),
        (OpenAIConfig(type="openai", base_url="http://h/v1", model="m", dims=8), "openai:"),
    ],
)
async def test_each_type_of_configuration_gets_its_embedder(
    config: EmbeddingConfig, start: str
) -> None:
    embedder = create_embedder(config)
    assert isinstance(embedder, Embedder)
    assert embedder.fingerprint.startswith(start)
    await embedder.close()


async def test_a_model_file_is_not_touched_before_it_is_needed() -> None:
    embedder = create_embedder(GgufConfig(type="gguf", path=Path("missing.gguf")))
    await embedder.close()
