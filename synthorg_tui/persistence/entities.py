"""The entities of operational data, as the repositories take them and give them back.

All are frozen. Ids are the caller's where they mean something elsewhere (a task's is that of its
run) and made here where they only tell records apart. Costs are in the currency of the configured
prices, whatever the documented name of a field says.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, Self
from uuid import uuid4

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from synthorg_tui.core.enums import (
    ActivityStatus,
    ArtifactType,
    Complexity,
    Priority,
    ProjectStatus,
    RiskLevel,
    SecurityVerdictType,
    TaskStatus,
    TaskType,
)
from synthorg_tui.core.types import FrozenModel, NotBlankStr

OWN_AGENT: Final = "synthorg"
"""Agent of what the program itself does, such as wording a lesson."""

NO_TASK: Final = "none"
"""Task of a cost that belongs to none."""

OWN_PROVIDERS: Final = ("auto", "gguf", "openai", "unknown")
"""Kinds of configured models; what was used before kinds were recorded is of one, too."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal."""


def _new_id() -> str:
    return str(uuid4())


_UNASSIGNED: Final = frozenset({TaskStatus.CREATED})
_ASSIGNED: Final = frozenset(
    {TaskStatus.ASSIGNED, TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW, TaskStatus.COMPLETED}
)
_STOPPED: Final = frozenset({TaskStatus.BLOCKED, TaskStatus.FAILED, TaskStatus.INTERRUPTED})

TASK_TRANSITIONS: Final[Mapping[TaskStatus, frozenset[TaskStatus]]] = {
    TaskStatus.CREATED: frozenset({TaskStatus.ASSIGNED}),
    TaskStatus.ASSIGNED: _STOPPED | {TaskStatus.IN_PROGRESS, TaskStatus.CANCELLED},
    TaskStatus.IN_PROGRESS: _STOPPED | {TaskStatus.IN_REVIEW, TaskStatus.CANCELLED},
    TaskStatus.IN_REVIEW: frozenset(
        {
            TaskStatus.COMPLETED,
            TaskStatus.IN_PROGRESS,
            TaskStatus.BLOCKED,
            TaskStatus.CANCELLED,
        }
    ),
    **dict.fromkeys(_STOPPED, frozenset({TaskStatus.ASSIGNED})),
    TaskStatus.COMPLETED: frozenset(),
    TaskStatus.CANCELLED: frozenset(),
}
"""To which states a task may go from each."""


class Task(FrozenModel):
    """A piece of work for an agent.

    A ``created`` task has no ``assigned_to``; one that is assigned, worked on, in review or
    completed needs it. ``budget_limit`` 0 is none.
    """

    id: NotBlankStr
    title: NotBlankStr
    description: NotBlankStr
    type: TaskType
    project: NotBlankStr
    created_by: NotBlankStr
    priority: Priority = Priority.MEDIUM
    estimated_complexity: Complexity = Complexity.MEDIUM
    assigned_to: NotBlankStr | None = None
    status: TaskStatus = TaskStatus.CREATED
    parent_task_id: NotBlankStr | None = None
    max_retries: int = Field(default=1, ge=0)
    budget_limit: float = Field(default=0.0, ge=0.0)
    deadline: AwareDatetime | None = None

    @model_validator(mode="after")
    def _validate_assignment(self) -> Self:
        if self.status in _UNASSIGNED and self.assigned_to is not None:
            raise ValueError(f"a task that is {self.status} has no assigned_to yet")
        if self.status in _ASSIGNED and self.assigned_to is None:
            raise ValueError(f"a task that is {self.status} needs assigned_to")
        if self.parent_task_id == self.id:
            raise ValueError("a task can't be its own parent")
        return self

    def moved(self, status: TaskStatus, *, assigned_to: str | None = None) -> "Task":
        """Return the task in another state, assigned to ``assigned_to`` if that is given.

        Raises ``ValueError`` when ``TASK_TRANSITIONS`` has no way there.
        """
        allowed = TASK_TRANSITIONS[self.status]
        if status not in allowed:
            ways = ", ".join(sorted(allowed)) or "nothing: it is final"
            raise ValueError(f"a task can't go from {self.status} to {status}; allowed: {ways}")
        changes = {"status": status, "assigned_to": assigned_to or self.assigned_to}
        return Task.model_validate({**dict(self), **changes})


class CostRecord(FrozenModel):
    """What one answer of a model used.

    ``provider`` says what answered (``gguf``, ``openai``, an installed agent), ``seconds`` how long
    it took.
    """

    agent_id: NotBlankStr
    task_id: NotBlankStr
    provider: NotBlankStr
    model: NotBlankStr
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost_usd: float = Field(ge=0.0)
    timestamp: AwareDatetime
    seconds: float = Field(default=0.0, ge=0.0)

    @model_validator(mode="after")
    def _validate_cost(self) -> Self:
        if self.cost_usd > 0 and self.input_tokens + self.output_tokens == 0:
            raise ValueError("a cost needs tokens that it is for")
        return self


class Message(FrozenModel):
    """A message between agents in a channel."""

    id: NotBlankStr = Field(default_factory=_new_id)
    timestamp: AwareDatetime
    sender: NotBlankStr
    to: NotBlankStr
    type: NotBlankStr
    channel: NotBlankStr
    content: NotBlankStr
    priority: Priority = Priority.MEDIUM


class LifecycleEvent(FrozenModel):
    """Something that happened to an agent itself: ``event_type`` is ``paused``, for example."""

    id: NotBlankStr = Field(default_factory=_new_id)
    agent_id: NotBlankStr
    event_type: NotBlankStr
    timestamp: AwareDatetime
    initiated_by: NotBlankStr
    details: str = ""


