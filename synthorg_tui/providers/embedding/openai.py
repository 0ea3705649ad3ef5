"""Embeddings from an OpenAI-compatible server."""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from synthorg_tui.providers.embedding.config import OpenAIConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import normalise
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.http import ModelServer, ServerError


class OpenAIEmbedder:
    """Embedder for a server with an OpenAI-compatible endpoint; scales vectors to length 1.

    Sends ``POST {base_url}/embeddings``.
    """

    def __init__(self, config: OpenAIConfig, *, environ: Mapping[str, str] = os.environ) -> None:
        self._config = config
        self._server = ModelServer(
            what="embedding server", setting="providers.embedding", config=config, environ=environ
        )

    @property
    def fingerprint(self) -> str:
        config = self._config
        return f"openai:{config.base_url}:{config.model}:{config.dims}"

    @property
    def dims(self) -> int:
        return self._config.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        for start in range(0, len(texts), self._config.batch_size):
            batch = texts[start : start + self._config.batch_size]
            try:
                vectors[start : start + len(batch)] = await self._embed_batch(batch)
            except ServerError as error:
                raise EmbeddingError(error.message, remedy=error.remedy) from error
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self.embed([text]))[0]
        return vector

    @property
    def is_loaded(self) -> bool:
        return True

    async def unload(self) -> None:
        """Do nothing: the model is the server's."""

    async def close(self) -> None:
        await self._server.close()

    async def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        answer = await self._server.post(
            "/embeddings", {"model": self._config.model, "input": list(texts)}
        )
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.asarray([row["embedding"] for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.error("answered with something that isn't embeddings") from error
        if vectors.shape != (len(texts), self.dims):
            raise EmbeddingError(
                f"Model {self._config.model} gave vectors of shape {vectors.shape}, "
                f"expected {(len(texts), self.dims)}",
                remedy="Set providers.embedding.dims to the length of the model's vectors",
            )
        if not np.isfinite(vectors).all():
            raise self._server.error("answered with vectors that are not finite")
        return normalise(vectors)
