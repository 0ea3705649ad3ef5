"""Limits of the HTTP server: idle connections and sessions make room for active ones.

A connection without a whole request costs a stranger nothing, and a client that died leaves its
session behind. Neither may take the place of those who work. What a request may do is decided
elsewhere.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from uvicorn.protocols.http.h11_impl import H11Protocol

AsgiMessage: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
AsgiSend: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[AsgiMessage, AsgiReceive, AsgiSend], Awaitable[None]]

ON_SENT: Final = "synthorg_tui.on_sent"
"""Key of a request's scope: coroutine functions to be run when the whole answer was written."""
_SESSION: Final = b"mcp-session-id"
_VERSION: Final = b"mcp-protocol-version"
_BODY_HEADERS: Final = frozenset({b"content-length", b"content-type", b"transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server holds for clients, and how long; times are in seconds.

    ``header_seconds`` is the time for a whole header, on a new connection and after each answer;
    of more than ``waiting`` connections without one the oldest is closed. ``requests`` are
    answered at once, the others with 503. A session that is idle for ``idle_seconds`` ends, and of
    more than ``sessions`` the one that has been idle longest.
    """

    header_seconds: float = 5.0
    waiting: int = 256
    requests: int = 256
    sessions: int = 64
    idle_seconds: float = 300.0


class WaitingRoom:
    """The connections that have sent no whole header yet, those of all clients together."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def enter(self, transport: asyncio.Transport) -> None:
        """Begin to wait for a header; a connection that waits already gets no more time."""
        if transport in self._timers or transport.is_closing():
            return
        if len(self._timers) >= self._limits.waiting:
            self._turn_out(next(iter(self._timers)))
        loop = asyncio.get_running_loop()
        later = loop.call_later(self._limits.header_seconds, self._turn_out, transport)
        self._timers[transport] = later

    def leave(self, transport: asyncio.Transport) -> None:
        """Stop waiting: the header has come, or the connection has ended."""
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()

    def _turn_out(self, transport: asyncio.Transport) -> None:
        self.leave(transport)
        transport.close()


class PatientProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 for a connection that is closed when no whole header comes in time.

    ``room`` is set in the subclass that ``protocol_for`` makes for one server.
    """

    room: WaitingRoom

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.room.enter(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.leave(self.transport)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read on; between two requests the connection waits, in one it doesn't."""
        super().handle_events()
        if self.cycle is None or self.cycle.response_complete:
            self.room.enter(self.transport)
        else:
            self.room.leave(self.transport)

    def on_response_complete(self) -> None:
        scope: AsgiMessage = self.cycle.scope  # type: ignore[assignment]
        for acknowledge in scope.get(ON_SENT, ()):
            task = self.loop.create_task(acknowledge())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        self.room.enter(self.transport)  # reading on may find the next request at once
        super().on_response_complete()


async def refuse(send: AsgiSend, status: int, *headers: tuple[bytes, bytes]) -> None:
    """Answer a request with a status and nothing else."""
    given = [*headers, (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": status, "headers": given})
    await send({"type": "http.response.body", "body": b""})


def protocol_for(limits: Limits) -> type[PatientProtocol]:
    """Return the protocol class of one server, whose connections share a waiting room."""
    return type("OneServersProtocol", (PatientProtocol,), {"room": WaitingRoom(limits)})


@dataclass(slots=True)
class _OpenSession:
    """``running`` requests are being answered; with none it is idle since ``since``."""

    running: int = 0
    since: float = field(default_factory=time.monotonic)


class SessionRoom:
    """ASGI middleware that ends the longest idle session before one too many is opened.

    Sessions are known by the header that the server answers with; one is ended by the request that
    its client would end it with. While all have requests running, none gives way.
    """

    def __init__(self, app: AsgiApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._sessions: dict[bytes, _OpenSession] = {}

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _SESSION), None)
        if given is None:
            if _may_open_session(scope):
                self._forget_expired()
                if len(self._sessions) >= self._limits.sessions:
                    await self._end_longest_idle(scope)
            await self._app(scope, receive, self._watching(send))
            return
        session = self._sessions.get(given)
        if session is None:
            await self._app(scope, receive, send)
            return
        await self._serve(given, session, scope, receive, send)

    async def _serve(
        self,
        number: bytes,
        session: _OpenSession,
        scope: AsgiMessage,
        receive: AsgiReceive,
        send: AsgiSend,
    ) -> None:
        session.running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            session.running -= 1
            session.since = time.monotonic()
            if scope["method"] == "DELETE":
                self._sessions.pop(number, None)

    def _watching(self, send: AsgiSend) -> AsgiSend:
        """Pass an answer on, and note the session that it opens."""

        async def watched(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message.get("headers", ()):
                    if name.lower() == _SESSION:
                        self._sessions[bytes(value)] = _OpenSession()
            await send(message)

        return watched

    def _forget_expired(self) -> None:
        """Forget the sessions that the server has ended as idle."""
        oldest = time.monotonic() - self._limits.idle_seconds
        for number, session in tuple(self._sessions.items()):
            if not session.running and session.since <= oldest:
                del self._sessions[number]

    async def _end_longest_idle(self, scope: AsgiMessage) -> None:
        idle = [(each.since, number) for number, each in self._sessions.items() if not each.running]
        if not idle:
            return
        number = min(idle)[1]
        del self._sessions[number]
        kept = [pair for pair in scope["headers"] if pair[0] not in _BODY_HEADERS]
        ending = {**scope, "method": "DELETE", "headers": [*kept, (_SESSION, number)]}
        await self._app(ending, _no_body, _no_answer)


def _may_open_session(scope: AsgiMessage) -> bool:
    """Whether a request without a session is of a protocol that has sessions."""
    versions = [value for name, value in scope["headers"] if name == _VERSION]
    known = all(value.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS for value in versions)
    return scope["method"] == "POST" and known


async def _no_body() -> AsgiMessage:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _no_answer(message: AsgiMessage) -> None:
    """Discard the answer to a request that ends a session."""
