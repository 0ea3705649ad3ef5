"""``mcp``: an agent's memory for the agent's program."""

from pathlib import Path

from synthorg_tui.cli.context import Context


async def run_mcp(context: Context) -> int:
    """Serve until the client hangs up."""
    from synthorg_tui.mcp import bridge
    from synthorg_tui.mcp.connections import Acting

    args = context.args
    acting = Acting(
        agent_id=args.agent,
        project=str((args.project or Path.cwd()).resolve()),
        data_dir=context.data_dir,
        config_path=args.config,
    )
    await bridge.serve(acting, read_only=args.read_only)
    return 0
