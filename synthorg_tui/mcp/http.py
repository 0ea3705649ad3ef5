"""MCP over streamable HTTP, for programs of this machine that send the right token."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import background
from synthorg_tui.mcp.doors import (
    AsgiApp,
    AsgiMessage,
    AsgiReceive,
    AsgiSend,
    Limits,
    SessionRoom,
    protocol_for,
    refuse,
)
from synthorg_tui.mcp.server import MemoryServer
from synthorg_tui.mcp.stdio import MAX_MESSAGE
from synthorg_tui.mcp.token import is_bearer

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
LEAVE_SECONDS: Final = 2
"""Seconds that a stopping server waits for open streams to end."""


class Gate:
    """ASGI middleware that lets requests with the token and JSON in, not too many at once.

    It answers 401 without the token, 415 to other than JSON, and 503 beyond ``most`` requests at
    once, of which only those with the token are counted. A request for two hosts never comes here:
    the parser answers it with 400.
    """

    def __init__(self, app: AsgiApp, token: str, *, most: int) -> None:
        self._app = app
        self._token = token
        self._most = most
        self._running = 0

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif not self._has_token(_given(scope, b"authorization")):
            await refuse(send, 401, (b"www-authenticate", b"Bearer"))
        elif scope["method"] == "POST" and not _is_json(_given(scope, b"content-type")):
            await refuse(send, 415)
        elif self._running >= self._most:
            await refuse(send, 503, (b"retry-after", b"1"))
        else:
            self._running += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._running -= 1

    def _has_token(self, given: list[bytes]) -> bool:
        return len(given) == 1 and is_bearer(given[0], self._token)


def _given(scope: AsgiMessage, header: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == header]


def _is_json(kinds: list[bytes]) -> bool:
    return [kind.partition(b";")[0].strip().lower() for kind in kinds] == [b"application/json"]


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the command line."""
        yield


async def serve_http(
    server: MemoryServer,
    *,
    token: str,
    port: int,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
    limits: Limits | None = None,
) -> None:
    """Serve on the loopback interface until ``stop`` is set.

    ``on_ready`` is called with the URL once the server listens. Port 0 means any free port;
    ``limits`` are the usual ones if left out. Raises ``DomainError``.
    """
    limits = limits or Limits()
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        names = (f"{HOST}:{port}", f"localhost:{port}")
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=MAX_MESSAGE,
            max_sessions=limits.sessions,
            session_idle_timeout=limits.idle_seconds,
            transport_security=TransportSecuritySettings(
                allowed_hosts=list(names), allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        gate = Gate(SessionRoom(app, limits), token, most=limits.requests)
        serving = _Uvicorn(_config(gate, limits))
        on_ready(f"http://{names[0]}{PATH}")
        async with background(_stop_when(stop, serving)):
            await serving.serve(sockets=[listener])


def _config(app: AsgiApp, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol_for(limits),
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=LEAVE_SECONDS,
    )


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise DomainError(
            f"port {port} can't be used: {error.strerror}", remedy="Choose another with --port."
        ) from error
    with listener:
        yield listener


async def _stop_when(stop: asyncio.Event, serving: uvicorn.Server) -> None:
    await stop.wait()
    serving.should_exit = True
