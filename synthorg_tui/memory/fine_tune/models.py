"""What is asked of fine-tuning and what it answers: plans, runs, checkpoints, figures."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AwareDatetime,
    Field,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.fine_tune import inside_path

MIN_PAIRS: Final = 300
"""Questions with known answers that a run needs at least: below it the spread hides any gain."""
MIN_JUDGES: Final = 60
"""How many of them somebody must have asked, where a model writes the others: half of these judge,
and nothing that a model wrote does."""


class FineTuneStage(StrEnum):
    """How far a run is; the values between the first and the last two are at work."""

    IDLE = "idle"
    GENERATING_DATA = "generating_data"
    MINING_NEGATIVES = "mining_negatives"
    TRAINING = "training"
    EVALUATING = "evaluating"
    DEPLOYING = "deploying"
    COMPLETE = "complete"
    FAILED = "failed"

    @property
    def is_active(self) -> bool:
        """Whether a run at this stage is at work."""
        return self not in (FineTuneStage.IDLE, FineTuneStage.COMPLETE, FineTuneStage.FAILED)


WORK_STAGES: Final = tuple(stage for stage in FineTuneStage if stage.is_active)
"""The stages of a run, in order."""


class FineTuneTrainer(StrEnum):
    """What is trained: a linear map of queries, or all weights of a model for them."""

    ADAPTER = "adapter"
    CONTRASTIVE = "contrastive"


class FineTuneExecution(FrozenModel):
    """Where training runs. Only ``in-process`` is there; ``docker`` is refused when a run starts.

    ``image`` is required for docker. ``timeout_seconds`` ends a run that takes longer.
    """

    backend: Literal["in-process", "docker"] = "in-process"
    image: NotBlankStr | None = None
    gpu_enabled: bool = False
    memory_limit: NotBlankStr = "8g"
    timeout_seconds: float = Field(default=7200.0, gt=0.0)

    @model_validator(mode="after")
    def _validate_image(self) -> Self:
        if self.backend == "docker" and self.image is None:
            reject("image", None, "image is required when the backend is 'docker'")
        return self


class FineTuneOverrides(FrozenModel):
    """Values of training that a plan sets; those that are ``None`` are the trainer's own.

    ``epochs`` is how often training goes over all questions: for the adapter, the most steps it
    takes. ``top_k`` is how many hard negatives each question gets, ``validation_split`` the share
    of the sessions that tell when to stop; as large a share again is held out for the evaluation,
    at least a fifth. ``batch_size`` counts for all weights alone: the adapter takes all at once.
    """

    epochs: int | None = Field(default=None, ge=1)
    learning_rate: float | None = Field(default=None, gt=0.0)
    temperature: float | None = Field(default=None, gt=0.0)
    top_k: int | None = Field(default=None, ge=1)
    batch_size: int | None = Field(default=None, ge=1)
    validation_split: float | None = Field(default=None, gt=0.0, lt=1.0)


class FineTuneRequest(FineTuneOverrides):
    """What a run is to do, without where it is executed; stored with the run.

    ``source_dir`` is a folder with files of questions (``*.jsonl``, each line an object with
    ``question``, ``relevant`` as a list of ids of memories, and optionally ``agent`` and
    ``session``); the data directory itself stands for the store's own questions alone. A run
    always uses the store's own, too. ``write_about`` is how many memories the language model of the
    settings writes a question about, to learn from besides. ``base_model`` must be the fingerprint
    of the embedder in use for the adapter; for all weights it names the folder of the model in use,
    which a person has.
    """

    source_dir: NotBlankStr
    trainer: FineTuneTrainer = FineTuneTrainer.ADAPTER  # before what its value decides on
    base_model: NotBlankStr | None = None
    output_dir: NotBlankStr | None = None
    resume_run_id: NotBlankStr | None = None
    write_about: int = Field(default=0, ge=0, le=10_000)
    seed: int = Field(default=0, ge=0)

    @field_validator("source_dir", "output_dir")
    @classmethod
    def _validate_paths(cls, path: str | None) -> str | None:
        return None if path is None else inside_path("path", path)

    @field_validator("base_model")
    @classmethod
    def _validate_base_model(cls, named: str | None, info: ValidationInfo) -> str | None:
        is_folder = info.data.get("trainer") is FineTuneTrainer.CONTRASTIVE
        return inside_path("base_model", named) if named is not None and is_folder else named


class FineTunePlan(FineTuneRequest):
    """What a person or a tool asks for; ``execution`` is where it runs."""

    execution: FineTuneExecution = FineTuneExecution.model_construct()

    def to_request(self) -> FineTuneRequest:
        """Return what is stored with the run: everything but ``execution``."""
        return FineTuneRequest.model_validate(
            self.model_dump(exclude={"execution"}, exclude_none=True)
        )


class FineTuneRunConfig(FrozenModel):
    """The values that training uses; the defaults here are those that are documented."""

    epochs: int = Field(default=3, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0.0)
    temperature: float = Field(default=0.02, gt=0.0)
    top_k: int = Field(default=4, ge=1)
    batch_size: int = Field(default=128, ge=1)
    validation_split: float = Field(default=0.1, gt=0.0, lt=1.0)

    @classmethod
    def of(cls, request: FineTuneRequest) -> Self:
        """Return the values of a request: its own, and the trainer's where it names none."""
        asked = request.model_dump(include=set(FineTuneOverrides.model_fields), exclude_none=True)
        return cls.model_validate({**OWN_DEFAULTS[request.trainer], **asked})


