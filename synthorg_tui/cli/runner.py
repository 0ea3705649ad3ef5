"""Runs one command: parses its arguments, calls it, and turns errors into exit codes.

Of the command modules only the one that is asked for is loaded, so that no command waits for the
arguments of the others. The list of commands and a mistyped name need none of them.
"""

import importlib
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from synthorg_tui import __version__
from synthorg_tui.cli.arguments import COMMON, Parser, Subparsers
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import Answer, Console
from synthorg_tui.core.errors import DomainError

_OVERVIEW: Final = """\
examples:
  synthorg-tui                                  open the app
  synthorg-tui import                           import the coding sessions found on this machine
  synthorg-tui search "push without upstream"   find memories by meaning and by words
  synthorg-tui memories list --tag git          browse
  synthorg-tui demo                             see it work on a bundled sample

exit codes:
  0    done (a search that finds nothing is done, too)
  1    it failed; the message says why and what to do
  2    wrong arguments or settings
  3    another process owns the data directory
  4    the store is corrupt; `synthorg-tui restore` brings back a backup
  130  cancelled; what was done until then is kept

environment:
  SYNTHORG_CONFIG   settings file, when --config is not given
  SYNTHORG__A__B    overrides the setting a.b, e.g. SYNTHORG__MEMORY__LEVEL=persistent
  SYNTHORG_DEBUG=1  shows logs and where an error happened
  NO_COLOR=1        no colours
"""


def build_parser(argv: Sequence[str] | None = None) -> ArgumentParser:
    """Return a parser for these arguments; ``None`` gives one that knows every command.

    For given arguments, only the module of the command they name is loaded.
    """
    parser: ArgumentParser = Parser(
        prog="synthorg-tui",
        description="A local-first memory desk for AI agents. Without a command the app opens.",
        epilog=_OVERVIEW,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    COMMON.add_to(parser)
    parser.set_defaults(handler=None, data_dir=None, config=None, json=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    if argv is None:
        _add_modules(commands, COMMANDS)
    elif (name := _command_in(argv)) in COMMANDS:
        _add_modules(commands, [name])
    elif name:
        for known, entry in COMMANDS.items():
            commands.add_parser(known, help=entry.summary)
    return parser


def _add_modules(commands: Subparsers, names: Iterable[str]) -> None:
    for module in dict.fromkeys(COMMANDS[name].module for name in names):
        found = vars(importlib.import_module(f"synthorg_tui.cli.commands.{module}")).values()
        declared = {each.name: each for each in found if isinstance(each, Command)}
        for name in (name for name, entry in COMMANDS.items() if entry.module == module):
            declared[name].add_to(commands, COMMANDS[name].summary)


def _command_in(argv: Sequence[str]) -> str:
    """The word that argparse will take for the command, or a call for help that stands before."""
    arguments = iter(argv)
    for argument in arguments:
        if not argument.startswith("-") or argument.startswith(("-h", "--h")) or argument == "-":
            return argument
        if argument.startswith(("--d", "--c")) and "=" not in argument:  # may be abbreviated
            next(arguments, None)
    return ""


def run(argv: Sequence[str]) -> int:
    """Run the command in ``argv``, print its errors, and return the exit code.

    ``--help`` lists the exit codes.
    """
    args = build_parser(argv).parse_args(argv)
    console = Console(sys.stdout, sys.stderr)
    try:
        code = _run(args, console)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _run(args: Namespace, console: Console) -> int:
    try:
        if args.handler is None:
            return _open_app(args, console)
        import asyncio  # here: half of the time that --help takes

        return asyncio.run(_run_command(args, console))
    except KeyboardInterrupt:
        console.error("cancelled")
        return CANCELLED
    except BrokenPipeError:
        raise
    except DomainError as error:
        _trace()
        console.error(error.message, error.remedy)
        return error.exit_code
    except OSError as error:
        _trace()
        console.error(": ".join(str(part) for part in (error.filename, error.strerror) if part))
        return 1
    except Exception as error:
        _trace()
        console.error(
            f"unexpected {type(error).__name__}: {error}",
            "Set SYNTHORG_DEBUG=1 to see where it happened.",
        )
        return 1


def _trace() -> None:
    if os.environ.get("SYNTHORG_DEBUG"):
        sys.excepthook(*sys.exc_info())


async def _run_command(args: Namespace, console: Console) -> int:
    from synthorg_tui.cli.agent_rules import require_allowed

    require_allowed(args)
    with _routed_logs(console):
        answer: Answer | int = await args.handler(Context(args, console))
        if isinstance(answer, int):
            return answer
        return console.answer(answer, as_json=args.json)


@contextmanager
def _routed_logs(console: Console) -> Iterator[None]:
    """Inside the ``with``, print logged warnings about settings that have no effect.

    Other log messages are shown only if ``SYNTHORG_DEBUG`` is set.
    """
    import logging

    from synthorg_tui.core.types import LOGGER_NAME, SUSPECT

    class Warnings(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            details = vars(record)
            if details.get("event") == SUSPECT:
                console.warning(f"{details['field']}: {details['reason']}")

    if os.environ.get("SYNTHORG_DEBUG"):
        logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
    quiet, warnings = logging.NullHandler(), Warnings()
    program_log, config_log = logging.getLogger("synthorg_tui"), logging.getLogger(LOGGER_NAME)
    program_log.addHandler(quiet)
    config_log.addHandler(warnings)
    try:
        yield
    finally:
        config_log.removeHandler(warnings)
        program_log.removeHandler(quiet)


def _open_app(args: Namespace, console: Console) -> int:
    # Textual draws on standard error: with that in a file the screen would stay blank.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        console.error("the app needs a terminal", "See synthorg-tui --help for commands.")
        return 2
    from synthorg_tui.cli.guarded import guarded

    def run(let_go: Callable[[], None]) -> int:
        # The app stands above the command line; it is named, not imported.
        app = importlib.import_module("synthorg_tui.tui.app")
        code: int = app.run(data_dir=args.data_dir, config_path=args.config, let_go=let_go)
        return code

    return guarded(run, console)
