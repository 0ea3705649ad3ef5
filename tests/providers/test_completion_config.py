"""Which language model the settings choose."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from synthorg_tui.providers.completion import factory
from synthorg_tui.providers.completion.config import (
    AutoModelConfig,
    CompletionConfig,
    GgufModelConfig,
    OpenAIModelConfig,
)
from synthorg_tui.providers.completion.factory import (
    create_completion_provider,
    create_token_estimator,
)
from synthorg_tui.providers.completion.llama import LlamaCompletion
from synthorg_tui.providers.completion.openai import OpenAICompletion
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from tests.tables import rows

SERVER = {"type": "openai", "base_url": "http://localhost:1/v1/", "model": "m"}


def parse(settings: dict[str, Any]) -> CompletionConfig:
    return TypeAdapter[CompletionConfig](CompletionConfig).validate_python(settings)


def test_the_bundled_model_is_the_default() -> None:
    assert parse({}) == AutoModelConfig()


def test_a_server_is_named_without_a_trailing_slash() -> None:
    config = parse(SERVER)
    assert isinstance(config, OpenAIModelConfig)
    assert config.base_url == "http://localhost:1/v1"


@rows(
    "wrong",
    [
        {"type": "magic"},
        {"type": "gguf"},
        {"type": "openai", "model": "m"},
        {**SERVER, "base_url": "localhost:1"},
        {**SERVER, "model": " "},
        {**SERVER, "timeout_seconds": 0},
        {**SERVER, "max_retries": 11},
        {"context_tokens": 511},
        {"context_tokens": 131_073},
        {"threads": 0},
        {"type": "none", "threads": 1},
    ],
)
def test_settings_that_can_not_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parse(wrong)


@rows("context", [512, 131_072])
def test_a_context_has_512_to_131072_tokens(context: int) -> None:
    parse({"context_tokens": context})


async def test_each_kind_has_its_provider_and_nothing_is_loaded(tmp_path: Path) -> None:
    model = create_completion_provider(parse({"type": "gguf", "path": tmp_path / "missing"}))
    server = create_completion_provider(parse(SERVER))
    assert isinstance(model, LlamaCompletion)
    assert isinstance(server, OpenAICompletion)
    for provider in (model, server):
        assert isinstance(provider, CompletionProvider)
        await provider.close()


def test_none_is_none() -> None:
    assert create_completion_provider(parse({"type": "none"})) is None


def test_without_the_package_there_is_no_bundled_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "BUNDLED_PACKAGE", "no_such_package")
    assert create_completion_provider(parse({})) is None


def test_the_bundled_model_is_found_without_importing_its_package() -> None:
    factory.bundled_model()
    assert factory.BUNDLED_PACKAGE not in sys.modules


@rows("settings", [{}, {"type": "none"}, SERVER])
def test_only_a_model_file_of_the_users_counts_tokens(settings: dict[str, Any]) -> None:
    assert create_token_estimator(parse(settings)) is None


def test_tokens_are_estimated_when_the_file_can_not_be_loaded(tmp_path: Path) -> None:
    estimator = create_token_estimator(GgufModelConfig(type="gguf", path=tmp_path / "missing"))
    assert estimator is not None
    assert [estimator.estimate_tokens(text) for text in ("", "x", "x" * 40)] == [0, 1, 10]


@rows(
    "wrong",
    [
        {"max_tokens": 0},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"repeat_penalty": 0.9},
        {"seed": -1},
    ],
)
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CompletionOptions.model_validate(wrong)


def test_a_tilde_in_the_path_of_a_model_is_the_home_directory() -> None:
    config = parse({"type": "gguf", "path": "~/models/m.gguf"})
    assert isinstance(config, GgufModelConfig)
    assert config.path == Path.home() / "models" / "m.gguf"
