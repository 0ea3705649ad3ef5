"""Which models are found, what is wrong with them, and how they are measured."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.providers import inspection
from synthorg_tui.providers.completion.config import (
    CompletionConfig,
    GgufModelConfig,
    NoModelConfig,
    OpenAIModelConfig,
)
from synthorg_tui.providers.embedding.config import (
    EmbeddingConfig,
    FastembedConfig,
    GgufConfig,
    MiniLMConfig,
    OnnxConfig,
    StaticConfig,
)
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.inspection import (
    FoundModel,
    Purpose,
    find_models,
    measure_completion,
    measure_embedding,
    measure_reranking,
)
from synthorg_tui.providers.reranking.config import OnnxRerankerConfig
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder
from tests.providers.model_files import write_pair_onnx, write_tokenizer
from tests.scripted import REFUSED, ScriptedProvider

NONE = NoModelConfig(type="none")


@pytest.fixture(autouse=True)
def _nothing_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "bundled_model", lambda: None)


@pytest.fixture
def server() -> Iterator[tuple[str, list[str | None]]]:
    """A server with two models; it wants no key, and tells which it was given."""
    keys: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers["Authorization"])
            raw = json.dumps({"data": [{"id": "small"}, {"id": "big:latest"}]}).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/v1", keys
    http.shutdown()
    http.server_close()
    thread.join()


async def found(
    completion: CompletionConfig = NONE,
    embedding: EmbeddingConfig | None = None,
    **options: Any,
) -> dict[str, FoundModel]:
    options = {"servers": (), "environ": {}, **options}
    models = await find_models(completion, embedding or MiniLMConfig(), **options)
    return {each.name: each for each in models}


def openai(url: str, model: str, **fields: Any) -> OpenAIModelConfig:
    return OpenAIModelConfig(type="openai", base_url=url, model=model, **fields)


async def test_the_bundled_embedding_model_is_found() -> None:
    (model,) = (await found()).values()
    assert (model.purpose, model.configured, model.problem) == (Purpose.EMBEDDING, True, "")
    assert model.size is not None
    assert model.size > 1_000_000


@pytest.mark.parametrize(("name", "has_it"), [("small", True), ("big", True), ("huge", False)])
async def test_a_server_is_asked_whether_it_has_the_model(
    server: tuple[str, list[str | None]], name: str, has_it: bool
) -> None:
    url, keys = server
    config = openai(url, name, api_key_env="KEY")
    model = (await found(config, environ={"KEY": "secret"}))[name]
    assert model.problem == ("" if has_it else "the server has no such model")
    assert keys == ["Bearer secret"]


@pytest.mark.parametrize(
    ("path", "problem"), [("", "can't be reached"), ("/wrong", "it answered 404")]
)
async def test_a_server_that_does_not_answer_is_a_problem(
    server: tuple[str, list[str | None]], path: str, problem: str
) -> None:
    url = f"{server[0]}{path}" if path else "http://127.0.0.1:9/v1"
    assert problem in (await found(openai(url, "small")))["small"].problem


async def test_servers_on_this_machine_are_found_and_absent_ones_are_not_told(
    server: tuple[str, list[str | None]],
) -> None:
    servers = (("Ollama", server[0]), ("LM Studio", "http://127.0.0.1:9/v1"))
    models = await found(servers=servers)
    assert "small (Ollama)" in models
    assert not models["small (Ollama)"].configured
    assert not any("LM Studio" in name for name in models)


async def test_a_configured_server_is_not_listed_twice(
    server: tuple[str, list[str | None]],
) -> None:
    models = await found(openai(server[0], "small"), servers=(("Ollama", server[0]),))
    assert set(models) == {"minilm-l6-v2-int8", "small"}


async def test_files_are_looked_at_without_loading_them(tmp_path: Path) -> None:
    good, bad, gone = (tmp_path / name for name in ("good.gguf", "bad.gguf", "gone.gguf"))
    good.write_bytes(b"GGUF....")
    bad.write_bytes(b"MZ")
    expected = "" if find_spec("llama_cpp") else "llama.cpp is not installed"
    model = (await found(GgufModelConfig(type="gguf", path=good)))["good"]
    assert (model.size, model.where) == (8, str(good))
    assert model.problem.startswith(expected)
    assert (await found(GgufModelConfig(type="gguf", path=bad)))["bad"].problem == (
        "it is no GGUF file"
    )
    config = GgufConfig(type="gguf", path=gone)
    assert "No such file" in (await found(embedding=config))["gone"].problem


async def test_models_in_files_and_of_fastembed_are_looked_at_without_loading_them(
    tmp_path: Path,
) -> None:
    there, gone = tmp_path / "small.onnx", tmp_path / "gone"
    there.write_bytes(b"model")
    model = (await found(embedding=OnnxConfig(type="onnx", path=there)))["small"]
    assert (model.size, model.problem, model.configured) == (5, "", True)
    table = (await found(embedding=StaticConfig(type="static", path=gone)))["gone"]
    assert table.problem == "No such file or directory"
    named = FastembedConfig(type="fastembed", model="some/model")
    assert "some/model" in await found(embedding=named)


async def test_a_reranker_is_looked_at_and_measured(tmp_path: Path) -> None:
    config = OnnxRerankerConfig(type="onnx", path=tmp_path / "cross.onnx")
    assert "No such file" in (await found(reranking=config))["cross"].problem
    encoder = CrossEncoder(config)
    assert "Check providers.reranking.path" in (await measure_reranking(encoder)).problem
    write_tokenizer(tmp_path)
    write_pair_onnx(config.path)
    model = (await found(reranking=config))["cross"]
    assert (model.purpose, model.configured, model.problem) == (Purpose.RERANKING, True, "")
    measured = await measure_reranking(encoder)
    assert (measured.problem, measured.purpose) == ("", Purpose.RERANKING)
    assert measured.per_second > 0
    await encoder.close()


async def test_a_model_that_works_is_measured() -> None:
    measured = await measure_completion(ScriptedProvider("a", "b"))
    assert measured.problem == ""
    assert measured.load_seconds >= 0


async def test_a_model_that_fails_says_why() -> None:
    assert (await measure_completion(ScriptedProvider(REFUSED))).problem == "refused"
    assert "no language model" in (await measure_completion(None)).problem


async def test_embedding_is_measured(tmp_path: Path) -> None:
    embedder = create_embedder(MiniLMConfig())
    measured = await measure_embedding(embedder)
    await embedder.close()
    assert measured.per_second > 0
    missing = create_embedder(GgufConfig(type="gguf", path=tmp_path / "none.gguf"))
    assert (await measure_embedding(missing)).problem
    await missing.close()
