"""Detection of available models: whether they load, and how fast they are."""

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.providers.completion.config import (
    AutoModelConfig,
    CompletionConfig,
    GgufModelConfig,
    NoModelConfig,
    OpenAIModelConfig,
)
from synthorg_tui.providers.completion.factory import bundled_model
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.embedding.config import (
    EmbeddingConfig,
    FastembedConfig,
    GgufConfig,
    OnnxConfig,
    OpenAIConfig,
    StaticConfig,
)
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage
from synthorg_tui.providers.reranking.config import (
    NO_RERANKER,
    OnnxRerankerConfig,
    RerankingConfig,
)
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

LOCAL_SERVERS: Final = (
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama-server", "http://127.0.0.1:8080/v1"),
)
"""Where model servers usually listen."""

_GGUF_START = b"GGUF"
_PROBE_SECONDS = 2.0
_MEASURED_TOKENS = 48
_GREETING = ChatMessage(role=MessageRole.USER, content="Hello.")
_QUESTION = ChatMessage(role=MessageRole.USER, content="Describe how a bicycle works.")
_TEXTS = tuple(
    f"A sentence about topic {number}, as a memory would say it." for number in range(32)
)


class Purpose(StrEnum):
    """Task that a model is used for."""

    COMPLETION = "completion"
    EMBEDDING = "embedding"
    RERANKING = "reranking"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that was detected, and whether it can be used.

    ``where`` is a path or an address; ``problem`` says what is missing, empty when nothing is.
    ``configured`` is whether the settings use it; ``size`` is in bytes on disk, ``None`` if
    unknown.
    """

    purpose: Purpose
    name: str
    where: str
    configured: bool
    size: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Speed of a model, or in ``problem`` the reason why it doesn't work.

    ``load_seconds`` is the time until the first answer. ``per_second`` is the number of tokens
    written, texts embedded, or texts read with a question, per second. ``first_seconds`` is the
    time until the first token of an answer, with the model already loaded.
    """

    purpose: Purpose
    load_seconds: float = 0.0
    per_second: float = 0.0
    first_seconds: float = 0.0
    problem: str = ""


async def find_models(
    completion: CompletionConfig,
    embedding: EmbeddingConfig,
    reranking: RerankingConfig = NO_RERANKER,
    *,
    environ: Mapping[str, str] = os.environ,
    servers: Sequence[tuple[str, str]] = LOCAL_SERVERS,
) -> tuple[FoundModel, ...]:
    """Return the configured models, followed by other models detected on this machine.

    Args:
        completion: Settings of the language model.
        embedding: Settings of the embedding model.
        reranking: Settings of the re-ranker.
        environ: Environment in which API keys are looked up.
        servers: Names and addresses of local model servers to probe.
    """
    configured = await asyncio.gather(
        _embedding_model(embedding, environ), *_completion_models(completion, environ)
    )
    known = {model.where for model in configured}
    others = await asyncio.gather(
        *(_served(name, url) for name, url in servers if url not in known)
    )
    bundled = bundled_model()
    found = [*configured]
    if isinstance(reranking, OnnxRerankerConfig):
        found.append(_present(Purpose.RERANKING, reranking.path))
    if bundled is not None and str(bundled) not in known:
        found.append(_file(Purpose.COMPLETION, bundled, configured=False))
    return (*found, *(model for models in others for model in models))


async def measure_completion(provider: CompletionProvider | None) -> Measured:
    """Load the language model, let it write, and return its speed; failures are in the result."""
    if provider is None:
        return Measured(Purpose.COMPLETION, problem="no language model is configured or installed")
    try:
        started = time.perf_counter()
        await provider.complete([_GREETING], CompletionOptions(max_tokens=1))
        loaded = time.perf_counter()
        first: list[float] = []
        answer = await provider.complete(
            [_QUESTION],
            CompletionOptions(
                max_tokens=_MEASURED_TOKENS, on_text=lambda _: first.append(time.perf_counter())
            ),
        )
        ended = time.perf_counter()
    except DomainError as error:
        return Measured(Purpose.COMPLETION, problem=_told(error))
    begun = first[0] if first else ended
    written = max(answer.usage.completion_tokens - 1, 0)
    return Measured(
        Purpose.COMPLETION,
        load_seconds=loaded - started,
        first_seconds=begun - loaded,
        per_second=written / (ended - begun) if ended > begun else 0.0,
    )


async def measure_embedding(embedder: Embedder) -> Measured:
    """Load the embedding model, embed some short texts, and return its speed.

    Failures are in the result and never raised.
    """
    try:
        started = time.perf_counter()
        await embedder.embed(_TEXTS[:1])
        loaded = time.perf_counter()
        await embedder.embed(_TEXTS)
        ended = time.perf_counter()
    except DomainError as error:
        return Measured(Purpose.EMBEDDING, problem=_told(error))
    return Measured(
        Purpose.EMBEDDING,
        load_seconds=loaded - started,
        per_second=len(_TEXTS) / (ended - loaded),
    )


