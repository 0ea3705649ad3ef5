"""Plans, runs, statuses and settings: what they accept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.memory.fine_tune import EmbeddingFineTuneConfig
from synthorg_tui.memory.fine_tune.errors import BackendUnsupportedError
from synthorg_tui.memory.fine_tune.models import (
    EvalMetrics,
    FineTuneExecution,
    FineTunePlan,
    FineTuneRun,
    FineTuneRunConfig,
    FineTuneStage,
    FineTuneStatus,
    FineTuneTrainer,
    PreflightCheck,
    PreflightResult,
)
from tests.tables import rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@rows("path", ["../up", "a/../b", "a\\b", "C:/data", "c:data", "a\0b"])
def test_paths_that_could_lead_elsewhere_are_refused(path: str) -> None:
    for field in ("source_dir", "output_dir"):
        with pytest.raises(ValidationError):
            FineTunePlan.model_validate({"source_dir": "here", field: path})
    for field in ("checkpoint_path", "training_data_dir"):
        with pytest.raises(ValidationError):
            EmbeddingFineTuneConfig.model_validate({field: path})


def test_dots_within_a_name_are_no_way_up() -> None:
    assert FineTunePlan(source_dir="/data/..hidden").source_dir == "/data/..hidden"


@rows(
    ("field", "bad", "good"),
    [
        ("epochs", 0, 1),
        ("learning_rate", 0, 1e-9),
        ("temperature", 0, 1e-9),
        ("top_k", 0, 1),
        ("batch_size", 0, 1),
        ("validation_split", 0, 0.01),
        ("validation_split", 1, 0.99),
    ],
)
def test_values_of_a_plan_have_bounds(field: str, bad: float, good: float) -> None:
    with pytest.raises(ValidationError):
        FineTunePlan.model_validate({"source_dir": "here", field: bad})
    FineTunePlan.model_validate({"source_dir": "here", field: good})


def test_a_request_is_the_plan_without_where_it_runs() -> None:
    execution = FineTuneExecution(backend="docker", image="x")
    plan = FineTunePlan(source_dir="here", epochs=2, execution=execution)
    assert plan.to_request().model_dump() == plan.model_dump(exclude={"execution"})
    with pytest.raises(ValidationError):
        FineTuneExecution(backend="docker")


def test_what_a_plan_leaves_open_is_the_trainers_own() -> None:
    every = FineTuneRunConfig.of(
        FineTunePlan(source_dir="here", trainer=FineTuneTrainer.CONTRASTIVE, top_k=9)
    )
    assert (every.epochs, every.learning_rate, every.temperature) == (6, 5e-5, 0.05)
    assert (every.top_k, every.batch_size, every.validation_split) == (9, 128, 0.1)
    assert FineTuneRunConfig.of(FineTunePlan(source_dir="here")).epochs == 60
    documented = FineTuneRunConfig()
    assert (documented.epochs, documented.learning_rate, documented.temperature) == (3, 1e-5, 0.02)


def test_the_folder_of_a_model_leads_nowhere_else_and_a_fingerprint_may_look_as_it_likes() -> None:
    with pytest.raises(ValidationError, match=r"'\.\.'"):
        FineTunePlan(
            source_dir="here", trainer=FineTuneTrainer.CONTRASTIVE, base_model="/models/../etc"
        )
    FineTunePlan(source_dir="here", base_model="a\\b")


def test_enabled_needs_checkpoint_and_base() -> None:
    both = {"checkpoint_path": "checkpoints/a.adapter", "base_model": "b"}
    EmbeddingFineTuneConfig.model_validate({"enabled": True, **both})
    for name in both:
        with pytest.raises(ValidationError, match=f"{name} is required"):
            EmbeddingFineTuneConfig.model_validate({"enabled": True, **both, name: None})
    EmbeddingFineTuneConfig()


@rows(
    ("fields", "fits"),
    [
        ({"stage": "idle"}, True),
        ({"stage": "idle", "progress": 0.1}, False),
        ({"stage": "idle", "error": "x"}, False),
        ({"stage": "failed"}, False),
        ({"stage": "failed", "error": "x"}, True),
        ({"stage": "training", "error": "x"}, False),
        ({"stage": "training", "progress": 0.1}, True),
    ],
)
def test_a_status_fits_its_stage(fields: dict[str, Any], fits: bool) -> None:
    if fits:
        FineTuneStatus.model_validate(fields)
        return
    with pytest.raises(ValidationError):
        FineTuneStatus.model_validate(fields)


def run(**fields: Any) -> FineTuneRun:
    request = FineTunePlan(source_dir="here").to_request()
    about = {"id": "r", "request": request, "config": FineTuneRunConfig.of(request)}
    return FineTuneRun.model_validate({**about, "started_at": NOW, "updated_at": NOW, **fields})


def test_a_run_is_completed_exactly_when_it_is_over() -> None:
    later = NOW + timedelta(seconds=5)
    assert run(stage=FineTuneStage.COMPLETE, completed_at=later).duration_seconds == 5
    assert run(stage=FineTuneStage.TRAINING).duration_seconds is None
    with pytest.raises(ValidationError):
        run(stage=FineTuneStage.FAILED)
    with pytest.raises(ValidationError):
        run(stage=FineTuneStage.TRAINING, completed_at=later)


def figures(**fields: float) -> EvalMetrics:
    base = {"ndcg_at_10": 0.6, "recall_at_10": 0.7, "base_ndcg_at_10": 0.5}
    return EvalMetrics.model_validate({**base, "base_recall_at_10": 0.7, **fields})


def test_better_is_only_what_gains_more_than_its_noise_and_loses_no_recall() -> None:
    assert figures(gain_low=0.001).is_surely_better
    assert not figures(gain_low=0.0).is_surely_better
    assert not figures(gain_low=0.001, recall_at_10=0.69).is_surely_better
    assert figures().improvement_ndcg == pytest.approx(0.2)
    assert figures(base_ndcg_at_10=0).improvement_ndcg == 0


def test_a_preflight_can_proceed_unless_something_failed() -> None:
    def result(*statuses: str) -> PreflightResult:
        checks = [{"name": "c", "status": status, "message": ""} for status in statuses]
        return PreflightResult(checks=tuple(map(PreflightCheck.model_validate, checks)))

    assert result("pass", "warn").can_proceed
    assert not result("pass", "fail").can_proceed


def test_what_is_unsupported_has_a_reason_that_stays() -> None:
    error = BackendUnsupportedError("no embedder")
    assert (error.reason, error.domain_code) == ("no embedder", "not_supported")
    assert not error.is_retryable
    with pytest.raises(AttributeError):
        error.reason = "another"  # type: ignore[misc]
    with pytest.raises(ValueError, match="reason"):
        BackendUnsupportedError(" ")
