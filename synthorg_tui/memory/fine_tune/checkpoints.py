"""Checkpoint files in the data directory, and the one in force.

A file is used only when its SHA-256 is that in the database and it was made for the embedder in
use; else the base is used, and why is said.
"""

import asyncio
import hashlib
import logging
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.fine_tune.errors import CheckpointDamagedError, FineTuneError
from synthorg_tui.memory.fine_tune.models import CheckpointRecord
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.store.core import Core
from synthorg_tui.providers.embedding.adapted import (
    MAX_ADAPTER_BYTES,
    AdaptedEmbedder,
    QueryAdapter,
)
from synthorg_tui.providers.embedding.errors import EmbeddingError

_log = logging.getLogger(__name__)

FOLDER: Final = "checkpoints"
MEMORY_CHECKPOINT_NOT_USED: Final = "memory.checkpoint.not_used"


class CheckpointFiles:
    """Writes and reads the files of checkpoints; their names are ids made here."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def path_of(self, checkpoint_id: str) -> str:
        """Return the path of a checkpoint's file, relative to the data directory."""
        return f"{FOLDER}/{checkpoint_id}.adapter"

    def write(self, checkpoint_id: str, content: bytes) -> None:
        """Write a file whole or not at all; raises ``OSError``."""
        folder = ensure_private_dir(self._data_dir / FOLDER)
        path = folder / PurePosixPath(self.path_of(checkpoint_id)).name
        write_atomically(path, content, mode=PRIVATE_FILE)

    def read(self, record: CheckpointRecord) -> QueryAdapter:
        """Return the adapter of a checkpoint; raises ``CheckpointDamagedError``."""
        path = self._data_dir / record.model_path
        try:
            if path.is_symlink() or path.stat().st_size > MAX_ADAPTER_BYTES:
                raise CheckpointDamagedError(f"{record.model_path} isn't the file of a checkpoint")
            content = path.read_bytes()
        except OSError as error:
            raise CheckpointDamagedError(
                f"{record.model_path} can't be read: {error.strerror}"
            ) from error
        if hashlib.sha256(content).hexdigest() != record.sha256:
            raise CheckpointDamagedError(
                f"{record.model_path} was changed since it was written: its SHA-256 is another one",
                remedy="Delete the checkpoint and train another one, or restore its file.",
            )
        try:
            return QueryAdapter.from_bytes(content)
        except EmbeddingError as error:
            raise CheckpointDamagedError(f"{record.model_path}: {error.message}") from error

    def delete(self, record: CheckpointRecord) -> None:
        """Delete a checkpoint's file, if it is there."""
        with suppress(FileNotFoundError):
            (self._data_dir / record.model_path).unlink()


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

    @property
    def fingerprint(self) -> str:
        """Fingerprint of what questions are embedded with."""
        embedder = self._core.embedder
        if isinstance(embedder, AdaptedEmbedder):
            return embedder.query_fingerprint
        return embedder.fingerprint

    @property
    def dims(self) -> int:
        """Length of the vectors."""
        return self._core.embedder.dims

    async def load(self, record: CheckpointRecord) -> QueryAdapter:
        """Return a checkpoint's adapter.

        Raises ``CheckpointDamagedError``, and ``FineTuneError`` when it was made for another base.
        """
        if record.base_model != self.base_model:
            raise FineTuneError(
                f"the checkpoint was trained for {record.base_model}, and {self.base_model} is in "
                "use",
                remedy="Train one for this embedder, or choose that embedder again.",
            )
        return await asyncio.to_thread(self.files.read, record)

    def use(self, record: CheckpointRecord | None, adapter: QueryAdapter | None) -> None:
        """Put a checkpoint in force, or none; holds from the next question on."""
        embedder = self._core.embedder
        if not isinstance(embedder, AdaptedEmbedder):
            if record is not None:
                raise FineTuneError("this embedder takes no checkpoint")
            return
        embedder.use(adapter)
        self._core.moved = record.cutoff.moved if record and record.cutoff else 0.0
        self.checkpoint_id = record.id if record else None
        self.problem = ""

    async def follow(self, config: EmbeddingFineTuneConfig, store: FineTuneStore) -> None:
        """Put in force what the settings name, else the base; what hinders it is in ``problem``."""
        if not config.enabled or config.checkpoint_path is None:
            self.use(None, None)
            return
        try:
            record = await _at(config.checkpoint_path, store)
            if config.base_model != record.base_model:
                raise CheckpointDamagedError(
                    f"memory.fine_tune.base_model is {config.base_model}, and the checkpoint was "
                    f"trained for {record.base_model}"
                )
            self.use(record, await self.load(record))
        except DomainError as error:
            self.use(None, None)
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
