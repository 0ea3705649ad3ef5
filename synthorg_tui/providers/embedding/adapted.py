"""A linear map of queries in front of any embedder, which can be put in and taken out at any time.

Texts keep the vectors of the base, so that nothing is embedded anew: the fingerprint of what is
stored is the base's, and that of questions says the adapter, too. Who made an adapter, and whether
it may be used, is decided elsewhere.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

MAX_ADAPTER_BYTES: Final = 300_000_000
"""Largest file of an adapter that is read; one for vectors of 8192 numbers has 268 MB."""

_MAGIC: Final = b"synthorg-tui query adapter 1\n"
_MAX_HEADER: Final = 4096


@dataclass(frozen=True, slots=True)
class QueryAdapter:
    """A square matrix that the vectors of queries are multiplied with, made for one base.

    ``base`` is the fingerprint of that embedder.
    """

    base: str
    matrix: Vectors

    @property
    def dims(self) -> int:
        """Length of the vectors it takes and gives."""
        return int(self.matrix.shape[0])

    @property
    def fingerprint(self) -> str:
        """Identifier of base and adapter together."""
        return f"{self.base}+adapter-{hashlib.sha256(self.to_bytes()).hexdigest()[:16]}"

    def apply(self, vector: Vectors) -> Vectors:
        """Return the unit vector of a query, given that of the base."""
        import numpy as np

        mapped = self.matrix @ vector
        norm = float(np.linalg.norm(mapped))
        result: Vectors = (mapped / norm if norm > 0 else vector).astype(np.float32)
        return result

    def to_bytes(self) -> bytes:
        """Return the file's content: a line that says what it is, one of JSON, the numbers."""
        import numpy as np

        about = json.dumps({"base": self.base, "dims": self.dims}, sort_keys=True)
        numbers = np.ascontiguousarray(self.matrix, dtype="<f4").tobytes()
        return _MAGIC + about.encode() + b"\n" + numbers

    @classmethod
    def from_bytes(cls, content: bytes) -> "QueryAdapter":
        """Read a file's content; raises ``EmbeddingError`` for anything that isn't an adapter."""
        import numpy as np

        try:
            about, numbers = _parts(content)
            base, dims = str(about["base"]), int(about["dims"])
            flat = np.frombuffer(numbers, dtype="<f4")
            matrix = flat.reshape(dims, dims).astype(np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingError(f"this isn't the file of an adapter: {error}") from None
        if not np.isfinite(matrix).all():
            raise EmbeddingError("this isn't the file of an adapter: it has no finite numbers")
        return cls(base, matrix)


def _parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The line of JSON, and the bytes after it."""
    if not content.startswith(_MAGIC):
        raise ValueError("it begins with something else")
    at = content.index(b"\n", len(_MAGIC), len(_MAGIC) + _MAX_HEADER)
    about = json.loads(content[len(_MAGIC) : at])
    if not isinstance(about, dict):
        raise ValueError("it doesn't say what it is")
    return about, content[at + 1 :]


class AdaptedEmbedder:
    """Embedder whose queries may pass through an adapter; without one it is the base itself.

    What the base remembers of queries are its own vectors, to which the adapter is applied each
    time: putting one in or out takes effect with the next query, and leaves nothing behind.

    Args:
        base: The embedder of texts and of queries; closed together with this one.
    """

    def __init__(self, base: Embedder) -> None:
        self._base = base
        self._adapter: QueryAdapter | None = None

    @property
    def base(self) -> Embedder:
        """The embedder without the adapter."""
        return self._base

    @property
    def adapter(self) -> QueryAdapter | None:
        """The adapter in use."""
        return self._adapter

    def use(self, adapter: QueryAdapter | None) -> None:
        """Put an adapter in place of the one in use, or none; holds from the next query on.

        Raises ``EmbeddingError`` for one that was made for another base.
        """
        if adapter is not None and adapter.base != self._base.fingerprint:
            raise EmbeddingError(
                f"the adapter was trained for {adapter.base}, and {self._base.fingerprint} is used",
                remedy="Train one for this embedder, or choose that embedder again.",
            )
        self._adapter = adapter

    @property
    def fingerprint(self) -> str:
        return self._base.fingerprint

    @property
    def query_fingerprint(self) -> str:
        """Identifier of what questions are embedded with: the base, and the adapter in use."""
        return self._adapter.fingerprint if self._adapter else self._base.fingerprint

    @property
    def dims(self) -> int:
        return self._base.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._base.embed(texts)

    async def embed_query(self, text: str) -> Vectors:
        vector = await self._base.embed_query(text)
        return vector if self._adapter is None else self._adapter.apply(vector)

    @property
    def is_loaded(self) -> bool:
        return self._base.is_loaded

    async def unload(self) -> None:
        await self._base.unload()

    async def close(self) -> None:
        await self._base.close()
