"""Embedders as they are named, and what is advised of them."""

from pathlib import Path

import pytest

from synthorg_tui.memory.evaluation.advice import Machine
from synthorg_tui.memory.evaluation.contenders import (
    MAX_EMBEDDERS,
    EmbedderNameError,
    contenders,
    name_of,
    parse_embedder,
    sends_to,
)
from synthorg_tui.memory.evaluation.nonsense import OTHER_FIELDS, nonsense_for
from synthorg_tui.providers.embedding.config import GgufConfig, MiniLMConfig, OpenAIConfig

GIGABYTE = 1024**3


def test_an_embedder_is_named_by_its_type_and_fields() -> None:
    named = parse_embedder("gguf:path=/m/a b.gguf, pooling=cls")
    assert named == GgufConfig(type="gguf", path=Path("/m/a b.gguf"), pooling="cls")
    assert parse_embedder("minilm") == MiniLMConfig()


@pytest.mark.parametrize(
    "text", ["", "nothing", "gguf", "gguf:path", "minilm:tokens=3", "minilm:max_tokens=many"]
)
def test_what_names_none_is_refused_with_what_would(text: str) -> None:
    with pytest.raises(EmbedderNameError) as told:
        parse_embedder(text)
    assert "gguf:path=" in str(told.value.remedy)


def test_a_name_shows_what_was_chosen_and_no_key() -> None:
    server = "openai:base_url=http://localhost:1/v1,model=nomic,dims=8,api_key_env=SECRET"
    assert name_of(parse_embedder(server)) == "openai http://localhost:1/v1 nomic 8"
    assert name_of(MiniLMConfig()) == "minilm"
    assert "\x1b" not in name_of(parse_embedder("gguf:path=/m/\x1b[31m.gguf"))


def test_only_another_machine_is_one_that_texts_are_sent_to() -> None:
    def server(url: str) -> OpenAIConfig:
        return OpenAIConfig(type="openai", base_url=url, model="m", dims=8)

    assert sends_to(server("http://localhost:11434/v1")) == ""
    assert sends_to(server("http://[::1]:11434/v1")) == ""
    assert sends_to(server("https://models.example.org/v1")) == "models.example.org"
    assert sends_to(MiniLMConfig()) == ""


def test_the_active_one_comes_first_and_each_is_tried_once() -> None:
    active = parse_embedder("gguf:path=/m/a.gguf")
    tried = contenders(active, ["minilm", "gguf:path=/m/a.gguf", "gguf:path=/m/b.gguf"])
    assert [each.is_active for each in tried] == [True, False, False]
    assert [each.name for each in tried] == ["gguf /m/a.gguf", "minilm", "gguf /m/b.gguf"]


def test_too_many_at_once_are_refused() -> None:
    named = [f"gguf:path=/m/{number}.gguf" for number in range(MAX_EMBEDDERS)]
    contenders(MiniLMConfig(), named[:-1])
    with pytest.raises(EmbedderNameError, match="too many"):
        contenders(MiniLMConfig(), named)


@pytest.mark.parametrize(
    ("machine", "tier"),
    [
        (Machine(16, 64 * GIGABYTE, True), "full resources"),
        (Machine(16, 64 * GIGABYTE, False), "medium resources"),
        (Machine(4, 16 * GIGABYTE, True), "medium resources"),
        (Machine(4, 64 * GIGABYTE, False), "a processor alone"),
        (Machine(16, 8 * GIGABYTE, False), "a processor alone"),
    ],
)
def test_a_machine_is_of_one_of_three_tiers(machine: Machine, tier: str) -> None:
    assert machine.tier.startswith(tier)


def test_what_somebody_remembers_is_no_nonsense() -> None:
    assert set(OTHER_FIELDS) <= set(nonsense_for(["git push is refused"]))
    left = nonsense_for(["My sourdough starter needs more water"])
    assert "sourdough starter hydration ratio" not in left
    assert "volcanic eruption in iceland" in left
