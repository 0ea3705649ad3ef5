"""``org``: what every agent is to follow, as a group of commands."""

from synthorg_tui.cli.arguments import Subparsers, add_group
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.org_check import add_check
from synthorg_tui.cli.commands.org_publish import add_publish


def add(commands: Subparsers) -> None:
    """Add the parser of ``org`` to ``commands``."""
    actions = add_group(commands, "org", COMMANDS["org"].summary, examples=("org check",))
    add_publish(actions)
    add_check(actions)
