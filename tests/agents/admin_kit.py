"""A service of fine-tuning with set runs and checkpoints, which notes what was done with it."""

from datetime import UTC, datetime
from typing import Any

from synthorg_tui.memory.fine_tune.errors import (
    CheckpointNotFoundError,
    FineTuneActiveError,
    FineTuneRunNotFoundError,
)
from synthorg_tui.memory.fine_tune.models import (
    ActiveEmbedderSnapshot,
    CheckpointRecord,
    EvalMetrics,
    FineTunePlan,
    FineTuneRequest,
    FineTuneRun,
    FineTuneRunConfig,
    FineTuneStage,
    FineTuneStatus,
    PreflightCheck,
    PreflightResult,
)
from synthorg_tui.memory.service import A_PERSON, MemoryService

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
BETTER = EvalMetrics(
    ndcg_at_10=0.612,
    recall_at_10=0.69,
    base_ndcg_at_10=0.581,
    base_recall_at_10=0.675,
    questions=212,
    gain_low=0.012,
    gain_high=0.05,
)
WORSE = BETTER.model_copy(update={"ndcg_at_10": 0.57, "gain_low": -0.02, "gain_high": 0.01})


def checkpoint(name: str, metrics: EvalMetrics | None = BETTER, **fields: Any) -> CheckpointRecord:
    given = {
        "id": name,
        "run_id": f"run-of-{name}",
        "model_path": f"checkpoints/{name}.npz",
        "base_model": "minilm",
        "fingerprint": f"minilm+{name}",
        "sha256": "0" * 64,
        "doc_count": 1_204,
        "eval_metrics": metrics,
        "size_bytes": 590_000,
        "created_at": NOW,
        "backup_config_json": '{"secret": "of the settings"}',
    }
    return CheckpointRecord.model_validate(given | fields)


def tuning_run(
    name: str, stage: FineTuneStage = FineTuneStage.TRAINING, **fields: Any
) -> FineTuneRun:
    is_over = stage in (FineTuneStage.COMPLETE, FineTuneStage.FAILED)
    given = {
        "id": name,
        "stage": stage,
        "request": FineTuneRequest(source_dir="/srv/data"),
        "config": FineTuneRunConfig(),
        "started_at": NOW,
        "updated_at": NOW,
        "completed_at": NOW if is_over else None,
        "error": "cancelled" if stage is FineTuneStage.FAILED else None,
    }
    return FineTuneRun.model_validate(given | fields)


class Killed(BaseException):
    """Ends the process between an act and the note that it is done."""


class ScriptedService(MemoryService):
    """Runs and checkpoints in memory; ``done`` are the changes, in order."""

    def __init__(self, *checkpoints: CheckpointRecord, runs: tuple[FineTuneRun, ...] = ()) -> None:
        super().__init__(None, reason="this service is scripted")
        self.checkpoints = {each.id: each for each in checkpoints}
        self.runs = {each.id: each for each in runs}
        self.done: list[str] = []
        self.plans: list[FineTunePlan] = []
        self.error: Exception | None = None
        self.is_killed = False

    async def start_fine_tune(self, plan: FineTunePlan) -> FineTuneRun:
        self._check()
        if self._active() is not None:
            raise FineTuneActiveError("a run is at work")
        self.plans.append(plan)
        run = tuning_run(f"run-{len(self.runs)}")
        self.runs[run.id] = run
        return run

    async def resume_fine_tune(self, run_id: str) -> FineTuneRun:
        self.runs[run_id] = tuning_run(run_id)
        self._note(f"resume {run_id}")
        return self.runs[run_id]

    async def get_fine_tune_status(self, run_id: str | None = None) -> FineTuneStatus:
        self._check()
        run = self._active() if run_id is None else await self.get_run(run_id)
        if run is None:
            return FineTuneStatus()
        return FineTuneStatus(run_id=run.id, stage=run.stage, error=run.error)

    async def get_run(self, run_id: str) -> FineTuneRun:
        if run_id not in self.runs:
            raise FineTuneRunNotFoundError("there is no such run")
        return self.runs[run_id]

    async def cancel_fine_tune(self) -> str | None:
        run = self._active()
        if run is not None:
            self.runs[run.id] = tuning_run(run.id, FineTuneStage.FAILED)
            self._note(f"cancel {run.id}")
        return run.id if run is not None else None

    async def run_preflight(self, plan: FineTunePlan) -> PreflightResult:
        self._check()
        self.plans.append(plan)
        check = PreflightCheck(
            name="source_dir_exists", status="pass", message="It is there.", detail={}
        )
        return PreflightResult(checks=(check,))

    async def list_runs(self, *, limit: int, offset: int) -> tuple[tuple[FineTuneRun, ...], int]:
        runs = tuple(self.runs.values())
        return runs[offset : offset + limit], len(runs)

    async def list_checkpoints(
        self, *, limit: int, offset: int
    ) -> tuple[tuple[CheckpointRecord, ...], int]:
        found = tuple(self.checkpoints.values())
        return found[offset : offset + limit], len(found)

    async def get_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        self._check()
        if checkpoint_id not in self.checkpoints:
            raise CheckpointNotFoundError("there is no such checkpoint")
        return self.checkpoints[checkpoint_id]

    async def deploy_checkpoint(
        self, checkpoint_id: str, *, actor: str = A_PERSON
    ) -> CheckpointRecord:
        return self._put(checkpoint_id, "deploy", is_active=True)

    async def rollback_checkpoint(
        self, checkpoint_id: str, *, actor: str = A_PERSON
    ) -> CheckpointRecord:
        return self._put(checkpoint_id, "roll back", is_active=False)

    async def delete_checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        found = await self.get_checkpoint(checkpoint_id)
        del self.checkpoints[checkpoint_id]
        self._note(f"delete {checkpoint_id}")
        return found

    async def get_active_embedder(self) -> ActiveEmbedderSnapshot:
        active = next((each for each in self.checkpoints.values() if each.is_active), None)
        return ActiveEmbedderSnapshot(
            provider="local",
            model="minilm",
            checkpoint_id=active.id if active else None,
            fingerprint="minilm",
        )

    def _put(self, checkpoint_id: str, verb: str, *, is_active: bool) -> CheckpointRecord:
        changed = self.checkpoints[checkpoint_id].model_copy(update={"is_active": is_active})
        self.checkpoints[checkpoint_id] = changed
        self._note(f"{verb} {checkpoint_id}")
        return changed

    def _active(self) -> FineTuneRun | None:
        return next((run for run in self.runs.values() if run.stage.is_active), None)

    def _note(self, deed: str) -> None:
        self.done.append(deed)
        if self.is_killed:
            raise Killed

    def _check(self) -> None:
        if self.error is not None:
            raise self.error
