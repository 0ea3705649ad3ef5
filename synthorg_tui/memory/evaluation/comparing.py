"""Compares embedders on the same questions among the same memories, one after the other.

First each is loaded to see how fast it is, which decides how many memories can be tried in the time
there is; then each gets the same sample in a store of its own. Only one model is loaded at a time,
and what is in use rests meanwhile.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import Field

from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.memory.evaluation.advice import advice_for, this_machine
from synthorg_tui.memory.evaluation.contenders import (
    Contender,
    MakeCrossEncoder,
    MakeEmbedder,
    contenders,
    measure,
    models_of,
)
from synthorg_tui.memory.evaluation.corpus import Corpus, own_corpus, scratch_store
from synthorg_tui.memory.evaluation.locomo import read_conversations
from synthorg_tui.memory.evaluation.questions import EvalQuestion
from synthorg_tui.memory.evaluation.recorded import OpenedHits
from synthorg_tui.memory.evaluation.report import (
    FEW_QUESTIONS,
    AskedQuestion,
    ComparisonReport,
    EmbedderFigures,
    QuestionSet,
    SetFigures,
    gain_of,
)
from synthorg_tui.memory.evaluation.trial import (
    AskingClock,
    EmbedderTrial,
    sample_of,
    stop_if_wanted,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.strategies.service import InjectionService
from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder
from synthorg_tui.providers.embedding.config import EmbeddingConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.providers.reranking.config import NO_RERANKER, RerankingConfig
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder, create_cross_encoder

LEAST_MEMORIES: Final = 300
"""Memories that are tried at least, however slow an embedder is."""
_MEASURED: Final = 48
"""Texts that the speed of an embedder is measured with."""

ComparisonProgress = Callable[[int, int, str], None]
"""Told of how much of how much is done, in thousandths, and of what is being done."""


class ComparisonPlan(FrozenModel):
    """What to compare, on what, and within which bounds.

    ``embedders`` are named as ``contenders`` reads them, besides the active and the bundled one,
    and so are ``rerankers``, each of which is tried with the active one.
    ``files`` are conversations in LoCoMo's format. At most ``questions`` are asked on each set,
    among at most ``memories``; fewer where embedding them would take longer than ``minutes`` with
    one embedder.
    """

    embedders: tuple[str, ...] = ()
    rerankers: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    with_own: bool = True
    questions: int = Field(default=300, ge=1, le=10_000)
    memories: int = Field(default=5_000, ge=1, le=100_000)
    minutes: float = Field(default=10.0, gt=0.0, le=1_440.0)


@dataclass(frozen=True, slots=True)
class ComparisonParts:
    """What a comparison works with: the store in use, and where questions come from.

    ``folder`` is where the scratch stores are. Each of ``sources`` returns questions that were
    recorded; ``opened`` records more. ``reranking`` is the re-ranker that is switched on. ``make``
    makes an embedder of a configuration, ``make_reranker`` a re-ranker.
    """

    core: Core
    injection: InjectionService
    opened: OpenedHits
    active: EmbeddingConfig
    sources: Sequence[Callable[[], Awaitable[Sequence[EvalQuestion]]]]
    folder: Path
    reranking: RerankingConfig = NO_RERANKER
    make: MakeEmbedder = create_embedder
    make_reranker: MakeCrossEncoder = create_cross_encoder

    def contenders(self, plan: ComparisonPlan) -> tuple[Contender, ...]:
        """Return what a plan compares; raises ``EmbedderNameError``."""
        return contenders(
            self.active,
            plan.embedders,
            self.make,
            reranking=self.reranking,
            rerankers=plan.rerankers,
            make_reranker=self.make_reranker,
        )

    async def rest(self) -> None:
        """Free the models that are in use."""
        await self.core.embedder.unload()
        if self.injection.cross_encoder is not None:
            await self.injection.cross_encoder.unload()


class EmbedderComparison:
    """Tries embedders side by side on a user's own memories and on files; one run at a time."""

    def __init__(self, parts: ComparisonParts) -> None:
        self._parts = parts
        self._running = asyncio.Lock()

    async def questions(self) -> tuple[EvalQuestion, ...]:
        """Return all recorded questions, with answers that may be gone meanwhile."""
        sources = (*self._parts.sources, self._parts.opened.questions)
        found = [await source() for source in sources]
        return tuple(question for each in found for question in each)

    async def note_opened(self, query: str, memory_id: str) -> None:
        """Record that a person opened this memory after searching for it, to be asked again."""
        await self._parts.opened.note(query, memory_id)

    async def run(
        self,
        plan: ComparisonPlan,
        *,
        progress: ComparisonProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> ComparisonReport:
        """Compare embedders; once ``cancel`` is set, return what is done by then.

        An embedder that doesn't work is in the report with its problem. Raises ``DomainError``
        when another run is under way, for a name that is none and a file that can't be read.
        """
        if self._running.locked():
            raise DomainError(
                "an evaluation of embedders is running already",
                remedy="Wait for its end, or stop it where it was started.",
            )
        async with self._running:
            tried = self._parts.contenders(plan)
            corpora = await self._corpora(plan)
            await self._parts.rest()
            run = _ComparisonRun(self._parts, plan, corpora, progress or (lambda *_: None), cancel)
            return await run.report(tried)

    async def _corpora(self, plan: ComparisonPlan) -> list[Corpus]:
        bounds = {"questions": plan.questions, "memories": plan.memories}
        corpora = [
            await asyncio.to_thread(partial(read_conversations, path, **bounds))
            for path in plan.files
        ]
        if plan.with_own:
            own = await own_corpus(self._parts.core, await self.questions(), **bounds)
            corpora.insert(0, own)
        return corpora


class _ComparisonRun:
    """One run: what it found so far."""

    def __init__(
        self,
        parts: ComparisonParts,
        plan: ComparisonPlan,
        corpora: list[Corpus],
        progress: ComparisonProgress,
        cancel: threading.Event | None,
    ) -> None:
        self._parts = parts
        self._plan = plan
        self._corpora = corpora
        self._progress = progress
        self._cancel = cancel
        self._active: dict[str, list[AskedQuestion]] = {}
        self._total = 1

    async def report(self, tried: Sequence[Contender]) -> ComparisonReport:
        started, is_complete = time.perf_counter(), True
        found: list[EmbedderFigures] = []
        try:
            found = await self._measured(tried)
            self._bound(found)
            self._total = len(tried)
            for at, contender in enumerate(tried):
                if not found[at].problem:
                    found[at] = await self._try(contender, found[at], at)
        except CancelledByUserError:
            is_complete = False
        sets = tuple(map(_set_of, self._corpora))
        return ComparisonReport(
            sets=sets,
            embedders=tuple(found),
            notes=tuple(self._notes(sets)),
            advice=advice_for(sets, found, this_machine()) if is_complete else (),
            seconds=time.perf_counter() - started,
            is_complete=is_complete,
        )

    async def _measured(self, tried: Sequence[Contender]) -> list[EmbedderFigures]:
        """What each takes: it is loaded, embeds some texts, and is unloaded."""
        found = []
        texts = sample_of(self._corpora, _MEASURED)
        for contender in tried:
            stop_if_wanted(self._cancel)
            self._progress(0, 1000, f"loading {contender.name}")
            found.append(await measure(contender, texts))
        return found

    def _bound(self, found: Sequence[EmbedderFigures]) -> None:
        """Take no more memories than the slowest embedder can embed in the time."""
        rates = [each.texts_per_second for each in found if each.texts_per_second]
        seconds = self._plan.minutes * 60
        room = max(LEAST_MEMORIES, int(min(rates, default=0.0) * seconds))
        each = max(LEAST_MEMORIES, room // max(1, len(self._corpora)))
        self._corpora = [corpus.limited(each) for corpus in self._corpora]

    async def _try(self, contender: Contender, known: EmbedderFigures, at: int) -> EmbedderFigures:
        try:
            async with models_of(contender) as models:
                for number, corpus in enumerate(self._corpora):
                    step = partial(self._step, at + number / len(self._corpora), contender, corpus)
                    figures = await self._figures(contender, models, corpus, step)
                    known = known.model_copy(update={"sets": (*known.sets, figures)})
        except CancelledByUserError:
            raise
        except DomainError as error:
            return known.model_copy(update={"problem": error.message})
        return known

    async def _figures(
        self,
        contender: Contender,
        models: tuple[Embedder, CrossEncoder | None],
        corpus: Corpus,
        share: Callable[[float, str], None],
    ) -> SetFigures:
        core, (embedder, encoder) = self._parts.core, models
        vectors: Mapping[str, bytes] = {}
        if contender.embeds_as_active:
            ids, mark = [row.id for row in corpus.rows], embedder.fingerprint
            vectors = await core.read(partial(queries.vectors_by_id, ids=ids, fingerprint=mark))
        clock = AskingClock(core.clock)
        used = core.embedder if contender.embeds_as_active else None
        async with (
            _as_in_force(embedder, used) as asked,
            scratch_store(self._parts.folder, asked, clock=clock, policy=core.policy) as backend,
        ):
            backend.core.moved = core.moved if contender.embeds_as_active else 0.0
            trial = EmbedderTrial(backend, clock, self._parts.injection, encoder, self._cancel)
            await trial.fill(corpus, vectors, lambda n, of: share(n / of / 2, "embedding"))
            answers = await trial.ask_all(corpus, lambda n, of: share(0.5 + n / of / 2, "asking"))
            share(1.0, "asking nonsense")
            figures = await trial.figures(corpus, answers)
        if contender.is_active:
            self._active[corpus.name] = answers
        elif (base := self._active.get(corpus.name)) is not None:
            gain = await asyncio.to_thread(gain_of, answers, base)
            figures = figures.model_copy(update={"gain": gain})
        return figures

    def _step(
        self, at: float, contender: Contender, corpus: Corpus, share: float, told: str
    ) -> None:
        """Tell how far a contender, the one at place ``at``, is with a corpus."""
        done = (at + share / len(self._corpora)) / self._total
        self._progress(int(1000 * done), 1000, f"{contender.name}: {told}, {corpus.name}")

    def _notes(self, sets: Sequence[QuestionSet]) -> Iterator[str]:
        for each in sets:
            if each.is_small:
                yield (
                    f"{each.name}: {each.questions} of {FEW_QUESTIONS} questions that are needed "
                    "at least; the intervals are wide, and nothing should be chosen by them"
                )
            if each.memories < each.memories_total:
                yield (
                    f"{each.name}: a sample of {each.memories:,} of {each.memories_total:,} "
                    "memories; among all of them less is found"
                )
            if each.questions < each.questions_found - each.gone:
                yield (
                    f"{each.name}: a sample of {each.questions:,} of {each.questions_found:,} "
                    "questions"
                )
            if each.gone:
                yield (f"{each.name}: what answered {each.gone:,} questions is gone")
            if each.by_source.get("scenario"):
                yield (
                    f"{each.name}: scenarios hold what was included when they were saved, which "
                    "favours the embedder of that time"
                )


@asynccontextmanager
async def _as_in_force(embedder: Embedder, used: Embedder | None) -> AsyncIterator[Embedder]:
    """The same model with the checkpoint that is deployed for the one in use, if there is one."""
    side = used.side if isinstance(used, AdaptedEmbedder) else None
    if side is None:
        yield embedder
        return
    adapted, twin = AdaptedEmbedder(embedder), side.twin()
    adapted.use(twin)
    try:
        yield adapted
    finally:
        await twin.close()


def _set_of(corpus: Corpus) -> QuestionSet:
    sources = Counter(question.source.value for question in corpus.questions)
    tasks = Counter(question.category.value for question in corpus.questions)
    return QuestionSet(
        name=corpus.name,
        memories=len(corpus.rows),
        memories_total=corpus.total,
        questions=len(corpus.questions),
        questions_found=corpus.found,
        gone=corpus.gone,
        by_source=dict(sources.most_common()),
        by_task=dict(tasks.most_common()),
    )
