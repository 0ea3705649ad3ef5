"""The single entry point to fine-tuning: runs, checkpoints, and which embedder is in force.

Commands, screens and tools ask here and never reach into tables or files themselves. Who may ask
is decided by them: nothing here knows a person from an agent.
"""

from synthorg_tui.memory.fine_tune.models import (
    ActiveEmbedderSnapshot,
    CheckpointRecord,
    FineTunePlan,
    FineTuneRun,
    FineTuneStatus,
    PreflightResult,
)

MEMORY_CHECKPOINT_ROLLBACK_FAILED = "memory.checkpoint.rollback_failed"
MEMORY_CHECKPOINT_DEPLOY_FAILED = "memory.checkpoint.deploy_failed"


class MemoryService:
    """Starts, follows and cancels runs; deploys checkpoints and takes them back.

    A part that is missing raises ``BackendUnsupportedError``. Deploying, rolling back, deleting and
    reading what is active run one at a time.
    """

    async def start_fine_tune(self, plan: FineTunePlan) -> FineTuneRun:
        """Begin a run and return it at once; ``finished`` waits for its end.

        Raises ``FineTuneActiveError`` while another one is at work, ``FineTuneDependencyError``
        when the plan's trainer needs libraries that aren't installed, and ``FineTuneError`` when
        the preflight fails.
        """
        raise NotImplementedError

    async def resume_fine_tune(self, run_id: str) -> FineTuneRun:
        """Go on with a run that was cancelled, failed or interrupted, after its last whole step.

        Raises ``FineTuneRunNotFoundError``, ``FineTuneRunNotResumableError`` for a complete run,
        and ``FineTuneActiveError``.
        """
        raise NotImplementedError

    async def finished(self, run_id: str) -> FineTuneRun:
        """Wait until a run of this process is over and return it; others are returned as stored."""
        raise NotImplementedError

    async def get_fine_tune_status(self, run_id: str | None = None) -> FineTuneStatus:
        """Return how the active run stands, or the one with this id; idle when there is none.

        Raises ``FineTuneRunNotFoundError``.
        """
        raise NotImplementedError

    async def get_run(self, run_id: str) -> FineTuneRun:
        """Return a run with its curve and figures; raises ``FineTuneRunNotFoundError``."""
        raise NotImplementedError

    async def cancel_fine_tune(self) -> str | None:
        """Cancel the active run and return its id, ``None`` when there is none.

        It has ended when this returns, and can be resumed.
        """
        raise NotImplementedError

    async def run_preflight(self, plan: FineTunePlan) -> PreflightResult:
        """Look at what a run would need, without changing anything."""
        raise NotImplementedError

    async def list_runs(self, *, limit: int, offset: int) -> tuple[tuple[FineTuneRun, ...], int]:
        """Return runs, newest first, and how many there are in all."""
        raise NotImplementedError

    async def delete_run(self, run_id: str) -> None:
        """Delete a run that isn't active and has no checkpoint, with what its stages stored."""
        raise NotImplementedError

    async def list_checkpoints(
        self, *, limit: int, offset: int
    ) -> tuple[tuple[CheckpointRecord, ...], int]:
        """Return checkpoints, newest first, and how many there are in all."""
        raise NotImplementedError

    async def get_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Return a checkpoint; raises ``CheckpointNotFoundError``."""
        raise NotImplementedError

    async def deploy_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Put a checkpoint in force, here at once and with every start; return it as it is then.

        Raises ``CheckpointNotFoundError``, ``CheckpointRefusedError`` when it isn't surely better
        than the base, ``CheckpointDamagedError``, and ``FineTuneError`` when it was trained for
        another embedder. When a step fails, everything is as it was before.
        """
        raise NotImplementedError

    async def rollback_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Undo the deployment of a checkpoint: what was in force before it is again.

        Raises ``CheckpointNotFoundError``, ``CheckpointRollbackUnavailableError`` and
        ``CheckpointRollbackCorruptError``.
        """
        raise NotImplementedError

    async def delete_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Delete a checkpoint with its file and return what it was.

        Raises ``CheckpointNotFoundError``, and ``CheckpointActiveError`` for the one in force.
        """
        raise NotImplementedError

    async def get_active_embedder(self) -> ActiveEmbedderSnapshot:
        """Return which embedder is in force."""
        raise NotImplementedError
