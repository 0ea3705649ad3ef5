"""Checkpoint files in the data directory, and the one in force.

A file is used only when its SHA-256 is that in the database and it was made for the embedder in
use; else the base is used, and why is said.
"""

import asyncio
import hashlib
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, sync, write_atomically
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.fine_tune.errors import CheckpointDamagedError, FineTuneError
from synthorg_tui.memory.fine_tune.models import ActiveEmbedderSnapshot, CheckpointRecord
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.store.core import Core
from synthorg_tui.providers.embedding.adapted import (
    MAX_ADAPTER_BYTES,
    AdaptedEmbedder,
    QueryAdapter,
    QuestionSide,
)
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.query_encoder import QueryEncoder

_log = logging.getLogger(__name__)

FOLDER: Final = "checkpoints"
ADAPTER: Final = "adapter"
ENCODER: Final = "encoder"
MEMORY_CHECKPOINT_NOT_USED: Final = "memory.checkpoint.not_used"


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """What is recorded of a checkpoint's file or folder once it is written.

    ``sha256`` is that of the file, for a folder of the file in it that has the hashes of the rest.
    """

    path: str
    sha256: str
    size: int
    fingerprint: str


class CheckpointFiles:
    """Writes and reads what checkpoints consist of; their names are ids made here.

    An adapter is a file, an encoder a folder of three.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def path_of(self, checkpoint_id: str, kind: str = ADAPTER) -> str:
        """Return the path of a checkpoint, relative to the data directory."""
        return f"{FOLDER}/{checkpoint_id}.{kind}"

    def write(
        self, checkpoint_id: str, adapter: QueryAdapter, copy_to: str | None = None
    ) -> WrittenCheckpoint:
        """Write an adapter whole or not at all, and a copy to a folder; raises ``OSError``."""
        content, path = adapter.to_bytes(), self.path_of(checkpoint_id)
        name = PurePosixPath(path).name
        write_atomically(self._folder() / name, content, mode=PRIVATE_FILE)
        if copy_to is not None:
            Path(copy_to, name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return WrittenCheckpoint(path, digest, len(content), adapter.fingerprint)

    def take(
        self, checkpoint_id: str, encoder: QueryEncoder, copy_to: str | None = None
    ) -> WrittenCheckpoint:
        """Move an encoder's folder to where checkpoints are, in one step; raises ``OSError``.

        What a killed run has moved already is left as it is. ``copy_to`` is a folder for a copy.
        """
        path = self.path_of(checkpoint_id, ENCODER)
        target = self._folder() / PurePosixPath(path).name
        if encoder.folder != target:
            shutil.rmtree(target, ignore_errors=True)
            encoder.folder.rename(target)
            sync(target.parent)
        if copy_to is not None:
            shutil.copytree(target, Path(copy_to, target.name), dirs_exist_ok=True)
        digest = hashlib.sha256(encoder.about.to_bytes()).hexdigest()
        size = sum(file.stat().st_size for file in target.iterdir())
        return WrittenCheckpoint(path, digest, size, encoder.fingerprint)

    def taken(self, checkpoint_id: str) -> Path:
        """Return the folder of a checkpoint that is an encoder, whether or not it is there."""
        return self._data_dir / self.path_of(checkpoint_id, ENCODER)

    def _folder(self) -> Path:
        return ensure_private_dir(self._data_dir / FOLDER)

    def read(self, record: CheckpointRecord) -> QuestionSide:
        """Return what a checkpoint trained; raises ``CheckpointDamagedError``."""
        name, path = record.model_path, self._data_dir / record.model_path
        is_folder = path.suffix == f".{ENCODER}"
        try:
            if path.is_symlink() or (not is_folder and path.stat().st_size > MAX_ADAPTER_BYTES):
                what = "folder" if is_folder else "file"
                raise CheckpointDamagedError(f"{name} isn't the {what} of a checkpoint")
            if is_folder:
                return QueryEncoder.in_folder(path, record.sha256)
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() != record.sha256:
                raise CheckpointDamagedError(
                    f"{name} was changed since it was written: its SHA-256 is another one",
                    remedy="Delete the checkpoint and train another one, or restore its file.",
                )
            return QueryAdapter.from_bytes(content)
        except OSError as error:
            raise CheckpointDamagedError(f"{name} can't be read: {error.strerror}") from error
        except EmbeddingError as error:
            remedy = error.remedy or ""
            raise CheckpointDamagedError(f"{name}: {error.message}", remedy=remedy) from error

    def delete(self, record: CheckpointRecord) -> None:
        """Delete what a checkpoint consists of, if it is there; raises ``OSError``."""
        path = self._data_dir / record.model_path
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class EmbedderInForce:
    """Puts checkpoints in front of the store's embedder, with their cutoffs, and takes them out.

    ``problem`` says why a configured checkpoint isn't used; empty when all is as configured.
    """

    def __init__(self, core: Core, files: CheckpointFiles, *, provider: str) -> None:
        self._core = core
        self.files = files
        self.provider = provider
        self.checkpoint_id: str | None = None
        self.problem = ""

    @property
    def base_model(self) -> str:
        """Fingerprint of the embedder without a checkpoint."""
        return self._core.embedder.fingerprint

    def snapshot(self) -> ActiveEmbedderSnapshot:
        """Return what is in force; its fingerprint is of what questions are embedded with."""
        embedder = self._core.embedder
        mark = embedder.fingerprint
        if isinstance(embedder, AdaptedEmbedder):
            mark = embedder.query_fingerprint
        return ActiveEmbedderSnapshot(
            provider=self.provider,
            model=self.base_model,
            dims=embedder.dims,
            checkpoint_id=self.checkpoint_id,
            fingerprint=mark,
            problem=self.problem,
        )

    async def load(self, record: CheckpointRecord) -> QuestionSide:
        """Return what a checkpoint trained.

        Raises ``CheckpointDamagedError``, and ``FineTuneError`` when it was made for another base.
        """
        if record.base_model != self.base_model:
            raise FineTuneError(
                f"the checkpoint was trained for {record.base_model}, and {self.base_model} is in "
                "use",
                remedy="Train one for this embedder, or choose that embedder again.",
            )
        return await asyncio.to_thread(self.files.read, record)

    async def use(self, record: CheckpointRecord | None, side: QuestionSide | None) -> None:
        """Put a checkpoint in force, or none; holds from the next question on."""
        embedder = self._core.embedder
        if not isinstance(embedder, AdaptedEmbedder):
            if record is not None:
                raise FineTuneError("this embedder takes no checkpoint")
            return
        former = embedder.use(side)
        self._core.moved = record.cutoff.moved if record and record.cutoff else 0.0
        self.checkpoint_id = record.id if record else None
        self.problem = ""
        if former is not None and former is not side:
            await former.close()

    async def follow(self, config: EmbeddingFineTuneConfig, store: FineTuneStore) -> None:
        """Put in force what the settings name, else the base; what hinders it is in ``problem``."""
        if not config.enabled or config.checkpoint_path is None:
            await self.use(None, None)
            return
        try:
            record = await _at(config.checkpoint_path, store)
            if config.base_model != record.base_model:
                raise CheckpointDamagedError(
                    f"memory.fine_tune.base_model is {config.base_model}, and the checkpoint was "
                    f"trained for {record.base_model}"
                )
            await self.use(record, await self.load(record))
        except DomainError as error:
            await self.use(None, None)
            self.problem = error.message
            details = {"event": MEMORY_CHECKPOINT_NOT_USED, "reason": error.message}
            _log.warning("the base embedder is used: %s", error.message, extra=details)


async def _at(path: str, store: FineTuneStore) -> CheckpointRecord:
    """The checkpoint whose file is at a path, relative to the data directory."""
    checkpoint_id = PurePosixPath(path).stem
    try:
        record = await store.checkpoint(checkpoint_id)
    except DomainError:
        record = None
    if record is None or record.model_path != path:
        raise CheckpointDamagedError(
            f"memory.fine_tune names {path}, which is no checkpoint of this store",
            remedy="`synthorg-tui models checkpoints` lists them.",
        )
    return record
