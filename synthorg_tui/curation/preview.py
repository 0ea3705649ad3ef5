"""What approving an item would do as things are now: the plan, and what a person sees of it."""

import asyncio
import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from synthorg_tui.approvals.queue import payload_hash
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation import plan as adoption
from synthorg_tui.curation.models import (
    FileChangeKind,
    FileChangePayload,
    Lesson,
    ProceduralMemoryScope,
    PrunePayload,
)
from synthorg_tui.curation.plan import CurationPlan, Place
from synthorg_tui.curation.propagation import KnownAgent, propagation_for
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus
from synthorg_tui.curation.rendering import agent_of, proposal_of
from synthorg_tui.curation.review import InboxEntry, SubjectKind, WritePayload
from synthorg_tui.curation.similarity import replaced_fully
from synthorg_tui.memory.config import PropagationConfig
from synthorg_tui.memory.extensions import BundleStore, MemoryAdmin, MemoryBundle, NewMemory
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.skills.disk import FileState, state_of
from synthorg_tui.skills.document import SkillFile
from synthorg_tui.skills.library import Survey
from synthorg_tui.skills.names import skill_name
from synthorg_tui.skills.validate import parse

SHARED_PUBLISHER = "skills"
"""In whose name a skill is shared that doesn't say which agent it is for."""


class SkillFiles(Protocol):
    """The skills on disk."""

    def scan(self) -> tuple[SkillFile, ...]:
        """Every SKILL.md of every root as it is now."""
        ...

    def survey(self) -> Survey:
        """The same, with the roots."""
        ...


class SkillStore(MemoryAdmin, BundleStore, Protocol):
    """The memories as this part of the program needs them."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan with what it stands on.

    ``path`` and ``text`` are the file as it would be, ``before`` the text it replaces.
    ``touched`` pairs every file it stands on with the SHA-256 of its bytes. ``problem`` says why
    it can't be approved, empty when it can.
    """

    entry: InboxEntry
    plan: CurationPlan
    path: str = ""
    text: str = ""
    before: str = ""
    replaces: tuple[MemoryEntry, ...] = ()
    agents: tuple[str, ...] = ()
    touched: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    @property
    def shown(self) -> str:
        """SHA-256 (hex) of everything that approving this stands on."""
        said = [
            payload_hash(self.entry.item),
            self.path,
            self.touched,
            sorted((each.id, each.content) for each in self.replaces),
            self.agents,
        ]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    @property
    def diff(self) -> tuple[str, ...]:
        """A unified diff of what it replaces and what would be, without a file's head."""
        if not self.before:
            return ()
        lines = difflib.unified_diff(
            self.before.splitlines(), self.text.splitlines(), "before", "after", lineterm=""
        )
        return tuple(lines)


