"""What is done to a store while files fail, and what is true of the store before and after.

Each act is done by a child of a process that has everything loaded already, with the library of
``faults.c`` preloaded. Nothing here judges: ``faults`` compares what it is told.
"""

import asyncio
import ctypes
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

import synthorg_tui.ingest
from synthorg_tui.approvals.person import Person
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BrowseFilter, MemoryEdit
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.persistence.backups import newest_backup, restore_backup
from synthorg_tui.persistence.migrations import SCHEMA_VERSION
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills import SkillsConfig

SAMPLE = Path(synthorg_tui.ingest.__file__).parent / "sample"
AGENT = "bench"
PERSON = Person("tui")
NOTES = 8
NEVER = -1
"""The number of an operation that doesn't come: what is done is only counted."""


class WordVectors:
    """An embedder that needs no model: one fixed random direction a word, added up."""

    dims = 64
    fingerprint = "words-1"

    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([await self.embed_query(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        total = np.ones(self.dims, np.float32)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
            total += np.random.default_rng(seed).standard_normal(self.dims)
        vector: Vectors = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    async def unload(self) -> None:
        """Nothing was loaded."""

    async def close(self) -> None:
        return None


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncIterator[Engine]:
    """Yield the engine on a data directory, with no skills but its own."""
    settings = RootConfig(skills=SkillsConfig(project_roots=(), user_roots=()))
    async with Engine.open(settings, data_dir=data_dir, embedder=WordVectors()) as engine:
        yield engine


def request(content: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content=content,
        metadata=MemoryMetadata(tags=("non-inferable",)),
    )


async def prepare(data_dir: Path) -> None:
    """Make the store that every act begins with."""
    async with opened(data_dir) as engine:
        for number in range(NOTES):
            await engine.memory.store(AGENT, request(f"note w{number}"))
        await engine.imports.run([SAMPLE / "claude-retry-fetch.jsonl"])
        await engine.maintenance.backup()
        await engine.memory.store(AGENT, request("younger than the backup"))
        await engine.imports.run([SAMPLE / "claude-csv-export.jsonl"])
        await approve(engine)


async def noted(engine: Engine, content: str) -> str:
    page = await engine.desk.browse(BrowseFilter(agents=(AGENT,)))
    return next(row.id for row in page.entries if row.content == content)


async def store(engine: Engine) -> None:
    await engine.memory.store(AGENT, request("stored"))


async def import_file(engine: Engine) -> None:
    """Import one transcript: many memories; what was cut short is gone on with the next time."""
    await engine.imports.run([SAMPLE / "codex-faster-import.jsonl"])


async def edit(engine: Engine) -> None:
    change = MemoryEdit(content="note edited")
    await engine.desk.edit(await noted(engine, "note w1"), change, actor="bench")


async def remove(engine: Engine) -> None:
    await engine.desk.remove([await noted(engine, "note w2")], actor="bench")


async def purge(engine: Engine) -> None:
    await engine.erasure.purge([await noted(engine, "note w3")], actor="bench")


async def approve(engine: Engine) -> None:
    entry = min(await engine.reviews.inbox(), key=lambda each: each.item.title)
    shown = (await engine.reviews.review(entry.item.id)).shown
    await engine.reviews.approve(entry.item.id, shown=shown, person=PERSON)


async def undo(engine: Engine) -> None:
    await engine.reviews.undo(PERSON)


async def backup(engine: Engine) -> None:
    await engine.maintenance.backup()


async def reindex(engine: Engine) -> None:
    await engine.maintenance.reindex()


IMPORT = "import"
ACTS: dict[str, Callable[[Engine], Awaitable[None]]] = {
    "store": store,
    IMPORT: import_file,
    "edit": edit,
    "remove": remove,
    "purge": purge,
    "approve": approve,
    "undo": undo,
    "backup": backup,
    "reindex": reindex,
}
RESTORE = "restore"
"""The tenth act: it works on a closed store."""


class Fuse:
    """The preloaded library: at operation ``at`` it kills this process, or the disk is full."""

    def __init__(self, data_dir: Path, at: int, *, kills: bool) -> None:
        self._library = ctypes.CDLL(None)
        self._arguments = (ctypes.c_long(at), int(kills), str(data_dir).encode())

    async def burn(self, act: Awaitable[object]) -> dict[str, Any]:
        """Do something; returns how many operations it took, and the error if it failed."""
        self._library.fault_arm(*self._arguments)
        error = ""
        try:
            await act
        except Exception as failed:
            error = f"{type(failed).__name__}: {failed}"
        return {"operations": int(self._library.fault_disarm()), "error": error}


async def perform(name: str, data_dir: Path, fuse: Fuse) -> dict[str, Any]:
    """Do an act while files fail, then store one memory more, in the same process."""
    if name == RESTORE:
        return await fuse.burn(restore_backup(data_dir, newest_backup(data_dir).path))
    async with opened(data_dir) as engine:
        await engine.warm_up()
        told = await fuse.burn(ACTS[name](engine))
        try:
            await engine.memory.store(AGENT, request("stored afterwards"))
            found = (await engine.desk.find(MemoryQuery(text="afterwards"))).hits
            told["goes on"] = bool(found)
        except Exception as failed:
            told |= {"goes on": False, "then": f"{type(failed).__name__}: {failed}"}
    return told


async def outline(data_dir: Path, *, imports: bool) -> dict[str, Any]:
    """What is true of a store, without what comes by chance; and what is wrong with it."""
    async with opened(data_dir) as engine:
        if imports:
            await import_file(engine)
        page = await engine.desk.browse(BrowseFilter(), limit=1_000)
        removed = await engine.desk.browse(BrowseFilter(deleted=True), limit=1_000)
        records = await engine.ledger.all()
        items = await engine.approvals.list(snoozed=True)
        report = await engine.maintenance.doctor()
        unfound = [row.content for row in page.entries if not await is_found(engine, row.content)]
    copies = sorted((data_dir / "backups").glob("*.duckdb"))
    return {
        "memories": sorted(f"{row.agent_id}: {row.content}" for row in page.entries),
        "removed": sorted(row.content for row in removed.entries),
        "skills": sorted(f"{r.status} {Path(r.path).relative_to(data_dir)}" for r in records),
        "files": skill_files(data_dir),
        "items": sorted(f"{item.status} {item.title}" for item in items),
        "backups": [is_whole(path) for path in copies],
        "faults": [c.name for c in report.checks if not c.ok and c.name != "disk space"] + unfound,
    }


def skill_files(data_dir: Path) -> list[str]:
    found = data_dir.glob("skills/**/SKILL.md")
    return sorted(str(path.relative_to(data_dir)) for path in found)


async def is_found(engine: Engine, content: str) -> bool:
    found = await engine.desk.find(MemoryQuery(text=content, limit=50))
    return any(hit.content == content for hit in found.hits)


def is_whole(path: Path) -> bool:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as copy:
        row = copy.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    return row is not None and int(row[0]) == SCHEMA_VERSION


def do(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job in this process: an act, an outline, or the preparation."""
    data_dir = Path(job["folder"])
    if job["what"] == "prepare":
        asyncio.run(prepare(data_dir))
        return {}
    if job["what"] == "outline":
        return asyncio.run(outline(data_dir, imports=job["imports"]))
    fuse = Fuse(data_dir, job["at"], kills=job["kills"])
    return asyncio.run(perform(job["what"], data_dir, fuse))


def work() -> None:
    """Take jobs from standard input, a line of JSON each, and do each in a child process."""
    for line in sys.stdin:
        job = json.loads(line)
        result = Path(job["folder"]).parent / "result.json"
        result.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                result.write_text(json.dumps(do(job)), encoding="utf-8")
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told = json.loads(result.read_text("utf-8")) if result.exists() else {}
        print(json.dumps({"code": code, **told}), flush=True)
