"""Asks an OpenAI-compatible server for answers, here a real HTTP server on this machine."""

import asyncio
import json
from typing import Any

import pytest

from synthorg_tui.providers.completion.config import OpenAIModelConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.openai import OpenAICompletion
from synthorg_tui.providers.completion.protocol import (
    CompletionOptions,
    CompletionProvider,
)
from synthorg_tui.providers.enums import FinishReason
from tests.providers.server_kit import QUESTION, Server, said
from tests.providers.server_kit import server as server


async def test_an_answer_has_text_reason_and_usage(server: Server) -> None:
    answer = await server.ask()
    assert (answer.text, answer.finish_reason) == ("So.", FinishReason.STOP)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 2)
    path, body, key = server.requests[0]
    assert (path, key) == ("/v1/chat/completions", None)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Why?"}],
        "max_tokens": 256,
        "temperature": 0.0,
    }


async def test_options_are_sent_in_the_servers_words(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    options = CompletionOptions(
        max_tokens=9, temperature=0.5, stop=("\n",), seed=3, repeat_penalty=1.2, json_schema=schema
    )
    await server.ask(options)
    body = server.requests[0][1]
    assert (body["max_tokens"], body["temperature"], body["stop"], body["seed"]) == (
        9,
        0.5,
        ["\n"],
        3,
    )
    assert body["frequency_penalty"] == 0.2
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"] == schema


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("stop", FinishReason.STOP),
        (None, FinishReason.STOP),
        ("length", FinishReason.MAX_TOKENS),
        ("tool_calls", FinishReason.TOOL_USE),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("weird", FinishReason.ERROR),
    ],
)
async def test_finish_reasons(server: Server, told: str | None, reason: FinishReason) -> None:
    server.answers = [(200, said(None, told))]
    answer = await server.ask()
    assert (answer.text, answer.finish_reason) == ("", reason)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
async def test_a_busy_server_is_asked_again(server: Server, status: int) -> None:
    server.answers = [(status, b"busy"), (status, b"busy")]
    assert (await server.ask(max_retries=2)).text == "So."
    assert len(server.requests) == 3


async def test_a_server_that_stays_busy_is_a_retryable_error(server: Server) -> None:
    server.answers = [(503, b"busy")] * 3
    error = await server.refusal(max_retries=1)
    assert error.retryable
    assert "answered 503: busy" in error.message
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refused_request_is_permanent_and_not_repeated(server: Server, status: int) -> None:
    server.answers = [(status, b"no")]
    error = await server.refusal()
    assert not error.retryable
    assert error.remedy
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "content", [b"<html>", [], {"choices": []}, {"choices": [{"message": {}}]}, {"choices": 3}]
)
async def test_what_is_no_completion_is_a_permanent_error(server: Server, content: object) -> None:
    server.answers = [(200, content)]
    assert not (await server.refusal()).retryable


async def test_a_slow_server_is_a_retryable_error(server: Server) -> None:
    server.goes_on.clear()
    error = await server.refusal(timeout_seconds=0.05, max_retries=0)
    server.goes_on.set()
    assert error.retryable
    assert "within 0.05 seconds" in error.message


async def test_a_missing_server_is_a_retryable_error(server: Server) -> None:
    error = await server.refusal(base_url="http://127.0.0.1:9/v1", max_retries=0)
    assert error.retryable
    assert "can't be reached" in error.message


def events(*pieces: object) -> bytes:
    lines = [f"data: {json.dumps(each)}" for each in pieces]
    return "\n\n".join([": a comment", *lines, "data: [DONE]", ""]).encode()


def piece(text: str | None, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": reason}]}


async def test_a_text_is_told_while_it_is_written(server: Server) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    server.answers = [(200, events(piece("So "), piece("it"), piece(None, "length"), usage))]
    told: list[str] = []
    answer = await server.ask(CompletionOptions(on_text=told.append))
    assert told == ["So ", "So it", "So it", "So it"]
    assert (answer.text, answer.finish_reason) == ("So it", FinishReason.MAX_TOKENS)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 3)
    assert server.requests[0][1]["stream"] is True


async def test_a_busy_server_is_asked_again_before_the_first_piece(server: Server) -> None:
    server.answers = [(503, b"busy"), (200, events(piece("So.")))]
    assert (await server.ask(CompletionOptions(on_text=lambda _: None))).text == "So."


@pytest.mark.parametrize("content", [b"data: {", events([]), events({"choices": [3]})])
async def test_what_is_no_piece_is_a_permanent_error(server: Server, content: bytes) -> None:
    server.answers = [(200, content)]
    with pytest.raises(CompletionError) as caught:
        await server.ask(CompletionOptions(on_text=lambda _: None))
    assert not caught.value.retryable


async def test_a_refused_stream_says_why(server: Server) -> None:
    server.answers = [(404, b"no such model")]
    with pytest.raises(CompletionError, match="answered 404: no such model"):
        await server.ask(CompletionOptions(on_text=lambda _: None))


async def test_the_key_comes_from_the_environment(server: Server) -> None:
    await server.ask(environ={"KEY": "secret"}, api_key_env="KEY")
    assert server.requests[0][2] == "Bearer secret"


async def test_a_missing_key_is_an_error_before_anything_is_sent(server: Server) -> None:
    error = await server.refusal(environ={"KEY": " "}, api_key_env="KEY")
    assert not error.retryable
    assert "KEY" in error.message
    assert server.requests == []


async def test_a_closed_client_refuses_and_closes_again(server: Server) -> None:
    config = OpenAIModelConfig(type="openai", base_url=server.url, model="m")
    provider = OpenAICompletion(config)
    assert isinstance(provider, CompletionProvider)
    await provider.complete([QUESTION], CompletionOptions())
    await provider.close()
    await provider.close()
    with pytest.raises(CompletionError, match="closed"):
        await provider.complete([QUESTION], CompletionOptions())


async def test_a_caller_can_stop_waiting(server: Server) -> None:
    server.goes_on.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(server.ask(), 0.05)
    server.goes_on.set()


async def test_a_server_that_knows_no_schemas_is_asked_without_one_from_then_on(
    server: Server,
) -> None:
    server.answers = [(400, {"error": "unknown field response_format"}), (200, said("{}"))]
    fields = {"type": "openai", "base_url": server.url, "model": "m"}
    provider = OpenAICompletion(OpenAIModelConfig.model_validate(fields), environ={})
    options = CompletionOptions(json_schema={"type": "object"})
    try:
        assert (await provider.complete([QUESTION], options)).text == "{}"
        await provider.complete([QUESTION], options)
    finally:
        await provider.close()
    assert ["response_format" in body for _, body, _ in server.requests] == [True, False, False]


async def test_another_refusal_of_a_server_is_no_reason_to_ask_again(server: Server) -> None:
    server.answers = [(400, {"error": "too long"})]
    error = await server.refusal()
    assert not error.retryable
    assert len(server.requests) == 1
