"""The data that a person sees of an item before deciding, and the results of decisions.

Plain data for the inbox, the review and the screens, and the one place that reads the payload of
an item: what it is about, its texts and who wrote them. Working out what an approval would do is
for ``preview``; nothing here reads a store.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from synthorg_tui.approvals.models import ApprovalItem, Flag, StaleReviewError
from synthorg_tui.core.projects import project_name, repository_of
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.administration import AdminPayload
from synthorg_tui.curation.models import (
    LESSON_ACTION,
    WORDED_FIELDS,
    Author,
    Evidence,
    FileChangePayload,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
    PrunePayload,
)
from synthorg_tui.memory.extensions import ListedMemory, MemoryDraft
from synthorg_tui.memory.org.changes import OrgChange
from synthorg_tui.memory.org.tags import OrgTraits


class WritePayload(FrozenModel):
    """A memory that an agent wants stored; ``draft`` is that memory, redacted already.

    With ``shared``, which only a reviewer sets, all other agents get it, too.
    """

    type: Literal["write"] = "write"
    agent_id: NotBlankStr
    draft: MemoryDraft
    shared: bool = False


class MergePayload(FrozenModel):
    """A text of a model that would stand for memories of an agent, which are archived.

    ``draft`` is the memory it would become. ``marks`` maps the id of each memory it is made of to
    its mark when the text was written; ``archived`` are those that would leave. ``mode`` is an
    ``ArchivalMode``.
    """

    type: Literal["merge"] = "merge"
    agent_id: NotBlankStr
    draft: MemoryDraft
    shared: bool = False
    archived: tuple[NotBlankStr, ...] = Field(min_length=1)
    marks: dict[str, str]
    mode: str = ""


class OrgPayload(FrozenModel):
    """Writes to organisation memory that wait for a person: an agent's, or changes of a file.

    ``why`` is the reason in the words of whoever asks; ``source`` the file that they come from, or
    the client and project of an agent.
    """

    type: Literal["org"] = "org"
    changes: tuple[OrgChange, ...] = Field(min_length=1)
    why: str = ""
    source: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that would be written, in order."""
        return tuple(change.request.content for change in self.changes if change.request)

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects that the facts to be written are about."""
        tags = (change.request.tags for change in self.changes if change.request)
        return tuple(OrgTraits.of(each).project for each in tags)


class RunCallPayload(FrozenModel):
    """A tool call that a run of an agent waits with until a person allows it.

    ``arguments`` are the call's, and ``command`` what it would run, with secrets redacted; ``mark``
    is the SHA-256 (hex) of the call as it would be made, by which it is known again. ``why`` says
    why the run asks.
    """

    type: Literal["run_call"] = "run_call"
    run_id: NotBlankStr
    agent_id: NotBlankStr
    tool: NotBlankStr
    arguments: dict[str, Any] = Field(default_factory=dict)
    workspace: NotBlankStr
    why: str = ""
    command: str = ""
    mark: str = ""


Subject: TypeAlias = (
    Lesson
    | FileChangePayload
    | PrunePayload
    | WritePayload
    | MergePayload
    | OrgPayload
    | RunCallPayload
    | AdminPayload
)
"""What an item's payload can hold."""


