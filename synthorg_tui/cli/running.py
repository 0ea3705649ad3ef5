"""Runs one command: parses, calls the engine, prints, and turns errors into exit codes."""

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from synthorg_tui.cli.console import Console
from synthorg_tui.cli.parser import build_parser
from synthorg_tui.core.errors import DomainError

CANCELLED = 130


def run(argv: Sequence[str]) -> int:
    """Run one command and return the exit code that ``--help`` documents."""
    args = build_parser().parse_args(argv)
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
    from synthorg_tui.cli.context import Context, routed_logs

    module, _, function = args.handler.partition(":")
    command = getattr(importlib.import_module(f"synthorg_tui.cli.commands.{module}"), function)
    with routed_logs(console):
        code: int = await command(Context(args, console))
    return code


def _open_app(args: Namespace, console: Console) -> int:
    # Textual draws on standard error: with that in a file the screen would stay blank.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        console.error("the app needs a terminal", "See synthorg-tui --help for commands.")
        return 2
    # The app stands above the command line; it is named, not imported.
    app = importlib.import_module("synthorg_tui.tui.app")
    app.run(data_dir=args.data_dir, config_path=args.config)
    return 0
