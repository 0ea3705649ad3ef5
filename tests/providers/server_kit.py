"""A scripted model server on this machine, and a client that asks it."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from synthorg_tui.providers import http as server_module
from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.openai import OpenAICompletion
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage
from tests.patience import PATIENCE

QUESTION = ChatMessage(role=MessageRole.USER, content="Why?")


def said(text: str | None, reason: str | None = "stop") -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


@dataclass
class Server:
    url: str = ""
    goes_on: threading.Event = field(default_factory=threading.Event)
    answers: list[tuple[int, object]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)

    async def ask(
        self,
        options: CompletionOptions | None = None,
        environ: dict[str, str] | None = None,
        messages: Sequence[ChatMessage] = (QUESTION,),
        **changes: Any,
    ) -> Completion:
        fields = {"type": "openai", "base_url": self.url, "model": "m", **changes}
        config = OpenAIModelConfig.model_validate(fields)
        provider = OpenAICompletion(config, environ=environ or {})
        try:
            return await provider.complete(messages, options or CompletionOptions())
        finally:
            await provider.close()

    async def refusal(self, environ: dict[str, str] | None = None, **c: Any) -> CompletionError:
        with pytest.raises(CompletionError) as caught:
            await self.ask(environ=environ, **c)
        return caught.value


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that answers what ``answers`` holds, in turn, and keeps what it was asked."""
    monkeypatch.setattr(server_module, "FIRST_WAIT_SECONDS", 0.0)
    server = Server()
    server.goes_on.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, body, self.headers["Authorization"]))
            server.goes_on.wait(PATIENCE)
            status, content = server.answers.pop(0) if server.answers else (200, said("So."))
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            with suppress(ConnectionError):  # who asked may have given up by now
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = False  # closing waits for what they have to say
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield server
    http.shutdown()
    http.server_close()
    thread.join()