OWN_DEFAULTS: Final[dict[FineTuneTrainer, dict[str, Any]]] = {
    FineTuneTrainer.ADAPTER: {
        "epochs": 60,
        "learning_rate": 3e-4,
        "temperature": 0.05,
        "top_k": 8,
    },
    FineTuneTrainer.CONTRASTIVE: {"epochs": 6, "learning_rate": 5e-5, "temperature": 0.05},
}
"""Where trainers differ from what is documented. Measured on long conversations: for the adapter a
rate of 1e-3 learns by heart within 20 steps, this one gains for about 30. With a few hundred
questions the documented values of all weights take a dozen steps that change next to nothing, and
that for the worse. Training stops earlier by itself."""


class CurvePoint(FrozenModel):
    """What training had come to after ``step``: its loss, and the metric of validation."""

    step: int = Field(ge=0)
    loss: float
    metric: float


class EvalMetrics(FrozenModel):
    """Figures on questions of sessions that training never saw, beside those of the base.

    ``ndcg_at_10`` and ``recall_at_10`` are of the fused ranking, which is what agents get; the
    ``dense`` ones are of meaning alone. ``gain_low`` and ``gain_high`` are the limits of the 95 %
    interval of the gain in NDCG over resampled questions.
    """

    ndcg_at_10: float = Field(ge=0.0, le=1.0)
    recall_at_10: float = Field(ge=0.0, le=1.0)
    base_ndcg_at_10: float = Field(ge=0.0, le=1.0)
    base_recall_at_10: float = Field(ge=0.0, le=1.0)
    dense_ndcg_at_10: float = Field(default=0.0, ge=0.0, le=1.0)
    dense_recall_at_10: float = Field(default=0.0, ge=0.0, le=1.0)
    base_dense_ndcg_at_10: float = Field(default=0.0, ge=0.0, le=1.0)
    base_dense_recall_at_10: float = Field(default=0.0, ge=0.0, le=1.0)
    questions: int = Field(default=0, ge=0)
    gain_low: float = 0.0
    gain_high: float = 0.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def improvement_ndcg(self) -> float:
        """The gain in NDCG relative to the base; 0 where the base has none."""
        return _relative(self.ndcg_at_10, self.base_ndcg_at_10)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def improvement_recall(self) -> float:
        """The gain in recall relative to the base; 0 where the base has none."""
        return _relative(self.recall_at_10, self.base_recall_at_10)

    @property
    def is_surely_better(self) -> bool:
        """Whether the fused gain is more than its noise, and recall isn't lost for it."""
        return self.gain_low > 0.0 and self.recall_at_10 >= self.base_recall_at_10

    @property
    def verdict(self) -> str:
        """What can be done with the checkpoint, in words."""
        if self.is_surely_better:
            return f"better than the base and ready to be deployed: {self.words}"
        return f"not surely better than the base, so it can't be deployed: {self.words}"

    @property
    def words(self) -> str:
        """The figures in one line, as people are told why a checkpoint is refused or good."""
        gain = self.ndcg_at_10 - self.base_ndcg_at_10
        return (
            f"NDCG@10 {self.base_ndcg_at_10:.3f} -> {self.ndcg_at_10:.3f}, recall@10 "
            f"{self.base_recall_at_10:.3f} -> {self.recall_at_10:.3f} on {self.questions} held-out "
            f"questions; gain {gain:+.3f}, between {self.gain_low:+.3f} and {self.gain_high:+.3f}"
        )


