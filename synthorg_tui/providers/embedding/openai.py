"""Embeddings from an OpenAI-compatible server."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synthorg_tui.providers.embedding.config import OpenAIConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import normalise
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    import httpx

_RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
_FIRST_WAIT_SECONDS = 0.5
_SHOWN_CHARS = 200


class OpenAIEmbedder:
    """Asks ``POST {base_url}/embeddings`` and scales the answers to length 1."""

    def __init__(self, config: OpenAIConfig, *, environ: Mapping[str, str] = os.environ) -> None:
        self._config = config
        self._environ = environ
        self._client: httpx.AsyncClient | None = None
        self._closed = False

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
            vectors[start : start + len(batch)] = await self._embed_batch(batch)
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self.embed([text]))[0]
        return vector

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        answer = await self._post({"model": self._config.model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.asarray([row["embedding"] for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._error("answered with something that isn't embeddings") from error
        if vectors.shape != (len(texts), self.dims):
            raise EmbeddingError(
                f"Model {self._config.model} gave vectors of shape {vectors.shape}, "
                f"expected {(len(texts), self.dims)}",
                remedy="Set providers.embedding.dims to the length of the model's vectors",
            )
        if not np.isfinite(vectors).all():
            raise self._error("answered with vectors that are not finite")
        return normalise(vectors)

    async def _post(self, body: dict[str, Any]) -> Any:
        import httpx

        client = self._connected()
        for attempt in range(self._config.max_retries + 1):
            last = attempt == self._config.max_retries
            try:
                response = await client.post(f"{self._config.base_url}/embeddings", json=body)
            except httpx.TimeoutException as error:
                if last:
                    seconds = f"{self._config.timeout_seconds:g}"
                    raise self._error(f"did not answer within {seconds} seconds") from error
            except httpx.HTTPError as error:
                if last:
                    raise self._error(f"can't be reached: {error}") from error
            else:
                if last or response.status_code not in _RETRYABLE:
                    return self._decoded(response)
            await asyncio.sleep(_FIRST_WAIT_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _decoded(self, response: "httpx.Response") -> Any:
        status = response.status_code
        if status in (401, 403):
            name = self._config.api_key_env or "(none set: providers.embedding.api_key_env)"
            raise EmbeddingError(
                f"The embedding server {self._config.base_url} refused the API key ({status})",
                remedy=f"Check the key in the environment variable {name}",
            )
        if not response.is_success:
            raise self._error(f"answered {status}: {response.text[:_SHOWN_CHARS].strip()}")
        try:
            return response.json()
        except ValueError as error:
            raise self._error("answered with something that isn't JSON") from error

    def _connected(self) -> "httpx.AsyncClient":
        import httpx

        if self._closed:
            raise EmbeddingError("The embedding client is closed", remedy="Open the store again")
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self._config.timeout_seconds, headers=self._headers()
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        name = self._config.api_key_env
        if name is None:
            return {}
        key = self._environ.get(name, "").strip()
        if not key:
            raise EmbeddingError(
                f"The environment variable {name} for the embedding server's key is not set",
                remedy=f"Set {name}, or remove providers.embedding.api_key_env",
            )
        return {"Authorization": f"Bearer {key}"}

    def _error(self, what: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedding server {self._config.base_url} {what}",
            remedy="Check that it is running, and providers.embedding.base_url and .model",
        )
