"""The trainer of all weights: a copy of the model that embeds questions, and nothing else.

Texts keep their vectors, towards which it is trained, so that neither deploying nor taking back
embeds anything anew. What it has come to is in a private folder of the run, which has no texts.
"""

import asyncio
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, sync, write_atomically
from synthorg_tui.memory.fine_tune.base_models import base_folder, require_libraries
from synthorg_tui.memory.fine_tune.bench import QuestionVector
from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles, WrittenCheckpoint
from synthorg_tui.memory.fine_tune.errors import FineTuneError
from synthorg_tui.memory.fine_tune.models import CurvePoint
from synthorg_tui.memory.fine_tune.store import TrainingQuestion
from synthorg_tui.memory.fine_tune.trainers import TrainingJob
from synthorg_tui.memory.fine_tune.training import Numbers, TrainingGroup
from synthorg_tui.memory.fine_tune.weights_process import (
    WeightsProcess,
    packed,
    training_threads,
    unpacked,
)
from synthorg_tui.memory.retrieval.relevance import meaning_of
from synthorg_tui.providers.embedding.query_encoder import (
    ABOUT,
    MODEL,
    TOKENIZER,
    QueryEncoder,
    describe,
    sha256_of,
)

FOLDER: Final = "tuning"
STATE: Final = "state.safetensors"


class RunFolders:
    """Private folders of runs, in which there is what doesn't fit into the database."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def path_of(self, run_id: str) -> Path:
        """Return the folder of a run, whether or not it is there."""
        return self._data_dir / FOLDER / run_id

    def make(self, run_id: str) -> Path:
        """Return the folder of a run, made if it wasn't there."""
        ensure_private_dir(self._data_dir / FOLDER)
        return ensure_private_dir(self.path_of(run_id))

    def keep_only(self, run_ids: Collection[str]) -> None:
        """Delete the folders of all other runs."""
        top = self._data_dir / FOLDER
        if not top.is_dir():
            return
        for folder in top.iterdir():
            if folder.name not in run_ids:
                shutil.rmtree(folder, ignore_errors=True)

    def delete(self, run_id: str) -> None:
        """Delete the folder of a run, if it is there."""
        shutil.rmtree(self.path_of(run_id), ignore_errors=True)


class EncoderTrainer:
    """Trains all weights of a model for questions, in a process of its own.

    Args:
        run_id: The run.
        checkpoint_id: The checkpoint that it will make.
        base: Fingerprint of the embedder of the texts.
        folders: Where the state of the run is.
        files: Keeps the checkpoint.
    """

    def __init__(
        self,
        run_id: str,
        checkpoint_id: str,
        base: str,
        folders: RunFolders,
        files: CheckpointFiles,
    ) -> None:
        self._run_id = run_id
        self._checkpoint_id = checkpoint_id
        self._base = base
        self._folders = folders
        self._files = files

    async def train(self, job: TrainingJob) -> None:
        """As for all; raises ``FineTuneDependencyError``, and ``FineTuneError`` for the model."""
        require_libraries()
        model = await asyncio.to_thread(base_folder, job.run.request.base_model, self._base)
        folder = await asyncio.to_thread(self._folders.make, self._run_id)
        asked = await asyncio.to_thread(asked_of, job, model, folder)
        async with WeightsProcess.started(asked) as process:
            while (said := await process.told(job.is_cancelled)) is not None:
                if "done" in said:
                    await asyncio.to_thread(self._describe, folder / "encoder", said)
                    return
                await _answer(process, said, job)
        await job.step(0.0)  # says that it was cancelled

    def _describe(self, folder: Path, said: dict[str, Any]) -> None:
        """Complete the folder of the encoder; what says so is written last."""
        dims, tokens = int(said["dims"]), int(said["max_tokens"])
        about = describe(folder, base=self._base, dims=dims, max_tokens=tokens)
        for name in (MODEL, TOKENIZER):
            sync(folder / name)
        write_atomically(folder / ABOUT, about.to_bytes(), mode=PRIVATE_FILE)

    async def vectors(self, questions: Sequence[TrainingQuestion]) -> QuestionVector:
        encoder = await asyncio.to_thread(self._encoder)
        try:
            found = await encoder.embed([meaning_of(question.text) for question in questions])
        finally:
            await encoder.close()
        return by_number(questions, found)

    async def write(self, checkpoint_id: str, copy_to: str | None) -> WrittenCheckpoint:
        encoder = await asyncio.to_thread(self._encoder)
        return await asyncio.to_thread(self._files.take, checkpoint_id, encoder, copy_to)

    def _encoder(self) -> QueryEncoder:
        """What was trained; a run that was killed at its end may have moved it already."""
        made = self._folders.path_of(self._run_id) / "encoder"
        for folder in (made, self._files.taken(self._checkpoint_id)):
            if (folder / ABOUT).is_file():
                return QueryEncoder.in_folder(folder, sha256_of(folder / ABOUT))
        raise FineTuneError(
            "what this run trained isn't on this machine any more", remedy="Start another run."
        )


async def _answer(process: WeightsProcess, said: dict[str, Any], job: TrainingJob) -> None:
    """Tell how good the weights are, or store how far training is."""
    if "vectors" in said:
        vectors = unpacked(said["vectors"], len(job.checked))
        vector_of = by_number(job.checked, vectors)
        metric = await asyncio.to_thread(job.bench.ndcg, job.checked, vector_of)
        await process.say({"metric": metric})
        return
    curve = tuple(map(CurvePoint.model_validate, said["curve"]))
    await job.step(said["step"] / said["of"], curve=curve)


def by_number(questions: Sequence[TrainingQuestion], vectors: Numbers) -> QuestionVector:
    """Return what gives questions these vectors, one row each."""
    rows = {question.number: row for row, question in enumerate(questions)}
    return lambda question: vectors[rows[question.number]]


def asked_of(job: TrainingJob, model: Path, folder: Path) -> dict[str, Any]:
    """Return the job as the process takes it; state and model are written to ``folder``."""
    config, texts = job.run.config, {q.number: meaning_of(q.text) for q in job.learned}
    return {
        "do": "train",
        "model": str(model),
        "state": str(folder / STATE),
        "out": str(folder / "encoder"),
        "threads": training_threads(),
        "seed": job.run.request.seed,
        "epochs": config.epochs,
        "learning_rate": config.learning_rate,
        "temperature": config.temperature,
        "batch_size": config.batch_size,
        "validation": [meaning_of(question.text) for question in job.checked],
        "groups": [_group(group, texts) for group in job.groups],
    }


def _group(group: TrainingGroup, texts: dict[int, str]) -> dict[str, Any]:
    import base64

    import numpy as np

    return {
        "questions": [texts[number] for number in group.numbers],
        "count": len(group.texts),
        "texts": packed(group.texts),
        "allowed": base64.b64encode(np.packbits(group.allowed).tobytes()).decode(),
        "answers": [np.flatnonzero(row).tolist() for row in group.targets],
    }
