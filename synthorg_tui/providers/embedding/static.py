"""Static embeddings: a table of token vectors, of which a text's vector is the mean.

Needs numpy alone, and is some hundred times as fast as a model; what stands around a word doesn't
count, so that it finds less.
"""

import json
import struct
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synthorg_tui.providers.embedding.config import StaticConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import EMBEDDING, LocalEmbedder, normalise
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import identity_of, load_tokenizer, opened, tokenizer_beside

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BATCH: Final = 256
_TYPES: Final = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I8": "i1", "I32": "<i4", "I64": "<i8"}
_MAX_HEADER: Final = 1 << 26
_BESIDE: Final = frozenset({"weights", "mapping"})
"""Tensors that a table may have: a weight for each token, and the row of each token."""


class StaticEmbedder(LocalEmbedder):
    """Embedder for a table of token vectors in a safetensors file."""

    def __init__(self, config: StaticConfig) -> None:
        super().__init__()
        self._config = config
        self._tokenizer: Tokenizer | None = None
        self._table: _Table | None = None

    @cached_property
    def fingerprint(self) -> str:
        path = self._path
        words = identity_of(tokenizer_beside(path, EMBEDDING), EMBEDDING)[:8]
        return (
            f"static:{path.name}:{identity_of(path, EMBEDDING)}:{words}:{self._config.max_tokens}"
        )

    @cached_property
    def dims(self) -> int:
        return _Table(self._path).dims

    @property
    def is_loaded(self) -> bool:
        return self._table is not None

    @property
    def _path(self) -> Path:
        path = self._config.path
        return path / "model.safetensors" if path.is_dir() else path

    def _plan(self, texts: Sequence[str]) -> Sequence[tuple[Sequence[int], Callable[[], Vectors]]]:
        if self._tokenizer is None or self._table is None:
            tokenizer = load_tokenizer(self._path, EMBEDDING)
            tokenizer.enable_truncation(max_length=self._config.max_tokens)
            self._tokenizer, self._table = tokenizer, _Table(self._path)
            self._table.require(self._tokenizer.get_vocab_size())
        starts = range(0, len(texts), _BATCH)
        batches = [range(start, min(start + _BATCH, len(texts))) for start in starts]
        work = partial(_compute, self._tokenizer, self._table)
        return [(batch, partial(work, [texts[i] for i in batch])) for batch in batches]

    def _unload(self) -> None:
        self._tokenizer = self._table = None


def _compute(tokenizer: "Tokenizer", table: "_Table", texts: Sequence[str]) -> Vectors:
    encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return normalise(np.stack([table.mean(encoding.ids) for encoding in encodings]))


class _Table:
    """The vectors of a safetensors file, left on disk until they are read."""

    def __init__(self, path: Path) -> None:
        self._file = path
        tensors = _tensors(path)
        tables = [name for name, tensor in tensors.items() if tensor.ndim == 2]
        unknown = set(tensors) - _BESIDE - set(tables)
        if len(tables) != 1 or unknown:
            names = ", ".join(sorted(tensors)) or "nothing"
            raise _unusable(path, f"it should hold one table of token vectors, and has {names}")
        self._vectors = tensors[tables[0]]
        self._weights = tensors.get("weights")
        self._rows = tensors.get("mapping")

    @property
    def dims(self) -> int:
        return int(self._vectors.shape[1])

    def require(self, tokens: int) -> None:
        """Raise ``EmbeddingError`` unless there is a vector for each of so many tokens."""
        known = len(self._vectors) if self._rows is None else len(self._rows)
        if known < tokens or (self._weights is not None and len(self._weights) < tokens):
            reason = f"it has vectors of {known} tokens, its tokenizer knows {tokens}"
            raise _unusable(self._file, reason)

    def mean(self, ids: Sequence[int]) -> Vectors:
        """Return the mean of the vectors of tokens; that of all there are for no token."""
        if not ids:
            middle: Vectors = np.asarray(self._vectors, dtype=np.float32).mean(axis=0)
            return middle
        wanted = np.asarray(ids)
        rows = wanted if self._rows is None else self._rows[wanted]
        vectors = np.asarray(self._vectors[rows], dtype=np.float32)
        if self._weights is not None:
            vectors = vectors * np.asarray(self._weights[wanted], dtype=np.float32)[:, None]
        mean: Vectors = vectors.mean(axis=0)
        return mean


def _tensors(path: Path) -> dict[str, Any]:
    """The tensors of a safetensors file, mapped into memory."""
    try:
        with opened(path, EMBEDDING) as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _MAX_HEADER:
                raise ValueError("no safetensors file")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        return {name: _mapped(path, 8 + length, **tensor) for name, tensor in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, struct.error) as error:
        raise _unusable(path, f"it can't be read as safetensors: {error}") from error


def _mapped(
    path: Path, start: int, *, dtype: str, shape: Sequence[int], data_offsets: Sequence[int]
) -> Any:
    if dtype not in _TYPES:
        raise ValueError(f"numbers of type {dtype} aren't read, only {', '.join(_TYPES)}")
    offset = start + data_offsets[0]
    return np.memmap(path, _TYPES[dtype], mode="r", offset=offset, shape=tuple(shape))


def _unusable(path: Path, reason: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} is no table of token vectors: {reason}",
        remedy="Check providers.embedding.path; the file is a static model's model.safetensors",
    )
