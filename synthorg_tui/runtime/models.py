"""The data of a run: what was asked for, its steps, how it stands and how it ended.

Plain data for the runtime, its screens and its commands. What a run teaches is read from its
``Execution``, as of any other session; nothing here decides or stores.
"""

from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, Field

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.providers.models import ToolUse
from synthorg_tui.runtime import RunLimits

BUILT_IN = "builtin"
"""Name of the executor that runs an agent here, with the configured model."""


class RunProfile(StrEnum):
    """What a run may do without asking.

    A ``READ_ONLY`` run has no tool that writes or executes. With ``ASK`` each such call waits for
    the person. ``UNATTENDED`` asks for nothing inside its workspace; only a person can choose it.
    """

    READ_ONLY = "read_only"
    ASK = "ask"
    UNATTENDED = "unattended"


class GivenSkill(FrozenModel):
    """A skill that a run is given besides what memory would give it; ``text`` is its SKILL.md."""

    name: NotBlankStr
    text: NotBlankStr


class RunRequest(FrozenModel):
    """A wish to run an agent on a task.

    ``workspace`` is the folder in which it works. ``executor`` is ``BUILT_IN`` or the name of an
    installed agent (``claude``, ``codex``, ``opencode``). ``model`` is another model than the
    executor's own. Without ``memory`` it is given no digest and no memory tools. ``parent`` is the
    run that delegated this one. ``place`` names the program that carries it out where several have
    the same store; the service sets it.
    """

    task: NotBlankStr
    agent_id: NotBlankStr
    workspace: Path
    executor: NotBlankStr = BUILT_IN
    profile: RunProfile = RunProfile.ASK
    limits: RunLimits = RunLimits.model_construct()
    model: str | None = None
    memory: bool = True
    skills: tuple[GivenSkill, ...] = ()
    parent: str | None = None
    place: str = ""


class RunStatus(StrEnum):
    """How a run stands; ``INTERRUPTED`` is one whose process ended, which can be resumed."""

    RUNNING = "running"
    PARKED = "parked"
    INTERRUPTED = "interrupted"
    ENDED = "ended"


class StepKind(StrEnum):
    """What a step of a run is."""

    GIVEN = "given"
    ANSWER = "answer"
    CALL = "call"
    PARKED = "parked"
    NOTE = "note"


class RunStep(FrozenModel):
    """One complete step of a run, numbered from 1 in the order in which they happened.

    ``GIVEN`` is what the run began with (``text`` is the digest, ``memory_ids`` what it holds), an
    ``ANSWER`` a text of the model, a ``CALL`` a tool call with its output as ``text``, ``PARKED`` a
    call that waits for the approval item ``item_id``, a ``NOTE`` what the runtime has to say (a
    retry, a limit). Tokens and cost are those of the model's answer that led to the step. ``uses``
    are the calls that an ``ANSWER`` asks for, ``use_id`` says which of them a ``CALL`` or
    ``PARKED`` is about; ``exit_code`` is that of a command.
    """

    number: int = Field(ge=1)
    turn: int = Field(default=0, ge=0)
    at: AwareDatetime
    kind: StepKind
    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    outcome: CallOutcome | None = None
    exit_code: int | None = None
    item_id: str = ""
    uses: tuple[ToolUse, ...] = ()
    use_id: str = ""
    memory_ids: tuple[str, ...] = ()
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0.0)


class AgentRun(FrozenModel):
    """A run as it stands: the request, and what was used so far.

    ``execution_id`` names the record in the store of executions once there is one; ``told`` is how
    it ended in words, or what it waits for. ``item_id`` is the approval item it is parked for.
    """

    id: NotBlankStr
    request: RunRequest
    status: RunStatus
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    reason: TerminationReason | None = None
    told: str = ""
    model: str = ""
    turns: int = Field(default=0, ge=0)
    calls: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0.0)
    item_id: str = ""
    execution_id: str = ""


class ExecutionResult(FrozenModel):
    """What a run came to.

    ``turns`` and ``tool_calls`` are counted over the whole run, also over the part before it was
    parked or killed. ``text`` is the last answer, ``error_message`` what ended a failed run and
    what a person is warned of, also after one that was completed.
    """

    run_id: NotBlankStr
    agent_id: NotBlankStr
    task_id: NotBlankStr
    termination_reason: TerminationReason
    text: str = ""
    turns: int = Field(default=0, ge=0)
    tool_calls: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0.0)
    seconds: float = Field(default=0.0, ge=0.0)
    error_message: str = ""
    execution_id: str = ""


class RecoveryResult(FrozenModel):
    """How a failed run was gone on with.

    ``strategy_type`` names what was tried (``retry``, ``resume``, ``none``). ``can_reassign`` tells
    whether another agent could take the task; ``missing_capability`` what this one lacked.
    """

    strategy_type: NotBlankStr
    retry_count: int = Field(default=0, ge=0)
    max_retries: int = Field(default=0, ge=0)
    can_reassign: bool = False
    error_category: str = ""
    missing_capability: str | None = None
