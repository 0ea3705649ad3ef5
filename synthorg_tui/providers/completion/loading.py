"""Loads chat models, with errors that say what to do."""

from pathlib import Path
from typing import Any

from synthorg_tui.providers.completion.errors import CompletionError


def load_model(path: Path, **options: Any) -> Any:
    """A ``llama_cpp.Llama`` for the file; raises ``CompletionError``."""
    from synthorg_tui.providers.llama import load_llama

    try:
        return load_llama(path, **options)
    except ImportError as error:
        raise CompletionError(
            "GGUF models need llama.cpp, which is not installed",
            retryable=False,
            remedy="Run: pip install 'synthorg-tui[local-model]'",
        ) from error
    except ValueError as error:
        raise CompletionError(
            f"llama.cpp can't load {path}: {error}",
            retryable=False,
            remedy="Check providers.completion.path; it must be a GGUF chat model",
        ) from error
