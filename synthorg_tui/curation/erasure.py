"""Purging memories with everything that was made of them: ledger, proposals, history, files.

Erasing words from the tables of skills, proposals and decisions; run in a transaction.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.approvals.rows import ERASED, erase_in
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.curation import disk_sync, journal, registry
from synthorg_tui.curation.decisions import DecisionRunner
from synthorg_tui.curation.erasure_targets import (
    ErasureTarget,
    adopted_by,
    histories_by_path,
    requests_naming,
    targets_for,
)
from synthorg_tui.curation.journal import Effects, FileStep, Journal, Operation
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.preview import SkillStore
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, VersionEvent
from synthorg_tui.curation.review import FILE_CHANGE_ACTION, DecisionKind
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle
from synthorg_tui.skills.disk import FileState, state_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


TITLE: Final = "purge"
EDITED: Final = "edited since"
NOT_OURS: Final = "in a folder that isn't ours"


@dataclass(frozen=True, slots=True)
class ErasureReview:
    """What goes with memories that are purged, and what stays though it says the same.

    ``skills`` are names of skills that go with their history and their proposals; of ``earlier``
    only what they said before goes, and ``copied`` stay, since others have copies. ``removed``
    are files; ``left`` pairs a file that stays with the reason.
    """

    skills: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """All that in lines."""
        return (
            *(f"Skill {each} goes, with its history and its proposals" for each in self.skills),
            *(f"Earlier texts of skill {each} go" for each in self.earlier),
            *(f"A file is removed: {each}" for each in self.removed),
            *(f"A file stays, {why}: {path}" for path, why in self.left),
            *(f"Skill {each} stays: other agents have copies" for each in self.copied),
        )


@dataclass(frozen=True, slots=True)
class Erased:
    """How many memories went, and which files did; ``left`` is as in ``ErasureReview``."""

    memories: int
    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    review: ErasureReview = field(default_factory=ErasureReview)
    skills: tuple[ErasureTarget, ...] = ()
    steps: tuple[FileStep, ...] = ()
    marks: tuple[str, ...] = ()
    items: frozenset[str] = frozenset()
    prunes: tuple[tuple[ApprovalItem, PrunePayload], ...] = ()
    operations: tuple[Operation, ...] = ()


class Erasure:
    """Erases memories for good; files that aren't as we wrote them, or not ours, are left.

    Args:
        store: The memories.
        ledger: The skills in force.
        queue: The proposals.
        journal: The decisions.
        decider: Finishes what is begun.
        own_root: The folder of skills that is ours.
        deciding: Held while a decision is taken.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        *,
        store: SkillStore,
        ledger: SkillRegistry,
        queue: ApprovalQueue,
        journal: Journal,
        decider: DecisionRunner,
        own_root: Path,
        deciding: asyncio.Lock,
        clock: Clock,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._queue = queue
        self._journal = journal
        self._decider = decider
        self._own_root = own_root
        self._deciding = deciding
        self._clock = clock

    async def review(self, memory_ids: Sequence[NotBlankStr]) -> ErasureReview:
        """What purging these would do besides erasing them."""
        return (await self._plan(memory_ids)).review

    async def purge(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> Erased:
        """Erase live and deleted memories, and every word of theirs in skills and proposals.

        Raises ``MemoryStoreError``, and ``SkillWriteError`` when all is erased but a file, which
        then goes with the next decision or start.
        """
        async with self._deciding:
            await self._decider.settle()
            plan = await self._plan(memory_ids)
            bundle = MemoryBundle(purge=tuple(memory_ids))
            if not plan.skills and not plan.review.copied and not plan.items:
                return Erased(
                    await self._store.change_together(
                        bundle, lambda _, outcome: len(outcome.purged), actor=actor
                    )
                )
            count = 0

            def within(db: "Connection", outcome: BundleOutcome) -> Operation:
                nonlocal count
                count = len(outcome.purged)
                return self._erase_in(db, plan, memory_ids, actor)

            done = await self._decider.carry_out(bundle, within, actor=actor)
            changed = tuple((path, EDITED) for path in done.left_alone)
            removed = tuple(each for each in plan.review.removed if each not in done.left_alone)
            return Erased(count, removed, (*plan.review.left, *changed))

    def _erase_in(
        self, db: "Connection", plan: _Plan, memory_ids: Sequence[str], actor: str
    ) -> Operation:
        now = self._clock.now()
        purge = journal.record_in(
            db,
            kind=DecisionKind.PURGED,
            item_id=None,
            title=TITLE,
            actor=actor,
            at=now,
            effects=Effects(files=plan.steps),
        )
        for trace in plan.skills:
            erase_skill(db, trace)
        drop_memories(db, memory_ids)
        for item_id in sorted(plan.items):
            erase_in(db, item_id, actor=actor, at=now)
        for item, payload in plan.prunes:
            left = ("\n".join(payload.reasons.values()), payload.model_dump_json())
            erase_in(db, item.id, actor=actor, at=now, left=left)
        erase_operations(db, plan.operations, skills=plan.skills, items=plan.items, by=purge.number)
        for mark in plan.marks:
            disk_sync.put_in(db, mark)
        return purge

    async def _plan(self, memory_ids: Sequence[str]) -> _Plan:
        records = await self._ledger.all()
        operations = await self._journal.all()
        items = await self._queue.list(snoozed=True)
        asked = requests_naming(items, operations, memory_ids)
        known = histories_by_path(records, operations)
        concerned = {
            memory_id
            for past in known.values()
            if past.touched_by(memory_ids)
            for text in past.texts
            for memory_id in text
        }
        if not concerned:
            return _Plan(items=asked, operations=operations if asked else ())
        entries = await self._store.entries(sorted(concerned), deleted=True)
        existing = [entry.id for entry in entries]
        skills, copied = targets_for(known, records, memory_ids, existing)
        erased, prunes = _items_of(items, skills)
        ours = {record.path: record for record in records}
        files = [
            await self._file(each.path, ours.get(each.path)) for each in skills if each.is_whole
        ]
        return _Plan(
            review=ErasureReview(
                skills=tuple(_name(each.path) for each in skills if each.is_whole),
                earlier=tuple(_name(each.path) for each in skills if not each.is_whole),
                copied=tuple(map(_name, copied)),
                removed=tuple(str(each.step.path) for each in files if each.step),
                left=tuple((each.path, each.stays) for each in files if each.stays),
            ),
            skills=tuple(skills),
            steps=tuple(each.step for each in files if each.step),
            marks=tuple(
                disk_sync.mark(each.path, each.state.sha256) for each in files if each.stays
            ),
            items=erased | asked,
            prunes=prunes,
            operations=operations,
        )

    async def _file(self, path: str, record: RegisteredSkill | None) -> "_File":
        """What becomes of the file of a skill that goes."""
        state = await asyncio.to_thread(state_of, Path(path))
        root = Path(path).parent.parent
        if not state.sha256:
            return _File(path, state)
        if root != self._own_root:
            return _File(path, state, stays=NOT_OURS)
        written = {
            each.sha256
            for each in await self._ledger.versions(path)
            if each.event is VersionEvent.WRITTEN
        }
        if record is not None:
            written.add(record.sha256)
        if state.sha256 not in written:
            return _File(path, state, stays=EDITED)
        step = FileStep(root=str(root), name=_name(path), before=state.sha256, after="")
        return _File(path, state, step=step)


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    state: FileState
    step: FileStep | None = None
    stays: str = ""


def _items_of(
    items: Sequence[ApprovalItem], skills: Sequence[ErasureTarget]
) -> tuple[frozenset[str], tuple[tuple[ApprovalItem, PrunePayload], ...]]:
    """The items that go with skills, and proposals to prune as they are without these."""
    paths = {trace.path: trace for trace in skills}
    decided = {item_id for trace in skills for item_id in trace.items}
    gone = {memory_id for trace in skills for memory_id in trace.memory_ids}
    erased, prunes = set(), []
    for item in items:
        trace = paths.get(item.metadata.get("path", ""))
        is_past = item.status is not ApprovalStatus.PENDING
        is_about = trace is not None and item.action_type == FILE_CHANGE_ACTION
        payload = _prune_of(item)
        if item.id in decided or (is_about and trace is not None and (trace.is_whole or is_past)):
            erased.add(item.id)
        elif payload is not None and not gone.isdisjoint(payload.memory_ids):
            less = without_words(payload, gone)
            if less is None:
                erased.add(item.id)
            else:
                prunes.append((item, less))
    return frozenset(erased), tuple(prunes)


def _prune_of(item: ApprovalItem) -> PrunePayload | None:
    try:
        return PrunePayload.model_validate_json(item.payload)
    except (ValidationError, RecursionError):
        return None


def _name(path: str) -> str:
    return Path(path).parent.name


def erase_skill(db: "Connection", trace: ErasureTarget) -> None:
    """Take a skill out of the ledger with every text it had, or only the texts before this."""
    record = registry.find(db, trace.path)
    kept = "" if trace.is_whole or record is None else record.sha256
    db.execute("DELETE FROM skill_versions WHERE path = ? AND sha256 <> ?", [trace.path, kept])
    if trace.is_whole:
        registry.forget(db, trace.path)
        db.execute("UPDATE skills SET superseded_by = NULL WHERE superseded_by = ?", [trace.path])
    db.execute(
        "DELETE FROM skill_bytes WHERE sha256 NOT IN (SELECT sha256 FROM skill_versions) "
        "AND sha256 NOT IN (SELECT sha256 FROM skills)"
    )


def drop_memories(db: "Connection", memory_ids: Collection[str]) -> None:
    """Skills that are left know nothing of these memories."""
    gone = frozenset(memory_ids)
    for record in registry.select(db, "ORDER BY path", []):
        kept = tuple(each for each in record.memory_ids if each not in gone)
        if kept != record.memory_ids:
            registry.put(db, record.model_copy(update={"memory_ids": kept}))


def without_words(payload: PrunePayload, memory_ids: Collection[str]) -> PrunePayload | None:
    """A proposal to prune that says nothing of these memories; ``None`` when nothing is left."""
    kept = tuple(each for each in payload.memory_ids if each not in memory_ids)
    if not kept:
        return None
    reasons = {key: said for key, said in payload.reasons.items() if key in kept}
    return payload.model_copy(update={"memory_ids": kept, "reasons": reasons})


def erase_operations(
    db: "Connection",
    operations: Iterable[Operation],
    *,
    skills: Collection[ErasureTarget],
    items: Collection[str],
    by: int,
) -> None:
    """Leave no word of erased skills in what it takes to undo; what lost it all can't be undone.

    ``items`` are the proposals that were erased, ``by`` is the number of the purge.
    """
    paths = {trace.path for trace in skills}
    for operation in operations:
        is_asked = operation.item_id in items and not operation.effects.records_before
        effects = Effects() if is_asked else _without(operation, paths)
        is_named = operation.item_id in items or effects == Effects() != operation.effects
        title = ERASED if is_named else operation.title
        if (effects, title) != (operation.effects, operation.title):
            is_undoable = effects != Effects()
            journal.trim_in(
                db, operation, effects=effects, title=title, by=None if is_undoable else by
            )


def _without(operation: Operation, paths: Collection[str]) -> Effects:
    effects = operation.effects
    before = {path: each for path, each in effects.records_before.items() if path not in paths}
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
    said = left.model_dump_json()
    is_told = any(json.dumps(path, ensure_ascii=False)[1:-1] in said for path in paths)
    return Effects() if is_about or is_told or not before else left