class CutoffValues(FrozenModel):
    """The cutoffs of relevance fitted to a checkpoint, and how far they are moved for that."""

    moved: float
    convincing: float
    plausible: float


class FineTuneRun(FrozenModel):
    """A run as it stands; ``completed_at`` is set exactly when it is complete or failed.

    A cancelled or interrupted run has failed, ``error`` says so, and it can be resumed.
    ``pairs`` counts its questions, ``written`` those of them that a model wrote, after it was asked
    about ``written_about`` memories. ``checkpoint_id`` is the checkpoint it made, whether or not
    that was deployed; ``note`` says what became of it.
    """

    id: NotBlankStr
    stage: FineTuneStage
    request: FineTuneRequest
    config: FineTuneRunConfig
    started_at: AwareDatetime
    updated_at: AwareDatetime
    completed_at: AwareDatetime | None = None
    progress: float | None = Field(default=None, ge=0.0, le=1.0)
    error: str | None = None
    stages_completed: tuple[FineTuneStage, ...] = ()
    pairs: int = Field(default=0, ge=0)
    written: int = Field(default=0, ge=0)
    written_about: int = Field(default=0, ge=0)
    curve: tuple[CurvePoint, ...] = ()
    metrics: EvalMetrics | None = None
    cutoff: CutoffValues | None = None
    checkpoint_id: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _validate_completion(self) -> Self:
        is_over = self.stage in (FineTuneStage.COMPLETE, FineTuneStage.FAILED)
        if is_over != (self.completed_at is not None):
            reject("completed_at", self.completed_at, "is set exactly when a run is over")
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def duration_seconds(self) -> float | None:
        """Seconds from start to end, pauses included; ``None`` while it isn't over."""
        if self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()


class FineTuneStatus(FrozenModel):
    """A snapshot of a run, or ``idle`` without one."""

    run_id: str | None = None
    stage: FineTuneStage = FineTuneStage.IDLE
    progress: float | None = Field(default=None, ge=0.0, le=1.0)
    error: str | None = None
    detail: str = ""

    @model_validator(mode="after")
    def _validate_stage(self) -> Self:
        if self.stage is FineTuneStage.IDLE and (self.progress is not None or self.error):
            reject("stage", self.stage, "an idle status has neither progress nor error")
        if self.stage is FineTuneStage.FAILED and not self.error:
            reject("error", self.error, "a failed status needs an error")
        if self.stage.is_active and self.error:
            reject("error", self.error, "an active stage has no error")
        return self


class CheckpointRecord(FrozenModel):
    """A checkpoint: what was trained, on what, how good it is, and whether it is in force.

    ``model_path`` is relative to the data directory: a file, or the folder of an encoder, of which
    ``sha256`` is that of ``encoder.json``. ``fingerprint`` is base and training together.
    ``backup_config_json`` holds the settings that deploying it replaced, for rolling back.
    ``erased_since`` counts memories it was trained on that were purged since: their words aren't in
    it, but what they had in common may be.
    """

    id: NotBlankStr
    run_id: NotBlankStr
    model_path: NotBlankStr
    base_model: NotBlankStr
    fingerprint: NotBlankStr
    sha256: NotBlankStr
    doc_count: int = Field(ge=0)
    eval_metrics: EvalMetrics | None = None
    cutoff: CutoffValues | None = None
    size_bytes: int = Field(ge=0)
    created_at: AwareDatetime
    is_active: bool = False
    backup_config_json: str | None = None
    erased_since: int = Field(default=0, ge=0)


class ActiveEmbedderSnapshot(FrozenModel):
    """The embedder in force: the base, and the checkpoint on top of it if there is one.

    ``problem`` says why a configured checkpoint isn't used, such as a file that was changed.
    """

    provider: NotBlankStr
    model: NotBlankStr
    dims: int | None = Field(default=None, ge=1)
    checkpoint_id: str | None = None
    fingerprint: NotBlankStr
    read_from_settings_at: datetime | None = None
    problem: str = ""


class PreflightCheck(FrozenModel):
    """One thing that was looked at before a run."""

    name: NotBlankStr
    status: Literal["pass", "warn", "fail"]
    message: str
    detail: Annotated[dict[str, Any], Field(default_factory=dict)]


class PreflightResult(FrozenModel):
    """What was looked at before a run; it can start unless something failed."""

    checks: tuple[PreflightCheck, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def can_proceed(self) -> bool:
        """Whether nothing failed."""
        return all(check.status != "fail" for check in self.checks)


def _relative(value: float, base: float) -> float:
    return (value - base) / base if base else 0.0
