"""Runs the program at a terminal of its own, as a person's shell would, or without any.

Each command is a process, forked from one that has loaded the program's modules: loading them takes
longer than most commands.
"""

import contextlib
import fcntl
import multiprocessing
import os
import pty
import runpy
import select
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from synthorg_tui.core.actors import AGENT_MARKS
from tests.patience import PATIENCE

Answer = str | Callable[[], str]

LOADED = multiprocessing.get_context("forkserver")
LOADED.set_forkserver_preload(
    [
        "Stemmer",
        "duckdb",
        "synthorg_tui.cli.commands.proposals_view",
        "synthorg_tui.cli.commands.skills",
        "synthorg_tui.cli.runner",
        "synthorg_tui.curation.disk_sync",
        "synthorg_tui.curation.service",
        "synthorg_tui.engine",
        "synthorg_tui.host.headless",
        "synthorg_tui.memory.index.edge",
        "synthorg_tui.memory.store.admin",
        "synthorg_tui.providers.embedding.onnx",
        "tests.curation.crash_decider",
        "tests.memory.store.crash_writer",
    ]
)
"""Starts processes that have loaded what they need; each worker has one server of them."""


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
    patience: float = PATIENCE,
) -> Ran:
    """Run Python with ``arguments`` at a new terminal and return its exit code and output.

    ``answers`` maps the text of a question to the answer typed when that text shows up. An answer
    may be a function, called at that moment, which can change something first. ``piped`` redirects
    standard input and output. A program that still runs after ``patience`` seconds is killed, and
    ``TimeoutError`` raised.
    """
    ours, theirs = pty.openpty()
    with Path(os.devnull).open() as nothing, tempfile.TemporaryFile() as out:
        streams = [nothing.fileno(), out.fileno(), theirs] if piped else [theirs] * 3
        if typed_ahead:
            os.write(ours, typed_ahead.encode())
        with _started(arguments, streams, without_marks() if env is None else env) as process:
            os.close(theirs)
            try:
                end = time.monotonic() + patience
                screen = _converse(ours, process, dict(answers or {}), end)
            finally:
                os.close(ours)
        out.seek(0)
        return Ran(process.exitcode or 0, screen, out.read().decode())


@contextlib.contextmanager
def _started(
    arguments: Sequence[str], streams: Sequence[int], env: Mapping[str, str]
) -> Iterator[BaseProcess]:
    """A process that runs Python with ``arguments`` on these descriptors, and is ended."""
    given = [Connection(os.dup(stream)) for stream in streams]
    process = LOADED.Process(target=_become, args=(list(arguments), given, dict(env)))
    process.start()
    for each in given:
        each.close()
    try:
        yield process
    finally:
        if process.exitcode is None:
            process.kill()
        process.join()


def _become(arguments: list[str], streams: list[Connection], env: dict[str, str]) -> None:
    """Do as Python started with ``arguments``: the terminal of descriptor 2 is the controlling one.

    Runs in the new process.
    """
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    with contextlib.suppress(OSError):  # no terminal
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(env)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    option, what, *rest = arguments
    sys.argv = [what if option == "-m" else option, *rest]
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})


def _converse(terminal: int, process: BaseProcess, answers: dict[str, Answer], end: float) -> str:
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
        if process.exitcode is not None:
            return screen
    raise TimeoutError(f"still waiting after: {screen[-300:]!r}")


def without_terminal(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Ran:
    """Run Python with ``arguments`` in a session without a terminal, as an agent's tool would."""
    with contextlib.ExitStack() as files:
        typed, out, told = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        typed.write(b"yes\n" * 10)
        typed.seek(0)
        streams = [each.fileno() for each in (typed, out, told)]
        with _started(arguments, streams, without_marks() if env is None else env) as process:
            process.join(60)
        out.seek(0)
        told.seek(0)
        return Ran(process.exitcode or 0, told.read().decode(), out.read().decode())
