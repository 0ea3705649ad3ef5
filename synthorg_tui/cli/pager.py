"""Long results on a terminal go through the person's pager, as ``git log`` does it."""

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.output import Console

_LESS_OPTIONS: Final = "FRX"
"""For ``less``, unless the person has others: end when all fits on the screen, and leave it."""


NO_PAGER: Final = Argument(
    "--no-pager", action="store_true", help="print at once, on a terminal, too"
)
"""The option of a command whose result is paged."""


@contextmanager
def paged(console: Console, *, wanted: bool = True) -> Iterator[Console]:
    """Yield a console that prints into the pager; the given one where there is nothing to page.

    That is so without a terminal, with ``wanted`` false, and with a pager that isn't there. A pager
    that is quit early ends the printing without an error.
    """
    command = _pager() if wanted and console.out is sys.stdout and sys.stdout.isatty() else []
    if not command:
        yield console
        return
    console.out.flush()
    environment = {"LESS": _LESS_OPTIONS, "LV": "-c", **os.environ}
    home = Path.home()  # pagers such as delta read the git configuration of their folder
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, cwd=home)
    assert pager.stdin is not None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
    try:
        with (
            suppress(BrokenPipeError),
            io.TextIOWrapper(pager.stdin, "utf-8", errors="backslashreplace") as text,
        ):
            yield Console(text, console.err)
    finally:
        pager.wait()
        signal.signal(signal.SIGINT, before)


def _pager() -> list[str]:
    """The command of the person's pager, ``less`` or ``more``; empty when there is none."""
    named = os.environ.get("PAGER")
    if named is not None:
        try:
            words = shlex.split(named)
        except ValueError:
            return []
        return words if words and words[0] != "cat" and shutil.which(words[0]) else []
    return next(([name] for name in ("less", "more") if shutil.which(name)), [])
