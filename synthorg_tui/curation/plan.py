"""Plans: what a decision changes, worked out in full before any of it is done.

One function for each kind of decision returns a ``CurationPlan``: pure data made of records and
file states that the caller has read, so that a plan can be shown, hashed and combined. Reading is
for ``preview``, doing for ``decisions``; the only database access here is ``write_in``, which a
transaction calls.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.rows import payload_hash
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.curation import registry
from synthorg_tui.curation.edits import redacted
from synthorg_tui.curation.journal import Effects, FileStep
from synthorg_tui.curation.lesson_sources import stand_on_sources
from synthorg_tui.curation.models import (
    FileChangePayload,
    Lesson,
    LessonKind,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.propagation import copy_for_others
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus, VersionEvent
from synthorg_tui.curation.rendering import (
    agent_of,
    document_of,
    memory_request,
    proposal_of,
)
from synthorg_tui.curation.review import InboxEntry, Review
from synthorg_tui.memory.enums import EdgeKind, SourceKind
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle, MemoryDraft, NewMemory
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.org.changes import effects_by_fact
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.skills.disk import FILE_NAME, IRREGULAR, FileState, sha256_of
from synthorg_tui.skills.render import render
from synthorg_tui.skills.validate import parse

SHARED_PUBLISHER: Final = "skills"
"""In whose name a skill is shared that doesn't say which agent it is for."""


@dataclass(frozen=True, slots=True)
class NewText:
    """A text of a skill's file to be added to its history, and how it came to be."""

    path: str
    version: int
    event: VersionEvent
    content: bytes


@dataclass(frozen=True, slots=True)
class CurationPlan:
    """Everything that a decision changes.

    ``bundle`` changes memories, ``files`` writes and removes skill files, ``texts`` extends their
    history. ``adopted`` is the skill that gets the ids of the memories that ``bundle`` adds;
    ``changed`` are the new states of other skills. ``before`` maps the path of each of these skills
    to its present state, ``None`` for a new one. With ``publishes`` the second memory that is
    added is the first one for all agents.
    """

    bundle: MemoryBundle = field(default_factory=MemoryBundle)
    files: tuple[FileStep, ...] = ()
    texts: tuple[NewText, ...] = ()
    adopted: RegisteredSkill | None = None
    changed: tuple[RegisteredSkill, ...] = ()
    before: dict[str, RegisteredSkill | None] = field(default_factory=dict)
    publishes: bool = False

    def write_in(
        self, db: Connection, outcome: BundleOutcome, effects: Effects, *, actor: str, at: datetime
    ) -> Effects:
        """Write the plan's skills and texts to the registry; return ``effects`` with the changes.

        Runs in the transaction that changed the memories; ``outcome`` is what that did.
        """
        records = list(self.changed)
        if self.adopted is not None:
            records.append(self.adopted.model_copy(update={"memory_ids": outcome.added}))
        for record in records:
            registry.put(db, record)
        if self.adopted is not None:
            stand_on_sources(db, records[-1:], at=at)
        if self.publishes:
            own, copy = outcome.added
            edge = MemoryEdge(copy, own, EdgeKind.DERIVED_FROM)
            add_edges(db, [edge], made_at=naive_utc(at), made_by=actor)
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
        return effects.model_copy(
            update={
                "files": self.files,
                "added": outcome.added,
                "removed": tuple(entry.id for entry in outcome.removed),
                "records_before": self.before,
                "org": effects_by_fact(outcome.org),
            }
        )

    def also(self, other: "CurationPlan") -> "CurationPlan":
        """Return both plans as one; ``other`` must neither adopt a skill nor add memories."""
        return replace(
            self,
            bundle=MemoryBundle(
                add=self.bundle.add,
                remove=tuple(dict.fromkeys((*self.bundle.remove, *other.bundle.remove))),
            ),
            files=(*self.files, *other.files),
            texts=(*self.texts, *other.texts),
            changed=(*self.changed, *other.changed),
            before={**other.before, **self.before},
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of an approval, and the review that a person is shown of it.

    ``review`` has neither flags nor similar skills nor a diff yet; ``before`` is the text that is
    replaced. ``payload`` is the item's new payload when a person edited it; ``names`` are then the
    names of the skills on disk.
    """

    plan: CurationPlan
    review: Review
    before: str = ""
    payload: str | None = None
    names: frozenset[str] = frozenset()


def preview_of(
    entry: InboxEntry,
    plan: CurationPlan,
    *,
    path: str = "",
    text: str = "",
    before: str = "",
    replaces: tuple[ListedMemory, ...] = (),
    agents: tuple[str, ...] = (),
    touched: tuple[tuple[str, str], ...] = (),
    problem: str = "",
    names: frozenset[str] = frozenset(),
) -> Preview:
    """Return the preview of an item with the SHA-256 of everything that approving it depends on.

    ``path`` and ``text`` are the file that would be written, ``before`` the text it replaces.
    ``replaces`` are the memories that would be removed, ``agents`` those that get a copy.
    ``touched`` pairs every file that the plan depends on with the SHA-256 of its bytes, and every
    fact of organisation memory with its version. ``problem`` says why the item can't be approved,
    empty when it can. ``names`` are those of the skills on disk.
    """
    parts = [
        payload_hash(entry.item),
        path,
        touched,
        sorted((memory.id, memory.content) for memory in replaces),
        agents,
    ]
    review = Review(
        entry=entry,
        shown=hashlib.sha256(json.dumps(parts).encode()).hexdigest(),
        path=path,
        text=text,
        replaces=replaces,
        agents=agents,
        problem=problem,
    )
    return Preview(plan, review, before, names=names)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a new skill's file: where it is written and what is there now."""

    root: Path
    name: str
    state: FileState

    @property
    def path(self) -> str:
        """The path of the SKILL.md."""
        return str(self.root / self.name / FILE_NAME)


def source_of(lesson: Lesson) -> str:
    """Return the source that the memory of a lesson names, such as ``failure:<task id>``."""
    return f"{lesson.kind}:{lesson.task_id}"


def skill_text(lesson: Lesson, place: Place) -> str:
    """Return the text of the SKILL.md for a lesson."""
    return render(
        document_of(
            lesson.proposal,
            name=place.name,
            version=1,
            agent_id=lesson.agent_id,
            source=source_of(lesson),
            evidence=lesson.evidence,
        )
    )


def lesson_plan(
    lesson: Lesson, place: Place, text: str, *, agents: Sequence[str], now: datetime
) -> CurationPlan:
    """Return the plan that turns a lesson into a skill.

    It adds the lesson's memory, copies for ``agents``, and a file with ``text`` at ``place``.
    """
    content = text.encode()
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
        version=1,
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
            NewText(record.path, record.version, VersionEvent.WRITTEN, content),
        ),
        adopted=record,
        before={record.path: None},
    )


