"""Starts the MCP server over a transport, in a process between a client and the store's owner."""

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from synthorg_tui.core.errors import DomainError
from synthorg_tui.mcp.connections import ActingAgent, wake
from synthorg_tui.mcp.token import require_token

if TYPE_CHECKING:
    from types import ModuleType

    from synthorg_tui.mcp.doors import Limits


# They log what strangers send; unhandled, it would go to the terminal as it is.
_TALKATIVE: Final = ("mcp", "uvicorn")


class NoClientError(DomainError):
    """No client is connected to standard input and output."""


def _leads_nowhere(stream: TextIO) -> bool:
    return os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())


async def serve_stdio(acting: ActingAgent) -> None:
    """Serve one MCP client over standard input and output until it closes them.

    Raises ``NoClientError`` when one of them is closed or the null device.
    """
    if any(map(_leads_nowhere, (sys.stdin, sys.stdout))):
        raise NoClientError(
            "standard input or output leads nowhere",
            remedy="An agent's program starts this command and talks to it; see docs/mcp.md.",
        )
    async with _prepared(acting):
        stdio, server = await _imported("stdio"), await _imported("server")
        await stdio.serve_stdio(server.MemoryServer(acting))


async def serve_http(
    acting: ActingAgent,
    *,
    port: int,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
    limits: "Limits | None" = None,
) -> None:
    """Serve MCP clients of this machine over HTTP until ``stop`` is set.

    ``on_ready`` is called with the URL once the server listens. Port 0 means any free port;
    ``limits`` are the usual ones if left out.
    Raises ``UnsafeTokenError`` when other users can read the token's file, and ``PortTakenError``.
    """
    token = require_token(acting.data_dir)
    async with _prepared(acting):
        http, server = await _imported("http"), await _imported("server")
        memory = server.MemoryServer(acting)
        await http.serve_http(
            memory, token=token, port=port, stop=stop, on_ready=on_ready, limits=limits
        )


@asynccontextmanager
async def _prepared(acting: ActingAgent) -> AsyncIterator[None]:
    """The owner starts while the SDK is imported, which takes as long."""
    for name in _TALKATIVE:
        logging.getLogger(name).addHandler(logging.NullHandler())
    waking = asyncio.create_task(wake(acting))
    try:
        yield
    finally:
        waking.cancel()
        await asyncio.gather(waking, return_exceptions=True)


async def _imported(module: str) -> "ModuleType":
    return await asyncio.to_thread(importlib.import_module, f"synthorg_tui.mcp.{module}")