class SubjectKind(StrEnum):
    """The kinds of subject an approval item can have; an ``UNREADABLE`` one can only be rejected.

    ``ADMIN`` is an act of administration that an agent asks for.
    ``MERGE`` is a model's text for several memories, which a plan of consolidation proposes.
    ``ORG`` are writes to organisation memory, which an agent or a changed file asks for.
    ``RUN`` is a tool call that a run here waits with.
    ``WRITE`` and ``DELETE`` come from agents whose changes wait for a person; ``PROMOTION`` and
    ``CONFLICT`` come from the evolver, which proposes lessons for all agents.
    """

    LESSON = "lesson"
    PROMOTION = "promotion"
    CONFLICT = "conflict"
    FILE_CHANGE = "file_change"
    PRUNE = "prune"
    WRITE = "write"
    DELETE = "delete"
    MERGE = "merge"
    ORG = "org"
    RUN = "run"
    ADMIN = "admin"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FieldText:
    """One editable text of a proposal and its author; execution steps are lines of one text."""

    text: str
    author: Author


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One approval item in the form that lists show.

    ``subject`` is its payload, ``None`` when that can't be read. ``confidence`` is ``None`` for a
    subject that has none; ``recurrence`` is the number of recorded runs that taught the lesson,
    ``saved_calls`` that of recorded calls it would have saved.
    """

    item: ApprovalItem
    kind: SubjectKind
    subject: Subject | None
    scope: str = ""
    confidence: float | None = None
    recurrence: int = 0
    saved_calls: int = 0
    evidence: tuple[Evidence, ...] = ()
    fields: Mapping[str, FieldText] = field(default_factory=dict)

    @property
    def lesson_kind(self) -> LessonKind | None:
        """The kind of the lesson that it proposes; ``None`` when it proposes something else."""
        return self.subject.kind if isinstance(self.subject, Lesson) else None

    @property
    def rewordable_text(self) -> str | None:
        """The one text that an agent or a file wants stored; ``None`` without one, or of more."""
        if isinstance(self.subject, WritePayload):
            return self.subject.draft.request.content
        if isinstance(self.subject, OrgPayload) and len(self.subject.texts) == 1:
            return self.subject.texts[0]
        return None

    def is_of_kind(self, begun: str) -> bool:
        """Tell whether its kind, or that of its lesson (failure, gate ...), begins so."""
        lesson = self.lesson_kind.value if self.lesson_kind else ""
        return any(name.startswith(begun.lower()) for name in (self.kind.value, lesson) if name)

    def is_of_project(self, named: str) -> bool:
        """Tell whether it is about the project of this folder, or one whose name has this."""
        projects = {seen.project for seen in self.evidence}
        if isinstance(self.subject, WritePayload | MergePayload):
            projects.add(self.subject.draft.project)
        elif isinstance(self.subject, OrgPayload):
            projects |= {*self.subject.projects, self.item.metadata.get("project", "")}
        elif isinstance(self.subject, RunCallPayload):
            projects.add(self.subject.workspace)
        wanted = named.rstrip("/").lower()
        return any(
            repository_of(path) == repository_of(named) or wanted in project_name(path).lower()
            for path in filter(None, projects)
        )


@dataclass(frozen=True, slots=True)
class NearSkill:
    """An active skill or lesson that resembles a proposal; ``similarity`` is in [0, 1].

    ``verdict`` is what the proposal does to it: ``full`` replaces it, ``partial`` stays beside it,
    ``conflict`` says otherwise for the same situation. ``name`` is empty for a memory without a
    skill.
    """

    memory_id: str
    name: str
    discovery: str
    similarity: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Review:
    """Everything that approving an item would do, as of now.

    ``shown`` is a SHA-256 (hex) over the payload, the bytes of the files it would touch and the
    memories it would replace; an approval has to name it, and is refused when it no longer matches.
    ``path`` and ``text`` are the file that would be written, empty when there is none. ``diff`` is
    a unified diff, line by line, against what it would replace; empty when that is nothing.
    ``replaces`` are the memories it would remove, ``agents`` those who would get a copy.
    ``problem`` says why it can only be rejected, empty when it can be approved. ``reach`` names for
    each scope that the item could have the agents who would be given it; empty where it has none.
    ``barred`` says why the person here may not decide about it, and who may; empty if he may.
    """

    entry: InboxEntry
    shown: str
    path: str = ""
    text: str = ""
    diff: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    near: tuple[NearSkill, ...] = ()
    replaces: tuple[ListedMemory, ...] = ()
    agents: tuple[str, ...] = ()
    problem: str = ""
    reach: Mapping[ProceduralMemoryScope, tuple[str, ...]] = field(default_factory=dict)
    barred: str = ""

    @property
    def item(self) -> ApprovalItem:
        """The item that would be approved."""
        return self.entry.item


class DecisionKind(StrEnum):
    """The kinds of decision; ``UNDONE`` and ``PURGED`` ones can't be undone."""

    APPROVED = "approved"
    REJECTED = "rejected"
    RETIRED = "retired"
    FILE_RESTORED = "file_restored"
    UNDONE = "undone"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that has taken effect.

    ``item_id`` is ``None`` when it was about a skill rather than an item. ``memory_ids`` are the
    memories that were added or restored, ``paths`` the files written or removed. ``left_alone`` are
    files that were not written because somebody had just changed them: they stay as they are and
    are proposed for review. ``count`` is the number of decisions that an undo undid together. What
    one that ``is_final`` allowed is done, and an undo doesn't reach it.
    """

    number: int
    kind: DecisionKind
    title: str
    at: datetime
    item_id: str | None = None
    memory_ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    count: int = 1
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """The result of approving several items together.

    ``decisions`` are those that were approved. The others stay pending: ``stale`` holds new reviews
    of items that have changed since they were shown, ``refused`` pairs the id of any other item
    with the reason.
    """

    decisions: tuple[Decision, ...]
    stale: tuple[Review, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


class ReviewChangedError(StaleReviewError):
    """The item has changed since it was shown; ``review`` is its present review."""

    def __init__(self, review: Review) -> None:
        super().__init__(
            f"{review.item.title!r} has changed since it was shown",
            remedy="Read it again, then decide.",
        )
        self.review = review


FILE_CHANGE_ACTION: Final = "skills:file_change"
WRITE_ACTION: Final = "agents:write"
DELETE_ACTION: Final = "agents:delete"
PRUNE_ACTION: Final = "procedural:prune"
MERGE_ACTION: Final = "memory:merge"
ORG_ACTION: Final = "org:write"
CONFLICT_ACTION: Final = "memory:conflict"
RUN_ACTION: Final = "run:call"
ADMIN_ACTION: Final = "memory:admin"
BY_ITSELF: Final = (SubjectKind.RUN, SubjectKind.ADMIN)
"""Kinds that are approved one by one, each in its review, and never together with others."""

_KINDS: Final = {
    LESSON_ACTION: SubjectKind.LESSON,
    "skill_evolver:org_promotion": SubjectKind.PROMOTION,
    "skill_evolver:conflict": SubjectKind.CONFLICT,
    FILE_CHANGE_ACTION: SubjectKind.FILE_CHANGE,
    PRUNE_ACTION: SubjectKind.PRUNE,
    WRITE_ACTION: SubjectKind.WRITE,
    DELETE_ACTION: SubjectKind.DELETE,
    MERGE_ACTION: SubjectKind.MERGE,
    ORG_ACTION: SubjectKind.ORG,
    CONFLICT_ACTION: SubjectKind.DELETE,
    RUN_ACTION: SubjectKind.RUN,
    ADMIN_ACTION: SubjectKind.ADMIN,
}
_EXPECTED: Final = {
    SubjectKind.FILE_CHANGE: FileChangePayload,
    SubjectKind.PRUNE: PrunePayload,
    SubjectKind.WRITE: WritePayload,
    SubjectKind.DELETE: PrunePayload,
    SubjectKind.MERGE: MergePayload,
    SubjectKind.ORG: OrgPayload,
    SubjectKind.RUN: RunCallPayload,
    SubjectKind.ADMIN: AdminPayload,
}
_SUBJECTS: TypeAdapter[Subject] = TypeAdapter(Annotated[Subject, Field(discriminator="type")])


def entry_of(item: ApprovalItem) -> InboxEntry:
    """Return an item in the form that lists show; ``UNREADABLE`` when its payload can't be read."""
    kind = _KINDS.get(item.action_type)
    try:
        subject = _SUBJECTS.validate_json(item.payload)
    except (ValidationError, RecursionError):
        subject = None
    if subject is None or kind is None or not isinstance(subject, _EXPECTED.get(kind, Lesson)):
        return InboxEntry(item, SubjectKind.UNREADABLE, None)
    if isinstance(subject, WritePayload | MergePayload):
        author = Author.MODEL if isinstance(subject, MergePayload) else Author.AGENT
        content = FieldText(subject.draft.request.content, author)
        is_shared = isinstance(subject, WritePayload) and subject.shared
        scope = ProceduralMemoryScope.ORG.value if is_shared else ""
        return InboxEntry(item, kind, subject, scope, fields={"content": content})
    if isinstance(subject, OrgPayload):
        return InboxEntry(item, kind, subject, fields=_org_fields(subject))
    if not isinstance(subject, Lesson):
        return InboxEntry(item, kind, subject)
    return InboxEntry(
        item=item,
        kind=kind,
        subject=subject,
        scope=subject.proposal.scope.value,
        confidence=subject.proposal.confidence,
        recurrence=subject.recurrence,
        saved_calls=subject.saved_calls,
        evidence=subject.evidence,
        fields={
            name: FieldText(
                text_of(subject.proposal, name), subject.authors.get(name, subject.source)
            )
            for name in WORDED_FIELDS
        },
    )


