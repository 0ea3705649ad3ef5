"""Which embedding settings are accepted."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from synthorg_tui.providers.embedding.config import (
    EmbeddingConfig,
    FastembedConfig,
    GgufConfig,
    MiniLMConfig,
    OnnxConfig,
    OpenAIConfig,
    StaticConfig,
)
from tests.tables import rows

parse = TypeAdapter[EmbeddingConfig](EmbeddingConfig).validate_python

SERVER = {"type": "openai", "base_url": "http://localhost:1/v1", "model": "m", "dims": 3}


@rows("raw", [{}, {"threads": 1}, {"type": "minilm", "max_tokens": 512}])
def test_the_bundled_model_is_the_default(raw: dict[str, object]) -> None:
    assert isinstance(parse(raw), MiniLMConfig)


def test_type_picks_the_provider() -> None:
    assert isinstance(parse({"type": "gguf", "path": "model.gguf"}), GgufConfig)
    assert isinstance(parse(SERVER), OpenAIConfig)
    assert isinstance(parse({"type": "onnx", "path": "m.onnx"}), OnnxConfig)
    assert isinstance(parse({"type": "static", "path": "m"}), StaticConfig)
    assert isinstance(parse({"type": "fastembed", "model": "m"}), FastembedConfig)
    assert isinstance(parse(MiniLMConfig()), MiniLMConfig)


def test_a_trailing_slash_of_the_server_address_is_dropped() -> None:
    config = parse({**SERVER, "base_url": "http://localhost:1/v1/"})
    assert config == parse(SERVER)


@rows(
    "raw",
    [
        {"type": "word2vec"},
        {"type": "gguf"},
        {"type": "gguf", "path": "m", "pooling": "max"},
        {"max_tokens": 15},
        {"max_tokens": 513},
        {"threads": 0},
        {"threads": 65},
        {"path": "belongs-to-gguf"},
        {"type": "onnx"},
        {"type": "onnx", "path": "m", "pooling": "max"},
        {"type": "onnx", "path": "m", "query_prefix": "q" * 501},
        {"type": "static"},
        {"type": "static", "path": "m", "pooling": "mean"},
        {"type": "fastembed"},
        {"type": "fastembed", "model": " "},
        {"query_prefix": "belongs to models that want one"},
        {**SERVER, "dims": 0},
        {**SERVER, "model": " "},
        {**SERVER, "base_url": "localhost:1"},
        {**SERVER, "timeout_seconds": 0},
        {**SERVER, "max_retries": 11},
        {**SERVER, "api_key": "never in settings"},
    ],
)
def test_settings_that_cannot_work_are_refused(raw: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        parse(raw)


def test_a_tilde_in_the_path_of_a_model_is_the_home_directory() -> None:
    config = parse({"type": "gguf", "path": "~/models/m.gguf"})
    assert isinstance(config, GgufConfig)
    assert config.path == Path.home() / "models" / "m.gguf"
