"""``org``: what the organisation knows, and where it comes from."""

from synthorg_tui.cli.arguments import Subparsers, add_group
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.org_import import add_import


def add(commands: Subparsers) -> None:
    """Add the parsers of ``org`` to ``commands``."""
    actions = add_group(commands, "org", COMMANDS["org"].summary)
    add_import(actions)
