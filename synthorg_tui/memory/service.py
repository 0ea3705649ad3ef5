"""The single entry point to fine-tuning: runs, checkpoints, and which embedder is in force.

Commands, screens and tools ask here and never reach into tables or files themselves. Who may ask
is decided by them; ``actor`` is only recorded.
"""

import asyncio
import logging
import threading
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.errors import (
    BackendUnsupportedError,
    FineTuneActiveError,
    FineTuneCancelledError,
    FineTuneRunNotResumableError,
)
from synthorg_tui.memory.fine_tune.models import (
    ActiveEmbedderSnapshot,
    CheckpointRecord,
    FineTunePlan,
    FineTuneRun,
    FineTuneRunConfig,
    FineTuneStage,
    FineTuneStatus,
    PreflightResult,
)
from synthorg_tui.memory.fine_tune.pipeline import FineTuningPipeline, TuningParts
from synthorg_tui.memory.fine_tune.preflight import preflight, require_ready

_log = logging.getLogger(__name__)

MEMORY_FINE_TUNE_STARTED: Final = "memory.fine_tune.started"
MEMORY_FINE_TUNE_COMPLETED: Final = "memory.fine_tune.completed"
MEMORY_FINE_TUNE_FAILED: Final = "memory.fine_tune.failed"
MEMORY_FINE_TUNE_CANCELLED: Final = "memory.fine_tune.cancelled"
A_PERSON: Final = "person"
"""Who deploys, unless the caller says it more exactly."""

_SILENT = timedelta(days=1)
"""How long a run of another program may say nothing before it counts as interrupted."""


