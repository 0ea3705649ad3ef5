"""What trainers have in common, and the one that trains a map of questions.

A trainer learns from the questions of a run, says what vectors questions get by what it learned,
and writes that as a checkpoint. The stages around it are the same for all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from synthorg_tui.memory.fine_tune.bench import Bench, QuestionVector, base_vector
from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles, WrittenCheckpoint
from synthorg_tui.memory.fine_tune.models import FineTuneRun
from synthorg_tui.memory.fine_tune.store import FineTuneStore, TrainingQuestion
from synthorg_tui.memory.fine_tune.training import Numbers, TrainingGroup, TrainingState, train
from synthorg_tui.providers.embedding.adapted import QueryAdapter
from synthorg_tui.providers.embedding.protocol import Embedder

Step: TypeAlias = Callable[..., Awaitable[None]]
"""Stores how far training is, with ``curve`` and ``state``; raises ``FineTuneCancelledError``."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What a trainer learns from, what tells it when to stop, and whom it tells how far it is."""

    run: FineTuneRun
    learned: Sequence[TrainingQuestion]
    groups: Sequence[TrainingGroup]
    checked: Sequence[TrainingQuestion]
    bench: Bench
    step: Step
    is_cancelled: Callable[[], bool]


class Trainer(Protocol):
    """Trains one kind of checkpoint for one run; what was trained is found again after a crash."""

    async def train(self, job: TrainingJob) -> None:
        """Learn until the questions that validate gain no more, or go on with that."""

    async def vectors(self, questions: Sequence[TrainingQuestion]) -> QuestionVector:
        """Return what gives these questions the vectors that the checkpoint gives them."""

    async def write(self, checkpoint_id: str, copy_to: str | None) -> WrittenCheckpoint:
        """Write the checkpoint, once or again, and a copy to a folder; raises ``OSError``."""


class AdapterTrainer:
    """Trains a linear map of questions in this process; its state is in the database.

    Args:
        run_id: The run.
        base: The embedder that the map is for.
        store: Where the state is.
        files: Writes the checkpoint.
    """

    def __init__(
        self, run_id: str, base: Embedder, store: FineTuneStore, files: CheckpointFiles
    ) -> None:
        self._run_id = run_id
        self._base = base
        self._store = store
        self._files = files

    async def train(self, job: TrainingJob) -> None:
        config, state = job.run.config, await self._state()

        def attempt() -> bool:
            return train(
                state,
                job.groups,
                config,
                lambda matrix: job.bench.ndcg(job.checked, mapped(matrix)),
            )

        goes_on = not state.is_stuck and state.step < config.epochs
        while goes_on:
            goes_on = await asyncio.to_thread(attempt)
            curve = tuple(state.curve)
            await job.step(state.step / config.epochs, state=state.to_bytes(), curve=curve)

    async def vectors(self, questions: Sequence[TrainingQuestion]) -> QuestionVector:
        return mapped((await self._state()).best)

    async def write(self, checkpoint_id: str, copy_to: str | None) -> WrittenCheckpoint:
        adapter = QueryAdapter(self._base.fingerprint, (await self._state()).best)
        return await asyncio.to_thread(self._files.write, checkpoint_id, adapter, copy_to)

    async def _state(self) -> TrainingState:
        content = await self._store.state(self._run_id)
        return TrainingState.from_bytes(content) if content else TrainingState.new(self._base.dims)


def mapped(matrix: Numbers) -> QuestionVector:
    """Return what gives questions their vectors under a matrix."""
    adapter = QueryAdapter("", matrix)
    return lambda question: adapter.apply(base_vector(question))
