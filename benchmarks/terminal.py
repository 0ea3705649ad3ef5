"""Runs a benchmark's child process on a pseudo-terminal, so that its output is really written."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence

ROWS, COLUMNS = 40, 120
LAST = 4_000


def on_terminal(
    module: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> None:
    """Run ``python -m module`` on a colour pseudo-terminal of 120x40, and wait for it to end.

    Raises:
        RuntimeError: The process failed; the message has the end of its output.
    """
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        start_new_session=True,
    )
    os.close(terminal)
    written = b""
    while child.poll() is None:
        if select.select([main], [], [], 0.05)[0]:
            try:
                written = (written + os.read(main, 65536))[-LAST:]
            except OSError:
                break
    os.close(main)
    if child.wait() != 0:
        raise RuntimeError(f"{module} failed: {written.decode(errors='replace')}")
