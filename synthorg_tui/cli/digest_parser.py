"""The arguments of ``digest`` and ``scenarios``."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from synthorg_tui.memory.enums import InjectionStrategy

MOST_TOKENS = 1_000_000


def add_digest(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``digest``; ``command`` makes a parser with what every command has."""
    parser = command(
        commands,
        "digest",
        "digest:run_digest",
        "print what an agent would be given for a task",
        more="Nothing else is printed,\nso the output can be used as it is.",
        examples=(
            'digest "push a branch that has no upstream" --agent claude-code --token-budget 800',
            "digest flaky test --agent codex --token-budget 2000 --explain",
            "digest flaky test --agent codex --token-budget 500 --set min_relevance=0.2 --json",
        ),
    )
    _question(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show every candidate and why it is in or out, too"
    )
    parser.add_argument(
        "--preview", action="store_true", help="only look: don't count it for the skills in it"
    )


def add_scenarios(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``scenarios`` with its commands."""
    parser = commands.add_parser(
        "scenarios",
        help="keep questions and see when their answers change",
        description="Keep questions with what they include, and ask them again after a change.",
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command(actions, "list", "digest:run_list", "list the scenarios")
    saving = command(
        actions,
        "save",
        "digest:run_save",
        "keep a question with what it includes now",
        more="One of the same name is replaced.",
        examples=("scenarios save push git push --agent claude-code --token-budget 800",),
    )
    saving.add_argument("name", metavar="NAME", help="what to call it")
    _question(saving)
    deleting = command(actions, "delete", "digest:run_delete", "forget a scenario")
    deleting.add_argument("name", metavar="NAME")
    running = command(
        actions,
        "run",
        "digest:run_scenarios",
        "ask the scenarios again",
        more="Exits with 1 when an agent would get something else.",
    )
    running.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")


def _question(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what the agent is about to do")
    parser.add_argument("--agent", required=True, metavar="ID", help="which agent asks")
    parser.add_argument(
        "--token-budget",
        required=True,
        metavar="N",
        type=_tokens,
        help="most tokens that memories may take",
    )
    names = [strategy.value for strategy in InjectionStrategy]
    parser.add_argument(
        "--strategy", choices=names, metavar="NAME", help=f"{', '.join(names)} (default: settings)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="another value for a setting of memory.retrieval (repeatable)",
    )
    parser.add_argument(
        "--pin", action="append", default=[], metavar="ID", help="give this memory in any case"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="ID", help="don't give this memory"
    )


def _tokens(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_TOKENS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 0 to {MOST_TOKENS:,}"
        )
    return int(text)


def _setting(text: str) -> tuple[str, object]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        read = json.loads(value)
    except ValueError:
        read = value.strip()
    if isinstance(read, (dict, list)) or read is None:
        raise argparse.ArgumentTypeError(f"{name.strip()} takes a word, a number, true or false")
    return name.strip(), read
