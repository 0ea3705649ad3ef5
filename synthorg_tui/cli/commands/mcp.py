"""``mcp``: an agent's memory for the agent's programs."""

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.context import Context, UsageError, cancelled_by_signal

if TYPE_CHECKING:
    from synthorg_tui.mcp.connections import ActingAgent


async def run_mcp(context: Context) -> int:
    """Serve until the client hangs up or, over HTTP, until Ctrl-C."""
    from synthorg_tui.connect.skills import refresh
    from synthorg_tui.mcp import bridge
    from synthorg_tui.mcp.connections import ActingAgent

    args = context.args
    if args.port is not None and not args.http:
        raise UsageError("--port is for --http", remedy="Add --http, or leave --port out.")
    acting = ActingAgent(
        agent_id=args.agent,
        project=str((args.project or Path.cwd()).resolve()),
        data_dir=context.data_dir,
        config_path=args.config,
        read_only=args.read_only,
    )
    if args.http:
        await _serve_http(context, acting)
    else:
        # A client begins its session with this: what was approved since is there from then on.
        placing = asyncio.create_task(
            refresh(acting.data_dir.absolute(), acting.agent_id, config_path=acting.config_path)
        )
        try:
            await bridge.serve_stdio(acting)
        finally:
            placing.cancel()
            await asyncio.gather(placing, return_exceptions=True)
    return 0


async def _serve_http(context: Context, acting: "ActingAgent") -> None:
    from synthorg_tui.mcp import DEFAULT_PORT, bridge
    from synthorg_tui.mcp.token import TOKEN_FILE

    def tell(url: str) -> None:
        token = shlex.quote(str(acting.data_dir.absolute() / TOKEN_FILE))
        context.console.note(
            f"serving {acting.agent_id} at {url}; Ctrl-C ends it\n"
            f'clients send the header "Authorization: Bearer $(cat {token})"'
        )

    port = DEFAULT_PORT if context.args.port is None else context.args.port
    with cancelled_by_signal(context.console) as cancellation:
        await bridge.serve_http(
            acting,
            port=port,
            stop=cancellation.stop,
            on_ready=tell,
        )
