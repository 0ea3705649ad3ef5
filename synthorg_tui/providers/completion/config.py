"""The settings that choose a language model, told apart by ``type``."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag

from synthorg_tui.core.types import FrozenModel, HomePath, NotBlankStr
from synthorg_tui.providers.embedding.config import Threads, require_http

ContextTokens = Annotated[int, Field(ge=512, le=131_072)]
TokenLimit = Annotated[int, Field(ge=1)]
IdleSeconds = Annotated[int, Field(ge=1)]
Price = Annotated[float, Field(ge=0.0)]


class AutoModelConfig(FrozenModel):
    """The bundled SmolLM2 when the ``local-model`` extra is installed, else no model.

    ``context_tokens`` is the context window shared by a conversation and its answer; the model may
    support less. ``threads`` defaults to the number of processor cores, at most 4. The model's
    memory is freed after ``unload_after_seconds`` without a request; ``None`` never frees it. Once
    ``daily_token_limit`` tokens have been read and written in a day, further requests are refused
    until the next day; ``None`` is no limit.
    """

    type: Literal["auto"] = "auto"
    context_tokens: ContextTokens = 4096
    threads: Threads | None = None
    unload_after_seconds: IdleSeconds | None = 600
    daily_token_limit: TokenLimit | None = None


class NoModelConfig(FrozenModel):
    """Disables language models, even if the bundled one is installed."""

    type: Literal["none"]


class GgufModelConfig(FrozenModel):
    """A chat model in a GGUF file, run by llama.cpp; other fields as in ``AutoModelConfig``."""

    type: Literal["gguf"]
    path: HomePath
    context_tokens: ContextTokens = 4096
    threads: Threads | None = None
    unload_after_seconds: IdleSeconds | None = 600
    daily_token_limit: TokenLimit | None = None


class OpenAIModelConfig(FrozenModel):
    """A server with an OpenAI-compatible ``/chat/completions`` endpoint.

    ``base_url`` ends before ``/chat/completions`` (``http://localhost:11434/v1``). ``api_key_env``
    names the environment variable that holds the API key; keys are never written to settings. A
    request that times out or is refused because of load is retried up to ``max_retries`` times.
    Prices are per million tokens. ``daily_token_limit`` is as in ``AutoModelConfig``.
    """

    type: Literal["openai"]
    base_url: Annotated[NotBlankStr, AfterValidator(require_http)]
    model: NotBlankStr
    api_key_env: NotBlankStr | None = None
    timeout_seconds: float = Field(default=60.0, gt=0.0, le=600.0)
    max_retries: int = Field(default=2, ge=0, le=10)
    prompt_price: Price = 0.0
    completion_price: Price = 0.0
    daily_token_limit: TokenLimit | None = None


def _type_of(value: Any) -> str:
    """The ``type`` of raw settings or of a model; ``auto`` when it is missing."""
    if isinstance(value, dict):
        return str(value.get("type", "auto"))
    return str(getattr(value, "type", "auto"))


CompletionConfig: TypeAlias = Annotated[
    Annotated[AutoModelConfig, Tag("auto")]
    | Annotated[NoModelConfig, Tag("none")]
    | Annotated[GgufModelConfig, Tag("gguf")]
    | Annotated[OpenAIModelConfig, Tag("openai")],
    Discriminator(_type_of),
]
"""One of the model configurations, told apart by ``type`` (default ``auto``)."""
