"""The contract of embedders: texts in, unit vectors out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
else:  # numpy takes a tenth of a second to load, which listing memories doesn't need
    Vectors = Any
"""Float32, one L2-normalised row a text (or a single row)."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Loading is lazy: constructing an embedder reads no model. All methods raise
    ``EmbeddingError`` on failure.
    """

    @property
    def fingerprint(self) -> str:
        """Identifies model, weights and pooling; equal fingerprints give comparable vectors."""
        ...

    @property
    def dims(self) -> int:
        """Length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dims), in the order of the texts."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dims,); repeated queries are answered from a cache."""
        ...

    async def close(self) -> None:
        """Free the model; closing twice does nothing."""
        ...
