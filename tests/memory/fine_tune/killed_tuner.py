"""A process that tunes, and is killed by the system right after one of its writes."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthorg_tui.memory.fine_tune.store import FineTuneStore
from tests.memory.fine_tune import encoder_kit
from tests.memory.fine_tune.tuning_kit import engine_on, plan, tuned

WRITES = ("save", "put_questions", "put_found", "finish")


def run(data_dir: str, source: str, after: int) -> None:
    """Tune until the write number ``after`` is done."""
    _kill_after(after)
    asyncio.run(_tune(Path(data_dir), Path(source)))


def run_encoder(place: str, after: int) -> None:
    """Train all weights likewise, with the store ``data`` of a folder."""
    _kill_after(after)
    asyncio.run(_train(Path(place)))


def _kill_after(writes: int) -> None:
    left = writes

    def counted(write: Callable[..., Any]) -> Callable[..., Any]:
        async def counting(*args: Any, **kwargs: Any) -> None:
            nonlocal left
            await write(*args, **kwargs)
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        return counting

    for name in WRITES:
        setattr(FineTuneStore, name, counted(getattr(FineTuneStore, name)))


async def _tune(data_dir: Path, source: Path) -> None:
    async with engine_on(data_dir) as engine:
        await tuned(engine.memory_service, plan(source))


async def _train(place: Path) -> None:
    async with encoder_kit.engine_on(place / "data") as engine:
        await tuned(engine.memory_service, encoder_kit.encoder_plan(place))
