"""What a decision changes, worked out in full before any of it is done.

One function for each kind of decision returns a ``CurationPlan``: pure data made of records and
file states that the caller has read, so that a plan can be shown, hashed and combined. Reading is
for ``preview``, doing for ``decisions``; the only database access here is ``write_in``, which a
transaction calls. A person's edit of a proposal becomes the subject of a plan here too, because
that is where its secrets are redacted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation import registry
from synthorg_tui.curation.journal import Effects, FileStep
from synthorg_tui.curation.models import (
    MAX_DISCOVERY,
    MAX_TEXT,
    WORDED_FIELDS,
    Author,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.propagation import copy_for_others
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus, VersionEvent
from synthorg_tui.curation.rendering import document_of, memory_request
from synthorg_tui.curation.review import InboxEntry, WritePayload
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle, MemoryDraft, NewMemory
from synthorg_tui.memory.models import MemoryEntry, MemoryStoreRequest
from synthorg_tui.memory.strategies.schemas import MAX_CONTENT_CHARS
from synthorg_tui.skills.disk import FILE_NAME, IRREGULAR, FileState, sha256_of
from synthorg_tui.skills.render import render

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True, slots=True)
class ProposalEdit:
    """How a person words a proposal: a lesson's fields, or the text that an agent wrote.

    ``authors`` names who wrote fields of a lesson where that wasn't the person.
    """

    wording: ProceduralMemoryProposal | str
    authors: Mapping[str, Author] = field(default_factory=dict)


def edited_subject(entry: InboxEntry, edit: ProposalEdit) -> Lesson | WritePayload:
    """What a person made of an item's subject, without secrets.

    Raises ``DecisionRefusedError`` when the subject can't be edited like this, or the text is
    empty or too long.
    """
    if isinstance(edit.wording, str):
        return _reworded_write(entry, edit.wording)
    return _edited_lesson(entry, edit.wording, edit.authors)


def _edited_lesson(
    entry: InboxEntry, wording: ProceduralMemoryProposal, authors: Mapping[str, Author]
) -> Lesson:
    lesson = entry.subject
    if not isinstance(lesson, Lesson):
        raise DecisionRefusedError("only a lesson can be edited like one before it is approved")
    wording = redacted(wording)
    changed = {
        name: authors.get(name, Author.PERSON)
        for name in WORDED_FIELDS
        if getattr(wording, name) != getattr(lesson.proposal, name)
    }
    return lesson.model_copy(
        update={"proposal": wording, "authors": {**lesson.authors, **authors, **changed}}
    )


def _reworded_write(entry: InboxEntry, text: str) -> WritePayload:
    write = entry.subject
    if not isinstance(write, WritePayload):
        raise DecisionRefusedError("only what an agent wrote can be reworded as a text")
    if not text.strip() or len(text) > MAX_CONTENT_CHARS:
        raise DecisionRefusedError(f"the text must have 1 to {MAX_CONTENT_CHARS:,} characters")
    content = redact_text(text, RedactionTally())
    request = write.draft.request.model_copy(update={"content": content})
    return write.model_copy(update={"draft": write.draft.model_copy(update={"request": request})})


_SOURCES: Final = {
    LessonKind.FAILURE: "failure",
    LessonKind.SUCCESS: "success",
    LessonKind.EVOLVED: "evolved",
}


@dataclass(frozen=True, slots=True)
class NewText:
    """A text of a skill's file to be added to its history, and how it came to be."""

    path: str
    version: int
    event: VersionEvent
    content: bytes


