"""Exact token counts from a model's own tokenizer."""

import logging
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.llama import load_model

logger = logging.getLogger(__name__)

_CACHED_TEXTS = 4096
_UNAVAILABLE = object()


class GgufTokenEstimator:
    """Counts as the model of a GGUF file does, loading its vocabulary but no weights.

    The first count takes a fraction of a second; a text that was counted before is remembered.
    A file that can't be loaded is logged, and tokens are estimated from then on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._vocabulary: Any = None
        self._count = lru_cache(maxsize=_CACHED_TEXTS)(self._counted)

    def estimate_tokens(self, text: str) -> int:
        """The number of tokens, without those that frame a text."""
        return self._count(text) if text else 0

    def _counted(self, text: str) -> int:
        with self._lock:
            if self._vocabulary is None:
                self._vocabulary = self._load()
            if self._vocabulary is _UNAVAILABLE:
                return estimate_tokens(text)
            raw = text.encode("utf-8", "replace")
            return len(self._vocabulary.tokenize(raw, add_bos=False, special=False))

    def _load(self) -> Any:
        try:
            return load_model(self._path, vocab_only=True)
        except CompletionError as error:
            logger.warning("tokens are estimated: %s", error)
            return _UNAVAILABLE
