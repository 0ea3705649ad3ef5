"""Answers from an OpenAI-compatible server, with calls of tools.

A server that doesn't know an option (a schema, tools) is asked without it from then on; tools it is
then told of in words.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions, TokenUsage
from synthorg_tui.providers.completion.text_tools import call_id, read_from_text, told_in_text
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.http import ModelServer, ServerError
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse

_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.MAX_TOKENS,
    "tool_calls": FinishReason.TOOL_USE,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_SCHEMA = "response_format"
_TOOLS = "tools"
_UNKNOWN_OPTION = frozenset({400, 404, 415, 422, 501})
"""Answers of servers to an option that they don't know."""


class OpenAICompletion:
    """``CompletionProvider`` for a server with an OpenAI-compatible chat endpoint.

    Sends ``POST {base_url}/chat/completions``.
    """

    def __init__(
        self, config: OpenAIModelConfig, *, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._config = config
        self._takes_schemas = True
        self._takes_tools = True
        self._server = ModelServer(
            what="model server", setting="providers.completion", config=config, environ=environ
        )

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        try:
            return await self._answer(messages, options)
        except ServerError as error:
            raise CompletionError(
                error.message, retryable=error.retryable, remedy=error.remedy
            ) from error

    async def close(self) -> None:
        await self._server.close()

    async def _answer(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        """The answer; of a server that doesn't know an option without it, for good."""
        if not options.tools:
            return await self._asked(messages, options)
        if self._takes_tools:
            try:
                answer = await self._asked(messages, options)
            except ServerError as error:
                if error.status not in _UNKNOWN_OPTION:
                    raise
                self._takes_tools = False
            else:
                if answer.tool_uses or answer.format_error:
                    return answer
                return read_from_text(answer, messages, options.tools)
        told, plain = told_in_text(messages, options)
        return read_from_text(await self._asked(told, plain), messages, options.tools)

    async def _asked(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        body = self._body(messages, options)
        if not self._takes_schemas:
            body.pop(_SCHEMA, None)
        try:
            if options.on_text is not None:
                return await self._streamed(body, options.on_text, messages)
            answer = await self._server.post("/chat/completions", body)
            return self._completion(answer, messages)
        except ServerError as error:
            if _SCHEMA not in body or error.status not in _UNKNOWN_OPTION:
                raise
            self._takes_schemas = False
            return await self._asked(messages, options)

    async def _streamed(
        self,
        body: dict[str, Any],
        on_text: Callable[[str], None],
        messages: Sequence[ChatMessage],
    ) -> Completion:
        """The answer put together from its pieces."""
        text, reason, usage = "", "stop", None
        calls: dict[int, dict[str, Any]] = {}
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        async for event in self._server.stream("/chat/completions", asked):
            try:
                usage = event.get("usage") or usage
                for choice in event["choices"][:1]:
                    reason = choice.get("finish_reason") or reason
                    delta = choice.get("delta", {})
                    text += delta.get("content") or ""
                    _add_pieces(calls, delta.get("tool_calls") or ())
            except (AttributeError, KeyError, TypeError) as error:
                raise self._server.error("answered with something that isn't an answer") from error
            on_text(text)
        message = {"content": text, "tool_calls": [calls[at] for at in sorted(calls)]}
        choice = {"message": message, "finish_reason": reason}
        return self._completion({"choices": [choice], "usage": usage}, messages)

    def _completion(self, answer: Any, messages: Sequence[ChatMessage]) -> Completion:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            reason = _REASONS.get(choice.get("finish_reason") or "stop", FinishReason.ERROR)
            calls = message.get("tool_calls") or ()
            uses, problem = _tool_uses(calls, messages)
            return Completion(
                text=(message.get("content") if calls else message["content"]) or "",
                finish_reason=FinishReason.TOOL_USE if uses else reason,
                usage=_usage(answer.get("usage")),
                tool_uses=uses,
                format_error=problem,
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._server.error("answered with something that isn't a completion") from error

    def _body(self, messages: Sequence[ChatMessage], options: CompletionOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": [_sent(message) for message in messages],
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
        }
        if options.tools:
            body[_TOOLS] = [_offered(tool) for tool in options.tools]
        if options.stop:
            body["stop"] = list(options.stop)
        if options.seed is not None:
            body["seed"] = options.seed
        if options.repeat_penalty > 1.0:  # the nearest thing that every server understands
            body["frequency_penalty"] = round(options.repeat_penalty - 1.0, 6)
        if options.json_schema is not None:
            schema = {"name": "answer", "schema": dict(options.json_schema), "strict": True}
            body[_SCHEMA] = {"type": "json_schema", "json_schema": schema}
        return body


def _usage(raw: Mapping[str, Any] | None) -> TokenUsage:
    known = raw or {}
    return TokenUsage(
        prompt_tokens=known.get("prompt_tokens") or 0,
        completion_tokens=known.get("completion_tokens") or 0,
    )


def _sent(message: ChatMessage) -> dict[str, Any]:
    """A message as the endpoint takes it."""
    sent: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.role is MessageRole.TOOL:
        sent["tool_call_id"] = message.tool_use_id
    if message.tool_uses:
        sent["tool_calls"] = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": use.name, "arguments": json.dumps(dict(use.arguments))},
            }
            for use in message.tool_uses
        ]
    return sent


def _offered(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _add_pieces(calls: dict[int, dict[str, Any]], pieces: Sequence[Mapping[str, Any]]) -> None:
    """Add the pieces of calls in a streamed event to the calls that they belong to."""
    for piece in pieces:
        empty = {"id": "", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(int(piece.get("index") or 0), empty)
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        for name in ("name", "arguments"):
            call["function"][name] += function.get(name) or ""


def _tool_uses(
    calls: Sequence[Mapping[str, Any]], messages: Sequence[ChatMessage]
) -> tuple[tuple[ToolUse, ...], str]:
    """The calls of an answer, or what is wrong with the first that can't be read."""
    uses = []
    for place, call in enumerate(calls):
        function = call["function"]
        name, raw = function.get("name") or "", function.get("arguments") or "{}"
        try:
            arguments = json.loads(raw) if isinstance(raw, str) else raw
        except (ValueError, RecursionError) as error:
            return (), f"The arguments of the call of {name!r} aren't JSON ({error})"
        if not isinstance(arguments, dict):
            return (), f"The arguments of the call of {name!r} aren't an object"
        if not str(name).strip():
            return (), "A call of a tool has no name"
        given = call.get("id") or call_id(messages, place)
        uses.append(ToolUse(id=str(given), name=name, arguments=arguments))
    return tuple(uses), ""
