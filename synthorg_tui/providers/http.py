"""Asks OpenAI-compatible servers: keys from the environment, retries, helpful errors.

Completion and embedding share it. Keys are read when a request is made and never stored.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from synthorg_tui.core.errors import DomainError

if TYPE_CHECKING:
    import httpx

RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
FIRST_WAIT_SECONDS = 0.5
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Longest answer that is read, decompressed; no model writes one as long."""
_SHOWN_CHARS = 200


class ServerError(DomainError):
    """A server gave no usable answer; ``retryable`` says whether a later retry may succeed.

    ``status`` is that of its answer, 0 without one.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, remedy: str = "", status: int = 0
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable
        self.status = status


class ServerConfig(Protocol):
    """Connection settings shared by all OpenAI-compatible servers."""

    @property
    def base_url(self) -> str:
        """URL up to, but without, the path of the endpoint."""

    @property
    def api_key_env(self) -> str | None:
        """Environment variable that holds the API key; ``None`` when the server needs none."""

    @property
    def timeout_seconds(self) -> float:
        """Time limit for each attempt, in seconds."""

    @property
    def max_retries(self) -> int:
        """Maximum number of attempts after the first one."""


class ModelServer:
    """HTTP client for JSON requests to a model server; raises ``ServerError``.

    Args:
        what: Description of the server in error messages, such as ``embedding server``.
        setting: Settings key of its configuration, such as ``providers.embedding``.
        config: Address, key variable, timeout and retries.
        environ: Environment in which the API key is looked up.
    """

    def __init__(
        self,
        *,
        what: str,
        setting: str,
        config: ServerConfig,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._what = what
        self._setting = setting
        self._config = config
        self._environ = environ
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Post ``body`` and return the decoded JSON answer; transient failures are retried."""
        async with self._answered(path, body, whole=True) as (response, text):
            return self._decoded(response, text)

    async def stream(self, path: str, body: dict[str, Any]) -> AsyncIterator[Any]:
        """Post ``body`` and yield the decoded events of a streamed answer as they arrive.

        Transient failures are retried until the first event has arrived.
        """
        async with self._answered(path, body, whole=False) as (response, _):
            if not response.is_success:
                self._decoded(response, await self._read(response))
            async for line in self._lines(response):
                if line.startswith("data:") and (data := line[5:].strip()) != "[DONE]":
                    yield self._loaded(data)

    @asynccontextmanager
    async def _answered(
        self, path: str, body: dict[str, Any], *, whole: bool
    ) -> "AsyncIterator[tuple[httpx.Response, str]]":
        """A response with its text, which is read when it is to be ``whole``."""
        client = self._connected()
        request = client.build_request("POST", f"{self._config.base_url}{path}", json=body)
        for attempt in range(self._config.max_retries + 1):
            is_last = attempt == self._config.max_retries
            try:
                with self._explained():
                    response = await client.send(request, stream=True)
                text = await self._read(response) if whole else ""
            except ServerError:
                if is_last:
                    raise
            else:
                if is_last or response.status_code not in RETRYABLE:
                    break
                await response.aclose()
            await asyncio.sleep(FIRST_WAIT_SECONDS * 2**attempt)
        try:
            yield response, text
        finally:
            await response.aclose()

    async def _read(self, response: "httpx.Response") -> str:
        """The whole text of an answer."""
        try:
            return b"".join([piece async for piece in self._pieces(response)]).decode(
                "utf-8", "replace"
            )
        except BaseException:
            await response.aclose()
            raise

    async def _lines(self, response: "httpx.Response") -> AsyncIterator[str]:
        begun: list[bytes] = []  # joined once its line ends: one of 32 MiB comes in many pieces
        async for piece in self._pieces(response):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                yield b"".join([*begun, end]).decode("utf-8", "replace").rstrip("\r")
                begun = []
            begun.append(rest)
        if last := b"".join(begun):
            yield last.decode("utf-8", "replace")

    async def _pieces(self, response: "httpx.Response") -> AsyncIterator[bytes]:
        """The bytes of an answer as they come; one that is too long is an error."""
        size = 0
        with self._explained():
            async for piece in response.aiter_bytes():
                size += len(piece)
                if size > MAX_ANSWER_BYTES:
                    raise self.error(f"answered with more than {MAX_ANSWER_BYTES >> 20} MiB")
                yield piece

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the connection as a person should read them."""
        import httpx

        try:
            yield
        except httpx.TimeoutException as error:
            seconds = f"{self._config.timeout_seconds:g}"
            raise self.error(f"did not answer within {seconds} seconds", retryable=True) from error
        except httpx.HTTPError as error:
            raise self.error(f"can't be reached: {error}", retryable=True) from error

    async def close(self) -> None:
        """Close the connections; do nothing when closed already."""
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def error(self, what: str, *, retryable: bool = False, status: int = 0) -> ServerError:
        """Return an error whose message begins with the server's description and address.

        The caller raises it. ``what`` continues the sentence.
        """
        return ServerError(
            f"The {self._what} {self._config.base_url} {what}",
            retryable=retryable,
            remedy=f"Check that it is running, and {self._setting}.base_url and .model",
            status=status,
        )

    def _decoded(self, response: "httpx.Response", text: str) -> Any:
        status = response.status_code
        if status in (401, 403):
            name = self._config.api_key_env or f"(none set: {self._setting}.api_key_env)"
            raise ServerError(
                f"The {self._what} {self._config.base_url} refused the API key ({status})",
                remedy=f"Check the key in the environment variable {name}",
            )
        if not response.is_success:
            shown = text[:_SHOWN_CHARS].strip()
            problem = f"answered {status}: {shown}"
            raise self.error(problem, retryable=status in RETRYABLE, status=status)
        return self._loaded(text)

    def _loaded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise self.error("answered with something that isn't JSON") from error

    def _connected(self) -> "httpx.AsyncClient":
        import httpx

        if self._closed:
            raise ServerError(f"The client of the {self._what} is closed")
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
            raise ServerError(
                f"The environment variable {name} for the {self._what}'s key is not set",
                remedy=f"Set {name}, or remove {self._setting}.api_key_env",
            )
        return {"Authorization": f"Bearer {key}"}
