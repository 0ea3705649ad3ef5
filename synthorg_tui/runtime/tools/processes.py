"""Programs run for an agent: with a time limit, little of their output held, and ended whole.

A program gets a session and a process group of its own, nothing on its input and no terminal. It is
over when it has ended itself, not when its pipes are closed: what it left behind in its group is
ended with it, as on a cancel and after the time limit. A program that leaves its group by intent is
found by a mark in its environment, where the system shows that.
"""

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.redaction_assignments import secret_name

CHUNK: Final = 65_536
GRACE_SECONDS: Final = 1.0
"""How long a program that is told to end may take, and its pipe to be empty after it has."""
_MAX_LOOKS: Final = 100
_LOOK_AGAIN: Final = 0.02
_STARTS_WITHIN: Final = 2.0
_HAS_PROC: Final = Path("/proc/self/environ").exists()
_MARK: Final = "SYNTHORG_RUN_MARK"
_OWN: Final = "SYNTHORG_"
_CLIENTS: Final = ("CLAUDE", "CODEX_", "CURSOR_", "GEMINI_", "OPENCODE", "COPILOT_", "ANTHROPIC_")
_SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE")
_QUIET: Final = {
    "AI_AGENT": "synthorg-tui",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""Tells programs that an agent runs them, so that they ask for nothing, and ours decide nothing."""


class KeptOutput:
    """The beginning and the end of a stream of bytes; what is between is only counted."""

    def __init__(self, most: int) -> None:
        self.total = 0
        self._half = max(1, most // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        del self._tail[: -self._half]

    @property
    def text(self) -> str:
        """What is kept as text, with a note of what isn't."""
        head, tail = bytes(self._head), bytes(self._tail)
        left_out = self.total - len(head) - len(tail)
        note = f"\n[... {left_out:,} bytes are left out here ...]\n".encode() if left_out else b""
        return (head + note + tail).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended.

    ``exit_code`` is negative for one that a signal ended. ``left_running`` is whether something
    that it started was still there and was ended.
    """

    exit_code: int
    output: str
    timed_out: bool = False
    left_running: bool = False


async def run_process(
    argv: Sequence[str], *, cwd: Path, seconds: float, most: int, environ: Mapping[str, str]
) -> ProcessResult:
    """Run a program and return how it ended, with at most ``most`` bytes of what it wrote.

    Standard output and errors are one stream. After ``seconds`` it is ended. Cancelling ends it,
    too. Raises ``OSError`` when it can't be started.
    """
    mark = uuid4().hex
    kept = KeptOutput(most)
    process, end = await _started(argv, cwd, {**environ, _MARK: mark})
    reading = asyncio.ensure_future(_read(end, kept))
    timed_out = left_running = False
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        timed_out = True
        await _terminate(process)
    finally:
        left_running = signal_group(process.pid, signal.SIGKILL)
        left_running = await asyncio.to_thread(end_marked, f"{_MARK}={mark}") or left_running
        with suppress(TimeoutError):
            await asyncio.wait_for(reading, GRACE_SECONDS)
        await process.wait()
    return ProcessResult(process.returncode or 0, kept.text, timed_out, left_running)


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program that an agent runs.

    It has none of this program's variables, of those by which coding agents are known, and of those
    that hold a secret by their name or value; and it says that an agent runs it.
    """
    kept = {name: value for name, value in environ.items() if _may_have(name, value)}
    return {**kept, **_QUIET}


def _may_have(name: str, value: str) -> bool:
    upper = name.upper()
    if name in AGENT_MARKS or upper.startswith((_OWN, *_CLIENTS)):
        return False
    if any(word in upper for word in _SECRET_WORDS) or secret_name(name) is not None:
        return False
    return redact_text(value, RedactionTally()) == value


async def _started(
    argv: Sequence[str], cwd: Path, environ: Mapping[str, str]
) -> tuple[asyncio.subprocess.Process, int]:
    """Start a program; return it with our end of the pipe that it writes to.

    The pipe is none of asyncio's, which would wait until everybody has closed it.
    """
    end, pipe = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except BaseException:
        os.close(end)
        raise
    finally:
        os.close(pipe)
    return process, end


async def _read(end: int, kept: KeptOutput) -> None:
    """Keep what comes out of a pipe until everybody has closed it; closes our end."""
    stream = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(stream)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    try:
        while data := await stream.read(CHUNK):
            kept.add(data)
    finally:
        transport.close()


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """Tell a program to end; one that doesn't is killed by the caller."""
    signal_group(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE_SECONDS)


def signal_group(pid: int, number: int) -> bool:
    """Send a signal to a process group; whether there is one that can be reached."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_marked(mark: str, *, spared: bytes = b"") -> bool:
    """Kill the programs that have a mark, ``NAME=VALUE``, in their environment; whether any had.

    Also those that left the group of the one that started them, but none that has ``spared`` in its
    command. Looks again as long as there was one, which may have started another, and where a
    program is just being started, which shows no environment for a moment. Systems that don't tell
    what a program's environment is have none.
    """
    found, wanted, own = False, mark.encode(), str(os.getpid())
    for _ in range(_MAX_LOOKS):
        again = False
        for process in Path("/proc").iterdir() if _HAS_PROC else ():
            is_other = process.name.isdecimal() and process.name != own
            environ = _bytes_of(process / "environ") if is_other else None
            if environ and wanted in environ.split(b"\0"):
                if not spared or spared not in (_bytes_of(process / "cmdline") or spared):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(int(process.name), signal.SIGKILL)
                        found = again = True
            elif environ == b"":
                again = again or _is_starting(process)
        if not again:
            break
        time.sleep(_LOOK_AGAIN)
    return found


def _bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _is_starting(process: Path) -> bool:
    """Whether it began a moment ago, by ``proc(5)``'s field 22, and is none that has ended."""
    _, _, fields = (_bytes_of(process / "stat") or b"").rpartition(b") ")
    if not fields or fields.startswith((b"Z", b"X")):
        return False
    began = int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began < _STARTS_WITHIN
