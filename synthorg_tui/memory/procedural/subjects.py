"""What an item of the queue is about, read from its payload."""

from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from synthorg_tui.approvals.models import ApprovalItem
from synthorg_tui.memory.procedural.agent_writes import WritePayload
from synthorg_tui.memory.procedural.models import (
    WORDED_FIELDS,
    Author,
    FileChangePayload,
    Lesson,
    ProceduralMemoryProposal,
    PrunePayload,
)
from synthorg_tui.memory.procedural.review_models import (
    FieldText,
    InboxEntry,
    Subject,
    SubjectKind,
)

LESSON_ACTION: Final = "procedural:lesson"
FILE_CHANGE_ACTION: Final = "skills:file_change"
WRITE_ACTION: Final = "agents:write"
DELETE_ACTION: Final = "agents:delete"

_KINDS: Final = {
    LESSON_ACTION: SubjectKind.LESSON,
    "skill_evolver:org_promotion": SubjectKind.PROMOTION,
    "skill_evolver:conflict": SubjectKind.CONFLICT,
    FILE_CHANGE_ACTION: SubjectKind.FILE_CHANGE,
    "procedural:prune": SubjectKind.PRUNE,
    WRITE_ACTION: SubjectKind.WRITE,
    DELETE_ACTION: SubjectKind.DELETE,
}
_EXPECTED: Final = {
    SubjectKind.FILE_CHANGE: FileChangePayload,
    SubjectKind.PRUNE: PrunePayload,
    SubjectKind.WRITE: WritePayload,
    SubjectKind.DELETE: PrunePayload,
}
_SUBJECTS: TypeAdapter[Subject] = TypeAdapter(
    Annotated[Lesson | FileChangePayload | PrunePayload | WritePayload, Field(discriminator="type")]
)


def entry_of(item: ApprovalItem) -> InboxEntry:
    """An item as a list shows it; one whose payload can't be read says so."""
    kind = _KINDS.get(item.action_type)
    try:
        subject = _SUBJECTS.validate_json(item.payload)
    except (ValidationError, RecursionError):
        subject = None
    if subject is None or kind is None or not isinstance(subject, _EXPECTED.get(kind, Lesson)):
        return InboxEntry(item, SubjectKind.UNREADABLE, None)
    if isinstance(subject, WritePayload):
        content = FieldText(subject.draft.request.content, Author.AGENT)
        return InboxEntry(item, kind, subject, fields={"content": content})
    if not isinstance(subject, Lesson):
        return InboxEntry(item, kind, subject)
    return InboxEntry(
        item=item,
        kind=kind,
        subject=subject,
        scope=subject.proposal.scope.value,
        confidence=subject.proposal.confidence,
        recurrence=subject.recurrence,
        evidence=subject.evidence,
        fields=fields_of(subject),
    )


def texts_of(entry: InboxEntry) -> dict[str, str]:
    """What of an item is scanned, by the name of its place."""
    texts = {name: each.text for name, each in entry.fields.items()}
    if isinstance(entry.subject, Lesson):
        said = (f"{each.failed}\n{each.error}\n{each.resolved_by}" for each in entry.evidence)
        tags = "\n".join(entry.subject.proposal.tags)
        return {**texts, "tags": tags, "evidence": "\n".join(said)}
    return {"file": entry.subject.text} if isinstance(entry.subject, FileChangePayload) else texts


def fields_of(lesson: Lesson) -> dict[str, FieldText]:
    """The worded fields of a lesson and who wrote each."""
    return {
        name: FieldText(text_of(lesson.proposal, name), lesson.authors.get(name, Author.EVIDENCE))
        for name in WORDED_FIELDS
    }


def text_of(proposal: ProceduralMemoryProposal, name: str) -> str:
    """A worded field as text; steps are lines."""
    value = getattr(proposal, name)
    return "\n".join(value) if isinstance(value, tuple) else str(value)
