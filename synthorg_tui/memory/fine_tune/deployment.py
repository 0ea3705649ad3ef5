"""Which checkpoint is in force: deploying, rolling back and deleting, one at a time.

A deployment is three things that belong together: the mark in the database, the setting that the
next start reads, and the embedder that runs. When one of them fails, all are put back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import ValidationError

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.fine_tune.checkpoints import EmbedderInForce
from synthorg_tui.memory.fine_tune.errors import (
    CheckpointActiveError,
    CheckpointRefusedError,
    CheckpointRollbackCorruptError,
    CheckpointRollbackUnavailableError,
)
from synthorg_tui.memory.fine_tune.models import ActiveEmbedderSnapshot, CheckpointRecord
from synthorg_tui.memory.fine_tune.store import FineTuneStore

_log = logging.getLogger(__name__)

MEMORY_CHECKPOINT_DEPLOYED: Final = "memory.checkpoint.deployed"
MEMORY_CHECKPOINT_DEPLOY_FAILED: Final = "memory.checkpoint.deploy_failed"
MEMORY_CHECKPOINT_ROLLED_BACK: Final = "memory.checkpoint.rolled_back"
MEMORY_CHECKPOINT_ROLLBACK_FAILED: Final = "memory.checkpoint.rollback_failed"
MEMORY_CHECKPOINT_DELETED: Final = "memory.checkpoint.deleted"


class PriorState(StrEnum):
    """What was known of the setting before a deployment."""

    SET = "set"
    UNSET = "unset"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class EmbedderSetting:
    """Reads and writes ``memory.fine_tune`` as it is kept in the store.

    ``read`` returns it as JSON, ``None`` when nothing is kept; ``write`` takes the same, and who
    changes it.
    """

    read: Callable[[], Awaitable[str | None]]
    write: Callable[[str | None, str], Awaitable[None]]


class _Before(FrozenModel):
    """The setting and the checkpoint that a deployment replaces, as noted for rolling back."""

    state: PriorState
    value: str | None
    checkpoint_id: str | None


class CheckpointSwaps:
    """Deploys checkpoints and takes them back, under one lock with all that reads what is active.

    Args:
        store: The records.
        in_force: The embedder that runs.
        setting: What the next start reads.
    """

    def __init__(
        self, store: FineTuneStore, in_force: EmbedderInForce, setting: EmbedderSetting
    ) -> None:
        self._store = store
        self._in_force = in_force
        self._setting = setting
        self._lock = asyncio.Lock()

    async def deploy(self, checkpoint_id: str, *, actor: str) -> CheckpointRecord:
        """Put a checkpoint in force; see ``MemoryService.deploy_checkpoint``."""
        async with self._lock:
            record = await self._store.checkpoint(checkpoint_id)
            require_better(record)
            side = await self._in_force.load(record)
            if self._in_force.checkpoint_id == checkpoint_id and record.is_active:
                return record
            before = await self._before()
            config = EmbeddingFineTuneConfig(
                enabled=True, checkpoint_path=record.model_path, base_model=record.base_model
            )
            try:
                await self._store.mark(
                    record.model_copy(update={"backup_config_json": before.model_dump_json()})
                )
                await self._setting.write(config.model_dump_json(exclude_none=True), actor)
                await self._in_force.use(record, side)
            except BaseException as error:
                _failure(MEMORY_CHECKPOINT_DEPLOY_FAILED, checkpoint_id, "deploying", error)
                await asyncio.shield(self._restore(before, checkpoint_id, actor))
                raise
            _told(MEMORY_CHECKPOINT_DEPLOYED, checkpoint_id, actor)
            return await self._store.checkpoint(checkpoint_id)

    async def roll_back(self, checkpoint_id: str, *, actor: str) -> CheckpointRecord:
        """Undo a deployment; see ``MemoryService.rollback_checkpoint``."""
        async with self._lock:
            record = await self._store.checkpoint(checkpoint_id)
            if not record.is_active or record.backup_config_json is None:
                raise CheckpointRollbackUnavailableError(
                    "this checkpoint isn't in force, so there is nothing to undo",
                    remedy="`synthorg-tui models deploy` puts a checkpoint in force.",
                )
            problems = await self._restore(_parsed(record), checkpoint_id, actor)
            if problems:
                raise problems[0]
            _told(MEMORY_CHECKPOINT_ROLLED_BACK, checkpoint_id, actor)
            return await self._store.checkpoint(checkpoint_id)

    async def delete(self, checkpoint_id: str) -> CheckpointRecord:
        """Delete a checkpoint; see ``MemoryService.delete_checkpoint``."""
        async with self._lock:
            record = await self._store.checkpoint(checkpoint_id)
            if record.is_active or self._in_force.checkpoint_id == checkpoint_id:
                raise CheckpointActiveError(
                    "this checkpoint is in force", remedy="Roll it back first."
                )
            await self._store.delete_checkpoint(checkpoint_id)
            await asyncio.to_thread(self._in_force.files.delete, record)
            _told(MEMORY_CHECKPOINT_DELETED, checkpoint_id, "")
            return record

    async def snapshot(self) -> ActiveEmbedderSnapshot:
        """Return what is in force."""
        async with self._lock:
            return self._in_force.snapshot()

    async def _before(self) -> _Before:
        active = await self._store.active()
        checkpoint_id = active.id if active is not None else None
        try:
            value = await self._setting.read()
        except DomainError as error:
            _log.warning("memory.fine_tune can't be read: %s", error.message)
            unreadable = PriorState.UNREADABLE
            return _Before(state=unreadable, value=None, checkpoint_id=checkpoint_id)
        state = PriorState.UNSET if value is None else PriorState.SET
        return _Before(state=state, value=value, checkpoint_id=checkpoint_id)

    async def _restore(self, before: _Before, of: str, actor: str) -> list[Exception]:
        """Put back what was before, each step whatever becomes of the others; return what failed.

        A setting that couldn't be read is left as it is.
        """
        problems: list[Exception] = []

        async def setting() -> None:
            if before.state is not PriorState.UNREADABLE:
                await self._setting.write(before.value, actor)

        async def former() -> CheckpointRecord | None:
            known = before.checkpoint_id
            return await self._store.checkpoint(known) if known is not None else None

        async def running() -> None:
            record = await former()
            side = await self._in_force.load(record) if record is not None else None
            await self._in_force.use(record, side)

        async def mark() -> None:
            await self._store.mark(await former())

        for name, step in (("setting", setting), ("embedder", running), ("mark", mark)):
            try:
                await step()
            except (DomainError, OSError, duckdb_error()) as error:
                _failure(MEMORY_CHECKPOINT_ROLLBACK_FAILED, of, name, error)
                problems.append(error)
        return problems


def require_better(record: CheckpointRecord) -> None:
    """Raise ``CheckpointRefusedError`` unless the gain is surely more than its noise."""
    metrics = record.eval_metrics
    if metrics is None or not metrics.is_surely_better:
        told = metrics.words if metrics is not None else "it was never evaluated"
        raise CheckpointRefusedError(
            f"this checkpoint isn't surely better than the base: {told}",
            remedy="Train again when there are more questions; the base stays in force.",
        )


def _parsed(record: CheckpointRecord) -> _Before:
    """Read what a deployment noted; raises ``CheckpointRollbackCorruptError``."""
    try:
        return _Before.model_validate_json(record.backup_config_json or "")
    except ValidationError as error:
        raise CheckpointRollbackCorruptError(
            "what was noted of the settings before this checkpoint can't be read",
            remedy="`synthorg-tui config unset memory.fine_tune` and a restart use the base.",
        ) from error


def _told(event: str, checkpoint_id: str, actor: str) -> None:
    details = {"event": event, "checkpoint_id": checkpoint_id, "actor": actor}
    _log.info("%s: %s", event, checkpoint_id, extra=details)


def _failure(event: str, checkpoint_id: str, step: str, error: BaseException) -> None:
    details = {"event": event, "checkpoint_id": checkpoint_id, "step": step}
    _log.error("%s: %s at %s: %s", event, checkpoint_id, step, error, extra=details)