def accepted_skill(
    change: FileChangePayload, record: RegisteredSkill | None, state: FileState, now: datetime
) -> RegisteredSkill | None:
    """Return the registry's record of a skill as its file on disk has it.

    ``record`` is the present one, ``None`` for a new skill. ``None`` is returned when the file
    doesn't hold a valid skill.
    """
    document, _ = parse(state.text, name=change.name)
    if document is None or not state.content:
        return None
    proposal = proposal_of(document, before=record.proposal if record else None)
    if record is None:
        agent = agent_of(document)
        if not agent:
            agent = SHARED_PUBLISHER
            proposal = proposal.model_copy(update={"scope": ProceduralMemoryScope.ORG})
        record = RegisteredSkill(
            path=change.path,
            root=str(Path(change.path).parent.parent),
            name=change.name,
            agent_id=agent,
            source=f"skill:{change.name}",
            version=0,
            proposal=proposal,
            adopted_at=now,
            updated_at=now,
        )
    return record.model_copy(
        update={
            "status": SkillStatus.ACTIVE,
            "memory_ids": (),
            "sha256": state.sha256,
            "version": record.version + 1,
            "proposal": redacted(proposal),
            "superseded_by": None,
            "updated_at": now,
        }
    )


def accept_plan(
    record: RegisteredSkill,
    state: FileState,
    before: RegisteredSkill | None,
    *,
    agents: Sequence[str],
) -> CurationPlan:
    """Return the plan that makes the file on disk the active text of a skill.

    ``record`` is the new state (see ``accepted_skill``), ``before`` the present one, whose memories
    are removed. ``agents`` get copies.
    """
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
    """Return the plan that makes a skill inactive: its memories are removed, and its file if asked.

    The hash of a file that stays is recorded, so that it isn't proposed as a new skill. Something
    that is no plain file stays in any case, since it couldn't be restored.
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
    """Return the plan that writes the approved text (``content``) over what is on disk."""
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
    """Return the plan that removes memories.

    ``records`` are the skills that lose some of their memories but not all; one that loses its last
    memory needs a ``leave_plan`` besides.
    """
    plan = CurationPlan(bundle=MemoryBundle(remove=tuple(memory_ids)))
    for record in records:
        fewer = record.without_memories(memory_ids, at=now)
        plan = plan.also(CurationPlan(changed=(fewer,), before={record.path: record}))
    return plan


def new_memories(
    request: MemoryStoreRequest, record: RegisteredSkill, agents: Sequence[str]
) -> tuple[NewMemory, ...]:
    """Return the memories to add for a skill: its agent's own, and copies for ``agents``.

    A skill for the whole organisation gives one shared memory instead. No agent publishes it, not
    even the one that learnt it: an agent isn't given what it published.
    """
    if record.proposal.scope is ProceduralMemoryScope.ORG:
        is_nobodys = record.kind is LessonKind.EVOLVED
        publisher = record.agent_id if is_nobodys else SHARED_PUBLISHER
        return (NewMemory(publisher, _persistent(request), shared=True),)
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


def write_plan(agent_id: str, draft: MemoryDraft, *, shared: bool) -> CurationPlan:
    """Return the plan by which what an agent wrote becomes its memory.

    With ``shared`` all others get it, too, in every session and project: a copy is published in
    the agent's name, as ``StoreAdmin.publish`` would.
    """
    own = NewMemory(agent_id, draft)
    anywhere = {"level": MemoryLevel.PERSISTENT, "session_id": None, "project": None, "key": None}
    copy = NewMemory(agent_id, draft.model_copy(update=anywhere), shared=True)
    bundle = MemoryBundle(add=(own, copy) if shared else (own,))
    return CurationPlan(bundle=bundle, publishes=shared)


def same_memories(shown: Sequence[ListedMemory], removed: Sequence[ListedMemory]) -> bool:
    """Tell whether two lists hold the same memories with exactly the same texts, in any order."""
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
