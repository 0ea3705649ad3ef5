"""The stages of one run, in order; each stores what it makes and finds what is stored already.

A run that was killed or cancelled goes on after the last step that is stored, and ends with the
same bytes as one that wasn't. What a stage makes is in the database instead of in files, where
erasing a memory or a session reaches it; weights of whole models, which don't fit, have no words.
"""

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from synthorg_tui.core.pauses import pause_point
from synthorg_tui.memory.evaluation.questions import EvalQuestion
from synthorg_tui.memory.fine_tune.bench import Bench
from synthorg_tui.memory.fine_tune.checkpoints import EmbedderInForce
from synthorg_tui.memory.fine_tune.deployment import CheckpointSwaps
from synthorg_tui.memory.fine_tune.encoder_trainer import EncoderTrainer, RunFolders
from synthorg_tui.memory.fine_tune.errors import FineTuneCancelledError, TooFewPairsError
from synthorg_tui.memory.fine_tune.generating import (
    few_pairs,
    question_vectors,
    questions_in,
    training_questions,
)
from synthorg_tui.memory.fine_tune.mining import MemoryPool, negatives_of, training_groups
from synthorg_tui.memory.fine_tune.models import (
    MIN_PAIRS,
    WORK_STAGES,
    CheckpointRecord,
    FineTuneRequest,
    FineTuneRun,
    FineTuneStage,
    FineTuneTrainer,
)
from synthorg_tui.memory.fine_tune.store import (
    WRITTEN_FROM,
    FineTuneStore,
    PairSplit,
    TrainingQuestion,
)
from synthorg_tui.memory.fine_tune.trainers import AdapterTrainer, Trainer, TrainingJob
from synthorg_tui.memory.fine_tune.writing import WrittenQuestions, writable
from synthorg_tui.memory.store.core import Core
from synthorg_tui.providers.completion.protocol import CompletionProvider

BATCH: Final = 32
"""Questions embedded or mined between two steps that are stored."""
WRITTEN_AT_ONCE: Final = 4
"""Memories that the model is asked about between two of them: each takes seconds."""

T = TypeVar("T")
AskedQuestions: TypeAlias = Callable[[], Awaitable[Sequence[EvalQuestion]]]
"""Returns the questions of the store itself: what was asked, with what answered it."""


@dataclass(frozen=True, slots=True)
class TuningParts:
    """What runs and checkpoints use; ``model`` returns the language model that may write.

    ``swaps`` changes which checkpoint is in force.
    """

    core: Core
    store: FineTuneStore
    in_force: EmbedderInForce
    asked: AskedQuestions
    data_dir: Path
    swaps: CheckpointSwaps
    model: Callable[[], CompletionProvider | None] = lambda: None

    @property
    def folders(self) -> RunFolders:
        """The folders of runs."""
        return RunFolders(self.data_dir)

    async def asked_for(
        self, request: FineTuneRequest
    ) -> tuple[list[EvalQuestion], dict[str, MemoryPool]]:
        """Return the store's own questions and those of a request's folder, with the pools.

        The data directory stands for no folder.
        """
        asked = list(await self.asked())
        asked += await asyncio.to_thread(self._in_folder, Path(request.source_dir))
        bench = Bench(self.core, [key for question in asked for key in question.relevant])
        return asked, await bench.pools({question.agent_id for question in asked})

    def _in_folder(self, folder: Path) -> Sequence[EvalQuestion]:
        return () if folder.absolute() == self.data_dir.absolute() else questions_in(folder)


