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

    A conversation and its answer share ``context_tokens``, of which the model may support less.
    ``threads`` is all processor cores but at most 4 when missing. The model's memory is freed when
    it wasn't asked for ``unload_after_seconds``; ``None`` keeps it. Once ``daily_token_limit``
    tokens are read and written in a day, nothing is asked until the next.
    """

    type: Literal["auto"] = "auto"
    context_tokens: ContextTokens = 4096
    threads: Threads | None = None
    unload_after_seconds: IdleSeconds | None = 600
    daily_token_limit: TokenLimit | None = None


class NoModelConfig(FrozenModel):
    """No model, even if one is installed."""

    type: Literal["none"]


class GgufModelConfig(FrozenModel):
    """A chat model in a GGUF file, run by llama.cpp; other fields as for the bundled one."""

    type: Literal["gguf"]
    path: HomePath
    context_tokens: ContextTokens = 4096
    threads: Threads | None = None
    unload_after_seconds: IdleSeconds | None = 600
    daily_token_limit: TokenLimit | None = None


class OpenAIModelConfig(FrozenModel):
    """A server with an OpenAI-compatible ``/chat/completions`` endpoint.

    ``base_url`` ends before ``/chat/completions`` (``http://localhost:11434/v1``).
    ``api_key_env`` names the environment variable with the key; keys are never written to
    settings. A request that times out or is refused because of load is repeated up to
    ``max_retries`` times. Prices are for a million tokens. ``daily_token_limit`` is as for the
    bundled model.
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