class MemoryService:
    """Starts, follows and cancels runs; deploys checkpoints and takes them back.

    Deploying, rolling back, deleting and reading what is active run one at a time. Runs and
    checkpoints of this store alone are known.

    Args:
        parts: What runs and checkpoints use; ``None`` when the configured backend lacks it.
        reason: What is missing, in words; every method raises it as ``BackendUnsupportedError``.
    """

    def __init__(self, parts: TuningParts | None, *, reason: str = "") -> None:
        self._parts = parts
        self._reason = reason
        self._task: asyncio.Task[FineTuneRun] | None = None
        self._pipeline: FineTuningPipeline | None = None
        self._cancel = threading.Event()
        self._is_settled = False
        self._starting = asyncio.Lock()

    async def start_fine_tune(self, plan: FineTunePlan) -> FineTuneRun:
        """Begin a run and return it at once; ``finished`` waits for its end.

        A plan with ``resume_run_id`` resumes that run. Raises ``FineTuneActiveError`` while another
        one is at work, ``FineTuneDependencyError`` when the plan's trainer needs libraries that
        aren't installed, ``TooFewPairsError``, and ``FineTuneError`` when the preflight fails.
        """
        if plan.resume_run_id is not None:
            return await self.resume_fine_tune(plan.resume_run_id)
        parts = self._needed()
        async with self._starting:
            self._require_idle()
            require_ready(plan, await preflight(plan, parts))
            now, request = parts.core.clock.now(), plan.to_request()
            run = FineTuneRun(
                id=str(uuid.uuid4()),
                stage=FineTuneStage.GENERATING_DATA,
                request=request,
                config=FineTuneRunConfig.of(request),
                started_at=now,
                updated_at=now,
                progress=0.0,
            )
            return await self._begin(run, parts, plan.execution.timeout_seconds)

    async def resume_fine_tune(self, run_id: str) -> FineTuneRun:
        """Go on with a run that was cancelled, failed or interrupted, after its last whole step.

        Raises ``FineTuneRunNotFoundError``, ``FineTuneRunNotResumableError`` for a complete run,
        and ``FineTuneActiveError``.
        """
        parts = await self._settled()
        async with self._starting:
            self._require_idle()
            run = await parts.store.run(run_id)
            if run.stage is FineTuneStage.COMPLETE:
                raise FineTuneRunNotResumableError(
                    "this run is complete", remedy="Start another one."
                )
            left = {"stage": FineTuneStage.GENERATING_DATA, "completed_at": None, "error": None}
            changed = {**left, "updated_at": parts.core.clock.now(), "progress": 0.0}
            return await self._begin(run.model_copy(update=changed), parts, None)

    async def finished(self, run_id: str) -> FineTuneRun:
        """Wait until a run of this process is over and return it; others are returned as stored."""
        parts = self._needed()
        if self._task is not None and self._active_id == run_id:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._task)
        return await parts.store.run(run_id)

    async def get_fine_tune_status(self, run_id: str | None = None) -> FineTuneStatus:
        """Return how the active run stands, or the one with this id; idle when there is none.

        Raises ``FineTuneRunNotFoundError``.
        """
        if run_id is None:
            self._needed()
            if not self._is_active or self._pipeline is None:
                return FineTuneStatus()
            return _status(self._pipeline.run)
        return _status(await self.get_run(run_id))

    async def get_run(self, run_id: str) -> FineTuneRun:
        """Return a run with its curve and figures; raises ``FineTuneRunNotFoundError``."""
        return await (await self._settled()).store.run(run_id)

    async def cancel_fine_tune(self) -> str | None:
        """Cancel the active run and return its id, ``None`` when there is none.

        It has ended when this returns, and can be resumed.
        """
        self._needed()
        run_id = self._active_id  # before it is cancelled: afterwards none is active
        if self._task is None or run_id is None:
            return None
        self._cancel.set()
        await asyncio.gather(asyncio.shield(self._task), return_exceptions=True)
        return run_id

    async def run_preflight(self, plan: FineTunePlan) -> PreflightResult:
        """Look at what a run would need, without changing anything."""
        return await preflight(plan, self._needed())

    async def list_runs(self, *, limit: int, offset: int) -> tuple[tuple[FineTuneRun, ...], int]:
        """Return runs, newest first, and how many there are in all."""
        return await (await self._settled()).store.runs(limit=limit, offset=offset)

    async def delete_run(self, run_id: str) -> FineTuneRun:
        """Delete a run with what its stages stored, and return what it was.

        Raises ``FineTuneRunNotFoundError``, and ``FineTuneActiveError`` for one that is at work or
        whose checkpoint is still there.
        """
        run = await self.get_run(run_id)
        parts = self._needed()
        if self._active_id == run_id:
            raise FineTuneActiveError("this run is at work", remedy="Cancel it first.")
        if await parts.store.has_checkpoint(run_id):
            raise FineTuneActiveError(
                "its checkpoint is still there", remedy="Delete the checkpoint first."
            )
        await parts.store.delete_run(run_id)
        await asyncio.to_thread(parts.folders.delete, run_id)
        return run

    async def list_checkpoints(
        self, *, limit: int, offset: int
    ) -> tuple[tuple[CheckpointRecord, ...], int]:
        """Return checkpoints, newest first, and how many there are in all."""
        return await self._needed().store.checkpoints(limit=limit, offset=offset)

    async def get_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Return a checkpoint; raises ``CheckpointNotFoundError``."""
        return await self._needed().store.checkpoint(checkpoint_id)

    async def deploy_checkpoint(
        self, checkpoint_id: str, *, actor: str = A_PERSON
    ) -> CheckpointRecord:
        """Put a checkpoint in force, here at once and with every start; return it as it is then.

        Raises ``CheckpointNotFoundError``, ``CheckpointRefusedError`` when it isn't surely better
        than the base, ``CheckpointDamagedError``, and ``FineTuneError`` when it was trained for
        another embedder. When a step fails, everything is as it was before.
        """
        return await self._needed().swaps.deploy(checkpoint_id, actor=actor)

    async def rollback_checkpoint(
        self, checkpoint_id: str, *, actor: str = A_PERSON
    ) -> CheckpointRecord:
        """Undo the deployment of the checkpoint in force: what was before it is again.

        Raises ``CheckpointNotFoundError``, ``CheckpointRollbackUnavailableError`` for one that
        isn't in force, and ``CheckpointRollbackCorruptError``.
        """
        return await self._needed().swaps.roll_back(checkpoint_id, actor=actor)

    async def delete_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Delete a checkpoint with its file and return what it was.

        Raises ``CheckpointNotFoundError``, and ``CheckpointActiveError`` for the one in force.
        """
        return await self._needed().swaps.delete(checkpoint_id)

    async def get_active_embedder(self) -> ActiveEmbedderSnapshot:
        """Return which embedder is in force."""
        return await self._needed().swaps.snapshot()

    async def close(self) -> None:
        """End the active run where it stands; the next start of the program finds it resumable."""
        if self._is_active and self._task is not None:
            self._cancel.set()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _is_active(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def _active_id(self) -> str | None:
        """The id of the run that is at work in this process."""
        if not self._is_active or self._pipeline is None:
            return None
        return self._pipeline.run.id

    def _needed(self) -> TuningParts:
        if self._parts is None:
            raise BackendUnsupportedError(self._reason, remedy="Set memory.backend to local.")
        return self._parts

    def _require_idle(self) -> None:
        if self._is_active:
            raise FineTuneActiveError(
                "a run is active already", remedy="Wait for its end, or cancel it."
            )

    async def _begin(
        self, run: FineTuneRun, parts: TuningParts, seconds: float | None
    ) -> FineTuneRun:
        self._cancel = threading.Event()
        await parts.store.save(run)
        pipeline = self._pipeline = FineTuningPipeline(run, parts, self._cancel)
        _tell(MEMORY_FINE_TUNE_STARTED, run)
        self._task = asyncio.create_task(self._carry_out(pipeline, parts, seconds))
        return run

    async def _carry_out(
        self, pipeline: FineTuningPipeline, parts: TuningParts, seconds: float | None
    ) -> FineTuneRun:
        """The run as it ended; failures are stored with it, and never raised."""
        error, event = "", MEMORY_FINE_TUNE_COMPLETED
        try:
            async with asyncio.timeout(seconds):
                await pipeline.carry_out()
        except (FineTuneCancelledError, asyncio.CancelledError) as problem:
            error, event = str(problem) or "interrupted", MEMORY_FINE_TUNE_CANCELLED
        except TimeoutError:
            error, event = f"took longer than {seconds:.0f} seconds", MEMORY_FINE_TUNE_FAILED
        except DomainError as problem:
            error, event = problem.message, MEMORY_FINE_TUNE_FAILED
        except (MemoryError, RecursionError):
            raise
        except Exception as problem:
            _log.exception("a run of fine-tuning failed")
            error, event = f"{type(problem).__name__}: {problem}", MEMORY_FINE_TUNE_FAILED
        if error:
            pipeline.run = _failed(pipeline.run, error, parts.core.clock.now())
            await parts.store.save(pipeline.run)
        _tell(event, pipeline.run)
        return pipeline.run

    async def _settled(self) -> TuningParts:
        """Return the parts, once runs that another process left at work are marked as failed."""
        parts = self._needed()
        if self._is_settled:
            return parts
        self._is_settled = True
        own = self._pipeline.run.id if self._pipeline is not None else None
        now = parts.core.clock.now()
        # Where several programs have the store, another one may be at a run that was just saved.
        since = now - _SILENT if parts.core.database.is_shared else datetime.max.replace(tzinfo=UTC)
        runs = (await parts.store.runs(limit=100, offset=0))[0]
        unfinished = {run.id for run in runs if run.stage is not FineTuneStage.COMPLETE}
        await asyncio.to_thread(parts.folders.keep_only, unfinished)
        for run in runs:
            if run.stage.is_active and run.id != own and run.updated_at <= since:
                stage = run.stage.value.replace("_", " ")
                error = f"interrupted while {stage}: the program ended"
                await parts.store.save(_failed(run, error, parts.core.clock.now()))
        return parts


def _failed(run: FineTuneRun, error: str, now: datetime) -> FineTuneRun:
    over = {"stage": FineTuneStage.FAILED, "error": error, "completed_at": now, "updated_at": now}
    return run.model_copy(update=over)


def _status(run: FineTuneRun) -> FineTuneStatus:
    error = run.error if run.stage is FineTuneStage.FAILED else None
    return FineTuneStatus(
        run_id=run.id, stage=run.stage, progress=run.progress, error=error, detail=run.note
    )


def _tell(event: str, run: FineTuneRun) -> None:
    details = {"event": event, "run_id": run.id, "stage": run.stage.value}
    _log.info("%s: run %s, %s", event, run.id, run.error or run.stage.value, extra=details)
