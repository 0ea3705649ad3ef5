"""A process that changes memories on a server until it is told to stop, noting what was confirmed.

Each line of its file is a JSON list: ``["begin", ...]`` before a change and ``["done", ...]`` once
it was confirmed; what began and isn't done is unknown.
"""

import asyncio
import json
import os
import random
import time
from pathlib import Path

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.memory.store.shared_kit import app, indexed_ids
from tests.memory.store.store_kit import draft, query, request

BATCH = 6
KINDS = {
    "store": 5,
    "many": 2,
    "edit": 3,
    "share": 2,
    "find": 2,
    "delete": 2,
    "archive": 2,
    "restore": 1,
    "purge": 2,
}
"""What a turn may be, and how often it is."""


def run(url: str, folder: str, number: int, seed: int, common: str) -> None:
    """Work until ``folder/stop`` is there; at ``folder/look`` write the ids of the index and end.

    ``common`` is the id of a memory that all writers edit.
    """
    asyncio.run(_run(url, Path(folder), number, seed, common))


def journal(folder: Path, number: int) -> Path:
    """The file in which a writer notes its changes."""
    return folder / f"writer-{number}.jsonl"


async def _run(url: str, folder: Path, number: int, seed: int, common: str) -> None:
    async with app(url, folder / f"app-{number}") as backend:
        with journal(folder, number).open("a") as file:
            worker = _Worker(backend, number, seed, common, file.fileno())
            while not (folder / "stop").exists():
                await worker.turn()
        (folder / f"stopped-{number}").touch()
        await asyncio.to_thread(_wait_for, folder / "look")
        found = sorted(await indexed_ids(backend))
        (folder / f"index-{number}.json").write_text(json.dumps(found))


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)


class _Worker:
    def __init__(
        self, backend: LocalMemoryBackend, number: int, seed: int, common: str, file: int
    ) -> None:
        self._backend = backend
        self._agent = f"agent-{number}"
        self._choose = random.Random(seed)
        self._word = f"w{number}s{seed}"
        self._common = common
        self._file = file
        self._turns = 0
        self._live: list[str] = []
        self._archived: list[str] = []

    async def turn(self) -> None:
        self._turns += 1
        text = f"note {self._word}n{self._turns}"
        kind = self._choose.choices(list(KINDS), list(KINDS.values()))[0]
        try:
            await getattr(self, f"_{kind}")(text)
        except DomainError as error:  # not confirmed: it may have been done all the same
            self._note("failed", str(error)[:200])
            await asyncio.sleep(0.05)

    def _note(self, *what: object) -> None:
        os.write(self._file, json.dumps(what).encode() + b"\n")

    async def _store(self, text: str) -> None:
        self._note("begin", "store", [], [text])
        key = await self._backend.store(self._agent, request(text))
        self._note("done", "store", [key], [text])
        self._live.append(key)

    async def _many(self, text: str) -> None:
        texts = [f"{text}i{i}" for i in range(BATCH)]
        self._note("begin", "many", [], texts)
        drafts = [draft(each, f"{self._word}-{self._turns}-{i}") for i, each in enumerate(texts)]
        stored = await self._backend.store_many(self._agent, drafts, actor="writer")
        self._note("done", "many", list(stored.added), texts)
        self._live += stored.added

    async def _edit(self, text: str) -> None:
        if self._live:
            key = self._choose.choice(self._live)
            self._note("begin", "edit", [key], [text])
            await self._backend.admin.edit(key, MemoryEdit(content=text), actor="writer")
            self._note("done", "edit", [key], [text])

    async def _delete(self, text: str) -> None:
        if self._live:
            key = self._one_of(self._live)
            self._note("begin", "delete", [key], [])
            await self._backend.delete(self._agent, key)
            self._note("done", "delete", [key], [])

    async def _archive(self, text: str) -> None:
        if self._live:
            key = self._one_of(self._live)
            self._note("begin", "archive", [key], [])
            await self._backend.admin.archive([key], actor="writer")
            self._note("done", "archive", [key], [])
            self._archived.append(key)

    async def _restore(self, text: str) -> None:
        if self._archived:
            key = self._one_of(self._archived)
            self._note("begin", "restore", [key], [])
            await self._backend.admin.restore([key], actor="writer")
            self._note("done", "restore", [key], [])
            self._live.append(key)

    async def _purge(self, text: str) -> None:
        if keys := self._archived or self._live:
            key = self._one_of(keys)
            self._note("begin", "purge", [key], [])
            await self._backend.admin.purge([key], actor="writer")
            self._note("done", "purge", [key], [])

    def _one_of(self, keys: list[str]) -> str:
        """Take one of them, of which nothing is known any more when the change fails."""
        return keys.pop(self._choose.randrange(len(keys)))

    async def _share(self, text: str) -> None:
        self._note("begin", "share", [self._common], [text])
        await self._backend.admin.edit(self._common, MemoryEdit(content=text), actor="writer")
        self._note("done", "share", [self._common], [text])

    async def _find(self, text: str) -> None:
        await self._backend.retrieve(self._agent, query(self._word))
