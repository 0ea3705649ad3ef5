"""Embedding models in GGUF files, run by llama.cpp."""

import struct
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from synthorg_tui.providers.embedding.config import GgufConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import EMBEDDING, LocalEmbedder, normalise
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import default_threads, identity_of, opened

_BATCH = 8


class GgufEmbedder(LocalEmbedder):
    """Embedder for a GGUF model, run by llama.cpp."""

    def __init__(self, config: GgufConfig) -> None:
        super().__init__()
        self._config = config
        self._model: Any = None

    @cached_property
    def fingerprint(self) -> str:
        path, config = self._config.path, self._config
        identity = f"{path.name}:{identity_of(path, EMBEDDING)}"
        return f"gguf:{identity}:{config.pooling}:{config.max_tokens}:{self.dims}"

    @cached_property
    def dims(self) -> int:
        return read_embedding_length(self._config.path)

    def _plan(self, texts: Sequence[str]) -> Sequence[tuple[Sequence[int], Callable[[], Vectors]]]:
        model = self._load()
        starts = range(0, len(texts), _BATCH)
        batches = [range(start, min(start + _BATCH, len(texts))) for start in starts]
        # llama.cpp crashes on a sequence without tokens.
        return [
            (batch, partial(_compute, model, [texts[i] or " " for i in batch])) for batch in batches
        ]

    def _load(self) -> Any:
        if self._model is None:
            self._model = self._open()
        return self._model

    def _open(self) -> Any:
        from synthorg_tui.providers.llama import load_llama

        config = self._config
        threads = config.threads or default_threads()
        options: dict[str, Any] = {"n_threads": threads, "n_threads_batch": threads}
        options |= dict.fromkeys(("n_ctx", "n_batch", "n_ubatch"), config.max_tokens)
        pooling = {"mean": 1, "cls": 2, "last": 3}[config.pooling]
        try:
            return load_llama(config.path, embedding=True, pooling_type=pooling, **options)
        except ImportError as error:
            raise EmbeddingError(
                "GGUF embedding models need llama.cpp, which is not installed",
                remedy="Run: pip install 'synthorg-tui[local-model]'",
            ) from error
        except ValueError as error:
            raise EmbeddingError(
                f"llama.cpp can't load {config.path}: {error}",
                remedy="Check providers.embedding.path; it must be a GGUF embedding model",
            ) from error

    @property
    def is_loaded(self) -> bool:
        return self._model is not None

    def _unload(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None


def _compute(model: Any, texts: Sequence[str]) -> Vectors:
    return normalise(np.asarray(model.embed(list(texts), truncate=True), dtype=np.float32))


# Value types of the GGUF header that have a fixed size, by type number.
_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_embedding_length(path: Path) -> int:
    """Return the vector length that a GGUF file declares, reading only its header.

    Raises ``EmbeddingError`` when the file is missing or isn't a GGUF model.
    """
    try:
        with opened(path, EMBEDDING) as file:
            if file.read(4) != b"GGUF":
                raise ValueError("no GGUF file")
            _version, _tensors, entries = struct.unpack("<IQQ", _read(file, 20))
            for _ in range(entries):
                key = _read_string(file)
                value = _read_value(file, _read_number(file, "I"))
                if key.endswith(b".embedding_length") and isinstance(value, int):
                    return value
            raise ValueError("no embedding length in its header")
    except (ValueError, struct.error) as error:
        raise EmbeddingError(
            f"{path} is not a GGUF model: {error}", remedy="Check providers.embedding.path"
        ) from error


def _read(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise ValueError("its header ends early")
    return content


def _read_number(file: BinaryIO, code: str) -> Any:
    return struct.unpack(f"<{code}", _read(file, struct.calcsize(f"<{code}")))[0]


def _read_string(file: BinaryIO) -> bytes:
    return _read(file, _read_number(file, "Q"))


def _read_value(file: BinaryIO, kind: int) -> Any:
    """One header value; arrays are skipped and give ``None``."""
    if kind in _FIXED:
        return _read_number(file, _FIXED[kind])
    if kind == _STRING:
        return _read_string(file)
    if kind != _ARRAY:
        raise ValueError(f"unknown value type {kind} in its header")
    item, count = _read_number(file, "I"), _read_number(file, "Q")
    if item in _FIXED:
        file.seek(count * struct.calcsize(f"<{_FIXED[item]}"), 1)
    else:
        for _ in range(count):
            _read_value(file, item)
    return None
