"""JSON-RPC 2.0 over a byte stream, one message a line, with cancellation and progress.

Besides requests and responses there are three notifications: ``$/cancel`` and ``$/progress``
name a request by its id, and ``$/event`` reports a change that no request asked about.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.errors import (
    OwnerGoneError,
    UnexpectedRemoteError,
    WireError,
    from_data,
    to_data,
)

_log = logging.getLogger(__name__)

MAX_REQUEST: Final = 4 * 1024 * 1024
"""Longest line an owner reads from a client, in bytes."""
MAX_RESPONSE: Final = 64 * 1024 * 1024
"""Longest line a client reads from its owner, in bytes."""
MAX_RUNNING: Final = 64
"""Requests of one connection that run at once; more wait unread."""
WRITE_TIMEOUT: Final = 30.0
"""Seconds until the connection to a side that doesn't read any more is closed."""
STOP_POLL: Final = 0.1
"""Seconds between two looks at whether a call is to end early."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
DOMAIN_ERROR: Final = -32000

CANCEL: Final = "$/cancel"
PROGRESS: Final = "$/progress"
EVENT: Final = "$/event"

Json = Any
ProgressSink = Callable[[Json], None]
EventSink = Callable[[str, Json], None]


@dataclass(slots=True)
class Request:
    """One call as the handler sees it; ``progress`` may be called from any thread.

    When the caller cancels the call, the handler's task is cancelled, unless the handler has set
    ``stop``: then that function is called, and the handler is to end early and answer.
    """

    method: str
    params: dict[str, Json]
    progress: ProgressSink
    stop: Callable[[], None] | None = None


class MethodNotFoundError(DomainError):
    """The other side has no call of this name."""


class InvalidParamsError(DomainError):
    """The arguments don't fit the call."""


Handler = Callable[[Request], Awaitable[Json]]

_CODES: Final = {MethodNotFoundError: METHOD_NOT_FOUND, InvalidParamsError: INVALID_PARAMS}


async def refuse_all(request: Request) -> Json:
    """Raise ``MethodNotFoundError``; the handler of a side that answers no calls."""
    raise MethodNotFoundError(f"there is no call {request.method!r}")


