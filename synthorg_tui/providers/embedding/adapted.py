"""What gives questions other vectors than the base, and can be put in and taken out at any time.

Texts keep the vectors of the base, so that nothing is embedded anew: the fingerprint of what is
stored is the base's, and that of questions says what is in front of it, too. Here is the linear
map; a model of its own for questions is in ``query_encoder``. Who made one, and whether it may be
used, is decided elsewhere.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

MAX_ADAPTER_BYTES: Final = 300_000_000
"""Largest file of an adapter that is read; one for vectors of 8192 numbers has 268 MB."""

_MAGIC: Final = b"synthorg-tui query adapter 1\n"
_MAX_HEADER: Final = 4096


class QuestionSide(Protocol):
    """What was trained for questions, on top of a base whose vectors the texts keep."""

    @property
    def base(self) -> str:
        """Fingerprint of the embedder that it was trained for."""

    @property
    def fingerprint(self) -> str:
        """Identifier of base and training together."""

    @property
    def is_loaded(self) -> bool:
        """Whether it holds a model in memory."""

    def twin(self) -> "QuestionSide":
        """Return one that answers alike, and is loaded and closed apart from this one."""

    async def vector_of(self, text: str, base: Embedder) -> Vectors:
        """Return the unit vector of a question; raises ``EmbeddingError``."""

    async def unload(self) -> None:
        """Free its memory until the next question."""

    async def close(self) -> None:
        """Free its memory for good."""


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

    @property
    def is_loaded(self) -> bool:
        return False

    def twin(self) -> "QueryAdapter":
        return self

    async def vector_of(self, text: str, base: Embedder) -> Vectors:
        """Return the mapped vector of a question; what the base remembers of it is its own."""
        return self.apply(await base.embed_query(text))

    async def unload(self) -> None:
        """Do nothing: a matrix is small."""

    async def close(self) -> None:
        """Do nothing, likewise."""

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
    """Embedder whose questions may go another way than texts; without that it is the base itself.

    What the base remembers of queries are its own vectors: putting something in or out takes effect
    with the next query, and leaves nothing behind.

    Args:
        base: The embedder of texts and of queries; closed together with this one.
    """

    def __init__(self, base: Embedder) -> None:
        self.base = base
        self.side: QuestionSide | None = None

    def use(self, side: QuestionSide | None) -> QuestionSide | None:
        """Put something in place of what is in use, or nothing; holds from the next query on.

        Returns what was in use, which the caller closes. Raises ``EmbeddingError`` for one that was
        made for another base.
        """
        if side is not None and side.base != self.base.fingerprint:
            raise EmbeddingError(
                f"the checkpoint was trained for {side.base}, and {self.base.fingerprint} is used",
                remedy="Train one for this embedder, or choose that embedder again.",
            )
        former, self.side = self.side, side
        return former

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    @property
    def query_fingerprint(self) -> str:
        """Identifier of what questions are embedded with: the base, and what is in front of it."""
        return self.side.fingerprint if self.side else self.base.fingerprint

    @property
    def dims(self) -> int:
        return self.base.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self.base.embed(texts)

    async def embed_query(self, text: str) -> Vectors:
        if self.side is None:
            return await self.base.embed_query(text)
        return await self.side.vector_of(text, self.base)

    @property
    def is_loaded(self) -> bool:
        return self.base.is_loaded or (self.side is not None and self.side.is_loaded)

    async def unload(self) -> None:
        await self.base.unload()
        if self.side is not None:
            await self.side.unload()

    async def close(self) -> None:
        await self.base.close()
        if self.side is not None:
            await self.side.close()
