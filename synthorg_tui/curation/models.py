"""What a lesson is made of: analysed runs, proposals, their evidence and who wrote what.

Plain data that is stored as JSON, so a field can be added but not renamed. No module here may read
a store or decide anything. The first names are the ``event`` of log records about skills.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr

SKILL_EVOLVER_CYCLE_START: Final = "skill_evolver.cycle.start"
SKILL_EVOLVER_CYCLE_COMPLETE: Final = "skill_evolver.cycle.complete"
SKILL_EVOLVER_CYCLE_FAILED: Final = "skill_evolver.cycle.failed"
SKILL_EVOLVER_PROPOSAL_EMITTED: Final = "skill_evolver.proposal.emitted"
SKILL_EVOLVER_CONFLICT_DETECTED: Final = "skill_evolver.conflict.detected"
SKILL_EVOLVER_DISABLED: Final = "skill_evolver.disabled"
ORG_SKILL_SUPERSEDED: Final = "org_skill.superseded"


LESSON_ACTION: Final = "procedural:lesson"
"""The type of an item that proposes a lesson for its own agent, role or department."""

MAX_STEPS = 50
MAX_TAGS = 20
MAX_DISCOVERY = 600
MAX_TEXT = 2000
"""Characters of a condition, an action or a rationale."""


class ProceduralMemoryScope(StrEnum):
    """Whom a lesson is for."""

    AGENT = "agent"
    ROLE = "role"
    DEPARTMENT = "department"
    ORG = "org"


def _first_tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))[:MAX_TAGS]


Discovery = Annotated[NotBlankStr, StringConstraints(max_length=MAX_DISCOVERY)]
Paragraph = Annotated[NotBlankStr, StringConstraints(max_length=MAX_TEXT)]
Count = Annotated[int, Field(ge=0)]


class ProceduralMemoryProposal(FrozenModel):
    """A lesson in three tiers: discovery; condition, action and rationale; execution steps.

    ``supersedes`` are ids of memories it would replace; with ``superseded_by`` it is a
    tombstone. ``tags`` beyond the twentieth are dropped.
    """

    discovery: Discovery
    condition: Paragraph
    action: Paragraph
    rationale: Paragraph
    execution_steps: tuple[NotBlankStr, ...] = Field(default=(), max_length=MAX_STEPS)
    confidence: float = Field(ge=0.0, le=1.0)
    tags: Annotated[tuple[NotBlankStr, ...], AfterValidator(_first_tags)] = ()
    scope: ProceduralMemoryScope = ProceduralMemoryScope.AGENT
    supersedes: tuple[NotBlankStr, ...] = ()
    superseded_by: NotBlankStr | None = None
    application_count: Count = 0
    last_applied_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _validate_supersession(self) -> Self:
        if self.superseded_by is not None and self.superseded_by in self.supersedes:
            raise ValueError(f"{self.superseded_by!r} can't be in supersedes and superseded_by")
        return self


class FailureAnalysisPayload(FrozenModel):
    """A failed run as the proposer sees it: sanitised, and without the conversation.

    ``tool_calls_made`` names the tools in order, with repeats.
    """

    task_id: NotBlankStr
    task_title: NotBlankStr
    task_description: str
    task_type: NotBlankStr
    error_message: str
    strategy_type: NotBlankStr
    termination_reason: NotBlankStr
    turn_count: Count
    tool_calls_made: tuple[NotBlankStr, ...] = ()
    retry_count: Count = 0
    max_retries: Count = 0
    can_reassign: bool = False
    error_category: NotBlankStr = "unknown"
    missing_capability: NotBlankStr | None = None

    @model_validator(mode="after")
    def _validate_retries(self) -> Self:
        if self.retry_count > self.max_retries:
            raise ValueError("retry_count must be <= max_retries")
        return self


class SuccessAnalysisPayload(FrozenModel):
    """A successful run as the proposer sees it; ``tool_names`` are sorted and unique."""

    task_id: NotBlankStr
    turn_count: Count
    tool_names: tuple[NotBlankStr, ...] = ()
    outcome: NotBlankStr


class Author(StrEnum):
    """Who wrote a field: code from what is recorded, the model, a person, or an agent."""

    EVIDENCE = "evidence"
    MODEL = "model"
    PERSON = "person"
    AGENT = "agent"


WORDED_FIELDS = ("discovery", "condition", "action", "rationale", "execution_steps")
"""The fields of a proposal that somebody wrote."""


class Evidence(FrozenModel):
    """One recorded occurrence of what a lesson is about; all texts are redacted.

    ``lines`` is a transcript reference (``<execution>#L12-L30``) from the failing call to the
    one that worked. ``error`` is the output of the failing call, ``resolved_by`` the call that
    worked, as it was written; ``between`` what was done in between.
    """

    execution: NotBlankStr
    lines: NotBlankStr
    agent_id: NotBlankStr
    failed: str = ""
    error: str = ""
    resolved_by: str = ""
    between: tuple[str, ...] = ()
    at: AwareDatetime | None = None
    project: str | None = None


class LessonKind(StrEnum):
    """What a lesson was drawn from; an evolved one is a promotion to the whole organisation."""

    FAILURE = "failure"
    SUCCESS = "success"
    EVOLVED = "evolved"


class Lesson(FrozenModel):
    """A proposal with its evidence.

    ``key`` names the lesson whatever its wording: seen again it gains evidence. ``authors`` says
    who wrote each of ``WORDED_FIELDS``; ``grounded`` is the draft that code made of the evidence.
    ``task_id`` is what its memory names as its source.
    """

    type: Literal["lesson"] = "lesson"
    key: NotBlankStr
    kind: LessonKind
    agent_id: NotBlankStr
    task_id: NotBlankStr
    proposal: ProceduralMemoryProposal
    grounded: ProceduralMemoryProposal
    authors: dict[str, Author]
    evidence: tuple[Evidence, ...] = ()

    @property
    def recurrence(self) -> int:
        """How many different runs it was seen in."""
        return len({occurrence.execution for occurrence in self.evidence})


class FileChangeKind(StrEnum):
    """How a skill's file differs from the approved version."""

    NEW = "new"
    EDITED = "edited"
    DELETED = "deleted"
    CONFLICT = "conflict"


class FileChangePayload(FrozenModel):
    """A skill's file that is not as the registry has it.

    ``text`` and ``sha256`` are of the file as it is on disk, empty when it is deleted. ``ours`` is
    the approved text, empty when there is none; it is ``version`` of the skill, 0 for none. In a
    conflict both sides changed.
    """

    type: Literal["file_change"] = "file_change"
    change: FileChangeKind
    name: NotBlankStr
    path: NotBlankStr
    text: str = ""
    sha256: str = ""
    ours: str = ""
    version: Count = 0


class PrunePayload(FrozenModel):
    """Memories of one owner that are proposed for removal.

    ``agent_id`` owns them, or is the reserved owner of what is shared. ``reasons`` says for each
    id what it is about and why it can be removed.
    """

    type: Literal["prune"] = "prune"
    agent_id: NotBlankStr
    memory_ids: tuple[NotBlankStr, ...] = Field(min_length=1)
    reasons: dict[str, str] = Field(default_factory=dict)
