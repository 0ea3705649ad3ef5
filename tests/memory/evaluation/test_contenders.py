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
    parse_reranker,
    sends_to,
)
from synthorg_tui.memory.evaluation.questions import OTHER_FIELDS, nonsense_for
from synthorg_tui.providers.embedding.config import GgufConfig, MiniLMConfig, OpenAIConfig
from synthorg_tui.providers.reranking.config import OnnxRerankerConfig
from tests.tables import rows

CROSS = "onnx:path=/m/cross.onnx"
GIGABYTE = 1024**3


def test_an_embedder_is_named_by_its_type_and_fields() -> None:
    named = parse_embedder("gguf:path=/m/a b.gguf, pooling=cls")
    assert named == GgufConfig(type="gguf", path=Path("/m/a b.gguf"), pooling="cls")
    assert parse_embedder("minilm") == MiniLMConfig()


@rows("text", ["", "nothing", "gguf", "gguf:path", "minilm:tokens=3", "minilm:max_tokens=many"])
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


def test_a_reranker_is_named_as_in_the_settings() -> None:
    named = parse_reranker("onnx:path=/m/cross.onnx,max_tokens=256")
    assert named == OnnxRerankerConfig(type="onnx", path=Path("/m/cross.onnx"), max_tokens=256)
    for text in ("", "nothing", "onnx", "onnx:path", "onnx:path=/m/a.onnx,max_tokens=8"):
        with pytest.raises(EmbedderNameError) as told:
            parse_reranker(text)
        assert "onnx:path=FILE" in str(told.value.remedy)


def test_each_reranker_is_tried_with_the_active_one() -> None:
    active = parse_embedder("gguf:path=/m/a.gguf")
    tried = contenders(active, [], rerankers=[CROSS, "onnx:path=/m/b.onnx", CROSS])
    assert [(each.name, each.is_active, each.named) for each in tried] == [
        ("gguf /m/a.gguf", True, ""),
        ("minilm", False, ""),
        ("gguf /m/a.gguf + onnx /m/cross.onnx", False, f"reranker {CROSS}"),
        ("gguf /m/a.gguf + onnx /m/b.onnx", False, "reranker onnx:path=/m/b.onnx"),
    ]
    assert [each.embeds_as_active for each in tried] == [True, False, True, True]


def test_one_that_is_switched_on_is_with_all_and_left_out_once() -> None:
    named = "gguf:path=/m/a.gguf"
    on = parse_reranker(CROSS)
    tried = contenders(MiniLMConfig(), [named], reranking=on, rerankers=[CROSS])
    assert [(each.name, each.is_active, each.reranker) for each in tried] == [
        ("minilm + onnx /m/cross.onnx", True, "onnx /m/cross.onnx"),
        ("minilm", False, ""),
        ("gguf /m/a.gguf + onnx /m/cross.onnx", False, "onnx /m/cross.onnx"),
    ]


def test_too_many_rerankers_at_once_are_refused() -> None:
    named = [f"onnx:path=/m/{number}.onnx" for number in range(MAX_EMBEDDERS + 1)]
    assert len(contenders(MiniLMConfig(), [], rerankers=named[1:])) == MAX_EMBEDDERS + 1
    with pytest.raises(EmbedderNameError, match="re-rankers are too many"):
        contenders(MiniLMConfig(), [], rerankers=named)


@rows(
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
