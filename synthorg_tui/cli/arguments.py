"""The parts that all commands' arguments share: options, types of values, and the parser.

A command declares its arguments as ``Argument`` and ``ArgumentGroup``, see ``command``. Only what
reads or explains arguments belongs here, and nothing that takes long to import: every command and
``--help`` load it.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from synthorg_tui.cli.errors import UsageError
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.text import agent_id_problem, is_utf8, safe_text
from synthorg_tui.memory.kinds import MemoryKind

if TYPE_CHECKING:
    from datetime import datetime, timedelta

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The object that commands are added to; argparse has no public name for its type."""

CATEGORIES: Final = tuple(category.value for category in MemoryCategory)
KINDS: Final = tuple(kind.value for kind in MemoryKind)
_RELATIVE: Final = re.compile(r"(\d{1,5})([hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


class Argument:
    """An argument of a command: its names and the options of ``ArgumentParser.add_argument``."""

    def __init__(self, *names: str, **options: Any) -> None:
        self.names, self.options = names, options

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add the argument to a parser, or to a group of its arguments."""
        parser.add_argument(*self.names, **self.options)


class ArgumentGroup:
    """Arguments under a title in the help; without a title, at most one of them may be given."""

    def __init__(self, *arguments: Argument, title: str = "") -> None:
        self.arguments, self.title = arguments, title

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add the group to a parser."""
        titled = parser.add_argument_group(self.title) if self.title else None
        group = titled or parser.add_mutually_exclusive_group()
        for each in self.arguments:
            each.add_to(group)


class Parser(argparse.ArgumentParser):
    """An argument parser that makes errors safe to print and suggests the nearest valid choice."""

    def error(self, message: str) -> NoReturn:
        """Print usage and error to standard error, and exit with code 2."""
        super().error(safe_text(message))

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments; one that isn't UTF-8, which nothing could store, ends the program.

        Python keeps such bytes as lone surrogates. They are refused here, for every command alike.
        """
        for argument in args or ():
            if not argument.isascii() and not is_utf8(argument):
                shown = os.fsencode(argument).decode("utf-8", "backslashreplace")
                self.exit(2, f"error: an argument isn't UTF-8: {safe_text(shown)}\n")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            from difflib import get_close_matches

            close = get_close_matches(str(value), map(str, action.choices or ()), n=1)
            if close:
                error.message += f"; did you mean {close[0]!r}?"
            raise


def path(text: str) -> Path:
    """Parse an argument as a path; a leading ``~`` becomes the home directory."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    return expand_home(text)


def storable_path(text: str) -> Path:
    """Parse an argument as a path where a database can be; the working directory may be odd."""
    parsed = path(text)
    if not is_utf8(str(parsed.absolute())):
        raise argparse.ArgumentTypeError("the path of the working directory isn't UTF-8")
    return parsed


def tags(text: str) -> tuple[str, ...]:
    """Parse an argument as tags separated by commas or blanks."""
    from synthorg_tui.memory.retrieval.tags import split_tags

    return split_tags(text)


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return an argument type for whole numbers from ``low`` to ``high``, both included.

    ``None`` as ``high`` means no upper limit.
    """
    allowed = f"a whole number from {low} to {high}" if high else f"a whole number from {low}"

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < low or (high is not None and int(text) > high):
            raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
        return int(text)

    return parse


def number(allowed: str, is_allowed: Callable[[float], bool]) -> Callable[[str], float]:
    """Return an argument type for the numbers that ``allowed`` describes, as in "from 0 to 1"."""

    def parse(text: str) -> float:
        try:
            parsed = float(text)
        except ValueError:
            parsed = float("nan")
        if not is_allowed(parsed):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {allowed}")
        return parsed

    return parse


def agent_id(text: str) -> str:
    """Parse an argument as the id of an agent."""
    if problem := agent_id_problem(text):
        raise argparse.ArgumentTypeError(problem)
    return text


def past_moment(text: str) -> "datetime":
    """Parse a date or time, or a time span that reaches back from now, such as ``7d``.

    A time without a zone is in the zone of this machine.
    """
    distance = _distance(text)
    return _date(text) if distance is None else _now() - distance


def coming_moment(text: str) -> "datetime":
    """Parse a date or time, or a time span that reaches on from now, such as ``7d``.

    A time without a zone is in the zone of this machine.
    """
    distance = _distance(text)
    return _date(text) if distance is None else _now() + distance


def _distance(text: str) -> "timedelta | None":
    from datetime import timedelta

    relative = _RELATIVE.fullmatch(text)
    return timedelta(**{_UNITS[relative[2]]: int(relative[1])}) if relative else None


def _now() -> "datetime":
    from datetime import UTC, datetime

    return datetime.now(UTC)


def _date(text: str) -> "datetime":
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        message = f"{text!r} is no date; write 2026-01-31, 2026-01-31T12:00, 12h, 7d or 2w"
        raise argparse.ArgumentTypeError(message) from None


def given_text(text: str) -> str:
    """Return the text of an argument, from standard input for ``-``; it must not be blank."""
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise UsageError("the text is empty")
    return content.strip("\n")


def edited_text(content: str, name: str) -> str | None:
    """Return a text as the person left it in the editor; ``None`` when it is unchanged.

    ``name`` is that of the file, for the editor's highlighting.
    """
    import tempfile

    from synthorg_tui.core.editor import run_editor

    with tempfile.TemporaryDirectory(prefix="synthorg-") as folder:
        file = Path(folder, name)
        file.write_text(content, encoding="utf-8")
        run_editor(file)
        edited = file.read_text(encoding="utf-8")
    return None if edited.rstrip("\n") == content.rstrip("\n") else given_text(edited)


def limit(usual: int, told: str = "at most (default {})", *, most: int = 1000) -> Argument:
    """Return the option for how many are listed; ``told`` is its help around the default."""
    return Argument(
        "--limit", metavar="N", type=whole(1, most), default=usual, help=told.format(usual)
    )


ID: Final = Argument("id", metavar="ID")
IDS: Final = Argument("ids", nargs="+", metavar="ID")
YES: Final = Argument("--yes", action="store_true", help="don't ask")
OFFSET: Final = Argument("--offset", metavar="N", type=whole(0), default=0, help="skip so many")
SINCE: Final = Argument(
    "--since", type=past_moment, metavar="WHEN", help="2026-01-31, or 12h, 7d, 2w ago"
)
UNTIL: Final = Argument("--until", type=past_moment, metavar="WHEN", help="before that")
PROJECT: Final = "a project's name, or a folder of it"
MEMORY_FILTERS: Final = (
    Argument(
        "--project",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only of this one: {PROJECT} (repeatable)",
    ),
    Argument(
        "--kind",
        action="append",
        default=[],
        choices=KINDS,
        metavar="KIND",
        help=f"only {', '.join(KINDS)} (repeatable)",
    ),
    Argument(
        "--agent", action="append", default=[], metavar="ID", help="only this one's (repeatable)"
    ),
    Argument(
        "--category",
        action="append",
        default=[],
        choices=CATEGORIES,
        metavar="NAME",
        help=f"only {', '.join(CATEGORIES)} (repeatable)",
    ),
    Argument("--tag", action="append", default=[], metavar="TAG", help="must have it (repeatable)"),
    Argument(
        "--session",
        action="append",
        default=[],
        metavar="ID",
        help="only of this session: how its id starts (repeatable)",
    ),
    SINCE,
    UNTIL,
)
"""The options that select memories, such as those of an agent or with a tag."""
COMMON: Final = ArgumentGroup(
    Argument(
        "--data-dir",
        type=storable_path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="where the memories are (default: settings)",
    ),
    Argument(
        "--config",
        type=path,
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="settings file (see `config path`)",
    ),
    Argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print the result as JSON",
    ),
    title="for every command",
)
"""The options that stand before or after any command.

Where one is absent, it must not undo the other place: they have no defaults here.
"""
