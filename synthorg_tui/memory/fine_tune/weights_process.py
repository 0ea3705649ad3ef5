"""The process that trains all weights, from the side of the app.

The libraries take a gigabyte and seconds to load, so they never enter the app. What is asked goes
over pipes, so that no text is left in a file. The process ends when this one does, and is ended
when nobody waits for it any more.
"""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.training import Numbers

MODULE: Final = "synthorg_tui.memory.fine_tune.weights"
_OFFLINE: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",
}
_MOST_THREADS: Final = 4


def training_threads() -> int:
    """Return how many threads training takes: one processor is left to the app, at most four."""
    return min(_MOST_THREADS, max(1, (os.cpu_count() or 1) - 1))


class WeightsProcess:
    """A child that does one job; made by ``started``."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    @asynccontextmanager
    async def started(cls, job: dict[str, Any]) -> AsyncIterator["WeightsProcess"]:
        """Start a process on a job, as ``weights`` describes it; it has ended afterwards."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **_OFFLINE},
            limit=1 << 30,
            start_new_session=True,  # Ctrl-C is for the app, which then ends this
        )
        try:
            this = cls(process)
            await this.say(job)
            yield this
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def say(self, said: dict[str, Any]) -> None:
        """Send something; a process that has ended is noticed when it is asked for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(said).encode() + b"\n")
        with suppress(ConnectionError):
            await self._process.stdin.drain()

    async def told(self, is_cancelled: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
        """Return the next thing that it says, ``None`` once the run is cancelled.

        Raises ``DomainError`` for a failure, also when it ended without a word.
        """
        assert self._process.stdout is not None
        reading = asyncio.ensure_future(self._process.stdout.readline())
        try:
            while not reading.done():
                if is_cancelled():
                    return None
                await asyncio.wait({reading}, timeout=0.2)
        finally:
            reading.cancel()
        line = reading.result()
        if not line.endswith(b"\n"):
            raise DomainError(f"the training process {await self._end()}")
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise DomainError(said["error"], remedy=said.get("remedy", ""))
        return said

    async def _end(self) -> str:
        code = await self._process.wait()
        if code < 0:
            return f"was ended by signal {-code}, as it is when memory runs out"
        return f"ended with status {code}"


async def vectors_of(folder: str, texts: Sequence[str]) -> Numbers:
    """Return the unit vectors that the model of a folder gives texts; raises ``DomainError``."""
    job = {"do": "embed", "model": folder, "texts": list(texts), "threads": training_threads()}
    async with WeightsProcess.started(job) as process:
        said = await process.told()
    assert said is not None
    return unpacked(said["vectors"], len(texts))


def packed(numbers: Numbers) -> str:
    """Return numbers as text."""
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()


def unpacked(text: str, rows: int) -> Numbers:
    """Return the rows of numbers that ``packed`` gave."""
    import numpy as np

    flat: Numbers = np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
    return flat.reshape(rows, len(flat) // max(1, rows))
