"""A store whose questions use other words than its memories, always in the same way.

Who asks says an alias for each term: a map of queries can learn that from some sessions, and it
holds in the others. Words alone find nothing.
"""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BatchStore, MemoryDraft
from synthorg_tui.memory.fine_tune.models import FineTunePlan, FineTuneRun, FineTuneStage
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.service import MemoryService
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.settings.root import RootConfig
from tests.memory.store.hash_embedder import HashEmbedder

AGENT = "ada"
DIMS = 40
TERMS = 20
SESSIONS = 16
QUESTIONS = 300


def combinations(count: int = QUESTIONS) -> Sequence[tuple[int, ...]]:
    found = list(itertools.combinations(range(TERMS), 3))
    random.Random(3).shuffle(found)
    return found[:count]


def content_of(terms: Sequence[int]) -> str:
    return " ".join(f"term{each}" for each in terms)


def question_of(terms: Sequence[int]) -> str:
    return " ".join(f"alias{each}" for each in terms)


@asynccontextmanager
async def engine_on(
    data_dir: Path, settings: RootConfig | None = None, *, fingerprint: str = "hash-1"
) -> AsyncIterator[Engine]:
    embedder = HashEmbedder(dims=DIMS, fingerprint=fingerprint)
    opening = Engine.open(settings or RootConfig(), data_dir=data_dir, embedder=embedder)
    async with opening as engine:
        yield engine


def draft(number: int, terms: Sequence[int]) -> MemoryDraft:
    return MemoryDraft(
        request=MemoryStoreRequest(
            category=MemoryCategory.EPISODIC,
            content=content_of(terms),
            metadata=MemoryMetadata(source=f"session-{number % SESSIONS}"),
        ),
        key=f"memory-{number}",
        session_id=f"session-{number % SESSIONS}",
        level=MemoryLevel.PERSISTENT,
    )


async def fill(engine: Engine, source: Path) -> list[str]:
    """Store the memories, write their questions, and return the ids of the answers in order."""
    assert isinstance(engine.memory, BatchStore)
    drafts = [draft(number, terms) for number, terms in enumerate(combinations())]
    outcome = await engine.memory.store_many(AGENT, drafts, actor="test")
    write_questions(source, outcome.added)
    return list(outcome.added)


def write_questions(source: Path, answers: Sequence[str]) -> None:
    """Write the questions with these memories as their answers."""
    source.mkdir(exist_ok=True)
    lines = [
        json.dumps({"question": question_of(terms), "agent": AGENT, "relevant": [answer]})
        for terms, answer in zip(combinations(), answers, strict=True)
    ]
    (source / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")


def plan(source: Path, **values: object) -> FineTunePlan:
    own = {"learning_rate": 0.02, "epochs": 12, **values}
    return FineTunePlan.model_validate({"source_dir": str(source), **own})


async def tuned(service: MemoryService, asked: FineTunePlan) -> FineTuneRun:
    """The run of a plan, once it is over."""
    run = await service.start_fine_tune(asked)
    return await service.finished(run.id)


class HeldRun:
    """A run that waits after the first of its writes that a condition is true of."""

    def __init__(self, service: MemoryService, at: Callable[[FineTuneRun], bool]) -> None:
        self._service, self._at = service, at
        self._waits, self._may_go_on = asyncio.Event(), asyncio.Event()

    async def written(self, run: FineTuneRun) -> None:
        if self._at(run):
            self._waits.set()
            await self._may_go_on.wait()

    async def waits(self, run: FineTuneRun) -> None:
        """Return once the run is there; it goes no further by itself."""
        over = asyncio.ensure_future(self._service.finished(run.id))
        there = asyncio.ensure_future(self._waits.wait())
        await asyncio.wait({over, there}, return_when=asyncio.FIRST_COMPLETED)
        for each in (over, there):
            each.cancel()
        assert self._waits.is_set(), await over

    def go_on(self) -> None:
        self._may_go_on.set()

    async def cancelled(self, run: FineTuneRun) -> str | None:
        """Cancel the run where it waits: what ``cancel_fine_tune`` says."""
        await self.waits(run)
        cancelling = asyncio.ensure_future(self._service.cancel_fine_tune())
        asyncio.get_running_loop().call_soon(self.go_on)  # once it has begun to cancel
        return await cancelling


@contextmanager
def held(service: MemoryService, at: Callable[[FineTuneRun], bool]) -> Iterator[HeldRun]:
    """Hold the run that is started meanwhile at its first write that ``at`` is true of."""
    hold, save = HeldRun(service, at), FineTuneStore.save

    async def saved(store: FineTuneStore, run: FineTuneRun, state: bytes | None = None) -> None:
        await save(store, run, state)
        await hold.written(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FineTuneStore, "save", saved)
        try:
            yield hold
        finally:
            hold.go_on()


def at_work(stage: FineTuneStage) -> Callable[[FineTuneRun], bool]:
    """Tell a run that has stored a part of what this stage makes, and not all."""
    return lambda run: run.stage is stage and 0 < (run.progress or 0) < 1


def looked(times: int) -> Callable[[FineTuneRun], bool]:
    """Tell a run that has looked so often at the questions that validate."""
    return lambda run: run.stage is FineTuneStage.TRAINING and len(run.curve) >= times


async def answers(engine: Engine) -> list[object]:
    """All that an embedder decides: vectors, cutoffs, and what questions find, with scores."""
    assert isinstance(engine.memory, LocalMemoryBackend)
    core = engine.memory.core
    found: list[object] = [core.moved, core.embedder.fingerprint]
    for terms in combinations()[:5]:
        vector = await core.embedder.embed_query(question_of(terms))
        asked = MemoryQuery(text=question_of(terms), limit=5)
        hits = (await engine.desk.find(asked)).hits
        found += [vector.tobytes(), [(hit.content, hit.dense, hit.fused) for hit in hits]]
    return found


async def first_answers(engine: Engine) -> list[str]:
    """The best memory for each of some questions, empty where nothing is found."""
    found = []
    for terms in combinations()[:5]:
        hits = (await engine.desk.find(MemoryQuery(text=question_of(terms), limit=5))).hits
        found.append(hits[0].content if hits else "")
    return found
