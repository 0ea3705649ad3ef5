"""``mcp``: serves an agent's memory over MCP to the programs that act as the agent."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Argument, agent_id, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.core.paths import expand_home
from synthorg_tui.mcp import DEFAULT_PORT

if TYPE_CHECKING:
    from synthorg_tui.mcp.connections import ActingAgent


def _folder(text: str) -> Path:
    path = expand_home(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no directory")
    return path


@Command(
    "mcp",
    more="It ends\nwhen the program hangs up.",
    examples=(
        "mcp --agent claude-code",
        "mcp --agent codex --project ~/shop --read-only",
        "mcp --agent claude-code --http",
    ),
    arguments=(
        Argument("--agent", required=True, type=agent_id, metavar="ID", help="whose memory it is"),
        Argument(
            "--project",
            type=_folder,
            metavar="DIR",
            help="which project it works in (default: the working directory)",
        ),
        Argument("--read-only", action="store_true", help="leave out what writes"),
        Argument(
            "--http",
            action="store_true",
            help="serve programs of this machine over HTTP, who must show a token, until Ctrl-C",
        ),
        Argument(
            "--port",
            type=whole(0, 65_535),
            metavar="N",
            help=f"for --http: where to listen, 0 for any free port (default {DEFAULT_PORT})",
        ),
    ),
).runs
async def serve_mcp(context: Context) -> int:
    """Serve until the client closes the connection or, over HTTP, until Ctrl-C."""
    from synthorg_tui.connect.skills import refresh
    from synthorg_tui.core.failsafe import background
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
        return 0
    # A client begins its session with this: what was approved since is there from then on.
    data_dir = acting.data_dir.absolute()
    async with background(refresh(data_dir, acting.agent_id, config_path=acting.config_path)):
        await bridge.serve_stdio(acting)
    return 0


async def _serve_http(context: Context, acting: "ActingAgent") -> None:
    import shlex

    from synthorg_tui.mcp import bridge
    from synthorg_tui.mcp.token import TOKEN_FILE

    def announce(url: str) -> None:
        token = shlex.quote(str(acting.data_dir.absolute() / TOKEN_FILE))
        context.console.note(
            f"serving {acting.agent_id} at {url}; Ctrl-C ends it\n"
            f'clients send the header "Authorization: Bearer $(cat {token})"'
        )

    port = DEFAULT_PORT if context.args.port is None else context.args.port
    with context.working() as job:
        await bridge.serve_http(acting, port=port, stop=job.stop, on_ready=announce)
