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
    """Turns texts into unit vectors, so that a dot product is a cosine similarity.

    Constructing an embedder loads nothing: the model is loaded on first use. All methods raise
    ``EmbeddingError`` on failure.
    """

    @property
    def fingerprint(self) -> str:
        """Identifier of model, weights and pooling; vectors are comparable if it is equal."""

    @property
    def dims(self) -> int:
        """Length of each vector."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape ``(len(texts), dims)``, one row for each text in order."""

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query, of shape ``(dims,)``.

        Recent queries may be answered from a cache.
        """

    @property
    def is_loaded(self) -> bool:
        """Whether the model can answer without being loaded first."""

    async def unload(self) -> None:
        """Free the model's memory until it is needed again; the next text loads it anew.

        Does nothing while texts are being embedded, and for a model that runs elsewhere.
        """

    async def close(self) -> None:
        """Release the model and its memory; do nothing when closed already."""
