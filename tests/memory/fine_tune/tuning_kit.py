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
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.service import MemoryService
from synthorg_tui.settings.root import RootConfig
from tests.memory.store.hash_embedder import HashEmbedder

AGENT = "ada"
DIMS = 48
TERMS = 20
SESSIONS = 16
QUESTIONS = 320


def combinations(count: int = QUESTIONS) -> list[tuple[int, ...]]:
    found = list(itertools.combinations(range(TERMS), 3))
    random.Random(3).shuffle(found)
    return found[:count]


def content_of(terms: Sequence[int]) -> str:
    return " ".join(f"term{each}" for each in terms)


def question_of(terms: Sequence[int]) -> str:
    return " ".join(f"alias{each}" for each in terms)


@asynccontextmanager
async def engine_on(data_dir: Path, settings: RootConfig | None = None) -> AsyncIterator[Engine]:
    opening = Engine.open(
        settings or RootConfig(), data_dir=data_dir, embedder=HashEmbedder(dims=DIMS)
    )
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


async def fill(
    engine: Engine, source: Path, *, count: int = QUESTIONS, shuffled: bool = False
) -> list[str]:
    """Store the memories and write the questions; ``shuffled`` ones have wrong answers."""
    assert isinstance(engine.memory, BatchStore)
    known = combinations(count)
    drafts = [draft(number, terms) for number, terms in enumerate(known)]
    outcome = await engine.memory.store_many(AGENT, drafts, actor="test")
    answers = list(outcome.added)
    if shuffled:
        random.Random(5).shuffle(answers)
    source.mkdir(exist_ok=True)
    lines = [
        json.dumps({"question": question_of(terms), "agent": AGENT, "relevant": [answer]})
        for terms, answer in zip(known, answers, strict=True)
    ]
    (source / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return list(outcome.added)


def plan(source: Path, **values: object) -> FineTunePlan:
    own = {"learning_rate": 0.02, "epochs": 60, **values}
    return FineTunePlan.model_validate({"source_dir": str(source), **own})


async def tuned(service: MemoryService, asked: FineTunePlan) -> FineTuneRun:
    """The run of a plan, once it is over."""
    run = await service.start_fine_tune(asked)
    return await service.finished(run.id)
