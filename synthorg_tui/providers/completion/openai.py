"""Answers from an OpenAI-compatible server."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions, TokenUsage
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage

if TYPE_CHECKING:
    import httpx

_RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
_FIRST_WAIT_SECONDS = 0.5
_SHOWN_CHARS = 200
_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.MAX_TOKENS,
    "tool_calls": FinishReason.TOOL_USE,
    "content_filter": FinishReason.CONTENT_FILTER,
}


class OpenAICompletion:
    """Asks ``POST {base_url}/chat/completions``."""

    def __init__(
        self, config: OpenAIModelConfig, *, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._config = config
        self._environ = environ
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        answer = await self._post(self._body(messages, options))
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"] or ""
            reason = _REASONS.get(choice.get("finish_reason") or "stop", FinishReason.ERROR)
            return Completion(text=text, finish_reason=reason, usage=_usage(answer.get("usage")))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._error("answered with something that isn't a completion") from error

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _body(self, messages: Sequence[ChatMessage], options: CompletionOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": [{"role": each.role.value, "content": each.content} for each in messages],
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
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    async def _post(self, body: dict[str, Any]) -> Any:
        import httpx

        client = self._connected()
        url = f"{self._config.base_url}/chat/completions"
        for attempt in range(self._config.max_retries + 1):
            last = attempt == self._config.max_retries
            try:
                response = await client.post(url, json=body)
            except httpx.TimeoutException as error:
                if last:
                    seconds = f"{self._config.timeout_seconds:g}"
                    told = f"did not answer within {seconds} seconds"
                    raise self._error(told, retryable=True) from error
            except httpx.HTTPError as error:
                if last:
                    raise self._error(f"can't be reached: {error}", retryable=True) from error
            else:
                if last or response.status_code not in _RETRYABLE:
                    return self._decoded(response)
            await asyncio.sleep(_FIRST_WAIT_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _decoded(self, response: "httpx.Response") -> Any:
        status = response.status_code
        if status in (401, 403):
            name = self._config.api_key_env or "(none set: providers.completion.api_key_env)"
            raise CompletionError(
                f"The model server {self._config.base_url} refused the API key ({status})",
                retryable=False,
                remedy=f"Check the key in the environment variable {name}",
            )
        if not response.is_success:
            shown = response.text[:_SHOWN_CHARS].strip()
            raise self._error(f"answered {status}: {shown}", retryable=status in _RETRYABLE)
        try:
            return response.json()
        except ValueError as error:
            raise self._error("answered with something that isn't JSON") from error

    def _connected(self) -> "httpx.AsyncClient":
        import httpx

        if self._closed:
            raise CompletionError("The model client is closed", retryable=False)
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self._config.timeout_seconds, headers=self._headers()
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        name = self._config.api_key_env
        if name is None:
            return {}
        key = self._environ.get(name, "").strip()
        if not key:
            raise CompletionError(
                f"The environment variable {name} for the model server's key is not set",
                retryable=False,
                remedy=f"Set {name}, or remove providers.completion.api_key_env",
            )
        return {"Authorization": f"Bearer {key}"}

    def _error(self, what: str, *, retryable: bool = False) -> CompletionError:
        return CompletionError(
            f"The model server {self._config.base_url} {what}",
            retryable=retryable,
            remedy="Check that it is running, and providers.completion.base_url and .model",
        )


def _usage(raw: Mapping[str, Any] | None) -> TokenUsage:
    known = raw or {}
    return TokenUsage(
        prompt_tokens=known.get("prompt_tokens") or 0,
        completion_tokens=known.get("completion_tokens") or 0,
    )
