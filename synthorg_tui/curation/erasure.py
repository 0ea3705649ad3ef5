"""Purges memories together with everything that was made of them.

Three steps, each with a named input: *collect* what is stored and may repeat the words
(``StoredWords``), *plan* what of it is erased (``ErasureScope``, then the files), *apply* the plan
in one transaction and remove the files. Which words go where is a table in
``docs/decisions/0019-erasure.md``: a new place for words of a memory needs a row there and a step
here. This is the only module that erases; everything else deletes so that it can be undone.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.approvals.rows import ERASED, erase_in
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.curation import journal, preexisting, registry
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.decisions import DecisionRunner
from synthorg_tui.curation.erasure_targets import (
    ErasureScope,
    ErasureTarget,
    StoredWords,
    adopted_by,
    related_memories,
    scope_of,
)
from synthorg_tui.curation.journal import Effects, FileStep, Operation
from synthorg_tui.curation.registry import RegisteredSkill, VersionEvent
from synthorg_tui.curation.review import DecisionKind
from synthorg_tui.executions.drawn import release_in
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.executions.store import erase_lines_in
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle
from synthorg_tui.persistence.port import Connection
from synthorg_tui.skills.disk import state_of

TITLE: Final = "purge"
EDITED: Final = "edited since"
NOT_OURS: Final = "in a folder that isn't ours"

ErasingToo: TypeAlias = Callable[[Connection, int, datetime], object]
"""Erases more in the transaction of a purge; given the purge's number and its time."""

NOTHING: Final = Effects()
"""The effects of a decision that left nothing to undo."""


@dataclass(frozen=True, slots=True)
class ErasureReview:
    """The effect of purging some memories on everything that was made of them.

    ``skills`` are names of skills that are erased with their history and their proposals; of the
    skills in ``earlier`` only the texts before the active one are erased. Skills in ``copied``
    stay, since other agents have copies of their memories. ``removed`` are paths of files that are
    deleted; ``left`` pairs the path of a file that stays with the reason. ``lines`` are references
    to the transcript lines that the memories were drawn from, which stay unless asked otherwise.
    """

    skills: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def without_lines(self) -> "ErasureReview":
        """The review of a purge that erases the transcripts as well."""
        return replace(self, lines=())

    @property
    def told(self) -> tuple[str, ...]:
        """The review as sentences for a person, one line each."""
        return (
            *(f"Skill {name} goes, with its history and its proposals" for name in self.skills),
            *(f"Earlier texts of skill {name} go" for name in self.earlier),
            *(f"A file is removed: {path}" for path in self.removed),
            *(f"A file stays, {why}: {path}" for path, why in self.left),
            *(f"Skill {name} stays: other agents have copies" for name in self.copied),
            *(f"The session's stored transcript has it, too: {lines}" for lines in self.lines),
        )


@dataclass(frozen=True, slots=True)
class Erased:
    """The result of a purge: the number of memories purged and the paths of the files removed.

    ``left`` pairs the path of a file that stays with the reason.
    """

    memories: int
    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _ErasurePlan:
    """Everything that one purge changes besides the memories.

    ``files`` pairs the removal of each erased skill's file with the reason why it isn't removed,
    empty where it is.
    """

    scope: ErasureScope = field(default_factory=ErasureScope)
    files: tuple[tuple[FileStep, str], ...] = ()
    operations: tuple[Operation, ...] = ()

    @property
    def steps(self) -> tuple[FileStep, ...]:
        """The files to remove."""
        return tuple(step for step, why in self.files if not why)

    def review(self) -> ErasureReview:
        """The plan as a person reads it before purging."""
        targets = self.scope.targets
        return ErasureReview(
            skills=tuple(_name(target.path) for target in targets if target.is_whole),
            earlier=tuple(_name(target.path) for target in targets if not target.is_whole),
            copied=tuple(map(_name, self.scope.copied)),
            removed=tuple(str(step.path) for step in self.steps),
            left=tuple((str(step.path), why) for step, why in self.files if why),
        )


