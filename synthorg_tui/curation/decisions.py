"""Carries a decision out: one transaction, then its files; and undoes it.

A plan changes memories, registry, queue and journal in one transaction. The journal then writes
the files, and finishes that after a crash. An undo is a plan as well, made from what the journal
recorded: what was there before is there again, in the store and on disk. What a decision changes
is worked out elsewhere (``plan``, ``preview``, ``erasure``); nothing else may commit one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from synthorg_tui.approvals.models import ApprovalConflictError, OvertakenError
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation import journal, models, registry
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.conflicts import paired
from synthorg_tui.curation.journal import Effects, FileStep, Journal, Operation
from synthorg_tui.curation.lesson_sources import forget_sources
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.curation.org_changes import inverse
from synthorg_tui.curation.plan import CurationPlan
from synthorg_tui.curation.registry import (
    RegisteredSkill,
    SkillStatus,
    VersionEvent,
)
from synthorg_tui.curation.review import CONFLICT_ACTION, Decision, DecisionKind
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle
from synthorg_tui.memory.org.acts import FactState
from synthorg_tui.memory.store.statements import hold_both
from synthorg_tui.persistence.port import Connection
from synthorg_tui.skills.disk import state_of
from synthorg_tui.skills.document import SkillWriteError

_log = logging.getLogger(__name__)


class DecisionRunner:
    """Carries out plans, each completely or not at all.

    Enter ``turn`` before reading what a plan is based on, and leave it after ``commit``.

    Args:
        base: The stores; the registry's lock admits one decision at a time.
        journal: Records decisions and writes their files.
        on_decision: Called with each decision once it has taken effect.
    """

    def __init__(
        self,
        base: CurationBase,
        journal: Journal,
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        self._base = base
        self._journal = journal
        self._on_decision = on_decision
        self._seen = 0
        """The last decision that the plan of the present turn can know of."""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold the lock that admits one decision at a time, for the length of an ``async with``.

        First writes the files of earlier decisions that aren't written yet, as far as possible.
        Where other programs decide on the same store, the lock is of this one alone: what is
        carried out then raises ``OvertakenError`` when one of them was quicker.
        """
        async with self._base.registry.deciding:
            await self._journal.roll_forward()
            self._seen = await self._base.database.read(journal.latest)
            yield

    async def commit(
        self,
        plan: CurationPlan,
        kind: DecisionKind,
        title: str,
        person: Person | Policy,
        *,
        item_id: str | None = None,
        effects: Effects | None = None,
        also: Callable[[Connection, BundleOutcome], None] | None = None,
    ) -> Decision:
        """Carry out a plan; needs a ``turn``.

        ``title`` is that of the item ``item_id``, or the name of the skill that is decided about.
        ``effects`` are recorded besides the plan's changes; ``also`` runs in its transaction and
        may stop it by raising. Raises ``MemoryStoreError`` with nothing changed, and
        ``SkillWriteError`` when all is stored but a file can't be written yet.
        """

        def within(db: Connection, outcome: BundleOutcome) -> Operation:
            if also is not None:
                also(db, outcome)
            at = self._base.clock.now()
            done = plan.write_in(db, outcome, effects or Effects(), actor=str(person), at=at)
            return journal.record_in(
                db,
                kind=kind,
                item_id=item_id,
                title=title,
                actor=str(person),
                at=at,
                effects=done,
            )

        decision = await self.carry_out(plan.bundle, within, actor=str(person))
        _log_superseded(plan)
        return decision

    async def undoable(self, actors: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the titles of the decisions that ``undo`` would undo, latest first."""
        return tuple(operation.title for operation in await self._undoable(actors))

    async def undo(self, person: Person, actors: Sequence[str] = ()) -> Decision | None:
        """Undo the last decision that can be undone; ``None`` when there is none. Needs a ``turn``.

        With ``actors`` only what they decided is undone.

        Decisions that were taken in bulk are undone together, latest first, each in its own
        transaction; after a crash the next undo continues with the rest. Raises
        ``ApprovalConflictError``, with nothing changed, when a file that one of them wrote or a
        fact has been changed since.
        """
        operations = await self._undoable(actors)
        await asyncio.to_thread(check_undoable, operations)
        later: dict[str, FactState] = {}
        for operation in operations:
            await inverse(operation.effects.org, self._base.store.org, later)
        undone = [await self._undo(operation, person) for operation in operations]
        return _as_one(undone) if undone else None

    async def _undoable(self, actors: Sequence[str]) -> tuple[Operation, ...]:
        return await self._base.database.read(lambda db: journal.last_undoable(db, actors))

    async def _undo(self, operation: Operation, person: Person) -> Decision:
        plan = await asyncio.to_thread(undo_plan, operation)
        org = await inverse(operation.effects.org, self._base.store.org, {})
        bundle = replace(plan.bundle, org=org)
        at = self._base.clock.now()

        def within(db: Connection, outcome: BundleOutcome) -> Operation:
            if operation.effects.is_used_later and operation.item_id is not None:
                self._base.queue.require_unused_in(db, operation.item_id)
            return undo_in(
                db, operation, plan, outcome, queue=self._base.queue, person=person, at=at
            )

        return await self.carry_out(bundle, within, actor=str(person))

    async def carry_out(
        self,
        bundle: MemoryBundle,
        within: Callable[[Connection, BundleOutcome], Operation],
        *,
        actor: str,
    ) -> Decision:
        """Change the memories together with what ``within`` writes, then write the files.

        ``within`` runs in the transaction and returns the decision as it recorded it. Once begun
        this runs to its end, even when the caller is cancelled.
        """
        seen = self._seen

        def in_turn(db: Connection, outcome: BundleOutcome) -> Operation:
            if journal.latest(db) != seen:
                raise OvertakenError("somebody else decided at the same moment")
            return within(db, outcome)

        async def run() -> Decision:
            operation = await self._base.store.change_together(bundle, in_turn, actor=actor)
            self._seen = operation.number
            try:
                operation = await self._journal.finish(operation)
            except SkillWriteError as error:
                raise _unfinished(operation, error) from error
            finally:
                if self._on_decision is not None:
                    self._on_decision(_decision(operation))
            if operation.effects.failure:
                why = operation.effects.failure
                raise DomainError(f"{operation.title!r} is approved, but {why}")
            return _decision(operation)

        task = asyncio.ensure_future(run())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])  # the next decision must not begin before
            raise


def _log_superseded(plan: CurationPlan) -> None:
    """Log which skills of the whole organisation were superseded."""
    event = models.ORG_SKILL_SUPERSEDED
    for record in plan.changed:
        is_shared = record.proposal.scope is ProceduralMemoryScope.ORG
        if is_shared and record.status is SkillStatus.SUPERSEDED:
            details = {"event": event, "skill": record.name, "by": record.superseded_by}
            _log.info("%s %s", event, record.name, extra=details)


def _as_one(undone: Sequence[Decision]) -> Decision:
    """Decisions that were undone together, as one."""
    if len(undone) == 1:
        return undone[0]
    return replace(
        undone[-1],
        title=f"{len(undone)} approvals",
        item_id=None,
        memory_ids=tuple(chain.from_iterable(decision.memory_ids for decision in undone)),
        paths=tuple(chain.from_iterable(decision.paths for decision in undone)),
        left_alone=tuple(chain.from_iterable(decision.left_alone for decision in undone)),
        count=len(undone),
    )


def _decision(operation: Operation) -> Decision:
    effects = operation.effects
    return Decision(
        number=operation.number,
        kind=operation.kind,
        title=operation.title,
        at=operation.at,
        item_id=operation.item_id,
        memory_ids=effects.added,
        paths=tuple(str(step.path) for step in effects.files),
        left_alone=effects.left_alone,
        is_final=effects.act is not None,
    )


_CARRIED_OVER = ("application_count", "last_applied_at", "evidence")
"""What a skill has gained since the decision and keeps when it is undone."""


def check_undoable(operations: Iterable[Operation]) -> None:
    """Raise ``ApprovalConflictError`` unless all these decisions can be undone in this order."""
    files: dict[Path, str] = {}
    for operation in operations:
        for step in _steps_back(operation, files):
            files[step.path] = step.after


def undo_plan(operation: Operation) -> CurationPlan:
    """Return the plan that undoes a decision, but for facts: see ``org_changes.inverse``.

    Raises ``ApprovalConflictError`` when a file it wrote has been changed since.
    """
    effects = operation.effects
    return CurationPlan(
        bundle=MemoryBundle(remove=effects.added, restore=effects.removed),
        files=tuple(_steps_back(operation, {})),
    )


def _steps_back(operation: Operation, files: Mapping[Path, str]) -> Iterator[FileStep]:
    """The file steps back that are still to be made.

    ``files`` are taken to have these hashes already, whatever is on disk.
    """
    for step in operation.effects.files:
        present = files.get(step.path)
        if present is None:
            present = state_of(step.path).sha256
        if str(step.path) in operation.effects.left_alone or present == step.before:
            continue
        if present != step.after:
            raise ApprovalConflictError(
                f"{step.path} has been changed since: undoing would lose that",
                remedy="Accept or move away what is there, then try again.",
            )
        yield step.reversed()


def undo_in(
    db: Connection,
    operation: Operation,
    plan: CurationPlan,
    outcome: BundleOutcome,
    *,
    queue: ApprovalQueue,
    person: Person,
    at: datetime,
) -> Operation:
    """Undo a decision within the transaction that changed the memories, and record the undo.

    ``outcome`` is what it did to them. Raises ``ApprovalConflictError`` for what is undone already.
    """
    for path, before in operation.effects.records_before.items():
        _restore_record(db, path, before)
    forget_sources(db, operation.effects.added)
    for step in plan.files:
        _add_undo_version(db, step, operation, actor=str(person), at=at)
    if operation.item_id is not None:
        payload = operation.effects.payload_before
        item = queue.reopen_in(db, operation.item_id, person, "undone", payload=payload)
        if item.action_type == CONFLICT_ACTION:
            hold_both(db, paired(item), at=at, by=str(person), undone=True)
    undoing = journal.record_in(
        db,
        kind=DecisionKind.UNDONE,
        item_id=operation.item_id,
        title=operation.title,
        actor=str(person),
        at=at,
        effects=Effects(
            files=plan.files,
            added=tuple(entry.id for entry in outcome.restored),
            removed=tuple(entry.id for entry in outcome.removed),
        ),
    )
    if not journal.mark_undone_in(db, operation, by=undoing.number):
        raise ApprovalConflictError(f"{operation.title!r} is undone already")
    return undoing


def _restore_record(db: Connection, path: str, before: RegisteredSkill | None) -> None:
    if before is None:
        registry.forget(db, path)
        return
    present = registry.find(db, path)
    if present is not None:
        gained = {name: getattr(present, name) for name in _CARRIED_OVER}
        before = before.model_copy(update=gained)
    registry.put(db, before)


def _unfinished(operation: Operation, error: SkillWriteError) -> SkillWriteError:
    """The error of a decision that stands though its file couldn't be written."""
    return SkillWriteError(
        f"{operation.title!r} is {operation.kind.value.replace('_', ' ')}, but {error.message}",
        remedy="Make room or give access: it is finished with the next decision or start.",
    )


def _add_undo_version(
    db: Connection, step: FileStep, operation: Operation, *, actor: str, at: datetime
) -> None:
    """Add the undo to the file's history."""
    before = operation.effects.records_before.get(str(step.path))
    registry.add_version(
        db,
        str(step.path),
        version=before.version if before else 1,
        at=at,
        actor=actor,
        event=VersionEvent.WRITTEN if step.after else VersionEvent.REMOVED,
        sha256=step.after or step.before,
    )
