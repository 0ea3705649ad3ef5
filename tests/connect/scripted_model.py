"""A model on the loopback interface that makes the calls a test wants, for real coding agents.

It speaks as much of Anthropic's Messages API, of OpenAI's Responses API and of chat completions as
Claude Code, Codex and OpenCode need: one tool call an answer, and a text when there are no more.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Plan = Callable[[Json, int], "tuple[str, Mapping[str, object]] | None"]
"""From the request and the number of calls made so far, the tool to call next, or ``None``."""


class ScriptedModel:
    """What agents asked the model, in order, and where it listens."""

    def __init__(self, plan: Plan) -> None:
        self.requests: list[Json] = []
        self.url = ""
        self._plan = plan

    def after(self, number: int) -> str:
        """What the agent put into its request after so many tool calls, as one text."""
        matching = [each for each in self.requests if each.get("tools") and made(each) == number]
        return json.dumps(matching[-1], ensure_ascii=False) if matching else ""

    def answer(self, path: str, body: Json) -> list[Json]:
        """Return the events of the answer."""
        self.requests.append(body)
        number = made(body)
        call = self._plan(body, number) if body.get("tools") else None
        if path.endswith("/responses"):
            return _responses(number, call)
        if path.endswith("/chat/completions"):
            return _chat(str(body["model"]), number, call)
        return _messages(str(body["model"]), number, call)


def made(body: Json) -> int:
    """Return how many tool calls a request says were made."""
    spoken = [message.get("content") for message in body.get("messages", ())]
    parts = [part for content in spoken if isinstance(content, list) for part in content]
    parts += [call for each in body.get("messages", ()) for call in each.get("tool_calls") or ()]
    calls = ("tool_use", "function_call", "function")
    return sum(part.get("type") in calls for part in (*parts, *body.get("input", ())))


@contextmanager
def listening(plan: Plan) -> Iterator[ScriptedModel]:
    """Yield a model that listens on a free port."""
    model = ScriptedModel(plan)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._reply(200, b"", "text/plain")

        def do_GET(self) -> None:
            self._reply(404, b"", "text/plain")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._reply(200, b'{"input_tokens": 1}', "application/json")
                return
            events = model.answer(path, body)
            self._reply(200, "".join(map(_sent, events)).encode(), "text/event-stream")

        def _reply(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _sent(event: Json) -> str:
    kind = f"event: {event['type']}\n" if "type" in event else ""
    return f"{kind}data: {json.dumps(event)}\n\n"


def _chat(name: str, number: int, call: tuple[str, Mapping[str, object]] | None) -> list[Json]:
    delta: Json = {"role": "assistant", "content": "Done."}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        made_now = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [made_now]}
    head: Json = {"id": f"chat_{number}", "object": "chat.completion.chunk", "model": name}
    used = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    end = {"index": 0, "delta": {}, "finish_reason": "stop" if call is None else "tool_calls"}
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [end], "usage": used},
    ]


def _messages(name: str, number: int, call: tuple[str, Mapping[str, object]] | None) -> list[Json]:
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": "Done."}
    if call is not None:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    stop = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _responses(number: int, call: tuple[str, Mapping[str, object]] | None) -> list[Json]:
    item: Json = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    if call is not None:
        server, _, tool = call[0].rpartition("/")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": tool, "arguments": json.dumps(call[1])}
        item |= {"namespace": server} if server else {}
    used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response: Json = {"id": f"response_{number}"}
    return [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "usage": used}},
    ]
