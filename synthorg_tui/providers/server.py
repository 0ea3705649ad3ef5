"""Asks OpenAI-compatible servers: keys from the environment, retries, helpful errors."""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from synthorg_tui.core.errors import DomainError

if TYPE_CHECKING:
    import httpx

RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
FIRST_WAIT_SECONDS = 0.5
_SHOWN_CHARS = 200


class ServerError(DomainError):
    """No usable answer; ``retryable`` says whether the same request may succeed later."""

    def __init__(self, message: str, *, retryable: bool = False, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable


class ServerConfig(Protocol):
    """What the settings say about a server."""

    @property
    def base_url(self) -> str:
        """Ends before the endpoint's own path."""
        ...

    @property
    def api_key_env(self) -> str | None:
        """The environment variable with the key; ``None`` for a server without one."""
        ...

    @property
    def timeout_seconds(self) -> float:
        """For each attempt."""
        ...

    @property
    def max_retries(self) -> int:
        """Attempts after the first."""
        ...


class JsonServer:
    """Posts JSON and returns what comes back; raises ``ServerError``.

    Args:
        what: What the server is to the person, such as ``embedding server``.
        setting: Where its configuration stands, such as ``providers.embedding``.
        config: Address, key, patience.
        environ: Where the key is looked up.
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
        """The decoded answer; what may pass by itself is tried again."""
        import httpx

        client = self._connected()
        for attempt in range(self._config.max_retries + 1):
            last = attempt == self._config.max_retries
            try:
                response = await client.post(f"{self._config.base_url}{path}", json=body)
            except httpx.TimeoutException as error:
                if last:
                    seconds = f"{self._config.timeout_seconds:g}"
                    told = f"did not answer within {seconds} seconds"
                    raise self.error(told, retryable=True) from error
            except httpx.HTTPError as error:
                if last:
                    raise self.error(f"can't be reached: {error}", retryable=True) from error
            else:
                if last or response.status_code not in RETRYABLE:
                    return self._decoded(response)
            await asyncio.sleep(FIRST_WAIT_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """Close the connections; closing twice does nothing."""
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def error(self, told: str, *, retryable: bool = False) -> ServerError:
        """An error that begins with the server's name and address."""
        return ServerError(
            f"The {self._what} {self._config.base_url} {told}",
            retryable=retryable,
            remedy=f"Check that it is running, and {self._setting}.base_url and .model",
        )

    def _decoded(self, response: "httpx.Response") -> Any:
        status = response.status_code
        if status in (401, 403):
            name = self._config.api_key_env or f"(none set: {self._setting}.api_key_env)"
            raise ServerError(
                f"The {self._what} {self._config.base_url} refused the API key ({status})",
                remedy=f"Check the key in the environment variable {name}",
            )
        if not response.is_success:
            shown = response.text[:_SHOWN_CHARS].strip()
            raise self.error(f"answered {status}: {shown}", retryable=status in RETRYABLE)
        try:
            return response.json()
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
