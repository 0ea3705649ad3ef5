"""The command line: parse, call the engine, print."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from synthorg_tui.core.process_setup import standing_streams, starting

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks have no time for typing
    from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in ``argv`` (default: ``sys.argv``) and return its exit code.

    ``--help`` lists the exit codes.
    """
    if argv is None:
        standing_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(
        arguments
    ):  # an agent waits for it: not even the parser is loaded
        from synthorg_tui.connect.hook import main as hook

        code = hook(arguments[1:])
        if argv is None:
            _leave(code)
        return code
    if arguments[:1] == ["status"]:  # a status bar asks every few seconds
        from synthorg_tui.connect import status_line

        if (options := status_line.quick(arguments)) is not None:
            code = status_line.main(options)
            if argv is None:
                _leave(code)
            return code
    if argv is None:
        starting()
    from synthorg_tui.cli.runner import run

    return run(arguments)


def _leave(code: int) -> "NoReturn":
    """End this process without tidying up its memory, which takes as long as asking the owner."""
    with suppress(OSError):  # whoever started it has gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
