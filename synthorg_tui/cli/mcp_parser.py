"""The arguments of ``mcp``."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.paths import expand_home
from synthorg_tui.mcp import DEFAULT_PORT

MAX_AGENT: Final = 128


def add_mcp(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``mcp``; ``command`` makes a parser with what every command has."""
    parser = command(
        commands,
        "mcp",
        "mcp:run_mcp",
        "serve an agent's memory over MCP, for the agent's program to start",
        more="It ends\nwhen the program hangs up.",
        examples=(
            "mcp --agent claude-code",
            "mcp --agent codex --project ~/shop --read-only",
            "mcp --agent claude-code --http",
        ),
    )
    parser.add_argument(
        "--agent", required=True, type=agent_id, metavar="ID", help="whose memory it is"
    )
    parser.add_argument(
        "--project",
        type=_folder,
        metavar="DIR",
        help="which project it works in (default: the working directory)",
    )
    parser.add_argument("--read-only", action="store_true", help="leave out what writes")
    parser.add_argument(
        "--http",
        action="store_true",
        help="serve programs of this machine over HTTP, who must show a token, until Ctrl-C",
    )
    parser.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help=f"for --http: where to listen, 0 for any free port (default {DEFAULT_PORT})",
    )


def agent_id(text: str) -> str:
    """An agent's id as it is given as an argument."""
    if not text.strip() or len(text) > MAX_AGENT or not text.isprintable():
        message = f"an agent's id has 1 to {MAX_AGENT} printable characters"
        raise argparse.ArgumentTypeError(message)
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


def _folder(text: str) -> Path:
    path = expand_home(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no directory")
    return path
