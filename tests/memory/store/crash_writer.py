"""A process that changes a store without end, telling each change before and after it."""

import asyncio
import random
from multiprocessing.connection import Connection
from pathlib import Path

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.lock import DataDirLock
from tests.memory.store.store_kit import AGENT, draft, opened, request

BATCH = 6


def run(data_dir: str, seed: int, live: list[str], pipe: Connection) -> None:
    """Work until killed. ``live`` are the ids there are to start with."""
    pipe.send(("ready", "", [], []))
    with DataDirLock(Path(data_dir)):
        asyncio.run(_work(Path(data_dir), random.Random(seed), seed, live, pipe))


async def _work(
    data_dir: Path, choose: random.Random, seed: int, live: list[str], pipe: Connection
) -> None:
    async with opened(data_dir, clock=SystemClock()) as backend:
        await backend.core.indexed()
        pipe.send(("open", "", [], []))
        number = 0
        while True:
            number += 1
            kind = choose.choices(("store", "many", "edit", "delete", "purge"), (5, 2, 2, 2, 1))[0]
            word = f"w{seed}n{number}"
            if kind == "store":
                pipe.send(("begin", kind, [], [f"note {word}"]))
                done = [await backend.store(AGENT, request(f"note {word}"))]
            elif kind == "many":
                texts = [f"note {word}i{i}" for i in range(BATCH)]
                pipe.send(("begin", kind, [], texts))
                drafts = [draft(text, text) for text in texts]
                done = list((await backend.store_many(AGENT, drafts, actor="crash")).added)
            elif live:
                target = live.pop(choose.randrange(len(live)))
                pipe.send(("begin", kind, [target], [f"note {word}"]))
                done = await _change(backend, kind, target, f"note {word}")
            else:
                continue
            live.extend(done)
            pipe.send(("done", kind, done, []))


async def _change(backend: LocalMemoryBackend, kind: str, target: str, text: str) -> list[str]:
    """Change one memory; returns it if it is still live."""
    if kind == "edit":
        await backend.admin.edit(target, MemoryEdit(content=text), actor="crash")
        return [target]
    if kind == "delete":
        assert await backend.delete(AGENT, target)
    else:
        assert await backend.admin.purge([target], actor="crash") == 1
    return []