def _org_fields(payload: OrgPayload) -> dict[str, FieldText]:
    """The text of the only write, which a person may reword; of several all, as they are.

    Who wrote a file isn't known: its texts are what was found.
    """
    by_agent = any(not change.author.is_human for change in payload.changes)
    author = Author.AGENT if by_agent else Author.EVIDENCE
    if len(payload.texts) == 1:
        return {"content": FieldText(payload.texts[0], author)}
    numbered = enumerate(payload.texts, start=1)
    return {f"content {at}": FieldText(text, author) for at, text in numbered}


def texts_of(entry: InboxEntry) -> dict[str, str]:
    """Return the texts of an item to scan for suspicious content, by the name of their place."""
    texts = {name: field.text for name, field in entry.fields.items()}
    if isinstance(entry.subject, Lesson):
        evidence = "\n".join(f"{e.failed}\n{e.error}\n{e.resolved_by}" for e in entry.evidence)
        return {**texts, "tags": "\n".join(entry.subject.proposal.tags), "evidence": evidence}
    if isinstance(entry.subject, OrgPayload):
        return {**texts, "why": entry.subject.why}
    if isinstance(entry.subject, AdminPayload):
        return {"reason": entry.subject.reason}
    if isinstance(entry.subject, RunCallPayload):
        return {
            name if isinstance(value, str) else f"{name} (JSON)": text_in(value)
            for name, value in entry.subject.arguments.items()
        }
    return {"file": entry.subject.text} if isinstance(entry.subject, FileChangePayload) else texts


def text_in(value: object) -> str:
    """Return an argument of a call as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def text_of(proposal: ProceduralMemoryProposal, name: str) -> str:
    """Return a worded field of a proposal as text, with execution steps as lines."""
    value = getattr(proposal, name)
    return "\n".join(value) if isinstance(value, tuple) else str(value)
