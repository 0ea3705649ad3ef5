"""What a person makes of a proposal before approving it.

What a decision does, worked out in full before any of it is done.
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
    WORDED_FIELDS,
    Author,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.propagation import copy_for_others
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus, VersionEvent
from synthorg_tui.curation.rendering import MOST_DISCOVERY, MOST_TEXT, document_of, memory_request
from synthorg_tui.curation.review import InboxEntry, WritePayload
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.extensions import (
    BundleOutcome,
    ListedMemory,
    MemoryBundle,
    MemoryDraft,
    NewMemory,
)
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.strategies.schemas import MAX_CONTENT_CHARS
from synthorg_tui.skills.disk import FILE_NAME, IRREGULAR, FileState, sha256_of
from synthorg_tui.skills.render import render

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def edited_lesson(
    entry: InboxEntry, edited: ProceduralMemoryProposal, authors: Mapping[str, Author]
) -> Lesson:
    """The lesson as the person made it; raises ``DecisionRefusedError`` when it is none."""
    lesson = entry.subject
    if not isinstance(lesson, Lesson):
        raise DecisionRefusedError("only a lesson can be edited like one before it is approved")
    edited = redacted(edited)
    wrote = {
        name: authors.get(name, Author.PERSON)
        for name in WORDED_FIELDS
        if getattr(edited, name) != getattr(lesson.proposal, name)
    }
    return lesson.model_copy(
        update={"proposal": edited, "authors": {**lesson.authors, **authors, **wrote}}
    )


def reworded_write(entry: InboxEntry, text: str) -> WritePayload:
    """What an agent wrote in the person's words, without secrets.

    Raises ``DecisionRefusedError`` when it is nothing that an agent wrote, or the text doesn't do.
    """
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
    """A text of a skill's file to be kept, and how it came to be."""

    path: str
    version: int
    event: VersionEvent
    content: bytes


@dataclass(frozen=True, slots=True)
class CurationPlan:
    """Everything a decision changes.

    ``adopted`` gets the ids of the memories that ``bundle`` adds; ``changed`` are other skills
    as they are to be. ``before`` are all these skills as they are, ``None`` for new ones.
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
        """Write the ledger within the transaction that changed the memories."""
        records = list(self.changed)
        if self.adopted is not None:
            records.append(self.adopted.model_copy(update={"memory_ids": outcome.added}))
        for record in records:
            registry.put(db, record)
        for text in self.texts:
            sha256 = sha256_of(text.content)
            registry.keep_bytes(db, sha256, text.content)
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
        """Both plans as one; only this one may adopt a skill."""
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
    """Where a skill's file goes, what is there now, and which version it would be."""

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

    def clean(text: str, most: int | None = None) -> str:
        return redact_text(text, tally)[:most]

    return proposal.model_copy(
        update={
            "discovery": clean(proposal.discovery, MOST_DISCOVERY),
            "condition": clean(proposal.condition, MOST_TEXT),
            "action": clean(proposal.action, MOST_TEXT),
            "rationale": clean(proposal.rationale, MOST_TEXT),
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
    """The file as it is on disk counts from now on; an earlier memory of it goes."""
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
    """A skill counts no longer: its memories go, and its file if ``with_file``.

    A file that stays is remembered, so that it doesn't come up as a new one. What couldn't be
    brought back, since it is no plain file, stays too.
    """
    with_file = with_file and state.sha256 != IRREGULAR
    gone = record.model_copy(
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
        changed=(gone,),
        before={record.path: record},
    )


def restore_plan(
    record: RegisteredSkill, state: FileState, content: bytes, *, now: datetime
) -> CurationPlan:
    """Our text takes the place of what is on disk."""
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
    """Memories go; a skill whose last memory that was must be left by a plan of its own."""
    pruned = frozenset(memory_ids)
    plan = CurationPlan(bundle=MemoryBundle(remove=tuple(memory_ids)))
    for record in records:
        kept = tuple(each for each in record.memory_ids if each not in pruned)
        less = record.model_copy(update={"memory_ids": kept, "updated_at": now})
        plan = plan.also(CurationPlan(changed=(less,), before={record.path: record}))
    return plan


def new_memories(
    request: MemoryStoreRequest, record: RegisteredSkill, agents: Sequence[str]
) -> tuple[NewMemory, ...]:
    """The memory of a skill and its copies; what is for everybody is published instead."""
    if record.proposal.scope is ProceduralMemoryScope.ORG:
        return (NewMemory(record.agent_id, _for_good(request), shared=True),)
    copied = copy_for_others(request, record.agent_id)
    return (
        NewMemory(record.agent_id, _for_good(request)),
        *(NewMemory(agent, _for_good(copied)) for agent in agents),
    )


def _for_good(request: MemoryStoreRequest) -> MemoryDraft:
    """A memory that outlasts every session and comes from the person who decides."""
    return MemoryDraft(
        request=request, level=MemoryLevel.PERSISTENT, source_kind=SourceKind.OPERATOR
    )


def same_memories(shown: Sequence[ListedMemory], found: Sequence[ListedMemory]) -> bool:
    """Whether the memories that went are those that were shown, to the letter."""
    return {each.id: each.content for each in shown} == {each.id: each.content for each in found}


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
