"""A process that uses a store on a disk that it fills itself, and prints what became of each act.

    python -c "from benchmarks.filling import run; run()" FOLDER SEED

``FOLDER`` is on a small file system of its own. The disk is full while memories are stored, found,
edited, deleted, backed up and the index is built anew; then there is room again.
"""

import asyncio
import json
import random
import sys
from collections.abc import Awaitable
from pathlib import Path

from benchmarks.fault_acts import AGENT, WordVectors, request
from benchmarks.synthetic import opened
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance

MAX_STORED = 40
MAX_LEFT = 3_000_000
"""Bytes that are left free at most: sometimes the disk is full, sometimes nearly."""


def fill(folder: Path, left: int) -> Path:
    """Write until the disk is full, then give ``left`` bytes back."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
        file.truncate(max(file.tell() - left, 0))
    return filler


async def tried(act: Awaitable[object]) -> str:
    """What was told: nothing when it succeeded."""
    try:
        await act
    except DomainError as error:
        return f"{error.message} {error.remedy}"
    return ""


async def use(backend: LocalMemoryBackend, data: Path, ids: list[str]) -> dict[str, str]:
    """Everything a full disk may meet; what each was told."""
    maintenance = Maintenance(backend, data_dir=data)
    edit = MemoryEdit(content="edited on a full disk")
    return {
        "store": await tried(backend.store(AGENT, request("stored on a full disk"))),
        "search": await tried(backend.admin.find(MemoryQuery(text="note"))),
        "edit": await tried(backend.admin.edit(ids[0], edit, actor="test")),
        "remove": await tried(backend.admin.remove(ids[1:2], actor="test")),
        "backup": await tried(maintenance.backup()),
        "compact": await tried(backend.core.database.rewrite()),
        "reindex": await tried(maintenance.reindex()),
        "read": await tried(backend.get(AGENT, ids[2])),
    }


async def main(folder: Path, seed: int) -> dict[str, object]:
    choose, data = random.Random(seed), folder / "data"
    async with opened(data, WordVectors()) as backend:
        count = choose.randint(3, MAX_STORED)
        ids = [await backend.store(AGENT, request(f"note w{number}")) for number in range(count)]
        filler = fill(folder, choose.choice((0, choose.randrange(MAX_LEFT))))
        open_told = await use(backend, data, ids)
    async with opened(data, WordVectors()) as backend:
        anew_told = await use(backend, data, ids)
        filler.unlink()
        room_told = await use(backend, data, ids)
        report = await Maintenance(backend, data_dir=data).doctor()
        lost = [i for i in ids if i != ids[1] and not await backend.get(AGENT, i)]
        found = [
            bool((await backend.admin.find(MemoryQuery(text=f"w{number}"))).hits)
            for number in range(2, count)
        ]
    faults = [check.name for check in report.checks if not check.ok and check.name != "disk space"]
    return {
        "full": open_told,
        "full, opened anew": anew_told,
        "room again": room_told,
        "lost": lost,
        "unfound": found.count(False),
        "faults": faults,
    }


def run() -> None:
    """Print what ``main`` returns, as JSON."""
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))))
