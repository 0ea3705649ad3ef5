"""Previews: what approving an item would do as things are now, and what a person sees of it.

A decision is taken on what was shown. So everything an approval will do is worked out here, from
the item, the registry and the files on disk, before any of it is done; ``Preview.shown`` is the
hash that ties the approval to it. Nothing here writes: carrying a plan out is for
``decisions.DecisionRunner``, taking the decision for ``service.ReviewService``.
"""

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalNotFoundError,
)
from synthorg_tui.approvals.scan import scan
from synthorg_tui.curation import plan as plans
from synthorg_tui.curation.administration import AdminPayload
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.edits import ProposalEdit, edited_subject
from synthorg_tui.curation.models import (
    FileChangeKind,
    FileChangePayload,
    Lesson,
    PrunePayload,
)
from synthorg_tui.curation.org_changes import org_preview
from synthorg_tui.curation.plan import CurationPlan, Place, Preview, preview_of
from synthorg_tui.curation.propagation import Propagation
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus
from synthorg_tui.curation.review import (
    InboxEntry,
    MergePayload,
    NearSkill,
    OrgPayload,
    Review,
    RunCallPayload,
    SubjectKind,
    WritePayload,
    entry_of,
    texts_of,
)
from synthorg_tui.curation.run_calls import call_preview
from synthorg_tui.curation.scopes import reach_of
from synthorg_tui.curation.similarity import near_skills, replaced_fully
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.extensions import Archiving, MemoryBundle, NewMemory
from synthorg_tui.skills.disk import IRREGULAR, FileState, skill_path, state_of
from synthorg_tui.skills.document import SkillPathError
from synthorg_tui.skills.names import skill_name