class Peer:
    """One end of a connection; ``run`` must run as a task for as long as it is used.

    Args:
        reader: Read line by line; its limit is the longest line accepted.
        writer: Closed when the connection ends.
        handler: Answers the other side's requests.
        on_event: Called with topic and data of each event that the other side emits.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        handler: Handler = refuse_all,
        on_event: EventSink | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._on_event = on_event
        self._next_id = 0
        self._waiting: dict[int, tuple[asyncio.Future[Json], ProgressSink | None]] = {}
        self._running: dict[Json, tuple[asyncio.Task[None], Request]] = {}
        self._room = asyncio.Semaphore(MAX_RUNNING)
        self._writing = asyncio.Lock()
        self.is_closed = False
        """Whether the connection has ended."""

    async def request(
        self,
        method: str,
        params: dict[str, Json],
        *,
        progress: ProgressSink | None = None,
        stop: threading.Event | None = None,
    ) -> Json:
        """Call the other side and return its result.

        Raises the ``DomainError`` that the other side raised, or ``OwnerGoneError`` when the
        connection ends first. Cancelling this coroutine cancels the call on the other side too;
        setting ``stop`` asks it to end early and still answer. ``progress`` is called with each
        progress report.
        """
        if self.is_closed:
            raise OwnerGoneError("the connection is closed")
        self._next_id += 1
        number = self._next_id
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future, progress
        watching = asyncio.create_task(self._relay(stop, number)) if stop is not None else None
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            await self._try_send({"method": CANCEL, "params": {"id": number}})
            raise
        finally:
            del self._waiting[number]
            if watching is not None:
                watching.cancel()

    async def _relay(self, stop: threading.Event, number: int) -> None:
        """Pass a request to stop on; the event is set by signal handlers and other threads."""
        while not stop.is_set():  # noqa: ASYNC110 - a threading event can't be awaited
            await asyncio.sleep(STOP_POLL)
        await self._try_send({"method": CANCEL, "params": {"id": number}})

    async def emit(self, topic: str, data: Json) -> None:
        """Send an event to the other side; raises ``OwnerGoneError``."""
        await self._send({"method": EVENT, "params": {"topic": topic, "data": data}})

    async def run(self) -> None:
        """Read messages until the connection ends, then close it and cancel its running calls."""
        try:
            while line := await self._line():
                if line.strip():
                    await self._dispatch(line)
        finally:
            await self.close()

    async def answered(self) -> None:
        """Return once no request of the other side waits for its answer."""
        while self._running:
            await asyncio.wait([task for task, _ in self._running.values()])

    async def close(self) -> None:
        """End the connection: callers get ``OwnerGoneError``, running calls are cancelled."""
        if self.is_closed:
            return
        self.is_closed = True
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(OwnerGoneError("the other side is gone"))
        tasks = [task for task, _ in self._running.values()]
        for task, request in list(self._running.values()):
            _stop(task, request)
        self._writer.close()
        current = asyncio.current_task()
        await asyncio.gather(*(t for t in tasks if t is not current), return_exceptions=True)
        with suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def _line(self) -> bytes:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return b""  # a torn last message is no message
        except asyncio.LimitOverrunError:
            await self._complain(None, INVALID_REQUEST, "the message is too long")
            return b""
        except OSError:
            return b""

    async def _dispatch(self, line: bytes) -> None:
        try:
            message = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            await self._complain(None, PARSE_ERROR, "that is no JSON")
            return
        if not isinstance(message, dict):
            await self._complain(None, INVALID_REQUEST, "a message is an object")
            return
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            self._answered(message)
        elif not isinstance(method, str) or not isinstance(params, dict):
            number = message.get("id")
            told = number if isinstance(number, int | str) else None  # another id may not be JSON
            await self._complain(told, INVALID_REQUEST, "a call names its method")
        elif "id" not in message:
            self._notified(method, params)
        else:
            await self._start(message["id"], method, params)

    async def _start(self, number: Json, method: str, params: dict[str, Json]) -> None:
        if not isinstance(number, int | str) or number in self._running:
            await self._complain(None, INVALID_REQUEST, "an id is new, and a number or a text")
            return
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        sent: list[Future[None]] = []

        def progress(value: Json) -> None:
            note = {"method": PROGRESS, "params": {"id": number, "value": value}}
            sent.append(asyncio.run_coroutine_threadsafe(self._try_send(note), loop))

        request = Request(method, params, progress)
        task = asyncio.create_task(self._answer(number, request, sent))
        self._running[number] = task, request
        task.add_done_callback(lambda _: self._finished(number))
        # Let it begin: a task that is cancelled before that would end without an answer.
        await asyncio.sleep(0)

    def _finished(self, number: Json) -> None:
        self._running.pop(number, None)
        self._room.release()

    async def _answer(self, number: Json, request: Request, sent: list[Future[None]]) -> None:
        try:
            result = await self._handler(request)
            reply = _encode({"id": number, "result": result})
        except asyncio.CancelledError:
            reply = _encode(_error(number, CANCELLED, "cancelled", None))
        except DomainError as error:
            code = _CODES.get(type(error), DOMAIN_ERROR)
            reply = _encode(_error(number, code, error.message, to_data(error)))
        except Exception as error:  # whatever a call meets, the connection lives on
            _log.exception("the call %s failed", request.method)
            why = f"unexpected {type(error).__name__}: {error}"
            told = to_data(UnexpectedRemoteError(why))
            reply = _encode(_error(number, INTERNAL_ERROR, why, told))
        await asyncio.gather(*map(asyncio.wrap_future, sent))  # no step comes after the answer
        with suppress(OwnerGoneError):
            await self._write(reply)

    def _answered(self, message: dict[str, Json]) -> None:
        number = message.get("id")
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting[0].done():
            return  # the answer to a call that was cancelled
        error = message.get("error")
        if isinstance(error, dict):
            raised = from_data(str(error.get("message")), error.get("data"))
            waiting[0].set_exception(raised)
        else:
            waiting[0].set_result(message.get("result"))

    def _notified(self, method: str, params: dict[str, Json]) -> None:
        number = params.get("id")
        if method == CANCEL and isinstance(number, int | str):
            if number in self._running:
                _stop(*self._running[number])
        elif method == PROGRESS and isinstance(number, int):
            _, sink = self._waiting.get(number, (None, None))
            if sink is not None:
                sink(params.get("value"))
        elif method == EVENT and self._on_event is not None:
            self._on_event(str(params.get("topic")), params.get("data"))

    async def _complain(self, number: Json, code: int, message: str) -> None:
        reply = _error(number, code, message, to_data(WireError(message)))
        await self._try_send(reply)

    async def _try_send(self, message: dict[str, Json]) -> None:
        with suppress(OwnerGoneError):
            await self._send(message)

    async def _send(self, message: dict[str, Json]) -> None:
        await self._write(_encode(message))

    async def _write(self, data: bytes) -> None:
        try:
            async with self._writing, asyncio.timeout(WRITE_TIMEOUT):
                self._writer.write(data)
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise OwnerGoneError("the other side is gone") from error


def _encode(message: dict[str, Json]) -> bytes:
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def _refuse_constant(name: str) -> NoReturn:
    """Python's reader takes NaN and Infinity, which JSON doesn't have and nothing can answer."""
    raise ValueError(f"{name} is no JSON")


def _stop(task: "asyncio.Task[None]", request: Request) -> None:
    if request.stop is not None:
        request.stop()
    else:
        task.cancel()


def _error(number: Json, code: int, message: str, data: Json) -> dict[str, Json]:
    error: dict[str, Json] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"id": number, "error": error}