class Erasure:
    """Purges memories for good, together with the skills and proposals made of them.

    Files that somebody edited, or that lie outside ``base.own_root``, are not deleted.

    Args:
        base: The memories, the approved skills, the proposals and the own folder of skills.
        runner: Knows all earlier decisions, and carries out the purge as one of them.
    """

    def __init__(self, base: CurationBase, runner: DecisionRunner) -> None:
        self._base = base
        self._runner = runner

    async def review(self, memory_ids: Sequence[NotBlankStr]) -> ErasureReview:
        """Return what a purge of these memories would erase besides them; changes nothing."""
        review = (await self._plan(await self._collect(), memory_ids)).review()
        refs = await self._lines_of(memory_ids)
        return replace(review, lines=tuple(map(str, refs)))

    async def purge(
        self, memory_ids: Sequence[NotBlankStr], *, actor: str, lines: bool = False
    ) -> Erased:
        """Purge memories, deleted ones too, and erase their words from skills and proposals.

        With ``lines`` the stored transcript lines that they were drawn from are blanked, too. This
        can't be undone. Raises ``MemoryStoreError``, and ``SkillWriteError`` when everything is
        erased except a file, which is then removed with the next decision or at the next start.
        """
        refs = await self._lines_of(memory_ids) if lines else ()
        if not refs:
            return await self.purge_with(memory_ids, actor=actor)
        known = await self._base.store.known_from(refs)

        def also(db: Connection, *_: object) -> None:
            release_in(db, known)
            erase_lines_in(db, refs)

        ids = dict.fromkeys([*memory_ids, *(each.memory_id for each in known)])
        return await self.purge_with(tuple(ids), actor=actor, also=also)

    async def purge_with(
        self, memory_ids: Sequence[str], *, actor: str, also: "ErasingToo | None" = None
    ) -> Erased:
        """Purge memories as ``purge`` does, and what ``also`` erases in the same transaction."""
        async with self._runner.turn():
            plan = await self._plan(await self._collect(), memory_ids)
            bundle = MemoryBundle(purge=tuple(memory_ids), erases=also is not None)
            if plan.scope.is_empty and also is None:
                return Erased(
                    await self._base.store.change_together(
                        bundle, lambda _, outcome: len(outcome.purged), actor=actor
                    )
                )
            count = 0

            def within(db: Connection, outcome: BundleOutcome) -> Operation:
                nonlocal count
                count = len(outcome.purged)
                purge = _apply_in(db, plan, memory_ids, actor=actor, at=self._base.clock.now())
                if also is not None:
                    also(db, purge.number, self._base.clock.now())
                return purge

            decision = await self._runner.carry_out(bundle, within, actor=actor)
            review = plan.review()
            edited = tuple((path, EDITED) for path in decision.left_alone)
            removed = tuple(path for path in review.removed if path not in decision.left_alone)
            return Erased(count, removed, (*review.left, *edited))

    async def _lines_of(self, memory_ids: Sequence[str]) -> tuple[SourceRef, ...]:
        """The stored transcript lines that these memories name as their source, each once."""
        refs = map(SourceRef.parse, await self._base.store.transcripts_of(memory_ids))
        return tuple(ref for ref in refs if ref is not None)

    async def _collect(self) -> StoredWords:
        """Read everything that may repeat what memories say."""
        return StoredWords(
            records=await self._base.registry.all(),
            operations=await self._base.database.read(journal.every),
            items=await self._base.queue.list(snoozed=True),
        )

    async def _plan(self, stored: StoredWords, memory_ids: Sequence[str]) -> _ErasurePlan:
        """Work out what is erased; reads which memories and files there are, changes nothing."""
        related = sorted(related_memories(stored, memory_ids))
        existing = {entry.id for entry in await self._base.store.entries(related, deleted=True)}
        scope = scope_of(stored, memory_ids, existing)
        if scope.is_empty:
            return _ErasurePlan()
        records = {record.path: record for record in stored.records}
        fates = [
            await self._file_fate(target.path, records.get(target.path))
            for target in scope.targets
            if target.is_whole
        ]
        files = tuple((step, why) for step, why in fates if step.before)
        return _ErasurePlan(scope, files, stored.operations)

    async def _file_fate(self, path: str, record: RegisteredSkill | None) -> tuple[FileStep, str]:
        """Remove the file only where it is in our folder and has a text that we wrote."""
        state = await asyncio.to_thread(state_of, Path(path))
        root = Path(path).parent.parent
        step = FileStep(root=str(root), name=_name(path), before=state.sha256, after="")
        if root != self._base.own_root:
            return step, NOT_OURS
        written = {
            version.sha256
            for version in await self._base.registry.versions(path)
            if version.event is VersionEvent.WRITTEN
        }
        if record is not None:
            written.add(record.sha256)
        return step, "" if state.sha256 in written else EDITED


