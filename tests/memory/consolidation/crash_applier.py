"""A process that applies and undoes a plan without end, telling each group before it begins."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.persistence.lock import DataDirLock
from tests.memory.consolidation.plan_kit import Bench
from tests.memory.store.store_kit import opened


def run(data_dir: str, number: int, pipe: Connection) -> None:
    """Work until killed."""
    with DataDirLock(Path(data_dir)):
        asyncio.run(_work(Path(data_dir), number, pipe))


async def _work(data_dir: Path, number: int, pipe: Connection) -> None:
    async with opened(data_dir, clock=SystemClock()) as backend:
        bench = Bench(backend, share=1.0)
        await backend.core.indexed()
        while True:
            await bench.applier.apply(number, by="ada", progress=lambda *at: pipe.send(at))
            await bench.applier.undo(number, by="ada", progress=lambda *at: pipe.send(at))
            number = (await bench.plan()).number
