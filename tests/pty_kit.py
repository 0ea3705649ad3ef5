"""Runs a program at a terminal of its own, as a person's shell would, or without any."""

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synthorg_tui.core.actors import AGENT_MARKS

Answer = str | Callable[[], str]

# Makes the terminal of descriptor 2 the controlling one, then becomes the program.
_LAUNCH = (
    "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


@dataclass
class Ran:
    code: int
    screen: str
    """All that was shown on the terminal: questions, errors, echo; results where not piped."""
    out: str = ""


def without_marks(**more: str) -> dict[str, str]:
    """Return this environment without the variables by which coding agents are recognised."""
    known = {name: value for name, value in os.environ.items() if name not in AGENT_MARKS}
    return known | more


def at_terminal(
    arguments: Sequence[str],
    *,
    answers: Mapping[str, Answer] | None = None,
    typed_ahead: str = "",
    env: Mapping[str, str] | None = None,
    piped: bool = False,
    patience: float = 60.0,
) -> Ran:
    """Run Python with ``arguments`` at a new terminal and return its exit code and output.

    ``answers`` maps the text of a question to the answer typed when that text shows up. An answer
    may be a function, called at that moment, which can change something first. ``piped`` redirects
    standard input and output. A program that still runs after ``patience`` seconds is killed, and
    ``TimeoutError`` raised.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, *arguments],
        stdin=subprocess.DEVNULL if piped else theirs,
        stdout=subprocess.PIPE if piped else theirs,
        stderr=theirs,
        start_new_session=True,
        env=without_marks() if env is None else dict(env),
    ) as process:
        os.close(theirs)
        if typed_ahead:
            os.write(ours, typed_ahead.encode())
        try:
            screen = _converse(ours, process, dict(answers or {}), time.monotonic() + patience)
        finally:
            if process.poll() is None:
                process.kill()
            out = process.stdout.read().decode() if process.stdout else ""
            os.close(ours)
    return Ran(process.returncode, screen, out)


def _converse(
    terminal: int, process: "subprocess.Popen[bytes]", answers: dict[str, Answer], end: float
) -> str:
    screen = ""
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            with contextlib.suppress(OSError):  # nobody has the other side open any more
                chunk = os.read(terminal, 4096)
                screen += chunk.decode(errors="replace")
                for question in [each for each in answers if each in screen]:
                    answer = answers.pop(question)
                    os.write(terminal, (answer if isinstance(answer, str) else answer()).encode())
                continue
        if process.poll() is not None:
            return screen
    raise TimeoutError(f"still waiting after: {screen[-300:]!r}")


def without_terminal(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Ran:
    """Run Python with ``arguments`` in a session without a terminal, as an agent's tool would."""
    done = subprocess.run(
        [sys.executable, *arguments],
        input=b"yes\n" * 10,
        capture_output=True,
        start_new_session=True,
        env=without_marks() if env is None else dict(env),
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stderr.decode(), done.stdout.decode())
