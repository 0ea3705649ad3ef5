"""A process that writes facts without end, telling each change before and after it."""

import asyncio
import random
from multiprocessing.connection import Connection
from pathlib import Path

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.persistence.lock import DataDirLock
from tests.memory.org.org_kit import PERSON, fact, publish
from tests.memory.store.store_kit import opened


def run(data_dir: str, seed: int, active: list[str], pipe: Connection) -> None:
    """Work until killed. ``active`` are the ids there are to start with."""
    with DataDirLock(Path(data_dir)):
        asyncio.run(_work(Path(data_dir), random.Random(seed), active, pipe))


async def _work(data_dir: Path, choose: random.Random, active: list[str], pipe: Connection) -> None:
    async with opened(data_dir, clock=SystemClock()) as backend:
        store = OrgStore(backend.core)
        number = 0
        while True:
            number += 1
            text = f"rule {choose.random()} {number}"
            if active and choose.random() < 0.25:
                gone = active.pop(choose.randrange(len(active)))
                pipe.send(("begin", gone, None))
                assert await store.delete(gone, author=PERSON)
                pipe.send(("done", gone, None))
                continue
            known = choose.choice(active) if active and choose.random() < 0.5 else None
            pipe.send(("begin", known, text))
            (done,) = await store.change([publish(fact(text), known)], OrgAct("crash"))
            if known is None:
                active.append(done.fact_id)
            pipe.send(("done", done.fact_id, text))
