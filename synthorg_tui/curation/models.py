"""The data of a lesson: analysed runs, proposals, their evidence and who wrote each field.

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
MAX_CHECK = 600


class ProceduralMemoryScope(StrEnum):
    """The agents that a lesson is for: its own, those of a role or department, or all."""

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

    ``confidence`` is in [0, 1]. ``supersedes`` are ids of memories that it would replace;
    ``superseded_by`` is set once another has replaced it. Tags beyond the twentieth are dropped.
    ``name`` is what a skill drawn from it is to be called, empty when its discovery shall name it;
    ``check`` says how to tell that it worked.
    """

    discovery: Discovery
    condition: Paragraph
    action: Paragraph
    rationale: Paragraph
    execution_steps: tuple[NotBlankStr, ...] = Field(default=(), max_length=MAX_STEPS)
    check: str = Field(default="", max_length=MAX_CHECK)
    name: str = Field(default="", pattern=r"^(?:[a-z0-9]+(?:-[a-z0-9]+)*)?$", max_length=64)
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


class Author(StrEnum):
    """The author of a field.

    Code wrote it from recorded evidence (``EVIDENCE``), or from what an agent reported of itself
    (``REPORTED``); or a model, a person, or an agent did.
    """

    EVIDENCE = "evidence"
    REPORTED = "reported"
    MODEL = "model"
    PERSON = "person"
    AGENT = "agent"

    @property
    def words(self) -> str:
        """The author as a person is told: ``by evidence``, and of a report that it is one."""
        is_reported = self is Author.REPORTED
        return "reported by the agent itself, not recorded" if is_reported else f"by {self.value}"


WORDED_FIELDS = (
    "discovery",
    "condition",
    "action",
    "rationale",
    "check",
    "execution_steps",
    "name",
)
"""The fields of a proposal that somebody wrote, in the order in which they are read."""


ALSO_FAILED = "also failed: "
"""What stands in the error of evidence before the other tries, joined by ``; ``."""


class Evidence(FrozenModel):
    """One occurrence of what a lesson is about; all texts are redacted.

    It was recorded, unless it is ``reported``: then only the agent itself says that it happened.
    ``lines`` is a transcript reference (``<execution>#L12-L30``) from the failing call to the one
    that worked. ``failed`` is the failing call and ``error`` its output, ``resolved_by`` the call
    that worked, as it was written; ``between`` are the calls made between the two. ``ran`` is how
    often a habit's command ran there, ``passed`` how often it went well.
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
    reported: bool = False
    ran: int = Field(default=0, ge=0)
    passed: int = Field(default=0, ge=0)

    @property
    def note(self) -> str:
        """What a person has to know of it besides; empty when it was recorded."""
        return Author.REPORTED.words if self.reported else ""


def recorded_runs(evidence: Iterable[Evidence]) -> int:
    """Return the number of different runs in ``evidence`` that were recorded, not reported.

    Those of subagents are part of the run that started them.
    """
    return len({seen.execution.partition("/")[0] for seen in evidence if not seen.reported})


class LessonKind(StrEnum):
    """The origin of a lesson.

    A ``FAILURE`` is a command that failed and then worked, a ``FILE`` an edit or a read that did. A
    ``GATE`` is what a hook or a check wants before it lets through, a ``CORRECTION`` what a person
    said to an agent, a ``HABIT`` how commands are run in a project, a ``SUCCESS`` how good runs
    end. ``EVOLVED`` is a promotion for all agents.
    """

    FAILURE = "failure"
    SUCCESS = "success"
    EVOLVED = "evolved"
    CORRECTION = "correction"
    GATE = "gate"
    FILE = "file"
    HABIT = "habit"

    @property
    def occurrence(self) -> tuple[str, str, str, str]:
        """The words for what an occurrence tells: done, said, in between, and in the end."""
        return _OCCURRENCES.get(self, FAILED_THEN_WORKED)


FAILED_THEN_WORKED: Final = ("failed", "said", "then", "worked")
_OCCURRENCES: Final = {
    LessonKind.CORRECTION: ("before", "a person said", "about", "then ran"),
    LessonKind.GATE: ("blocked", "said", "then", "passed"),
    LessonKind.HABIT: ("", "", "", "ran"),
}


class Lesson(FrozenModel):
    """A proposal with the evidence for it.

    ``key`` identifies the lesson independently of its wording, so that it gains evidence when it is
    seen again. ``authors`` names the author of each of ``WORDED_FIELDS``; ``grounded`` is the draft
    that code made of the evidence alone. ``task_id`` is the source that its memory will name.
    ``suggested`` is the draft with every text of a model that passed, chosen or not, ``None``
    without any; ``refused`` maps the fields of the other texts to the reason.
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
    suggested: ProceduralMemoryProposal | None = None
    refused: dict[str, str] = Field(default_factory=dict)

    @property
    def recurrence(self) -> int:
        """The number of different runs in its evidence; what was only reported doesn't count."""
        return recorded_runs(self.evidence)

    @property
    def saved_calls(self) -> int:
        """The number of recorded calls that failed for want of this lesson.

        Tries that failed in between count, as far as the evidence names them.
        """
        if self.kind not in {LessonKind.FAILURE, LessonKind.FILE, LessonKind.GATE}:
            return 0
        recorded = [seen for seen in self.evidence if not seen.reported]
        tries = (seen.error.partition(ALSO_FAILED)[2] for seen in recorded)
        return len(recorded) + sum(tried.count("; ") + 1 for tried in tries if tried)

    @property
    def source(self) -> Author:
        """The author of what code wrote: ``REPORTED`` when nothing in its evidence was recorded."""
        is_reported = bool(self.evidence) and not self.recurrence
        return Author.REPORTED if is_reported else Author.EVIDENCE


class FileChangeKind(StrEnum):
    """The ways a skill's file can differ from the approved text; in a ``CONFLICT`` both changed."""

    NEW = "new"
    EDITED = "edited"
    DELETED = "deleted"
    CONFLICT = "conflict"


class FileChangePayload(FrozenModel):
    """A skill's file that differs from what the registry holds.

    ``text`` and ``sha256`` (hex) are of the file on disk, empty when it was deleted. ``ours`` is
    the approved text, empty when there is none, and ``version`` its version number, 0 for none.
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

    ``agent_id`` is the agent that owns them, or the reserved owner of shared memories. ``reasons``
    maps a memory's id to a sentence that says what it is about and why it can be removed.
    """

    type: Literal["prune"] = "prune"
    agent_id: NotBlankStr
    memory_ids: tuple[NotBlankStr, ...] = Field(min_length=1)
    reasons: dict[str, str] = Field(default_factory=dict)
