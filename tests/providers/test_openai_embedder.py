"""Talks to an OpenAI-compatible server, here a real HTTP server on this machine."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from synthorg_tui.providers import http as server_module
from synthorg_tui.providers.embedding.config import OpenAIConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.openai import OpenAIEmbedder
from tests.patience import PATIENCE

Answer = Callable[[dict[str, Any]], tuple[int, object]]


def letters(body: dict[str, Any]) -> tuple[int, object]:
    """Vectors of (length, 1), in reverse order to show that the index counts."""
    rows = [{"index": i, "embedding": [len(t), 1.0]} for i, t in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


@dataclass
class Server:
    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)

    def config(self, **changes: Any) -> OpenAIConfig:
        fields = {"type": "openai", "base_url": self.url, "model": "m", "dims": 2, **changes}
        return OpenAIConfig.model_validate(fields)


@contextmanager
def serving(server: Server) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, body, self.headers["Authorization"]))
            answer = server.answers.pop(0) if server.answers else letters
            status, content = answer(body)
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            with suppress(ConnectionError):  # who asked may have given up by now
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(server_module, "FIRST_WAIT_SECONDS", 0.0)
    server = Server()
    with serving(server):
        yield server


def constant(status: int, content: object = b"busy") -> Answer:
    return lambda _body: (status, content)


async def test_vectors_come_back_in_text_order_with_unit_length(server: Server) -> None:
    embedder = OpenAIEmbedder(server.config())
    vectors = await embedder.embed(["aaa", "", "aaaaaa"])
    await embedder.close()
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert [round(float(row[0] / row[1])) for row in vectors] == [3, 0, 6]
    assert server.requests == [
        ("/v1/embeddings", {"model": "m", "input": ["aaa", "", "aaaaaa"]}, None)
    ]


async def test_many_texts_go_in_several_requests(server: Server) -> None:
    embedder = OpenAIEmbedder(server.config(batch_size=2))
    vectors = await embedder.embed(["a", "bb", "ccc"])
    await embedder.close()
    assert [len(body["input"]) for _, body, _ in server.requests] == [2, 1]
    assert [round(float(row[0] / row[1])) for row in vectors] == [1, 2, 3]


async def test_the_key_from_the_environment_is_sent(server: Server) -> None:
    embedder = OpenAIEmbedder(server.config(api_key_env="KEY"), environ={"KEY": " k "})
    await embedder.embed_query("a")
    await embedder.close()
    assert server.requests[0][2] == "Bearer k"


async def test_a_missing_key_names_its_variable(server: Server) -> None:
    embedder = OpenAIEmbedder(server.config(api_key_env="KEY"), environ={})
    with pytest.raises(EmbeddingError, match="KEY") as caught:
        await embedder.embed_query("a")
    assert "KEY" in caught.value.remedy
    assert server.requests == []


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again(server: Server, status: int) -> None:
    server.answers = [constant(status), constant(status)]
    embedder = OpenAIEmbedder(server.config(max_retries=2))
    assert (await embedder.embed_query("a")).shape == (2,)
    await embedder.close()
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "requests", "message"),
    [
        (constant(503), 3, "answered 503: busy"),
        (constant(404, b"no such model"), 1, "answered 404: no such model"),
        (constant(401), 1, "refused the API key"),
        (constant(200, b"<html>"), 1, "isn't JSON"),
        (constant(200, {"oops": []}), 1, "isn't embeddings"),
        (constant(200, {"data": [{"index": 0, "embedding": [1, 2, 3]}]}), 1, "shape"),
        (constant(200, {"data": [{"index": 0, "embedding": [1, "x"]}]}), 1, "isn't embeddings"),
        (constant(200, b'{"data": [{"index": 0, "embedding": [1, NaN]}]}'), 1, "not finite"),
    ],
)
async def test_a_bad_answer_becomes_an_error_with_a_remedy(
    server: Server, answer: Answer, requests: int, message: str
) -> None:
    server.answers = [answer] * 3
    embedder = OpenAIEmbedder(server.config(max_retries=2))
    with pytest.raises(EmbeddingError, match=message) as caught:
        await embedder.embed_query("a")
    await embedder.close()
    assert caught.value.remedy
    assert len(server.requests) == requests


async def test_a_server_that_does_not_answer_in_time_is_an_error(server: Server) -> None:
    release = threading.Event()

    def slow(body: dict[str, Any]) -> tuple[int, object]:
        release.wait(PATIENCE)
        return letters(body)

    server.answers = [slow]
    embedder = OpenAIEmbedder(server.config(timeout_seconds=0.1, max_retries=0))
    with pytest.raises(EmbeddingError, match=r"within 0\.1 seconds"):
        await embedder.embed_query("a")
    release.set()
    await embedder.close()


async def test_an_unreachable_server_is_an_error_with_a_remedy(server: Server) -> None:
    config = server.config(base_url="http://127.0.0.1:9/v1", max_retries=1)
    embedder = OpenAIEmbedder(config)
    with pytest.raises(EmbeddingError, match="can't be reached") as caught:
        await embedder.embed_query("a")
    await embedder.close()
    assert "base_url" in caught.value.remedy


async def test_a_closed_client_refuses_and_closes_again(server: Server) -> None:
    embedder = OpenAIEmbedder(server.config())
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbeddingError, match="closed"):
        await embedder.embed_query("a")


def test_the_fingerprint_names_server_model_and_dimensions(server: Server) -> None:
    one = OpenAIEmbedder(server.config()).fingerprint
    assert one == OpenAIEmbedder(server.config(timeout_seconds=1)).fingerprint
    assert one != OpenAIEmbedder(server.config(model="n")).fingerprint
    assert one != OpenAIEmbedder(server.config(dims=3)).fingerprint