def _apply_in(
    db: Connection,
    plan: _ErasurePlan,
    memory_ids: Sequence[str],
    *,
    actor: str,
    at: datetime,
) -> Operation:
    """Carry the plan out within the transaction that purges the memories."""
    purge = journal.record_in(
        db,
        kind=DecisionKind.PURGED,
        item_id=None,
        title=TITLE,
        actor=actor,
        at=at,
        effects=Effects(files=plan.steps),
    )
    for target in plan.scope.targets:
        _erase_skill(db, target)
    _forget_memories(db, memory_ids)
    for item_id in sorted(plan.scope.items):
        erase_in(db, item_id, actor=actor, at=at)
    for item, payload in plan.scope.prunes:
        left = ("\n".join(payload.reasons.values()), payload.model_dump_json())
        erase_in(db, item.id, actor=actor, at=at, left=left)
    _erase_operations(db, plan, by=purge.number)
    for step, why in plan.files:
        if why:  # so that it doesn't come up as a new skill
            preexisting.record_in(db, str(step.path), step.before)
    return purge


def _erase_skill(db: Connection, target: ErasureTarget) -> None:
    """Erase a skill with every text it had, or only the texts before the active one."""
    record = registry.find(db, target.path)
    active = "" if target.is_whole or record is None else record.sha256
    for table in ("skill_versions", "skill_evaluations"):
        db.execute(f"DELETE FROM {table} WHERE path = ? AND sha256 <> ?", [target.path, active])
    if target.is_whole:
        registry.forget(db, target.path)
        for table in ("lesson_uses", "lesson_runs"):
            db.execute(f"DELETE FROM {table} WHERE path = ?", [target.path])
        db.execute("DELETE FROM silenced WHERE kind = 'lesson' AND subject = ?", [target.path])
        db.execute("UPDATE skills SET superseded_by = NULL WHERE superseded_by = ?", [target.path])
    db.execute(
        "DELETE FROM skill_bytes WHERE sha256 NOT IN (SELECT sha256 FROM skill_versions) "
        "AND sha256 NOT IN (SELECT sha256 FROM skills)"
    )


def _forget_memories(db: Connection, memory_ids: Collection[str]) -> None:
    """Delete these memories from the skills that stay."""
    for record in registry.select(db, "ORDER BY path", []):
        fewer = record.without_memories(memory_ids)
        if fewer != record:
            registry.put(db, fewer)


def _erase_operations(db: Connection, plan: _ErasurePlan, *, by: int) -> None:
    """Erase the words in what it takes to undo earlier decisions; ``by`` numbers the purge.

    A decision of which nothing is left can't be undone any more.
    """
    paths = frozenset(target.path for target in plan.scope.targets)
    for operation in plan.operations:
        is_erased_item = operation.item_id in plan.scope.items
        if is_erased_item and not operation.effects.records_before:
            effects = NOTHING
        else:
            effects = _effects_without(operation, paths)
        lost_everything = effects == NOTHING and operation.effects != NOTHING
        title = ERASED if is_erased_item or lost_everything else operation.title
        if effects != operation.effects or title != operation.title:
            undone_by = by if effects == NOTHING else None
            journal.trim_in(db, operation, effects=effects, title=title, by=undone_by)


def _effects_without(operation: Operation, paths: Collection[str]) -> Effects:
    """What is left of a decision's effects without these files; nothing when it was about one."""
    effects = operation.effects
    before = {path: record for path, record in effects.records_before.items() if path not in paths}
    left = effects.model_copy(
        update={
            "records_before": before,
            "files": tuple(step for step in effects.files if str(step.path) not in paths),
            "left_alone": tuple(path for path in effects.left_alone if path not in paths),
        }
    )
    is_about = adopted_by(operation) in paths
    if left == effects and not is_about:
        return effects
    return NOTHING if is_about or not before or _names_any(left, paths) else left


def _names_any(effects: Effects, paths: Iterable[str]) -> bool:
    """Whether the effects still name one of these files, wherever in them."""
    stored = effects.model_dump_json()
    return any(json.dumps(path, ensure_ascii=False)[1:-1] in stored for path in paths)


def _name(path: str) -> str:
    return Path(path).parent.name
