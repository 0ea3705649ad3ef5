"""Common base of embedders that run a model in this process."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Final

from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import Batch, LocalModel, ModelRole

EMBEDDING: Final = ModelRole(
    name="embedding model",
    purpose="embedding",
    setting="providers.embedding",
    remedy="Check providers.embedding.path and providers.embedding.pooling",
    error=EmbeddingError,
)


def normalise(vectors: Vectors) -> Vectors:
    """Return the vectors (rows) scaled to length 1; rows of zeros stay zero."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return scaled


class LocalEmbedder(LocalModel):
    """Base of embedders that run a model in this process; a query waits for one batch at most."""

    def __init__(self, *, gentle: bool = False) -> None:
        super().__init__(EMBEDDING, gentle=gentle)

    @property
    @abstractmethod
    def dims(self) -> int:
        """Length of each vector."""

    @abstractmethod
    def _plan(self, texts: Sequence[str]) -> Sequence[Batch]:
        """Splits texts into batches: positions, and what computes their unit vectors."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        with self._at_work():
            plan = partial(self._plan, texts)
            is_long = len(texts) > 1
            parts = [each async for each in self._parts(plan, is_long=is_long)] if texts else []
            import numpy as np  # not before the plan, which loads it beside us

            vectors = np.empty((len(texts), self.dims), dtype=np.float32)
            for positions, part in parts:
                vectors[np.asarray(positions)] = part
            return vectors

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self.embed([text]))[0]
        return vector
