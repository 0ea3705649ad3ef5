"""A store with few asked questions, and a model that writes others about its memories."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BatchStore, MemoryDraft
from synthorg_tui.memory.fine_tune.store import FineTuneStore, TrainingQuestion
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage
from synthorg_tui.settings.root import RootConfig
from tests.memory.fine_tune.tuning_kit import (
    AGENT,
    SESSIONS,
    combinations,
    draft,
    engine_on,
    question_of,
)

ASKED = 5
"""Sessions that somebody asked about: 150 questions."""
PADDING = "as-it-was-decided-then-and-noted-down"
MEMORIES = 480
_TERMS = re.compile(r"term(\d+)")


class Writer:
    """A model that asks for the first two terms of a memory, and says another word for the last."""

    def __init__(self) -> None:
        self.seen: list[Sequence[ChatMessage]] = []

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        self.seen.append(messages)
        found = _TERMS.findall(messages[-1].content)
        first, second, last = found if len(found) == 3 else ("0", "0", "0")
        text = f"Where do term{first} and term{second} go along with alias{last} ?"
        return Completion(text=text, finish_reason=FinishReason.STOP)

    async def close(self) -> None:
        return None


@asynccontextmanager
async def engine_with(
    place: Path, model: Writer | None, *, tags: tuple[str, ...] = ()
) -> AsyncIterator[Engine]:
    """An engine on a filled store; ``source`` beside it has the questions that were asked."""
    async with engine_on(place / "data", RootConfig()) as engine:
        engine.model = model
        assert isinstance(engine.memory, BatchStore)
        drafts = [
            _draft(number, terms, tags) for number, terms in enumerate(combinations(MEMORIES))
        ]
        outcome = await engine.memory.store_many(AGENT, drafts, actor="test")
        _write_questions(place / "source", outcome.added)
        yield engine


def _draft(number: int, terms: Sequence[int], tags: tuple[str, ...]) -> MemoryDraft:
    """One of the kit's memories, long enough to be written about."""
    made = draft(number, terms)
    request = made.request
    content = f"{request.content} {PADDING}"
    metadata = request.metadata.model_copy(update={"tags": tags})
    changed = request.model_copy(update={"content": content, "metadata": metadata})
    return made.model_copy(update={"request": changed})


def _write_questions(source: Path, answers: Sequence[str]) -> None:
    source.mkdir()
    lines = [
        json.dumps({"question": question_of(terms), "agent": AGENT, "relevant": [answer]})
        for number, (terms, answer) in enumerate(zip(combinations(MEMORIES), answers, strict=True))
        if number % SESSIONS < ASKED
    ]
    (source / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")


async def questions_of(engine: Engine, run_id: str) -> tuple[TrainingQuestion, ...]:
    """The questions of a run as they are stored now."""
    assert isinstance(engine.memory, LocalMemoryBackend)
    return await FineTuneStore(engine.memory.core.database).questions(run_id)
