"""The memories that embedders are tried on: a sample of the store, in a place of their own.

Each embedder gets a store of its own with these rows, which is deleted after it: what is tried
never touches the store in use, and what agents are given is found by the same code.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.memory.evaluation.questions import EvalQuestion, distinct, task_of
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, edges_of
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.providers.embedding.protocol import Embedder

T = TypeVar("T")

COPIED_BY: Final = "evaluation"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Memories, the edges between them, and the questions that are asked about them.

    ``moments`` are the times at which an agent's questions are asked; those of others are asked
    now. ``total`` is how many memories could have been taken, ``found`` how many questions were
    there, and ``gone`` how many of these have no live memory any more that answers them.
    """

    name: str
    rows: tuple[StoredMemory, ...]
    questions: tuple[EvalQuestion, ...]
    edges: tuple[MemoryEdge, ...] = ()
    moments: Mapping[str, datetime] = field(default_factory=dict)
    total: int = 0
    found: int = 0
    gone: int = 0

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that have memories here, those with the most first."""
        counts = Counter(row.agent_id for row in self.rows)
        return tuple(sorted(counts, key=lambda agent: (-counts[agent], agent)))

    def limited(self, memories: int) -> "Corpus":
        """Return the corpus with at most so many memories: all that answer, and a sample."""
        if len(self.rows) <= memories:
            return self
        wanted = {key for question in self.questions for key in question.relevant}
        answers = [row for row in self.rows if row.id in wanted]
        others = in_fair_order((r for r in self.rows if r.id not in wanted), lambda row: row.id)
        rows = (*answers, *others[: max(0, memories - len(answers))])
        kept = {row.id for row in rows}
        edges = [edge for edge in self.edges if kept.issuperset((edge.from_id, edge.to_id))]
        return replace(self, rows=rows, edges=tuple(edges))


def in_fair_order(items: Iterable[T], key: Callable[[T], str]) -> list[T]:
    """Return the items in an order that has nothing to do with them, the same each time."""
    return sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).digest())


async def own_corpus(
    core: Core, asked: Sequence[EvalQuestion], *, questions: int, memories: int
) -> Corpus:
    """Return a sample of a store's live memories, and of what was asked about them.

    The memories are those of the agents that are asked for, and what is shared; all that answer a
    question are among them, ``memories`` at most else.
    """
    each_once = distinct(asked)
    wanted = sorted({key for question in each_once for key in question.relevant})
    rows_of = partial(queries.in_order, where=core.live_where(), ids=wanted, shape=STORED)
    live = {row.id: MemoryCategory(row.category) for row in await core.read(rows_of)}
    answerable = [known for each in each_once if (known := _with_live(each, live)) is not None]
    chosen = in_fair_order(answerable, lambda each: f"{each.agent_id} {each.text}")[:questions]
    rows, edges, total = await core.read(partial(_sample, core, chosen, memories))
    corpus = Corpus(
        name="your memories",
        rows=rows,
        questions=tuple(chosen),
        edges=edges,
        total=total,
        found=len(each_once),
        gone=len(each_once) - len(answerable),
    )
    return corpus.limited(memories)


def _with_live(question: EvalQuestion, live: Mapping[str, MemoryCategory]) -> EvalQuestion | None:
    """The question with what of its answers is live, by whose categories it is counted."""
    kept = question.relevant & live.keys()
    task = task_of(live[key] for key in sorted(kept))
    return replace(question, relevant=kept, category=task) if task is not None else None


def _sample(
    core: Core, questions: Sequence[EvalQuestion], memories: int, db: Connection
) -> tuple[tuple[StoredMemory, ...], tuple[MemoryEdge, ...], int]:
    agents = sorted({question.agent_id for question in questions})
    where = core.live_where()
    where.add("(m.shared OR list_contains(?::VARCHAR[], m.agent_id))", agents)
    ids = queries.matching_ids(db, where)
    wanted = {key for question in questions for key in question.relevant}
    others = in_fair_order((key for key in ids if key not in wanted), str)
    chosen = sorted(wanted.intersection(ids)) + others[: max(0, memories - len(wanted))]
    rows = queries.in_order(db, where, chosen, STORED)
    kept = {row.id for row in rows}
    edges = edges_of(db, sorted(kept)) if kept else ()
    within = tuple(edge for edge in edges if kept.issuperset((edge.from_id, edge.to_id)))
    return tuple(sorted(rows, key=lambda row: row.revision)), within, len(ids)


@asynccontextmanager
async def scratch_store(
    folder: Path, embedder: Embedder, *, clock: Clock, policy: StorePolicy
) -> AsyncIterator[LocalMemoryBackend]:
    """Open an empty store in a new folder inside ``folder``, deleted with the ``async with``."""
    ensure_private_dir(folder)
    directory = Path(tempfile.mkdtemp(dir=folder))
    database = Database.in_dir(directory)
    index = EdgeIndex(directory / INDEX_DIR)
    core = Core(database=database, index=index, embedder=embedder, clock=clock, policy=policy)
    backend = LocalMemoryBackend(core)
    try:
        await backend.connect()
        yield backend
    finally:
        try:
            await backend.disconnect()
        finally:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def put_rows(
    core: Core, rows: Sequence[StoredMemory], vectors: Sequence[bytes] | None = None
) -> None:
    """Store rows as they are, embedded now, or with the vectors that are known of them.

    Raises ``EmbeddingError``.
    """
    import numpy as np

    if vectors is None:
        embedded = list(await core.embedder.embed([row.content for row in rows]))
    else:
        embedded = [np.frombuffer(vector, np.float32) for vector in vectors]
    pairs = list(zip(rows, embedded, strict=True))

    def work(changes: Changes) -> None:
        changes.add(pairs, actor=COPIED_BY)

    await core.change(work)


async def put_edges(core: Core, edges: Sequence[MemoryEdge]) -> None:
    """Store the edges between rows that are stored."""
    made_at = naive_utc(core.clock.now())
    await core.change(lambda c: add_edges(c.db, edges, made_at=made_at, made_by=COPIED_BY))
