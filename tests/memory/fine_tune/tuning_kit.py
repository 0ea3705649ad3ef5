"""A store whose questions use other words than its memories, always in the same way.

Who asks says an alias for each term: a map of queries can learn that from some sessions, and it
holds in the others. Words alone find nothing.
"""

import itertools
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BatchStore, MemoryDraft
from synthorg_tui.memory.fine_tune.models import FineTunePlan, FineTuneRun
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