class ApprovalPreview:
    """Works out what approving would do; changes nothing.

    Args:
        ledger: The skills in force.
        store: The memories.
        shelf: The skills on disk.
        own_root: Where approved lessons are written.
        agents: The agents a lesson may be copied to.
        propagation: To which of them it is.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        *,
        ledger: SkillRegistry,
        store: SkillStore,
        shelf: SkillFiles,
        own_root: Path,
        agents: Callable[[], Sequence[KnownAgent]],
        propagation: PropagationConfig,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._store = store
        self._shelf = shelf
        self._own_root = own_root
        self._agents = agents
        self._propagation = propagation
        self._clock = clock

    async def prepare(self, entry: InboxEntry) -> Preview:
        """What approving the item would do; nothing for one that can't be read."""
        match entry.subject:
            case Lesson() as lesson:
                return await self.lesson(entry, lesson)
            case FileChangePayload() as change:
                return await self._file_change(entry, change)
            case PrunePayload() as prune:
                return await self._prune(entry, prune)
            case WritePayload() as write:
                return self.write(entry, write)
            case _:
                return Preview(
                    entry, CurationPlan(), problem="It can't be read: it can only be rejected."
                )

    async def lesson(
        self, entry: InboxEntry, lesson: Lesson, *, at_most: frozenset[str] | None = None
    ) -> Preview:
        """A lesson becomes a skill, in the place of what it supersedes.

        ``at_most`` are ids of the memories that may go: an edited lesson must not replace more
        than was shown.
        """
        now = self._clock.now()
        place = await self._place(lesson)
        agents = self._copied_to(lesson.agent_id, lesson.proposal.scope)
        replaced, ids = await self._replaced(lesson, at_most)
        states = await self._states(replaced)
        plan = adoption.lesson_plan(lesson, place, agents=agents, now=now)
        for record, state in zip(replaced, states, strict=True):
            leaving = adoption.leave_plan(
                record,
                state,
                status=SkillStatus.SUPERSEDED,
                now=now,
                superseded_by=place.path,
                with_file=record.root == str(self._own_root),
            )
            plan = plan.also(leaving)
        plan = plan.also(CurationPlan(bundle=MemoryBundle(remove=ids)))
        return Preview(
            entry=entry,
            plan=plan,
            path=place.path,
            text=adoption.skill_text(lesson, place),
            before="\n".join(state.text for state in states),
            replaces=await self._store.entries(plan.bundle.remove),
            agents=agents,
            touched=(
                (place.path, place.state.sha256),
                *((r.path, state.sha256) for r, state in zip(replaced, states, strict=True)),
            ),
        )

    def write(self, entry: InboxEntry, write: WritePayload) -> Preview:
        """What an agent wrote becomes its memory."""
        memory = NewMemory(write.agent_id, write.draft)
        return Preview(entry, CurationPlan(bundle=MemoryBundle(add=(memory,))))

    async def record_and_state(self, path: str) -> tuple[RegisteredSkill | None, FileState]:
        """A skill in the ledger and its file as it is now."""
        return await self._ledger.get(path), await asyncio.to_thread(state_of, Path(path))

    async def _file_change(self, entry: InboxEntry, change: FileChangePayload) -> Preview:
        record, state = await self.record_and_state(change.path)
        if change.change is FileChangeKind.DELETED:
            return await self._deleted(entry, change, record, state)
        accepted = self._accepted(change, record, state)
        plan, agents = CurationPlan(), tuple[str, ...]()
        if accepted is not None:
            agents = self._copied_to(accepted.agent_id, accepted.proposal.scope)
            plan = adoption.accept_plan(accepted, state, record, agents=agents)
        return Preview(
            entry=entry,
            plan=plan,
            path=change.path,
            text=state.text,
            before=change.ours,
            replaces=await self._store.entries(plan.bundle.remove),
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
            now, problem = self._clock.now(), ""
            plan = adoption.leave_plan(record, state, status=SkillStatus.RETIRED, now=now)
        return Preview(
            entry=entry,
            plan=plan,
            path=change.path,
            before=change.ours,
            replaces=await self._store.entries(plan.bundle.remove),
            touched=((change.path, state.sha256),),
            problem=problem,
        )

    async def _prune(self, entry: InboxEntry, prune: PrunePayload) -> Preview:
        now = self._clock.now()
        pruned = frozenset(prune.memory_ids)
        concerned = [
            record
            for record in await self._ledger.active()
            if not pruned.isdisjoint(record.memory_ids)
        ]
        gone = [record for record in concerned if pruned.issuperset(record.memory_ids)]
        kept = [record for record in concerned if record not in gone]
        plan = adoption.prune_plan(prune.memory_ids, kept, now)
        states = await self._states(gone)
        for record, state in zip(gone, states, strict=True):
            own = record.root == str(self._own_root)
            leaving = adoption.leave_plan(
                record, state, status=SkillStatus.RETIRED, now=now, with_file=own
            )
            plan = plan.also(leaving)
        entries = await self._store.entries(plan.bundle.remove)
        is_gone = entry.kind is SubjectKind.DELETE and not entries
        return Preview(
            entry=entry,
            plan=plan,
            before="\n\n".join(each.content for each in entries),
            replaces=entries,
            touched=tuple((r.path, s.sha256) for r, s in zip(gone, states, strict=True)),
            problem="What it would delete is gone already." if is_gone else "",
        )

    def _accepted(
        self, change: FileChangePayload, record: RegisteredSkill | None, state: FileState
    ) -> RegisteredSkill | None:
        """The skill as the file says it; ``None`` when the file can't be used by now."""
        document, _ = parse(state.text, name=change.name)
        if document is None or not state.content:
            return None
        now = self._clock.now()
        proposal = proposal_of(document, before=record.proposal if record else None)
        agent = record.agent_id if record else agent_of(document)
        if not agent:
            agent = SHARED_PUBLISHER
            proposal = proposal.model_copy(update={"scope": ProceduralMemoryScope.ORG})
        path = Path(change.path)
        return RegisteredSkill(
            path=change.path,
            root=str(path.parent.parent),
            name=change.name,
            agent_id=agent,
            kind=record.kind if record else None,
            lesson_key=record.lesson_key if record else None,
            source=record.source if record else f"skill:{change.name}",
            sha256=state.sha256,
            version=(record.version if record else 0) + 1,
            proposal=adoption.redacted(proposal),
            evidence=record.evidence if record else (),
            application_count=record.application_count if record else 0,
            last_applied_at=record.last_applied_at if record else None,
            adopted_at=record.adopted_at if record else now,
            updated_at=now,
        )

    async def _place(self, lesson: Lesson) -> Place:
        """A folder of our own that no skill has, on disk or in the ledger."""
        known = {record.name for record in await self._ledger.all()}
        on_disk = await asyncio.to_thread(self._names_on_disk)
        name = skill_name(lesson.proposal.discovery, known | on_disk)
        place = Place(self._own_root, name, FileState(), 1)
        state = await asyncio.to_thread(state_of, Path(place.path))
        return Place(self._own_root, name, state, 1)

    def _names_on_disk(self) -> set[str]:
        names = {file.name for file in self._shelf.scan()}
        if self._own_root.is_dir():
            names |= {each.name for each in self._own_root.iterdir()}
        return names

    def _copied_to(self, agent_id: str, scope: ProceduralMemoryScope) -> tuple[str, ...]:
        return propagation_for(self._propagation, scope).targets(agent_id, self._agents())

    async def _replaced(
        self, lesson: Lesson, at_most: frozenset[str] | None
    ) -> tuple[list[RegisteredSkill], tuple[str, ...]]:
        """The skills whose place it takes, and the memories it names as superseded."""
        proposal = lesson.proposal
        named = frozenset(proposal.supersedes)
        if at_most is not None:
            named &= at_most
        active = await self._ledger.active()
        alike = [
            record
            for record in active
            if record.memory_ids
            and record.agent_id == lesson.agent_id
            and record.proposal.scope is proposal.scope
            and record.root == str(self._own_root)
            and (at_most is None or at_most.issuperset(record.memory_ids))
        ]
        full = replaced_fully(proposal, alike)
        replaced = [
            record for record in active if record in full or not named.isdisjoint(record.memory_ids)
        ]
        return replaced, tuple(sorted(named))

    async def _states(self, records: Iterable[RegisteredSkill]) -> list[FileState]:
        return [await asyncio.to_thread(state_of, Path(record.path)) for record in records]
