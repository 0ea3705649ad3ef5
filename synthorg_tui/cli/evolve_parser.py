"""The arguments of ``evolve``, ``prune`` and ``models``."""

import argparse
from collections.abc import Callable
from typing import Any


def add_evolve(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands; ``command`` makes a parser with what every command has."""
    waits = "Nothing changes before you approve it:\n`synthorg-tui proposals list` shows it."
    command(
        commands,
        "evolve",
        "evolve:run_evolve",
        "propose to give every agent what several have learnt",
        more=waits,
        examples=("evolve", "evolve --json"),
    )
    command(
        commands,
        "prune",
        "evolve:run_prune",
        "propose to remove skills that are no longer of use",
        more=waits,
        examples=("prune", "prune --json"),
    )


def add_models(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``models``; ``command`` makes a parser with what every command has."""
    parser = commands.add_parser(
        "models",
        help="see which models there are and how fast they work",
        description="See which models there are and how fast they work.",
        epilog="examples:\n  synthorg-tui models list\n  synthorg-tui models check\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command(
        actions,
        "list",
        "models:run_list",
        "list the models found, and what they were used for",
        more="Servers are looked for\non this machine only, besides those in the settings.",
    )
    command(
        actions,
        "check",
        "models:run_check",
        "load the configured models and measure them",
        more="Exits with 1 when one\ndoesn't work.",
    )
