"""Starts the MCP server over a transport, in a process between a client and the store's owner."""

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import background
from synthorg_tui.mcp.connections import ActingAgent, wake
from synthorg_tui.mcp.token import require_token

if TYPE_CHECKING:
    from types import ModuleType

    from synthorg_tui.mcp.doors import Limits


# They log what strangers send; unhandled, it would go to the terminal as it is.
_TALKATIVE: Final = ("mcp", "uvicorn")


def _leads_nowhere(stream: TextIO) -> bool:
    return os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())


async def serve_stdio(acting: ActingAgent) -> None:
    """Serve one MCP client over standard input and output until it closes them.

    Raises ``DomainError`` when one of them is closed or the null device.
    """
    if any(map(_leads_nowhere, (sys.stdin, sys.stdout))):
        raise DomainError(
            "standard input or output leads nowhere",
            remedy="An agent's program starts this command and talks to it; see docs/mcp.md.",
        )
    async with _prepared(acting):
        stdio = await _imported("stdio")
        await stdio.serve_stdio(stdio.MemoryServer(acting))


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
    Raises ``DomainError`` when other users can read the token's file, or the port is taken.
    """
    token = require_token(acting.data_dir)
    async with _prepared(acting):
        http = await _imported("http")
        memory = http.MemoryServer(acting)
        await http.serve_http(
            memory, token=token, port=port, stop=stop, on_ready=on_ready, limits=limits
        )


def _prepared(acting: ActingAgent) -> AbstractAsyncContextManager[None]:
    """Start the owner in the background: importing the SDK takes as long."""
    for name in _TALKATIVE:
        logging.getLogger(name).addHandler(logging.NullHandler())
    return background(wake(acting))


async def _imported(module: str) -> "ModuleType":
    return await asyncio.to_thread(importlib.import_module, f"synthorg_tui.mcp.{module}")
