"""The process between an agent's program and the owner of the store."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from synthorg_tui.mcp.connections import Acting, wake

if TYPE_CHECKING:
    from types import ModuleType


async def serve(acting: Acting, *, read_only: bool) -> None:
    """Serve one client over standard input and output until it hangs up."""
    waking = asyncio.create_task(wake(acting))  # the owner starts while the SDK is imported
    try:
        stdio, server = await _imported("stdio"), await _imported("server")
        await stdio.serve_stdio(server.MemoryServer(acting, read_only=read_only))
    finally:
        waking.cancel()
        await asyncio.gather(waking, return_exceptions=True)


async def _imported(module: str) -> "ModuleType":
    return await asyncio.to_thread(importlib.import_module, f"synthorg_tui.mcp.{module}")