async def measure_reranking(encoder: CrossEncoder) -> Measured:
    """Load the re-ranker, let it read some short texts with a question, and return its speed.

    Failures are in the result and never raised.
    """
    try:
        started = time.perf_counter()
        await encoder.scores(_QUESTION.content, _TEXTS[:1])
        loaded = time.perf_counter()
        await encoder.scores(_QUESTION.content, _TEXTS)
        ended = time.perf_counter()
    except DomainError as error:
        return Measured(Purpose.RERANKING, problem=_told(error))
    return Measured(
        Purpose.RERANKING,
        load_seconds=loaded - started,
        per_second=len(_TEXTS) / (ended - loaded),
    )


def _told(error: DomainError) -> str:
    return f"{error.message}. {error.remedy}" if error.remedy else error.message


def _completion_models(
    config: CompletionConfig, environ: Mapping[str, str]
) -> list[Awaitable[FoundModel]]:
    """The configured language model, if any."""
    if isinstance(config, NoModelConfig):
        return []
    if isinstance(config, OpenAIModelConfig):
        return [
            _server(Purpose.COMPLETION, config.base_url, config.model, config.api_key_env, environ)
        ]
    path = config.path if isinstance(config, GgufModelConfig) else bundled_model()
    if path is None and isinstance(config, AutoModelConfig):
        return []
    return [_now(_file(Purpose.COMPLETION, path or Path(), configured=True))]


def _embedding_model(config: EmbeddingConfig, environ: Mapping[str, str]) -> Awaitable[FoundModel]:
    if isinstance(config, OpenAIConfig):
        return _server(
            Purpose.EMBEDDING, config.base_url, config.model, config.api_key_env, environ
        )
    if isinstance(config, GgufConfig):
        return _now(_file(Purpose.EMBEDDING, config.path, configured=True))
    if isinstance(config, FastembedConfig):
        missing = "" if find_spec("fastembed") else "it is not installed: pip install fastembed"
        where = str(config.path or config.cache or "fastembed")
        return _now(FoundModel(Purpose.EMBEDDING, config.model, where, True, problem=missing))
    if isinstance(config, OnnxConfig | StaticConfig):
        return _now(_present(Purpose.EMBEDDING, config.path))
    from synthorg_tui.providers.embedding.config import MODEL_ID
    from synthorg_tui.providers.embedding.onnx import model_path

    try:
        path = model_path()
    except DomainError as error:
        return _now(FoundModel(Purpose.EMBEDDING, MODEL_ID, "", True, problem=_told(error)))
    size = path.stat().st_size
    return _now(FoundModel(Purpose.EMBEDDING, MODEL_ID, str(path), True, size=size))


def _present(purpose: Purpose, path: Path) -> FoundModel:
    """A configured file or folder, and whether it is there."""
    size, problem = None, ""
    try:
        size = path.stat().st_size
    except OSError as error:
        problem = error.strerror or str(error)
    return FoundModel(purpose, path.stem, str(path), True, size, problem)


async def _now(found: FoundModel) -> FoundModel:
    return found


def _file(purpose: Purpose, path: Path, *, configured: bool) -> FoundModel:
    """A GGUF file and whether it could be loaded, without loading it."""
    size, problem = None, ""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(len(_GGUF_START)) != _GGUF_START:
                problem = "it is no GGUF file"
    except OSError as error:
        problem = error.strerror or str(error)
    if not problem and find_spec("llama_cpp") is None:
        problem = "llama.cpp is not installed: pip install 'synthorg-tui[local-model]'"
    return FoundModel(purpose, path.stem, str(path), configured, size, problem)


async def _server(
    purpose: Purpose, url: str, model: str, key_env: str | None, environ: Mapping[str, str]
) -> FoundModel:
    """A configured server and whether it has the model."""
    try:
        names = await _model_names(url, environ.get(key_env, "") if key_env else "")
    except DomainError as error:
        return FoundModel(purpose, model, url, True, problem=error.message)
    # Ollama tags its models; a name without a tag is the latest.
    has_it = model in names or f"{model}:latest" in names
    return FoundModel(
        purpose, model, url, True, problem="" if has_it else "the server has no such model"
    )


async def _served(name: str, url: str) -> tuple[FoundModel, ...]:
    """The models of a server that may run here; none when there is no such server."""
    try:
        models = await _model_names(url)
    except DomainError:
        return ()
    return tuple(
        FoundModel(Purpose.COMPLETION, f"{model} ({name})", url, configured=False)
        for model in models
    )


async def _model_names(url: str, key: str = "") -> tuple[str, ...]:
    """What a server says it has; raises ``DomainError``."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key.strip() else {}
    try:
        async with httpx.AsyncClient(timeout=_PROBE_SECONDS, headers=headers) as client:
            answer = await client.get(f"{url}/models")
        answer.raise_for_status()
        return tuple(str(model["id"]) for model in answer.json()["data"])
    except httpx.HTTPStatusError as error:
        raise DomainError(f"it answered {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise DomainError(f"it can't be reached: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DomainError("it answered with something that is no list of models") from error
