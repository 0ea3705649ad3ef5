"""A scripted model server for runs: what it answers goes by how much was said before."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


def calls(tool: str, **arguments: object) -> dict[str, Any]:
    """An answer that asks for a call of a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    message = {"role": "assistant", "content": "", "tool_calls": [_use(function)]}
    return _answer(message, "tool_calls")


def _use(function: dict[str, str]) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": function}


def says(text: str) -> dict[str, Any]:
    """An answer in words, which ends a run."""
    return _answer({"role": "assistant", "content": text}, "stop")


def _answer(message: dict[str, Any], reason: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}


class RunServer:
    """Answers a run's turns in order, from the first again with each new run.

    While ``goes_on`` isn't set, no answer is given.
    """

    def __init__(self) -> None:
        self.url = ""
        self.answers = [says("So.")]
        self.asked = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        turn = [message["role"] for message in body["messages"]].count("assistant")
        return self.answers[min(turn, len(self.answers) - 1)]


@contextmanager
def run_server() -> Iterator[RunServer]:
    """Run a scripted server until the end of the ``with``."""
    server = RunServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.set()
            server.goes_on.wait(60)
            raw = json.dumps(server.answer(body)).encode()
            with suppress(ConnectionError):  # a run that was stopped asks no more
                self.send_response(200)
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
        yield server
    finally:
        server.goes_on.set()
        http.shutdown()
        http.server_close()
        thread.join()


def settings_of(server: RunServer) -> dict[str, Any]:
    """Settings with this server as the model."""
    completion = {"type": "openai", "base_url": server.url, "model": "scripted"}
    return {"memory": {"level": "persistent"}, "providers": {"completion": completion}}


def settings_file(server: RunServer, folder: Path) -> Path:
    """Write those settings to a file."""
    path = folder / "company.yaml"
    path.write_text(yaml.safe_dump(settings_of(server)))
    return path
