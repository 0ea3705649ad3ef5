"""The arguments of ``proposals``."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from synthorg_tui.cli.moments import parse_ahead

STATUSES: Final = ("pending", "approved", "rejected", "expired", "all")
NOW: Final = "now"


def add_proposals(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``proposals``; ``command`` makes a parser with what every command has."""
    parser = commands.add_parser(
        "proposals",
        help="see and decide what waits for your approval",
        description="See and decide what waits for your approval. An ID may be shortened to its\n"
        "first characters. Decisions are taken at a terminal, by you and not by an agent.",
        epilog="examples:\n  synthorg-tui proposals list\n"
        "  synthorg-tui proposals show lesson-3f2a\n"
        "  synthorg-tui proposals approve lesson-3f2a\n"
        '  synthorg-tui proposals reject lesson-3f2a --reason "only true for one project"\n',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _reading(actions, command)
    _deciding(actions, command)


def _reading(actions: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    listing = command(
        actions,
        "list",
        "proposals:run_list",
        "list what waits for you",
        examples=("proposals list", "proposals list --status all --json"),
    )
    listing.add_argument(
        "--status", choices=STATUSES, default="pending", metavar="NAME", help=", ".join(STATUSES)
    )
    listing.add_argument("--snoozed", action="store_true", help="those that are snoozed, too")
    showing = command(
        actions,
        "show",
        "proposals:run_show",
        "show all that an approval would do, and the hash to approve it with",
        examples=("proposals show lesson-3f2a --transcript",),
    )
    showing.add_argument("id", metavar="ID")
    showing.add_argument(
        "--transcript", action="store_true", help="the transcript lines of the evidence, too"
    )


def _deciding(actions: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    asks = "It asks at the terminal for the hash\nthat `proposals show` printed."
    approving = command(
        actions, "approve", "proposals:run_approve", "let a proposal count", more=asks
    )
    approving.add_argument("id", metavar="ID")
    rejecting = command(
        actions, "reject", "proposals:run_reject", "turn a proposal down for good", more=asks
    )
    rejecting.add_argument("id", metavar="ID")
    rejecting.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept")
    snoozing = command(
        actions,
        "snooze",
        "proposals:run_snooze",
        "put a proposal out of the way for a time",
        more="It asks at the terminal.",
        examples=("proposals snooze lesson-3f2a 7d", f"proposals snooze lesson-3f2a {NOW}"),
    )
    snoozing.add_argument("id", metavar="ID")
    snoozing.add_argument(
        "until",
        metavar="WHEN",
        type=_until,
        help=f"2026-01-31, or 12h, 7d, 2w from now; `{NOW}` wakes it",
    )
    command(
        actions,
        "undo",
        "proposals:run_undo",
        "take the last decision back",
        more="It asks at the terminal.\nAgain, it takes back the one before.",
    )


def _until(text: str) -> datetime | None:
    return None if text == NOW else parse_ahead(text)
