"""The arguments of ``learn``."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any


def add_learn(
    commands: Any,
    command: Callable[..., argparse.ArgumentParser],
    moment: Callable[[str], datetime],
) -> None:
    """Add ``learn``; ``command`` makes a parser with what every command has."""
    parser = command(
        commands,
        "learn",
        "learn:run_learn",
        "propose lessons from the imported sessions",
        more="They wait for you:\n`synthorg-tui proposals list` shows them.",
        examples=("learn", "learn --since 7d --no-model"),
    )
    parser.add_argument(
        "--since", type=moment, metavar="WHEN", help="2026-01-31, or 12h, 7d, 2w ago"
    )
    parser.add_argument(
        "--no-model", action="store_true", help="leave the wording as it was put together"
    )