class ApprovalPreview:
    """Works out what a decision would do; changes nothing.

    Args:
        base: The stores and places of skills.
        propagation: Chooses the agents that get a copy of a lesson.
    """

    def __init__(self, base: CurationBase, propagation: Propagation) -> None:
        self._base = base
        self._propagation = propagation

    async def build(self, item: ApprovalItem) -> Preview:
        """Return the preview of approving an item.

        For an item whose payload can't be read the plan is empty.
        """
        entry = entry_of(item)
        match entry.subject:
            case Lesson() as lesson:
                names = await asyncio.to_thread(self._names_on_disk)
                return await self._lesson(entry, lesson, names=names)
            case FileChangePayload() as change:
                return await self._file_change(entry, change)
            case PrunePayload() as prune:
                return await self._prune(entry, prune)
            case WritePayload() | OrgPayload() | RunCallPayload() | AdminPayload() as write:
                return await self._write(entry, write)
            case MergePayload() as merge:
                return await self._merge(entry, merge)
            case _:
                return preview_of(
                    entry, CurationPlan(), problem="It can't be read: it can only be rejected."
                )

    async def edited(self, shown: Preview, edit: ProposalEdit) -> Preview:
        """Return the preview of approving an item as a person has edited it.

        It replaces no more memories than ``shown`` does, whatever the edit says. Raises
        ``DecisionRefusedError`` when the item can't be edited like this.
        """
        review, names = shown.review, shown.names
        subject = edited_subject(review.entry, edit)
        if isinstance(subject, WritePayload | OrgPayload):
            preview = await self._write(review.entry, subject)
        else:
            at_most = frozenset(memory.id for memory in review.replaces)
            preview = await self._lesson(review.entry, subject, names=names, at_most=at_most)
        return replace(preview, payload=subject.model_dump_json())

    async def review(self, preview: Preview) -> Review:
        """Return the preview in the form that a person reads, with flags and similar skills."""
        review, entry = preview.review, preview.review.entry
        texts = texts_of(entry)
        if "file" in texts:  # as it is by now
            texts = {**texts, "file": review.text}
        near: tuple[NearSkill, ...] = ()
        if isinstance(entry.subject, Lesson):
            active = await self._base.registry.active()
            near = await near_skills(self._base.store, entry.subject, active)
        reach = reach_of(entry.subject, self._propagation, await self._base.store.agents())
        old, new = preview.before.splitlines(), review.text.splitlines()
        diff = difflib.unified_diff(old, new, "before", "after", lineterm="") if old else ()
        return replace(review, diff=tuple(diff), flags=scan(texts), near=near, reach=reach)

    async def retirement(self, path: str) -> CurationPlan:
        """Return the plan that retires the skill whose file is ``path``.

        A file that the program ships stays. Raises ``ApprovalNotFoundError`` when no active skill
        has this file, and ``SkillPathError`` when it isn't one that can be removed and written.
        """
        record, state = await self._active_skill(path)
        status, now = SkillStatus.RETIRED, self._base.clock.now()
        with_file = not self._base.library.is_shipped(record.root)
        return plans.leave_plan(record, state, status=status, now=now, with_file=with_file)

    async def restoration(self, path: str, *, only_if_gone: bool) -> CurationPlan:
        """Return the plan that writes the approved text over what is on disk.

        Raises like ``retirement``, ``SkillPathError`` for a file that the program ships, and
        ``ApprovalConflictError`` when the file has that text, or, with ``only_if_gone``, any.
        """
        record, state = await self._active_skill(path)
        if self._base.library.is_shipped(record.root):
            problem = f"{path} comes with the program and is never written"
            raise SkillPathError(problem, remedy="Agents are given the approved text as it is.")
        if record.path != path:
            problem = f"{path} is a copy of a skill that was approved on another machine"
            raise SkillPathError(problem, remedy="Delete your text: the next approval writes it.")
        if state.sha256 == record.sha256:
            raise ApprovalConflictError(f"{path} is as it should be")
        if only_if_gone and state.sha256:
            raise ApprovalConflictError(f"{path} is there, with another text")
        content = await self._base.registry.content(record.sha256)
        return plans.restore_plan(record, state, content, now=self._base.clock.now())

    async def _lesson(
        self,
        entry: InboxEntry,
        lesson: Lesson,
        *,
        names: frozenset[str],
        at_most: frozenset[str] | None = None,
    ) -> Preview:
        """A lesson becomes a skill and replaces those it supersedes.

        ``names`` are those of the skills on disk, ``at_most`` ids of the only memories that may be
        removed; ``None`` allows all.
        """
        records = await self._base.registry.all()
        place = await self._place(lesson, names, records)
        agents = self._propagation.targets(lesson.agent_id, lesson.proposal.scope)
        active = [record for record in records if record.status is SkillStatus.ACTIVE]
        replaced, ids = self._replaced(lesson, active, at_most)
        leaving, states = await self._leaving(
            replaced, status=SkillStatus.SUPERSEDED, superseded_by=place.path
        )
        text = plans.skill_text(lesson, place)
        plan = plans.lesson_plan(lesson, place, text, agents=agents, now=self._base.clock.now())
        plan = plan.also(leaving).also(CurationPlan(bundle=MemoryBundle(remove=ids)))
        return preview_of(
            entry=entry,
            plan=plan,
            path=place.path,
            text=text,
            before="\n".join(state.text for state in states),
            replaces=await self._base.store.entries(plan.bundle.remove),
            agents=agents,
            touched=((place.path, place.state.sha256), *_touched(replaced, states)),
            names=names,
        )

    async def _file_change(self, entry: InboxEntry, change: FileChangePayload) -> Preview:
        record, state = await self._record_and_state(change.path)
        if change.change is FileChangeKind.DELETED:
            return await self._deleted(entry, change, record, state)
        accepted = plans.accepted_skill(change, record, state, self._base.clock.now())
        plan, agents = CurationPlan(), tuple[str, ...]()
        if accepted is not None:
            agents = self._propagation.targets(accepted.agent_id, accepted.proposal.scope)
            plan = plans.accept_plan(accepted, state, record, agents=agents)
        return preview_of(
            entry=entry,
            plan=plan,
            path=change.path,
            text=state.text,
            before=change.ours,
            replaces=await self._base.store.entries(plan.bundle.remove),
            agents=agents,
            touched=((change.path, state.sha256),),
            problem="" if accepted else "The file is gone or no valid skill any more.",
        )

    async def _deleted(
        self,
        entry: InboxEntry,
        change: FileChangePayload,
        record: RegisteredSkill | None,
        state: FileState,
    ) -> Preview:
        plan, problem = CurationPlan(), "The file is back, or the skill counts no longer."
        if record is not None and record.status is SkillStatus.ACTIVE and not state.sha256:
            now, problem = self._base.clock.now(), ""
            plan = plans.leave_plan(record, state, status=SkillStatus.RETIRED, now=now)
        return preview_of(
            entry=entry,
            plan=plan,
            path=change.path,
            before=change.ours,
            replaces=await self._base.store.entries(plan.bundle.remove),
            touched=((change.path, state.sha256),),
            problem=problem,
        )

    async def _prune(self, entry: InboxEntry, prune: PrunePayload) -> Preview:
        """Memories are removed; a skill that loses its last one is retired."""
        pruned = frozenset(prune.memory_ids)
        concerned = [
            record
            for record in await self._base.registry.active()
            if not pruned.isdisjoint(record.memory_ids)
        ]
        emptied = [record for record in concerned if pruned.issuperset(record.memory_ids)]
        others = [record for record in concerned if record not in emptied]
        leaving, states = await self._leaving(emptied, status=SkillStatus.RETIRED)
        plan = plans.prune_plan(prune.memory_ids, others, self._base.clock.now()).also(leaving)
        memories = await self._base.store.entries(plan.bundle.remove)
        is_deleted = entry.kind is SubjectKind.DELETE and not memories
        return preview_of(
            entry=entry,
            plan=plan,
            before="\n\n".join(memory.content for memory in memories),
            replaces=memories,
            touched=_touched(emptied, states),
            problem="What it would delete is gone already." if is_deleted else "",
        )

    async def _write(
        self, entry: InboxEntry, write: WritePayload | OrgPayload | RunCallPayload | AdminPayload
    ) -> Preview:
        """What an agent asks for: a memory of its own, what all shall know, a call, or an act."""
        if isinstance(write, AdminPayload):
            return preview_of(entry, CurationPlan())
        if isinstance(write, RunCallPayload):
            return await asyncio.to_thread(call_preview, entry, write)
        if isinstance(write, OrgPayload):
            return await org_preview(entry, write, self._base.store.org)
        return preview_of(entry, plans.write_plan(write.agent_id, write.draft, shared=write.shared))

    async def _merge(self, entry: InboxEntry, merge: MergePayload) -> Preview:
        """A model's text becomes a memory, and those that it stands for are archived."""
        memories = await self._base.store.entries(merge.archived)
        marks = await self._base.store.marks(tuple(merge.marks))
        is_same = marks == merge.marks and len(memories) == len(merge.archived)
        archive = Archiving(
            ids=merge.archived,
            why=ArchiveReason.CONSOLIDATED,
            mode=merge.mode or None,
            derived=tuple(merge.marks),
        )
        memory = NewMemory(merge.agent_id, merge.draft, shared=merge.shared)
        return preview_of(
            entry=entry,
            plan=CurationPlan(bundle=MemoryBundle(add=(memory,), archive=archive)),
            text=merge.draft.request.content,
            before="\n\n".join(memory.content for memory in memories),
            replaces=memories,
            problem="" if is_same else "A memory it is made of was changed since, or is gone.",
        )

    async def _leaving(
        self,
        records: Sequence[RegisteredSkill],
        *,
        status: SkillStatus,
        superseded_by: str | None = None,
    ) -> tuple[CurationPlan, list[FileState]]:
        """The plan by which all of these leave, and their files as they are.

        Files outside of our own folder stay.
        """
        plan, states = CurationPlan(), []
        for record in records:
            state = await asyncio.to_thread(state_of, Path(record.path))
            leaving = plans.leave_plan(
                record,
                state,
                status=status,
                now=self._base.clock.now(),
                superseded_by=superseded_by,
                with_file=record.root == str(self._base.own_root),
            )
            plan = plan.also(leaving)
            states.append(state)
        return plan, states

    async def _place(
        self, lesson: Lesson, names: frozenset[str], records: Iterable[RegisteredSkill]
    ) -> Place:
        """A folder of our own that no skill has, on disk or in the registry."""
        proposal = lesson.proposal
        texts = {
            record.name: f"{record.proposal.discovery} {record.proposal.condition}"
            for record in records
        }
        wanted = proposal.name or proposal.discovery
        known = texts.get(wanted, "").split()
        telling = " ".join(
            word
            for word in f"{proposal.discovery} {proposal.condition}".split()
            if word not in known
        )
        name = skill_name(wanted, names.union(texts), telling)
        place = Place(self._base.own_root, name, FileState())
        return replace(place, state=await asyncio.to_thread(state_of, Path(place.path)))

    def _names_on_disk(self) -> frozenset[str]:
        """Names of the skills of all roots, and of whatever lies in our folder."""
        own = self._base.own_root.iterdir() if self._base.own_root.is_dir() else ()
        return frozenset(file.name for file in (*self._base.library.scan(), *own))

    def _replaced(
        self, lesson: Lesson, active: Sequence[RegisteredSkill], at_most: frozenset[str] | None
    ) -> tuple[list[RegisteredSkill], tuple[str, ...]]:
        """The skills it replaces, and the memories it names as superseded."""
        proposal = lesson.proposal
        named = frozenset(proposal.supersedes)
        if at_most is not None:
            named &= at_most
        comparable = [
            record
            for record in active
            if record.memory_ids
            and record.agent_id == lesson.agent_id
            and record.proposal.scope is proposal.scope
            and record.root == str(self._base.own_root)
            and (at_most is None or at_most.issuperset(record.memory_ids))
        ]
        full = replaced_fully(proposal, comparable)
        replaced = [
            record for record in active if record in full or not named.isdisjoint(record.memory_ids)
        ]
        return replaced, tuple(sorted(named))

    async def _record_and_state(self, path: str) -> tuple[RegisteredSkill | None, FileState]:
        """The skill in the registry that this file is of, and the file as it is now."""
        record = await self._base.registry.get(self._base.registry.copies.get(path, path))
        return record, await asyncio.to_thread(state_of, Path(path))

    async def _active_skill(self, path: str) -> tuple[RegisteredSkill, FileState]:
        """The skill whose file may be written or removed, and the file as it is now."""
        record, state = await self._record_and_state(path)
        if record is None or record.status is not SkillStatus.ACTIVE:
            raise ApprovalNotFoundError(f"no skill that counts has the file {path}")
        if record.path != path:  # others write and remove it where it was approved
            return record, FileState()
        skill_path(Path(record.root), record.name)
        if state.sha256 == IRREGULAR:
            problem = f"{path} is no plain file of at most 1 MB"
            raise SkillPathError(problem, remedy="Move it away.")
        return record, state


def _touched(
    records: Iterable[RegisteredSkill], states: Iterable[FileState]
) -> tuple[tuple[str, str], ...]:
    pairs = zip(records, states, strict=True)
    return tuple((record.path, state.sha256) for record, state in pairs)
