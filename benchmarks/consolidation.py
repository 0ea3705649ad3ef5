"""How long a plan takes at a given size, how soon it tells and stops, and a flood of copies.

    python -m benchmarks.consolidation [--memories 20000] [--copies 10000]

All memories are of one agent: a fifth are nearly the same as another, a tenth copies to the letter,
a fortieth values of facts. Then a flood of copies of one memory is planned and archived.
"""

import argparse
import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.synthetic import opened, vocabulary
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.consolidation.applying import PlanApplier
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.likeness import find_alike
from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, GroupKind
from synthorg_tui.memory.consolidation.planner import LOSSLESS, Planner
from synthorg_tui.memory.extensions import MemoryBundle, MemoryDraft, NewMemory
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store import plans
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.port import Connection
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    pass

_STARTED = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 1_000
_SHARE = 0.05


class WordSums:
    """An embedder for which texts that share words are alike, quick enough for any number."""

    fingerprint, dims, is_loaded = "word-sums", 384, True

    def __init__(self) -> None:
        self._words: dict[str, Vectors] = {}
        self._random = np.random.default_rng(0)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    async def unload(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Vectors:
        total = np.zeros(self.dims, np.float32)
        for word in text.split():
            if word not in self._words:
                self._words[word] = self._random.standard_normal(self.dims).astype(np.float32)
            total += self._words[word]
        normalised: Vectors = total / np.linalg.norm(total)
        return normalised


def memories(count: int, agent: str) -> Iterator[NewMemory]:
    """Yield memories of one agent, a minute apart: texts of 30 to 120 words."""
    choose, words = random.Random(3), vocabulary()
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    texts: list[str] = []
    for number in range(count):
        tags: tuple[str, ...] = ("non-inferable",)
        kind = number % 40
        if kind % 5 == 1 and texts:
            text = f"{choose.choice(texts)} please"
        elif kind % 10 == 2 and texts:
            text = choose.choice(texts)
        else:
            text = " ".join(choose.choices(words, weights, k=choose.randint(30, 120)))
            texts.append(text)
        if kind == 3:
            tags = (*tags, f"fact:subject {number % 200}")
        yield memory(text, agent, _STARTED + timedelta(minutes=number), tags)


def memory(text: str, agent: str, at: datetime, tags: tuple[str, ...]) -> NewMemory:
    """Return a memory to store."""
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content=text, metadata=MemoryMetadata(tags=tags)
    )
    draft = MemoryDraft(request=request, created_at=at, level=MemoryLevel.PERSISTENT)
    return NewMemory(agent, draft)


async def fill(backend: LocalMemoryBackend, found: Sequence[NewMemory]) -> None:
    """Store all, copies included, which an import would refuse."""
    for start in range(0, len(found), _BATCH):
        bundle = MemoryBundle(add=tuple(found[start : start + _BATCH]))
        await backend.admin.change_together(bundle, lambda *_: None, actor="benchmark")


class Watch:
    """The most memory this process had while something ran, in megabytes above the start."""

    def __init__(self) -> None:
        self.peak = self._start = self._now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def grown(self) -> float:
        return self.peak - self._start

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self.peak = max(self.peak, self._now())

    def _now(self) -> float:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * 4096 / 2**20


async def measure(backend: LocalMemoryBackend, planner: Planner) -> list[Row]:
    """Measure a whole plan, and one that is stopped half way."""
    told: list[float] = []
    cancel = threading.Event()
    started, used = time.perf_counter(), time.process_time()
    with Watch() as watch:
        plan = await planner.plan(
            made_by="benchmark", progress=lambda *_: told.append(time.perf_counter() - started)
        )
    seconds, used = time.perf_counter() - started, time.process_time() - used
    gaps = [late - soon for soon, late in zip(told, [*told[1:], seconds], strict=True)]
    asyncio.get_running_loop().call_later(seconds / 2, cancel.set)
    began = time.perf_counter()
    stopped = await planner.plan(made_by="benchmark", cancel=cancel)
    assert stopped.cancelled
    return [
        Row("plan", seconds, "s", Limit("<", 5.0), digits=2),
        Row("plan, processor time", used, "s", digits=2),
        Row("first progress", told[0], "s", Limit("<", 1.0), digits=3),
        Row("longest time without progress", max(gaps), "s", Limit("<", 1.0), digits=2),
        Row("stopped after", time.perf_counter() - began - seconds / 2, "s", Limit("<", 1.0), 2),
        Row("memory beside", watch.grown, "MB", Limit("<", 200.0)),
        Row("groups", len(plan.groups)),
        Row("would leave", sum(len(group.archived) for group in plan.groups)),
        Row("held back by the cap", plan.held_back),
    ]


async def flood(backend: LocalMemoryBackend, planner: Planner, applier: PlanApplier) -> list[Row]:
    """Plan and archive the copies of one memory."""
    started = time.perf_counter()
    found = await planner.plan("flooded", made_by="benchmark", kinds=LOSSLESS)
    planned = time.perf_counter()

    def put(db: "Connection") -> ConsolidationPlan:
        return plans.put_plan(db, found)

    plan = await backend.core.database.write(put)
    with Watch() as watch:
        outcome = await applier.apply(plan.number, by="benchmark")
    applied = time.perf_counter()
    undone = await applier.undo(plan.number, by="benchmark")
    assert undone.live_after == outcome.live_before
    return [
        Row("flood: plan", planned - started, "s", Limit("<", 5.0), digits=2),
        Row("flood: apply", applied - planned, "s", digits=2),
        Row("flood: undo", time.perf_counter() - applied, "s", digits=2),
        Row("flood: memory beside", watch.grown, "MB", Limit("<", 200.0)),
        Row("flood: left live", outcome.live_after, "", Limit("<=", 1)),
    ]


async def run(count: int, copies: int) -> Report:
    """Fill a store, measure a plan of it, then a flood."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder), WordSums()) as backend:
            await fill(backend, list(memories(count, "busy")))
            rules = ConsolidationConfig(max_share_per_run=_SHARE, max_memories_per_agent=1_000_000)
            likeness = partial(find_alike, backend.core)
            finders = {GroupKind.SUPERSEDED: likeness}
            planner = Planner(backend.core, rules, lambda _: frozenset(), dict(finders))
            rows = await measure(backend, planner)
            same = memory("The flood says this.", "flooded", _STARTED, ("non-inferable",))
            await fill(backend, [same] * copies)
            applier = PlanApplier(backend.core, rules, lambda _: frozenset())
            rows += await flood(backend, planner, applier)
    return Report("consolidation", {"memories": count, "copies": copies}, tuple(rows))


def main() -> None:
    parser: argparse.ArgumentParser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--copies", type=int, default=10_000)
    args = parser.parse_args()
    print_report(asyncio.run(run(args.memories, args.copies)), as_json=args.json)


if __name__ == "__main__":
    main()
