"""The arguments of ``connect``, ``disconnect`` and ``hook``."""

import argparse
from collections.abc import Callable
from typing import Any

from synthorg_tui.cli.mcp_parser import agent_id
from synthorg_tui.connect import CLIENT_NAMES, DIGEST_EVENTS, IMPORT_EVENTS

Command = Callable[..., argparse.ArgumentParser]


def add_connect(commands: Any, command: Command) -> None:
    """Add the three; ``command`` makes a parser with what every command has."""
    parser = command(
        commands,
        "connect",
        "connect:run_connect",
        "give a coding agent its memory: adds the MCP server to its configuration",
        more="It shows the\nexact change and asks first. Approved skills are linked where the "
        "agent looks.",
        examples=("connect claude-code --hooks", "connect cursor", "connect codex --agent me"),
    )
    _client(parser)
    parser.add_argument(
        "--agent",
        type=agent_id,
        metavar="ID",
        help="whose memory it is (default: the client's name)",
    )
    parser.add_argument(
        "--hooks",
        action="store_true",
        help="Claude Code: hand out the digest with each prompt, import what was done",
    )
    _scope(parser, "default: --project for cursor and vscode, --user for the others")
    parser = command(
        commands,
        "disconnect",
        "connect:run_disconnect",
        "take the memory out of a coding agent's configuration",
        more="A file that\nnobody changed since is restored byte for byte.",
        examples=("disconnect claude-code", "disconnect cursor --project"),
    )
    _client(parser)
    _scope(parser, "default: wherever it was connected")
    _hook(commands, command)


def _client(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "client", choices=CLIENT_NAMES, metavar="CLIENT", help=", ".join(CLIENT_NAMES)
    )
    parser.add_argument("--yes", action="store_true", help="don't ask")


def _scope(parser: argparse.ArgumentParser, default: str) -> None:
    group = parser.add_mutually_exclusive_group()
    for name, told in (("user", "in all projects"), ("project", f"in this directory ({default})")):
        group.add_argument(f"--{name}", dest="scope", action="store_const", const=name, help=told)


def _hook(commands: Any, command: Command) -> None:
    events = (*DIGEST_EVENTS, *IMPORT_EVENTS)
    parser = command(
        commands,
        "hook",
        "connect:run_hook",
        "what Claude Code's hooks run; `connect --hooks` installs them",
        more="The event's JSON\ncomes on stdin. What fails or is late gives no output, exit code 0 "
        "and a line in hooks.log.",
        examples=("hook claude-code UserPromptSubmit < event.json",),
    )
    parser.add_argument("client", choices=CLIENT_NAMES[:1], metavar="CLIENT", help="claude-code")
    parser.add_argument("event", choices=events, metavar="EVENT", help=", ".join(events))
    parser.add_argument("--agent", type=agent_id, metavar="ID", help="whose memory it is")
    parser.add_argument(
        "--token-budget", type=int, metavar="N", help="tokens of a digest (default: settings)"
    )