class TaskMetric(FrozenModel):
    """How a task went, once it had ended; ``tokens_used`` are those read and written."""

    id: NotBlankStr = Field(default_factory=_new_id)
    agent_id: NotBlankStr
    task_id: NotBlankStr
    task_type: TaskType
    completed_at: AwareDatetime
    is_success: bool
    duration_seconds: float = Field(ge=0.0)
    cost_usd: float = Field(ge=0.0)
    turns_used: int = Field(ge=0)
    tokens_used: int = Field(ge=0)
    quality_score: float | None = Field(default=None, ge=0.0, le=10.0)
    complexity: Complexity = Complexity.MEDIUM


class CollaborationMetric(FrozenModel):
    """How an agent worked with another one, once; what wasn't measured is ``None``."""

    id: NotBlankStr = Field(default_factory=_new_id)
    agent_id: NotBlankStr
    recorded_at: AwareDatetime
    delegation_success: bool | None = None
    delegation_response_seconds: float | None = Field(default=None, ge=0.0)
    conflict_constructiveness: float | None = Field(default=None, ge=0.0, le=1.0)
    handoff_completeness: float | None = Field(default=None, ge=0.0, le=1.0)


class ParkedContext(FrozenModel):
    """A run that waits for the approval item ``approval_id``; ``context_json`` is its state."""

    id: NotBlankStr = Field(default_factory=_new_id)
    execution_id: NotBlankStr
    agent_id: NotBlankStr
    task_id: NotBlankStr | None = None
    approval_id: NotBlankStr
    parked_at: AwareDatetime
    context_json: str
    metadata: dict[str, str] = Field(default_factory=dict)


class AuditEntry(FrozenModel):
    """What was decided on a call of a tool: whether it might run, by which rules, at what risk.

    Of the arguments only ``arguments_hash`` is kept. ``evaluation_duration_ms`` is how long the
    decision took.
    """

    id: NotBlankStr = Field(default_factory=_new_id)
    timestamp: AwareDatetime
    agent_id: NotBlankStr | None = None
    task_id: NotBlankStr | None = None
    tool_name: NotBlankStr
    tool_category: NotBlankStr
    action_type: NotBlankStr
    arguments_hash: Sha256
    verdict: SecurityVerdictType
    risk_level: RiskLevel
    reason: str
    matched_rules: tuple[NotBlankStr, ...] = ()
    evaluation_duration_ms: float = Field(ge=0.0)
    approval_id: NotBlankStr | None = None


class User(FrozenModel):
    """An account of a person; ``password_hash`` is what a password is checked against."""

    id: NotBlankStr = Field(default_factory=_new_id)
    username: NotBlankStr
    password_hash: NotBlankStr = Field(repr=False)
    role: NotBlankStr
    must_change_password: bool = False
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ApiKey(FrozenModel):
    """A key by which a program acts for a user; only its SHA-256 exists here."""

    id: NotBlankStr = Field(default_factory=_new_id)
    key_hash: Sha256 = Field(repr=False)
    name: NotBlankStr
    role: NotBlankStr
    user_id: NotBlankStr
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked: bool = False


class Checkpoint(FrozenModel):
    """The state of a run after a complete step of turn ``turn_number``, as JSON."""

    id: NotBlankStr = Field(default_factory=_new_id)
    execution_id: NotBlankStr
    agent_id: NotBlankStr
    task_id: NotBlankStr
    turn_number: int = Field(ge=0)
    context_json: str
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))


class Heartbeat(FrozenModel):
    """The last sign of life of the process that works on a run."""

    execution_id: NotBlankStr
    agent_id: NotBlankStr
    task_id: NotBlankStr
    last_heartbeat_at: AwareDatetime


class AgentRuntimeState(FrozenModel):
    """What an agent does at the moment; an ``idle`` one has no execution, any other needs one.

    A ``paused`` agent may have none: a person can pause it when it does nothing.
    """

    agent_id: NotBlankStr
    execution_id: NotBlankStr | None = None
    task_id: NotBlankStr | None = None
    status: ActivityStatus
    turn_count: int = Field(default=0, ge=0)
    accumulated_cost: float = Field(default=0.0, ge=0.0)
    last_activity_at: AwareDatetime
    started_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _validate_execution(self) -> Self:
        if self.status is ActivityStatus.IDLE and self.execution_id is not None:
            raise ValueError("an agent that is idle has no execution")
        if self.status is ActivityStatus.EXECUTING and self.execution_id is None:
            raise ValueError("an agent that is executing needs execution_id")
        return self


class Setting(FrozenModel):
    """A value that was set in the app, by its namespace (a section) and key."""

    namespace: NotBlankStr
    key: NotBlankStr
    value: str
    updated_at: AwareDatetime


class Artifact(FrozenModel):
    """A file that came of a task."""

    id: NotBlankStr = Field(default_factory=_new_id)
    type: ArtifactType
    path: NotBlankStr
    task_id: NotBlankStr
    created_by: NotBlankStr
    description: str = ""
    created_at: AwareDatetime | None = None


class Project(FrozenModel):
    """A project with the agents that work on it; ``lead`` is one of them, or nobody."""

    id: NotBlankStr
    name: NotBlankStr
    description: str = ""
    team: tuple[NotBlankStr, ...] = ()
    lead: NotBlankStr | None = None
    deadline: AwareDatetime | None = None
    budget: float = Field(default=0.0, ge=0.0)
    status: ProjectStatus = ProjectStatus.PLANNING

    @model_validator(mode="after")
    def _validate_team(self) -> Self:
        if len(set(self.team)) != len(self.team):
            raise ValueError("team names an agent twice")
        return self


class CustomPreset(FrozenModel):
    """A personality for agents that a person made; ``config_json`` is all of it."""

    name: NotBlankStr
    config_json: NotBlankStr
    description: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime
