"""Answers from an OpenAI-compatible server."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions, TokenUsage
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.http import ModelServer, ServerError
from synthorg_tui.providers.models import ChatMessage

_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.MAX_TOKENS,
    "tool_calls": FinishReason.TOOL_USE,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_SCHEMA = "response_format"
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
        self._server = ModelServer(
            what="model server", setting="providers.completion", config=config, environ=environ
        )

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        try:
            return await self._answer(self._body(messages, options), options)
        except ServerError as error:
            raise CompletionError(
                error.message, retryable=error.retryable, remedy=error.remedy
            ) from error

    async def close(self) -> None:
        await self._server.close()

    async def _answer(self, body: dict[str, Any], options: CompletionOptions) -> Completion:
        """The answer; of a server that knows no schemas without one, for good."""
        if not self._takes_schemas:
            body.pop(_SCHEMA, None)
        try:
            if options.on_text is not None:
                return await self._streamed(body, options.on_text)
            return self._completion(await self._server.post("/chat/completions", body))
        except ServerError as error:
            if _SCHEMA not in body or error.status not in _UNKNOWN_OPTION:
                raise
            self._takes_schemas = False
            return await self._answer(body, options)

    async def _streamed(self, body: dict[str, Any], on_text: Callable[[str], None]) -> Completion:
        """The answer put together from its pieces."""
        text, reason, usage = "", "stop", None
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        async for event in self._server.stream("/chat/completions", asked):
            try:
                usage = event.get("usage") or usage
                for choice in event["choices"][:1]:
                    reason = choice.get("finish_reason") or reason
                    text += choice.get("delta", {}).get("content") or ""
            except (AttributeError, KeyError, TypeError) as error:
                raise self._server.error("answered with something that isn't an answer") from error
            on_text(text)
        choice = {"message": {"content": text}, "finish_reason": reason}
        return self._completion({"choices": [choice], "usage": usage})

    def _completion(self, answer: Any) -> Completion:
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"] or ""
            reason = _REASONS.get(choice.get("finish_reason") or "stop", FinishReason.ERROR)
            return Completion(text=text, finish_reason=reason, usage=_usage(answer.get("usage")))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._server.error("answered with something that isn't a completion") from error

    def _body(self, messages: Sequence[ChatMessage], options: CompletionOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": [
                {"role": message.role.value, "content": message.content} for message in messages
            ],
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
        }
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