@dataclass(frozen=True, slots=True)
class CurationPlan:
    """Everything a decision changes.

    ``adopted`` is the skill that gets the ids of the memories that ``bundle`` adds; ``changed``
    are other skills as they will be. ``before`` are all these skills as they are now, by path,
    ``None`` for new ones.
    """

    bundle: MemoryBundle = field(default_factory=MemoryBundle)
    files: tuple[FileStep, ...] = ()
    texts: tuple[NewText, ...] = ()
    adopted: RegisteredSkill | None = None
    changed: tuple[RegisteredSkill, ...] = ()
    before: dict[str, RegisteredSkill | None] = field(default_factory=dict)

    def write_in(
        self, db: "Connection", outcome: BundleOutcome, *, actor: str, at: datetime
    ) -> Effects:
        """Write the registry within the transaction that changed the memories."""
        records = list(self.changed)
        if self.adopted is not None:
            records.append(self.adopted.model_copy(update={"memory_ids": outcome.added}))
        for record in records:
            registry.put(db, record)
        for text in self.texts:
            sha256 = sha256_of(text.content)
            registry.put_bytes(db, sha256, text.content)
            registry.add_version(
                db,
                text.path,
                version=text.version,
                at=at,
                actor=actor,
                event=text.event,
                sha256=sha256,
            )
        return Effects(
            files=self.files,
            added=outcome.added,
            removed=tuple(entry.id for entry in outcome.removed),
            records_before=self.before,
        )

    def also(self, other: "CurationPlan") -> "CurationPlan":
        """Both plans as one; only the first may adopt a skill."""
        return replace(
            self,
            bundle=MemoryBundle(
                add=self.bundle.add,
                remove=_unique(*self.bundle.remove, *other.bundle.remove),
            ),
            files=(*self.files, *other.files),
            texts=(*self.texts, *other.texts),
            changed=(*self.changed, *other.changed),
            before={**other.before, **self.before},
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a skill's file is written, what is there now, and which version it would be."""

    root: Path
    name: str
    state: FileState
    version: int

    @property
    def path(self) -> str:
        """The file."""
        return str(self.root / self.name / FILE_NAME)


def source_of(lesson: Lesson) -> str:
    """What the memory of a lesson names as its source."""
    return f"{_SOURCES[lesson.kind]}:{lesson.task_id}"


def redacted(proposal: ProceduralMemoryProposal) -> ProceduralMemoryProposal:
    """The proposal without secrets that a person or a file may have put into it."""
    tally = RedactionTally()

    def clean(text: str, max_length: int | None = None) -> str:
        return redact_text(text, tally)[:max_length]

    return proposal.model_copy(
        update={
            "discovery": clean(proposal.discovery, MAX_DISCOVERY),
            "condition": clean(proposal.condition, MAX_TEXT),
            "action": clean(proposal.action, MAX_TEXT),
            "rationale": clean(proposal.rationale, MAX_TEXT),
            "execution_steps": tuple(map(clean, proposal.execution_steps)),
            "tags": tuple(map(clean, proposal.tags)),
        }
    )


def skill_text(lesson: Lesson, place: Place) -> str:
    """The SKILL.md of a lesson."""
    return render(
        document_of(
            lesson.proposal,
            name=place.name,
            version=place.version,
            agent_id=lesson.agent_id,
            source=source_of(lesson),
            evidence=lesson.evidence,
        )
    )


def lesson_plan(
    lesson: Lesson, place: Place, *, agents: Sequence[str], now: datetime
) -> CurationPlan:
    """A lesson becomes a skill: its memory, copies for ``agents``, and the file."""
    content = skill_text(lesson, place).encode()
    request = memory_request(lesson.proposal, source=source_of(lesson), kind=lesson.kind)
    record = RegisteredSkill(
        path=place.path,
        root=str(place.root),
        name=place.name,
        agent_id=lesson.agent_id,
        kind=lesson.kind,
        lesson_key=lesson.key,
        source=source_of(lesson),
        sha256=sha256_of(content),
        version=place.version,
        proposal=lesson.proposal,
        evidence=lesson.evidence,
        adopted_at=now,
        updated_at=now,
    )
    return CurationPlan(
        bundle=MemoryBundle(add=new_memories(request, record, agents)),
        files=(_step(record, place.state, record.sha256),),
        texts=(
            *_set_aside(record, place.state, VersionEvent.SET_ASIDE),
            NewText(record.path, place.version, VersionEvent.WRITTEN, content),
        ),
        adopted=record,
        before={record.path: None},
    )


def accept_plan(
    record: RegisteredSkill,
    state: FileState,
    before: RegisteredSkill | None,
    *,
    agents: Sequence[str],
) -> CurationPlan:
    """The file as it is on disk becomes active; an earlier memory of it is removed."""
    request = memory_request(record.proposal, source=record.source, kind=record.kind)
    return CurationPlan(
        bundle=MemoryBundle(
            add=new_memories(request, record, agents),
            remove=before.memory_ids if before else (),
        ),
        texts=(NewText(record.path, record.version, VersionEvent.ACCEPTED, state.content),),
        adopted=record,
        before={record.path: before},
    )


def leave_plan(
    record: RegisteredSkill,
    state: FileState,
    *,
    status: SkillStatus,
    now: datetime,
    superseded_by: str | None = None,
    with_file: bool = True,
) -> CurationPlan:
    """A skill is no longer active: its memories are removed, and its file if ``with_file``.

    The hash of a file that stays is recorded, so that it doesn't come up as a new one. What
    couldn't be restored, since it is no plain file, stays too.
    """
    with_file = with_file and state.sha256 != IRREGULAR
    inactive = record.model_copy(
        update={
            "status": status,
            "memory_ids": (),
            "sha256": "" if with_file else state.sha256,
            "superseded_by": superseded_by,
            "updated_at": now,
        }
    )
    return CurationPlan(
        bundle=MemoryBundle(remove=record.memory_ids),
        files=(_step(record, state, ""),) if with_file and state.sha256 else (),
        texts=_set_aside(record, state, VersionEvent.REMOVED) if with_file else (),
        changed=(inactive,),
        before={record.path: record},
    )


def restore_plan(
    record: RegisteredSkill, state: FileState, content: bytes, *, now: datetime
) -> CurationPlan:
    """The approved text replaces what is on disk."""
    return CurationPlan(
        files=(_step(record, state, record.sha256),),
        texts=(
            *_set_aside(record, state, VersionEvent.SET_ASIDE),
            NewText(record.path, record.version, VersionEvent.WRITTEN, content),
        ),
        changed=(record.model_copy(update={"updated_at": now}),),
        before={record.path: record},
    )


def prune_plan(
    memory_ids: Sequence[str], records: Iterable[RegisteredSkill], now: datetime
) -> CurationPlan:
    """Memories are removed; ``records`` are the skills that keep others.

    A skill that loses its last memory needs a ``leave_plan`` besides.
    """
    plan = CurationPlan(bundle=MemoryBundle(remove=tuple(memory_ids)))
    for record in records:
        fewer = record.without_memories(memory_ids, at=now)
        plan = plan.also(CurationPlan(changed=(fewer,), before={record.path: record}))
    return plan


def new_memories(
    request: MemoryStoreRequest, record: RegisteredSkill, agents: Sequence[str]
) -> tuple[NewMemory, ...]:
    """The memory of a skill and its copies; one of the whole organisation is published instead."""
    if record.proposal.scope is ProceduralMemoryScope.ORG:
        return (NewMemory(record.agent_id, _persistent(request), shared=True),)
    copied = copy_for_others(request, record.agent_id)
    return (
        NewMemory(record.agent_id, _persistent(request)),
        *(NewMemory(agent, _persistent(copied)) for agent in agents),
    )


def _persistent(request: MemoryStoreRequest) -> MemoryDraft:
    """A memory that outlasts every session and comes from the person who decides."""
    return MemoryDraft(
        request=request, level=MemoryLevel.PERSISTENT, source_kind=SourceKind.OPERATOR
    )


def same_memories(shown: Sequence[MemoryEntry], removed: Sequence[MemoryEntry]) -> bool:
    """Whether the memories that were removed are those that were shown, to the letter."""
    shown_texts = {memory.id: memory.content for memory in shown}
    return shown_texts == {memory.id: memory.content for memory in removed}


def _step(record: RegisteredSkill, state: FileState, after: str) -> FileStep:
    return FileStep(root=record.root, name=record.name, before=state.sha256, after=after)


def _set_aside(
    record: RegisteredSkill, state: FileState, event: VersionEvent
) -> tuple[NewText, ...]:
    if state.sha256 in ("", IRREGULAR):
        return ()
    return (NewText(record.path, record.version, event, state.content),)


def _unique(*ids: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))
