"""Fine-tuning with set answers at the screen's port, and the states that it can be in."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.models import (
    MIN_PAIRS,
    WORK_STAGES,
    ActiveEmbedderSnapshot,
    CheckpointRecord,
    CurvePoint,
    EvalMetrics,
    FineTuneRequest,
    FineTuneRun,
    FineTuneRunConfig,
    FineTuneStage,
    FineTuneStatus,
    FineTuneTrainer,
    PreflightCheck,
    PreflightResult,
)
from synthorg_tui.tui.fine_tune.adapter import FineTuneDesk, TuningView
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.tui_fakes import NOW

BETTER = EvalMetrics(
    ndcg_at_10=0.612, recall_at_10=0.69, base_ndcg_at_10=0.581, base_recall_at_10=0.675,
    dense_ndcg_at_10=0.44, base_dense_ndcg_at_10=0.372, questions=212,
    gain_low=0.012, gain_high=0.05,
)  # fmt: skip
WORSE = EvalMetrics(
    ndcg_at_10=0.574, recall_at_10=0.668, base_ndcg_at_10=0.581, base_recall_at_10=0.675,
    dense_ndcg_at_10=0.379, base_dense_ndcg_at_10=0.372, questions=212,
    gain_low=-0.021, gain_high=0.009,
)  # fmt: skip
CURVE = tuple(
    CurvePoint(step=at, loss=2.4 / (1 + at / 9), metric=0.41 + 0.06 * min(at, 31) / 31 - at / 4e3)
    for at in range(0, 60, 2)
)


def checkpoint(name: str, metrics: EvalMetrics | None = BETTER, **fields: Any) -> CheckpointRecord:
    given: dict[str, Any] = {
        "id": f"{name}-9b1d-4c7e",
        "run_id": f"run-of-{name}",
        "model_path": f"checkpoints/{name}.npz",
        "base_model": "all-minilm-l6-v2-int8",
        "fingerprint": f"minilm+{name}",
        "sha256": "0" * 64,
        "doc_count": 1_204,
        "eval_metrics": metrics,
        "size_bytes": 590_000,
        "created_at": NOW - timedelta(hours=3),
    }
    return CheckpointRecord.model_validate(given | fields)


def tuning_run(name: str, stage: FineTuneStage, **fields: Any) -> FineTuneRun:
    """A run that began four minutes ago and, if it is over, took 40 seconds."""
    is_over = stage in (FineTuneStage.COMPLETE, FineTuneStage.FAILED)
    began = NOW - timedelta(minutes=4)
    done = WORK_STAGES[: WORK_STAGES.index(stage)] if stage in WORK_STAGES else ()
    given: dict[str, Any] = {
        "id": f"{name}-41aa-8f02",
        "stage": stage,
        "request": FineTuneRequest(source_dir="/home/ada/data"),
        "config": FineTuneRunConfig(),
        "started_at": began,
        "updated_at": began,
        "completed_at": began + timedelta(seconds=40) if is_over else None,
        "stages_completed": done,
        "pairs": 812,
    }
    return FineTuneRun.model_validate(given | fields)


WORKING = tuning_run("7c1e0f", FineTuneStage.TRAINING, progress=0.42, curve=CURVE[:14])
DONE = tuning_run("7c1e0f", FineTuneStage.COMPLETE, curve=CURVE, metrics=BETTER)
DONE_WORSE = tuning_run("7c1e0f", FineTuneStage.COMPLETE, curve=CURVE, metrics=WORSE)
BROKEN = tuning_run(
    "03ab77",
    FineTuneStage.FAILED,
    error="interrupted while training: the program ended",
    stages_completed=WORK_STAGES[:2],
    curve=CURVE[:9],
)


def needs(found: int = 812) -> PreflightResult:
    """What was looked at, with so many questions."""
    few = found < MIN_PAIRS
    told = (
        f"there are {found} questions with known answers, and it takes {MIN_PAIRS}: with fewer, "
        "what is gained can't be told from chance"
        if few
        else f"{found} questions with known answers"
    )
    checks = (
        PreflightCheck(
            name="source_dir_exists", status="pass", message="/home/ada/data can be read", detail={}
        ),
        PreflightCheck(name="base_model", status="pass", message="all-minilm-l6-v2", detail={}),
        PreflightCheck(
            name="embedded",
            status="warn",
            message="12 memories wait for embedding and aren't used",
            detail={"waiting": 12},
        ),
        PreflightCheck(
            name="pairs", status="fail" if few else "pass", message=told, detail={"found": found}
        ),
    )
    return PreflightResult(checks=checks)


class FakeTuningDesk(FineTuneDesk):
    """Runs and checkpoints that a test sets; what is asked for is in ``asked``."""

    def __init__(
        self,
        runs: Sequence[FineTuneRun] = (),
        checkpoints: Sequence[CheckpointRecord] = (),
        *,
        found: int = 812,
    ) -> None:
        super().__init__(_no_engine)  # type: ignore[arg-type]
        self.runs = list(runs)
        self.checkpoints = list(checkpoints)
        self.found = found
        self.asked: list[str] = []
        self.error: DomainError | None = None
        self.problem = ""
        self.can_train: tuple[FineTuneTrainer, ...] = (FineTuneTrainer.ADAPTER,)

    async def view(self) -> TuningView:
        if self.error is not None:
            raise self.error
        in_force = next((each.id for each in self.checkpoints if each.is_active), None)
        active = ActiveEmbedderSnapshot(
            provider="minilm",
            model="all-minilm-l6-v2",
            dims=384,
            checkpoint_id=in_force,
            fingerprint="minilm",
            problem=self.problem,
        )
        return TuningView(active, tuple(self.checkpoints), tuple(self.runs))

    async def status(self) -> FineTuneStatus:
        run = next((each for each in self.runs if each.stage.is_active), None)
        if run is None:
            return FineTuneStatus()
        detail = "step 28, loss 0.585"
        return FineTuneStatus(run_id=run.id, stage=run.stage, progress=run.progress, detail=detail)

    def trainers(self) -> tuple[FineTuneTrainer, ...]:
        return self.can_train

    async def preflight(self, trainer: FineTuneTrainer | None = None) -> PreflightResult:
        return needs(self.found)

    async def start(self, trainer: FineTuneTrainer | None = None) -> FineTuneRun:
        deed = "start" if trainer is FineTuneTrainer.ADAPTER else f"start {trainer}"
        return self._begun(deed, tuning_run("new001", FineTuneStage.GENERATING_DATA))

    async def resume(self, run_id: str) -> FineTuneRun:
        return self._begun(f"resume {run_id}", tuning_run("again1", FineTuneStage.TRAINING))

    async def cancel(self) -> str | None:
        self.asked.append("cancel")
        stopped, self.runs = self.runs[0].id, [BROKEN]
        return stopped

    async def deploy(self, checkpoint_id: str) -> CheckpointRecord:
        return self._put("deploy", checkpoint_id, is_active=True)

    async def roll_back(self, checkpoint_id: str) -> CheckpointRecord:
        return self._put("roll back", checkpoint_id, is_active=False)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        self.asked.append(f"delete {checkpoint_id}")
        self.checkpoints = [each for each in self.checkpoints if each.id != checkpoint_id]

    async def delete_run(self, run_id: str) -> None:
        self.asked.append(f"delete {run_id}")
        self.runs = [each for each in self.runs if each.id != run_id]

    def _begun(self, deed: str, run: FineTuneRun) -> FineTuneRun:
        if self.error is not None:
            raise self.error
        self.asked.append(deed)
        self.runs.insert(0, run)
        return run

    def _put(self, verb: str, checkpoint_id: str, *, is_active: bool) -> CheckpointRecord:
        if self.error is not None:
            raise self.error
        self.asked.append(f"{verb} {checkpoint_id}")
        (at,) = [at for at, each in enumerate(self.checkpoints) if each.id == checkpoint_id]
        changed = self.checkpoints[at].model_copy(update={"is_active": is_active})
        self.checkpoints[at] = changed
        return changed


class TuningManagement(FakeManagement):
    """A management whose fine-tuning is this."""

    def __init__(self, desk: FakeTuningDesk) -> None:
        super().__init__()
        self._tuning = desk

    @property
    def fine_tune(self) -> FakeTuningDesk:
        return self._tuning


def _no_engine() -> None:
    raise DomainError("there is no engine in this test")
