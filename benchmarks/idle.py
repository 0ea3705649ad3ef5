"""Memory of the app that nobody uses, and how long its first keys wait for what is loaded.

    python -m benchmarks.idle [--data-dir DIR] [--memories N] [--after SECONDS]

The real app runs on a pseudo-terminal of 120x40, as a person starts it. From the first rows on keys
move the cursor, and each is timed from the key to what is drawn for it, in the app's first seconds:
those in which model and index are loaded. Then no key comes until the time after which memory is
given back has passed, which is made short for this. Memory is what Linux says of the process in
``smaps_rollup``: resident (RSS), and its own share (PSS). *Loaded* is read before, *at rest* after.
"""

import asyncio
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from benchmarks.synthetic import ensure_filled
from benchmarks.table import Limit, Report, Row, command_line, print_report
from benchmarks.terminal import COLUMNS, ROWS

FIRST_KEYS = 3.0
"""Seconds of keys from the first rows on."""
LOADED_AFTER = 4.0
PACKED_AFTER = 15
"""Seconds from the start in which the index is packed, which begins the time of rest anew."""
_QUIET = 0.1
_NO_ANSWER = 2.0
MEBI = 1024
MAX_RESIDENT = Limit("<=", 200)
MAX_KEY = Limit("<=", 250)


class App:
    """The app as a process on a terminal; ``read`` what it draws, or its output blocks it."""

    def __init__(self, data_dir: Path, *, after: int) -> None:
        self._main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        idle = {"SYNTHORG__MEMORY__STORAGE__UNLOAD_AFTER_SECONDS": str(after)}
        environment = {**os.environ, **idle, "TERM": "xterm-256color"}
        environment.pop("CLAUDECODE", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data_dir)],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment,
            start_new_session=True,
        )
        os.close(terminal)

    def read(self, seconds: float) -> bytes:
        """Return what is drawn within so many seconds."""
        drawn, end = b"", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._main], [], [], left)[0]:
                try:
                    drawn += os.read(self._main, 65536)
                except OSError:  # the app has ended
                    break
        return drawn

    def wait_for_rows(self) -> None:
        """Wait until something was drawn and nothing more is: the rows come with the last of it."""
        drawn = b""
        while not drawn or (more := self.read(_QUIET)):
            drawn += more if drawn else self.read(_QUIET)

    def press(self, key: bytes) -> float:
        """Press a key and return the milliseconds until something is drawn."""
        started = time.monotonic()
        os.write(self._main, key)
        if select.select([self._main], [], [], _NO_ANSWER)[0]:
            os.read(self._main, 65536)
        return (time.monotonic() - started) * 1000

    def memory(self) -> tuple[float, float]:
        """Return RSS and PSS in MiB, of the process that draws."""
        own = self._process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()
        rollup = Path(f"/proc/{children[0] if children else own}/smaps_rollup")
        sizes = dict(
            line.split()[:2] for line in rollup.read_text(encoding="ascii").split("\n")[1:-1]
        )
        return int(sizes["Rss:"]) / MEBI, int(sizes["Pss:"]) / MEBI

    def end(self) -> None:
        """Quit, and end the process if it doesn't."""
        os.write(self._main, b"q")
        self.read(3)
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
            self.read(2)
        os.close(self._main)


def keys(app: App) -> list[float]:
    """Milliseconds of each key in the first seconds; they alternate, so that each draws a row."""
    end = time.monotonic() + FIRST_KEYS
    for _ in range(2):  # the first may come before the rows; then the cursor is below the first row
        app.press(b"j")
        app.read(_QUIET)
    times: list[float] = []
    while time.monotonic() < end:
        times.append(app.press(b"kj"[len(times) % 2 :][:1]))
        app.read(0.02)
    return times


def measure(data_dir: Path, *, after: int) -> list[Row]:
    app = App(data_dir, after=after)
    try:
        app.wait_for_rows()
        times = keys(app)
        app.read(LOADED_AFTER)
        loaded, _ = app.memory()
        app.read(after + PACKED_AFTER + 5)
        resident, own = app.memory()
    finally:
        app.end()
    times.sort()
    return [
        Row("key in the first 3 s, median", statistics.median(times), "ms"),
        Row("key in the first 3 s, p95", times[int(len(times) * 0.95)], "ms"),
        Row("key in the first 3 s, worst", times[-1], "ms", MAX_KEY),
        Row("resident, loaded", loaded, "MiB"),
        Row("resident, at rest", resident, "MiB", MAX_RESIDENT),
        Row("own share, at rest", own, "MiB"),
        Row("at rest / loaded", resident / loaded, "x", Limit("<=", 0.65), digits=2),
    ]


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--data-dir", type=Path, help="an existing store; else one is made")
    parser.add_argument("--memories", type=int, default=60, help="in the store that is made")
    parser.add_argument("--after", type=int, default=5, help="seconds until memory is given back")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.data_dir is None:
            asyncio.run(ensure_filled(Path(folder), options.memories))
        rows = measure(options.data_dir or Path(folder), after=options.after)
    parameters = {"memories": None if options.data_dir else options.memories}
    report = Report("idle", {**parameters, "seconds until given back": options.after}, rows)
    print_report(report, as_json=options.json)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
