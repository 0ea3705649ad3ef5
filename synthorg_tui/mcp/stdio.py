"""MCP over standard input and output."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import BinaryIO, Final, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

from synthorg_tui.mcp.server import MemoryServer

_log = logging.getLogger(__name__)

MAX_MESSAGE: Final = 2 * 1024 * 1024
"""Longest message read from a client, in bytes."""
_AHEAD: Final = 16
"""Messages that are read ahead of the one being handled."""

_TOO_LONG: Final = None


class BoundedLines:
    """Iterates asynchronously over the lines of a stream, which a daemon thread reads.

    The program can exit while the thread waits for input. A line longer than ``limit`` bytes is
    skipped, and ``refuse`` is awaited in its place.
    """

    def __init__(
        self, stream: BinaryIO, *, refuse: Callable[[], Awaitable[None]], limit: int = MAX_MESSAGE
    ) -> None:
        self._stream = stream
        self._refuse = refuse
        self._limit = limit
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def __aiter__(self) -> "BoundedLines":
        return self

    async def __anext__(self) -> str:
        while (line := await self._lines.get()) is _TOO_LONG:
            await self._refuse()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        line = b"\n"
        while line:
            line = self._stream.readline(self._limit)
            whole = line.endswith(b"\n") or len(line) < self._limit
            rest = line
            while not (rest.endswith(b"\n") or len(rest) < self._limit):
                rest = self._stream.readline(self._limit)
            putting = self._lines.put(line if whole else _TOO_LONG)
            try:
                asyncio.run_coroutine_threadsafe(putting, self._loop).result()
            except RuntimeError:  # the loop is closed: the server is done
                putting.close()
                return


class SentLines:
    """The stream to the client as the SDK writes it, each line inside of ``sending``."""

    def __init__(
        self,
        stream: anyio.AsyncFile[str],
        sending: Callable[[str], AbstractAsyncContextManager[None]],
    ) -> None:
        self._stream = stream
        self._sending = sending
        self._line = ""

    async def write(self, line: str) -> None:
        """Take the line of one message."""
        self._line = line

    async def flush(self) -> None:
        """Hand the line to the client."""
        async with self._sending(self._line):
            await self._stream.write(self._line)
            await self._stream.flush()


async def serve_stdio(server: MemoryServer) -> None:
    """Serve the client on standard input and output until it closes them."""

    async def refuse() -> None:
        error = ErrorData(code=INVALID_REQUEST, message=f"longer than {MAX_MESSAGE} bytes")
        await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))

    # A reader of its own: Python's is locked by the thread, which aborts the process at its end.
    stream = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    lines = cast(anyio.AsyncFile[str], BoundedLines(stream, refuse=refuse))
    client = anyio.wrap_file(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
    with suppress(OSError):  # what anything else prints is no message
        os.dup2(2, sys.stdout.fileno())
    answers = cast(anyio.AsyncFile[str], SentLines(client, server.sending))
    try:
        async with stdio_server(stdin=lines, stdout=answers) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError):
        _log.debug("the client doesn't read any more, or we were interrupted")
    # Interrupted, the SDK's streams may fail in place of the cancellation.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
