"""One embedder tried on a corpus: its index is filled, and every question is asked twice.

By meaning alone, straight from the index; and as an agent asks, through the same service that
prepares digests, with everything the settings say of ranking, cutoff and filters.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import cycle, islice
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import CancelledByUserError
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.evaluation.corpus import Corpus, put_edges, put_rows
from synthorg_tui.memory.evaluation.metrics import percentile
from synthorg_tui.memory.evaluation.questions import EvalQuestion, nonsense_for
from synthorg_tui.memory.evaluation.report import (
    DEPTH,
    AskedQuestion,
    SetFigures,
    task_figures,
)
from synthorg_tui.memory.index.protocol import IndexFilter, Visibility
from synthorg_tui.memory.retrieval.explanation import Candidate
from synthorg_tui.memory.retrieval.relevance import joined, meaning_of
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

BATCH: Final = 16
"""Texts that are embedded between two looks at whether to stop: a slow model takes seconds."""
_STORED: Final = 256
"""Rows that are stored at once when their vectors are known."""
_ENOUGH: Final = 1_000_000
"""A token budget that every memory fits into: packing isn't tried here."""

Step = Callable[[int, int], None]
"""Told of how much of how much is done."""


class AskingClock:
    """A clock that can be turned to when a question was asked; else it tells the time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: datetime | None = None

    def turn_to(self, at: datetime | None) -> None:
        """Stand at this time from now on; ``None`` tells the time again."""
        self._at = at

    def now(self) -> datetime:
        return self._at or self._clock.now()


class EmbedderTrial:
    """Tries the embedder of a scratch store on a corpus.

    Args:
        store: Empty; its clock must be ``clock``.
        clock: Is turned to the times at which questions are asked.
        injection: The service in use, of which the settings are taken.
        encoder: Reorders what is found; ``None`` leaves the order.
        cancel: Once set, everything raises ``CancelledByUserError`` at the next step.
    """

    def __init__(
        self,
        store: LocalMemoryBackend,
        clock: AskingClock,
        injection: InjectionService,
        encoder: CrossEncoder | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._cancel = cancel
        self._encoder = encoder
        self._reranks = {"query_specific_rerank_enabled": encoder is not None}
        self._injection = replace(
            injection,
            memory=store,
            clock=clock,
            model=lambda: None,  # a language model would rerank for hours
            cross_encoder=encoder,
            rerank_cache=RerankCache(),
            applications=None,
            organisation=None,
            enabled=True,
        )

    async def fill(self, corpus: Corpus, vectors: Mapping[str, bytes], step: Step) -> None:
        """Store and index the corpus; ``vectors`` are those that are known already, by id.

        The models are loaded afterwards, so that no question waits for them. Raises
        ``EmbeddingError`` and ``RerankingError``.
        """
        await self._store.core.indexed()
        known = [row for row in corpus.rows if row.id in vectors]
        others = [row for row in corpus.rows if row.id not in vectors]
        done = 0
        for rows, size in ((known, _STORED), (others, BATCH)):
            for first in range(0, len(rows), size):
                batch = rows[first : first + size]
                stored = [vectors[row.id] for row in batch] if rows is known else None
                await put_rows(self._store.core, batch, stored)
                done += len(batch)
                step(done, len(corpus.rows))
                await self._pause()
        await put_edges(self._store.core, corpus.edges)
        await self._store.core.embedder.embed_query("warm up")
        if self._encoder is not None:
            await self._encoder.scores("warm up", ["a text"])

    async def ask_all(self, corpus: Corpus, step: Step) -> list[AskedQuestion]:
        """Ask every question of the corpus, and return what came of each, in their order."""
        answers = []
        for number, question in enumerate(corpus.questions, 1):
            self._clock.turn_to(corpus.moments.get(question.agent_id))
            answers.append(await self._ask(question))
            step(number, len(corpus.questions))
            await self._pause()
        return answers

    async def figures(self, corpus: Corpus, answers: Sequence[AskedQuestion]) -> SetFigures:
        """Return the figures of these answers, with those of nonsense that is asked now."""
        rejected = await self._rejected(corpus)
        waited = [each.seconds * 1000 for each in answers]
        count = max(1, len(answers))
        return SetFigures(
            name=corpus.name,
            tasks=await asyncio.to_thread(task_figures, answers),
            p50_ms=percentile(waited, 0.5),
            p95_ms=percentile(waited, 0.95),
            answered=sum(bool(each.fused) for each in answers) / count,
            rejected=rejected,
        )

    async def _ask(self, question: EvalQuestion) -> AskedQuestion:
        view = Visibility(None, question.project) if question.project else None
        started = time.perf_counter()
        given = await self._given(question.agent_id, question.text, view)
        seconds = time.perf_counter() - started
        # A line of a digest counts as the answer for which it stands.
        lines = [(each.entry.id, *each.members) for each in given[:DEPTH]]
        fused = tuple(
            next((key for key in line if key in question.relevant), line[0]) for line in lines
        )
        dense = await self._dense(question, view)
        return AskedQuestion(question.relevant, question.category, dense, fused, seconds)

    async def _given(self, agent_id: str, text: str, view: Visibility | None) -> list[Candidate]:
        """What an agent is given, the best first: a digest puts what was learnt first."""
        request = InjectionRequest(
            agent_id,
            text,
            _ENOUGH,
            strategy=InjectionStrategy.CONTEXT,
            visibility=view,
            digest_v1=False,
        )
        own = self._injection.retrieval_for(request).model_copy(update=self._reranks)
        prepared = await self._injection.prepare(replace(request, retrieval=own))
        given = prepared.explanation.included
        return sorted(given, key=lambda each: each.reordered or each.rank or _ENOUGH)

    async def _dense(self, question: EvalQuestion, view: Visibility | None) -> tuple[str, ...]:
        """The own and the shared memories nearest in meaning, whatever else is known of them."""
        core = self._store.core
        now = self._clock.now()
        index = (await core.indexed()).index
        vector = await core.embedder.embed_query(meaning_of(question.text))
        every = IndexFilter(now=now, visibility=view, ended=core.ages.ended_points(now))
        agent = question.agent_id
        scopes = (
            replace(every, agents=frozenset({agent}), shared=False),
            replace(every, exclude_agent=agent, shared=True),
        )
        rankings = [
            await index.search(scope, dense=vector, sparse=None, limit=DEPTH) for scope in scopes
        ]
        return tuple(hit.id for hit in joined(rankings).dense[:DEPTH])

    async def _rejected(self, corpus: Corpus) -> float:
        """The share of nonsense for which agents are given nothing."""
        queries = await asyncio.to_thread(nonsense_for, [row.content for row in corpus.rows])
        if not corpus.agents:
            return 0.0
        silent = 0
        for agent, query in zip(cycle(corpus.agents), queries, strict=False):
            self._clock.turn_to(corpus.moments.get(agent))
            silent += not await self._given(agent, query, None)
            await self._pause()
        return silent / len(queries)

    async def _pause(self) -> None:
        """Let others run between two steps, and stop if that is wanted."""
        stop_if_wanted(self._cancel)
        await asyncio.sleep(0)


def stop_if_wanted(cancel: threading.Event | None) -> None:
    """Raise ``CancelledByUserError`` once ``cancel`` is set."""
    if cancel is not None and cancel.is_set():
        raise CancelledByUserError("the evaluation was stopped")


def sample_of(corpora: Sequence[Corpus], count: int) -> list[str]:
    """Return texts to measure speed with, from all corpora in turn; repeated where there are few.

    None where there are no memories.
    """
    texts = [row.content for corpus in corpora for row in corpus.rows[:count]]
    return list(islice(cycle(texts), count)) if texts else []