class FineTuningPipeline:
    """Carries out one run, stage by stage.

    Args:
        run: The run as stored.
        parts: What the stages use.
        cancel: Once set, the run ends with its next step by raising ``FineTuneCancelledError``.
    """

    def __init__(self, run: FineTuneRun, parts: TuningParts, cancel: threading.Event) -> None:
        self.run = run
        self._parts = parts
        self._cancel = cancel
        self._questions: tuple[TrainingQuestion, ...] = ()
        self._bench: Bench | None = None
        self._checkpoint_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"checkpoint:{run.id}"))
        base, files = parts.core.embedder, parts.in_force.files
        self._trainer: Trainer
        if run.request.trainer is FineTuneTrainer.ADAPTER:
            self._trainer = AdapterTrainer(run.id, base, parts.store, files)
        else:
            self._trainer = EncoderTrainer(
                run.id, self._checkpoint_id, base.fingerprint, parts.folders, files
            )

    async def carry_out(self) -> FineTuneRun:
        """Run the stages that aren't complete and return the complete run.

        Raises ``FineTuneCancelledError``, and whatever a stage raises; what is stored then is where
        the next attempt begins.
        """
        stages = {
            FineTuneStage.GENERATING_DATA: self.generate_training_data,
            FineTuneStage.MINING_NEGATIVES: self.mine_hard_negatives,
            FineTuneStage.TRAINING: self.fine_tune,
            FineTuneStage.EVALUATING: self.evaluate,
            FineTuneStage.DEPLOYING: self.offer,
        }
        for stage in WORK_STAGES:
            if stage in self.run.stages_completed:
                continue
            await self._note(stage=stage, progress=0.0)
            await stages[stage]()
            if stage is not FineTuneStage.DEPLOYING:
                done = (*self.run.stages_completed, stage)
                await self._note(stages_completed=done, progress=1.0)
        return self.run

    async def generate_training_data(self) -> None:
        """Collect the questions, decide what each is for, and embed them.

        Raises ``TooFewPairsError``.
        """
        store, run = self._parts.store, self.run
        if not await store.questions(run.id):
            asked, pools = await self._parts.asked_for(run.request)
            found = training_questions(
                asked,
                pools,
                validation=run.config.validation_split,
                seed=run.request.seed,
                write_about=run.request.write_about,
            )
            await store.put_questions(run.id, found)
        if run.request.write_about:
            await self._have_written()
        questions = await store.questions(run.id)
        await self._note(pairs=len(questions))
        if run.request.write_about and len(questions) < MIN_PAIRS:
            raise TooFewPairsError(few_pairs(len(questions)))
        waiting = [question for question in questions if not question.vector]
        for done, batch in _batches(waiting):
            texts = [question.text for question in batch]
            vectors = await question_vectors(self._parts.core.embedder, texts)
            rows = {q.number: v.tobytes() for q, v in zip(batch, vectors, strict=True)}
            await store.put_found(run.id, "vector", rows)
            await self._step(done / max(1, len(waiting)))

    async def _have_written(self) -> None:
        """Have the model write about memories that nobody is judged by, a few between two steps."""
        store, total = self._parts.store, self.run.request.write_about
        known = [each for each in await store.questions(self.run.id) if not each.is_written]
        bench = Bench(self._parts.core, [key for each in known for key in each.relevant])
        pools = await bench.pools({each.agent_id for each in known})
        apart = {each.session for each in known if each.split is not PairSplit.TRAINING}
        memories = writable(pools, apart, count=total, seed=self.run.request.seed)
        writing = WrittenQuestions(self._parts.core, self._parts.model(), pools)
        while (at := self.run.written_about) < len(memories):
            batch = memories[at : at + WRITTEN_AT_ONCE]
            found = await writing.about(batch, WRITTEN_FROM + at)
            await store.put_questions(self.run.id, found)
            done, written = at + len(batch), self.run.written + len(found)
            await self._step(done / len(memories), written=written, written_about=done)

    async def mine_hard_negatives(self) -> None:
        """Find for each question the memories of other sessions that look most like an answer."""
        import numpy as np

        bench, store = await self._prepared(()), self._parts.store
        waiting = [q for q in self._questions if not q.negatives]
        for done, batch in _batches(waiting):
            found = {}
            for question in batch:
                pool = await bench.pool(question.agent_id)
                worded = [hit.id for hit in await bench.by_words(question)]
                vector = np.frombuffer(question.vector, np.float32)
                k = self.run.config.top_k
                found[question.number] = list(negatives_of(question, vector, pool, worded, k))
            await store.put_found(self.run.id, "negatives", found)
            await self._step(done / max(1, len(waiting)))
        self._bench = None  # the questions have changed

    async def fine_tune(self) -> None:
        """Train until the questions that validate gain no more; every few steps are stored."""
        bench = await self._prepared((PairSplit.VALIDATION,))
        learned = [q for q in self._questions if q.split is PairSplit.TRAINING]
        pools = await bench.pools({question.agent_id for question in learned})
        groups = await asyncio.to_thread(training_groups, learned, pools)
        checked = [q for q in self._questions if q.split is PairSplit.VALIDATION]
        job = TrainingJob(
            self.run, learned, groups, checked, bench, self._step, self._cancel.is_set
        )
        await self._trainer.train(job)

    async def evaluate(self) -> None:
        """Compare with the base on the sessions that were held out, and fit the cutoffs."""
        bench = await self._prepared((PairSplit.HELD_OUT,))
        held_out = [q for q in self._questions if q.split is PairSplit.HELD_OUT]
        rest = [q for q in self._questions if q.split is not PairSplit.HELD_OUT]
        await bench.pools({question.agent_id for question in rest})
        vector_of = await self._trainer.vectors(self._questions)
        metrics = await asyncio.to_thread(bench.compare, held_out, vector_of)
        cutoff = await asyncio.to_thread(bench.cutoff, rest, vector_of)
        await self._step(1.0, metrics=metrics, cutoff=cutoff)

    async def offer(self) -> None:
        """Write the checkpoint, which a person may deploy if it is surely better."""
        run, parts = self.run, self._parts
        await self._prepared(())
        written = await self._trainer.write(self._checkpoint_id, run.request.output_dir)
        now = parts.core.clock.now()
        record = CheckpointRecord(
            id=self._checkpoint_id,
            run_id=run.id,
            model_path=written.path,
            base_model=parts.in_force.base_model,
            fingerprint=written.fingerprint,
            sha256=written.sha256,
            doc_count=sum(len(question.relevant) for question in self._questions),
            eval_metrics=run.metrics,
            cutoff=run.cutoff,
            size_bytes=written.size,
            created_at=now,
        )
        self.run = run.model_copy(
            update={
                "stage": FineTuneStage.COMPLETE,
                "stages_completed": (*run.stages_completed, FineTuneStage.DEPLOYING),
                "checkpoint_id": self._checkpoint_id,
                "completed_at": now,
                "updated_at": now,
                "progress": 1.0,
                "note": run.metrics.verdict if run.metrics is not None else "",
            }
        )
        await parts.store.finish(self.run, record)
        await asyncio.to_thread(parts.folders.delete, run.id)

    async def _prepared(self, splits: Sequence[PairSplit]) -> Bench:
        """The bench with the questions of the run, ready to rank those of some splits."""
        if self._bench is None:
            self._questions = await self._parts.store.questions(self.run.id)
            ids = [key for question in self._questions for key in question.relevant]
            self._bench = Bench(self._parts.core, ids)
        await self._bench.prepare([q for q in self._questions if q.split in splits])
        return self._bench

    async def _step(
        self, progress: float, *, state: bytes | None = None, **changed: object
    ) -> None:
        """Store how far the run is, and end it here if it was cancelled."""
        await self._note(state=state, progress=min(1.0, progress), **changed)
        await pause_point()
        if self._cancel.is_set():
            raise FineTuneCancelledError(
                f"cancelled while {self.run.stage.value.replace('_', ' ')}"
            )

    async def _note(self, *, state: bytes | None = None, **changed: object) -> None:
        now = self._parts.core.clock.now()
        self.run = self.run.model_copy(update={**changed, "updated_at": now})
        await self._parts.store.save(self.run, state)


def _batches(
    questions: Sequence[TrainingQuestion],
) -> Iterator[tuple[int, Sequence[TrainingQuestion]]]:
    """The questions in parts, each with how many are done after it."""
    for start in range(0, len(questions), BATCH):
        part = questions[start : start + BATCH]
        yield start + len(part), part
