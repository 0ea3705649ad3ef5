"""A client's process: started in a group of its own, fed, read line by line, and ended for good.

What it writes is bounded, whatever it writes: a line that is too long is passed over, more than
``MAX_STREAM`` ends it. Nobody outlives it that belongs to its group.
"""

import asyncio
import json
import re
import shutil
import signal
import subprocess
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import size
from synthorg_tui.ingest.records import Record
from synthorg_tui.runtime.tools.processes import signal_group

MAX_LINE: Final = 4 * 1024 * 1024
MAX_STREAM: Final = 256 * 1024 * 1024
_CHUNK: Final = 64 * 1024
_LAST_WORDS: Final = 4_000
_LEAVING_SECONDS: Final = 3.0
"""How long a client may take to end itself; it knows of programs that left its group."""
_REST_SECONDS: Final = 1.0
"""How long its pipes are read once it has ended, since what it started may keep them open."""
_VERSION_SECONDS: Final = 20.0
_HIDDEN: Final = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT|SESSION_ID)|SYNTHORG_.*|OLDPWD"
    r"|GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX)"
)
"""Variables that a client isn't given: that an agent started it, other folders, and ours."""


@dataclass(slots=True)
class RecordLines:
    """Takes a stream apart into records; ``passed_over`` counts lines that are none."""

    passed_over: int = 0
    _line: bytearray = field(default_factory=bytearray)
    _is_too_long: bool = False
    _read: int = 0

    def take(self, chunk: bytes) -> list[Record]:
        """Return the records that are complete with this chunk; an empty one is the end.

        Raises ``DomainError`` once the stream is longer than ``MAX_STREAM``.
        """
        self._read += len(chunk)
        if self._read > MAX_STREAM:
            raise DomainError(f"it wrote more than {size(MAX_STREAM)}")
        *ends, rest = chunk.split(b"\n")
        found = []
        for part in ends:
            self._add(part)
            found += self._complete()
        self._add(rest)
        return found if chunk else self._complete()

    def _add(self, part: bytes) -> None:
        if len(self._line) + len(part) > MAX_LINE:
            self._is_too_long = True
            self._line.clear()
        elif not self._is_too_long:
            self._line += part

    def _complete(self) -> list[Record]:
        raw, too_long = bytes(self._line).strip(), self._is_too_long
        self._line.clear()
        self._is_too_long = False
        if not raw and not too_long:
            return []
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            return [record]
        self.passed_over += 1
        return []


def visible_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a client is given: the person's own, without ours.

    Keys of its own API stay, also where our settings name the same variable.
    """
    return {name: value for name, value in environ.items() if not _HIDDEN.fullmatch(name)}


async def version_of(program: str, environ: Mapping[str, str]) -> tuple[int, ...]:
    """Return the version that a program tells; empty when it tells none in time."""
    try:
        async with started([program, "--version"], Path.home(), visible_environ(environ)) as run:
            async with asyncio.timeout(_VERSION_SECONDS):
                said, _ = await run.communicate()
    except (OSError, TimeoutError):
        return ()
    version = re.search(rb"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", said[:_LAST_WORDS])
    return tuple(map(int, version.groups())) if version else ()


def found(program: str, environ: Mapping[str, str]) -> str:
    """Return the path of a program on the search path; empty when it isn't there."""
    return shutil.which(program, path=environ.get("PATH")) or ""


async def converse(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    text: str,
    on_record: Callable[[Record], bool],
) -> "ClientEnding":
    """Run a client on a text until it ends, and hand over its records as they come.

    It is ended early when ``on_record`` returns false, or when it is cancelled. Raises
    ``DomainError`` when it writes more than ``MAX_STREAM``, and ``OSError``.
    """
    ending = ClientEnding()
    async with started(command, folder, environ) as process:
        talking = asyncio.create_task(_feed(process, text))
        listening = asyncio.create_task(_keep_last(process, ending))
        try:
            ending.passed_over = await _hear(process, on_record)
            with suppress(TimeoutError):
                ending.exit_code = await asyncio.wait_for(_exit(process), _LEAVING_SECONDS)
                await asyncio.wait_for(listening, _REST_SECONDS)
        finally:
            talking.cancel()
            listening.cancel()
    return ending


@dataclass(slots=True)
class ClientEnding:
    """How a client's process ended; ``words`` is the end of what it wrote beside its stream.

    ``exit_code`` is ``None`` for one that was ended.
    """

    exit_code: int | None = None
    words: str = ""
    passed_over: int = 0


async def _hear(process: "ClientProcess", on_record: Callable[[Record], bool]) -> int:
    """Read the stream to its end, or until the process is gone that should write to it."""
    assert process.stdout is not None
    lines, leaving = RecordLines(), asyncio.create_task(_exit(process))
    try:
        while True:
            reading = asyncio.create_task(process.stdout.read(_CHUNK))
            try:
                if leaving.done():  # what it started may keep the stream open for ever
                    chunk = await asyncio.wait_for(reading, _REST_SECONDS)
                else:
                    await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
                    if not reading.done():
                        await asyncio.wait({reading}, timeout=_REST_SECONDS)
                    chunk = reading.result() if reading.done() else b""
            except TimeoutError:
                chunk = b""
            finally:
                reading.cancel()
            if not all(map(on_record, lines.take(chunk))) or not chunk:
                return lines.passed_over
    finally:
        leaving.cancel()


async def _feed(process: "ClientProcess", text: str) -> None:
    """Write what it is to do; one that doesn't listen has ended."""
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(text.encode(errors="replace"))
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _keep_last(process: "ClientProcess", ending: ClientEnding) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        ending.words = (ending.words + chunk.decode(errors="replace"))[-_LAST_WORDS:]


class ClientProcess(Process):
    """A process whose end is known as ``left``; ``wait`` also waits for its pipes to be closed.

    Whoever it started may keep those open.
    """

    left: asyncio.Event


class _LeavingProtocol(SubprocessStreamProtocol):
    """Sets an event when its process has exited."""

    def __init__(self, left: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(_CHUNK, loop)
        self._left = left

    def process_exited(self) -> None:
        super().process_exited()
        self._left.set()


@asynccontextmanager
async def started(
    command: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> AsyncIterator[ClientProcess]:
    """Yield a program that runs in a group of its own, which is ended with the context."""
    loop = asyncio.get_running_loop()
    left = asyncio.Event()
    transport, protocol = await loop.subprocess_exec(
        lambda: _LeavingProtocol(left, loop),
        *command,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    process = ClientProcess(transport, protocol, loop)
    process.left = left
    try:
        yield process
    finally:
        await asyncio.shield(_end(process))
        transport.close()  # what it started may keep its pipes open


async def _end(process: "ClientProcess") -> None:
    """Ask a program to end, then end its group, also what it left there."""
    if process.returncode is None:
        signal_group(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                await _exit(process)
    signal_group(process.pid, signal.SIGKILL)
    await _exit(process)


async def _exit(process: "ClientProcess") -> int | None:
    await process.left.wait()
    return process.returncode
