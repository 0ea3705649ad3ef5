"""The command line: parse, call the engine, print."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code that ``--help`` documents."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(
        arguments
    ):  # an agent waits for it: not even the parser is loaded
        from synthorg_tui.connect.hook import main as hook

        return hook(arguments[1:])
    from synthorg_tui.cli.running import run

    return run(arguments)
